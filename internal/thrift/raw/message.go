package raw

import (
	"encoding/binary"
	"math"
	"strconv"
)

// A MessageType says what a message is.
type MessageType uint8

// The types of messages.
const (
	Call      MessageType = 1
	Reply     MessageType = 2 // the result struct, a declared exception in it included
	Exception MessageType = 3 // an ApplicationException
	Oneway    MessageType = 4
)

// String gives the word of the specification.
func (t MessageType) String() string {
	switch t {
	case Call:
		return "call"
	case Reply:
		return "reply"
	case Exception:
		return "exception"
	case Oneway:
		return "oneway"
	}
	return "message type " + strconv.Itoa(int(t))
}

// MaxName is the longest method name that ParseMessageBegin takes, in bytes. A server
// keeps the name of a call that it has refused until the answer's turn comes.
const MaxName = 1 << 10

const version1 = 0x80010000

// AppendMessageBegin appends the strict envelope of a message; the arguments
// or the result follow it, and there is nothing after them.
//
// Version and type in four bytes, the name behind its length, the sequence id
// (thrift-binary-protocol.md of Apache Thrift, "Message", strict encoding). name is at
// most MaxName bytes, or the peer may refuse it.
func AppendMessageBegin(b []byte, name string, typ MessageType, seq int32) []byte {
	b = binary.BigEndian.AppendUint32(b, version1|uint32(typ))
	b = binary.BigEndian.AppendUint32(b, uint32(len(name)))
	b = append(b, name...)
	return binary.BigEndian.AppendUint32(b, uint32(seq))
}

// ParseMessageBegin reads the envelope at the begin of p: the strict one, and
// the old one without a version if nonStrict. name is borrowed from p; n is the
// envelope's length. With ErrShort p is a proper beginning, and n is the least
// number of bytes that can tell more. Any other error is a *SyntaxError: p is
// not a message.
//
// Without a version the first four bytes are the length of the name, which is how the two
// are told apart: a version has the highest bit.
func ParseMessageBegin(p []byte, nonStrict bool) (name []byte, typ MessageType, seq int32, n int, err error) {
	if len(p) < 4 {
		if len(p) > 0 && !nonStrict && p[0] != 0x80 || len(p) > 1 && p[0]&0x80 != 0 && (p[0] != 0x80 || p[1] != 1) {
			return nil, 0, 0, 0, &SyntaxError{Why: "not a strict message"}
		}
		return nil, 0, 0, 4, ErrShort
	}
	head := binary.BigEndian.Uint32(p)
	if head&math.MaxInt32 == head {
		if !nonStrict {
			return nil, 0, 0, 0, &SyntaxError{Why: "not a strict message"}
		}
		return parseOldBegin(p, int(head))
	}
	// The third byte is unused; Apache's library ignores it.
	if head&0xffff0000 != version1 {
		return nil, 0, 0, 0, &SyntaxError{Why: "unknown version " + strconv.FormatUint(uint64(head>>16), 16)}
	}
	if typ = MessageType(head); typ < Call || typ > Oneway {
		return nil, 0, 0, 0, &SyntaxError{Offset: 3, Why: typ.String() + " is unknown"}
	}
	if len(p) < 8 {
		return nil, 0, 0, 12, ErrShort
	}
	size := binary.BigEndian.Uint32(p[4:])
	if size > MaxName {
		return nil, 0, 0, 0, &SyntaxError{Offset: 4, Why: "method name of " + strconv.FormatUint(uint64(size), 10) + " bytes"}
	}
	if n = 12 + int(size); len(p) < n {
		return nil, 0, 0, n, ErrShort
	}
	return p[8 : n-4 : n-4], typ, int32(binary.BigEndian.Uint32(p[n-4:])), n, nil
}

// parseOldBegin reads name, type, sequence id; size is the name's.
//
// It is refused as soon as the length is known to be too long, and not after the bytes
// have come: any four bytes are such a length.
func parseOldBegin(p []byte, size int) (name []byte, typ MessageType, seq int32, n int, err error) {
	if size > MaxName {
		return nil, 0, 0, 0, &SyntaxError{Why: "method name of " + strconv.Itoa(size) + " bytes"}
	}
	n = 4 + size + 5
	if len(p) > n-5 {
		if typ = MessageType(p[n-5]); typ < Call || typ > Oneway {
			return nil, 0, 0, 0, &SyntaxError{Offset: n - 5, Why: typ.String() + " is unknown"}
		}
	}
	if len(p) < n {
		return nil, 0, 0, n, ErrShort
	}
	return p[4 : n-5 : n-5], typ, int32(binary.BigEndian.Uint32(p[n-4:])), n, nil
}
