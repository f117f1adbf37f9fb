package rpc

import (
	"context"
	"errors"
	"strconv"
)

// A Code says what went wrong, in gRPC's numbers and names
// (https://grpc.github.io/grpc/core/md_doc_statuscodes.html). A Code is an
// error itself: a handler may return rpc.NotFound, and errors.Is(err,
// rpc.NotFound) holds for every *Error with that code.
type Code uint32

// The codes, with gRPC's numbers.
const (
	OK                 Code = 0  // no error; never an *Error's code
	Canceled           Code = 1  // the caller gave up
	Unknown            Code = 2  // an error without a code, or a declared exception
	InvalidArgument    Code = 3  // the request is wrong whatever the state of the server
	DeadlineExceeded   Code = 4  // the time was over before an answer came
	NotFound           Code = 5  // what was asked for does not exist
	AlreadyExists      Code = 6  // what was to be made exists
	PermissionDenied   Code = 7  // the caller is known and may not
	ResourceExhausted  Code = 8  // a limit or quota was met
	FailedPrecondition Code = 9  // the state of the server forbids it; do not retry as it is
	Aborted            Code = 10 // a conflict; retry at a higher level
	OutOfRange         Code = 11 // past the valid range
	Unimplemented      Code = 12 // no such service or method
	Internal           Code = 13 // an invariant was broken, or the cause is not for the peer
	Unavailable        Code = 14 // no connection, or the server cannot serve now
	DataLoss           Code = 15 // what arrived is damaged
	Unauthenticated    Code = 16 // the caller is not known
)

// codeNames is the one table of names; Code.String and ParseCode both walk it.
var codeNames = [...]string{
	OK: "OK", Canceled: "Canceled", Unknown: "Unknown", InvalidArgument: "InvalidArgument",
	DeadlineExceeded: "DeadlineExceeded", NotFound: "NotFound", AlreadyExists: "AlreadyExists",
	PermissionDenied: "PermissionDenied", ResourceExhausted: "ResourceExhausted",
	FailedPrecondition: "FailedPrecondition", Aborted: "Aborted", OutOfRange: "OutOfRange",
	Unimplemented: "Unimplemented", Internal: "Internal", Unavailable: "Unavailable",
	DataLoss: "DataLoss", Unauthenticated: "Unauthenticated",
}

// Codes is the number of codes that are defined; every code is below it.
const Codes = len(codeNames)

// String gives the code's name, or Code(n) for a number that is not defined.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "Code(" + strconv.FormatUint(uint64(c), 10) + ")"
}

// Error makes a Code an error; it is the code's name.
func (c Code) Error() string { return c.String() }

// ParseCode finds a code by its name as String gives it.
func ParseCode(name string) (c Code, ok bool) {
	for i, n := range codeNames {
		if n == name {
			return Code(i), true
		}
	}
	return Unknown, false
}

// CodeOf finds the code of an error: OK for nil, the code of the first *Error
// or Code that err wraps, Canceled and DeadlineExceeded for the errors of
// package context, and Unknown for everything else, declared exceptions
// included.
func CodeOf(err error) Code {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	if c, ok := errors.AsType[Code](err); ok {
		return c
	}
	switch {
	case errors.Is(err, context.Canceled):
		return Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return DeadlineExceeded
	}
	return Unknown
}
