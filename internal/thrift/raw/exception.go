package raw

import (
	"encoding/binary"

	"github.com/limosa-rpc/limosa/rpc"
)

// An ExceptionType is the type of an application exception, the answer of a
// server that did not come to a result.
type ExceptionType int32

// The types of application exceptions. NoSuchService is Kitex's.
const (
	UnknownException      ExceptionType = 0
	UnknownMethod         ExceptionType = 1
	InvalidMessageType    ExceptionType = 2
	WrongMethodName       ExceptionType = 3
	BadSequenceID         ExceptionType = 4
	MissingResult         ExceptionType = 5
	InternalError         ExceptionType = 6
	ProtocolError         ExceptionType = 7
	InvalidTransform      ExceptionType = 8
	InvalidProtocol       ExceptionType = 9
	UnsupportedClientType ExceptionType = 10
	NoSuchService         ExceptionType = 20
)

// outOf is the table of docs/rules/codes.md of what goes out for a code.
var outOf = [rpc.Codes]ExceptionType{
	rpc.Unknown: UnknownException, rpc.InvalidArgument: ProtocolError, rpc.Unimplemented: UnknownMethod,
	rpc.Canceled: InternalError, rpc.DeadlineExceeded: InternalError, rpc.NotFound: InternalError,
	rpc.AlreadyExists: InternalError, rpc.PermissionDenied: InternalError, rpc.ResourceExhausted: InternalError,
	rpc.FailedPrecondition: InternalError, rpc.Aborted: InternalError, rpc.OutOfRange: InternalError,
	rpc.DataLoss: InternalError, rpc.Unauthenticated: InternalError, rpc.Internal: InternalError,
	rpc.Unavailable: InternalError,
}

// codeOf is the table of what a type that came in means; types that are not
// listed are rpc.Unknown.
var codeOf = [...]rpc.Code{
	UnknownException: rpc.Unknown, UnknownMethod: rpc.Unimplemented, InvalidMessageType: rpc.InvalidArgument,
	WrongMethodName: rpc.Internal, BadSequenceID: rpc.Internal, MissingResult: rpc.Internal, InternalError: rpc.Internal,
	ProtocolError: rpc.InvalidArgument, InvalidTransform: rpc.InvalidArgument, InvalidProtocol: rpc.InvalidArgument,
	UnsupportedClientType: rpc.InvalidArgument,
	NoSuchService:         rpc.Unimplemented,
}

// Code gives what the type means here.
//
// It never gives OK: an exception is none, whatever number a peer has put there.
func (t ExceptionType) Code() rpc.Code {
	if t < 0 || int(t) >= len(codeOf) {
		return rpc.Unknown
	}
	if c := codeOf[t]; c != rpc.OK {
		return c
	}
	return rpc.Unknown // between the listed types
}

// ExceptionOf gives the type that a peer is sent for a code. It is the nearest
// one: unless t.Code() is c again, a peer that can read it has to be told the
// code besides.
//
// Thrift has eleven types for what are sixteen codes here; docs/rules/codes.md has the
// table and says when the code itself goes along.
func ExceptionOf(c rpc.Code) (t ExceptionType) {
	if int(c) >= len(outOf) {
		return UnknownException
	}
	return outOf[c]
}

// AppendException appends the struct of an application exception: 1 is its
// text, 2 its type.
func AppendException(b []byte, text string, typ ExceptionType) []byte {
	b = binary.BigEndian.AppendUint32(append(b, byte(TypeString), 0, 1), uint32(len(text)))
	b = binary.BigEndian.AppendUint32(append(append(b, text...), byte(TypeI32), 0, 2), uint32(typ))
	return append(b, byte(TypeStop))
}

// ParseException reads the struct of an application exception at the begin of
// p; n is its length. Fields that are missing are zero, others are ignored.
// Errors are ErrShort or a *SyntaxError.
//
// The text is copied, so that it may outlive p. How long it may be is bounded by the
// message that it is in.
func ParseException(p []byte) (text string, typ ExceptionType, n int, err error) {
	const maxDepth = 64 // of fields that are not ours
	for o := 0; ; {
		if o >= len(p) {
			return "", 0, 0, ErrShort
		}
		t := Type(p[o])
		if t == TypeStop {
			return text, typ, o + 1, nil
		}
		if len(p)-o < 3 {
			return "", 0, 0, ErrShort
		}
		id := binary.BigEndian.Uint16(p[o+1:])
		from := o + 3
		end, f := SkipAt(p, from, t, maxDepth)
		switch f {
		case Fine:
		case Short:
			return "", 0, 0, ErrShort
		default:
			return "", 0, 0, f.At(end)
		}
		switch {
		case id == 1 && t == TypeString:
			text = string(p[from+4 : end])
		case id == 2 && t == TypeI32:
			typ = ExceptionType(binary.BigEndian.Uint32(p[from:]))
		}
		o = end
	}
}

// NoResult makes the error of an answer that holds neither a result nor an exception that this
// side knows, for whichever codec has found that.
func NoResult() error {
	return &rpc.Error{Code: rpc.Internal, Op: "decode response", Sent: rpc.Processed, // it is an answer
		Msg: "the answer holds no result: the handler has returned nil and no error, or the server's IDL has another result or exception of the method"}
}
