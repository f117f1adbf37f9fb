package http2

import (
	"encoding/binary"
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
)

// Preface is what a client sends before its first frame: RFC 9113, section 3.4.
const Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

const (
	frameHead = 9
	// frameMax is the largest payload that either side sends: what SETTINGS_MAX_FRAME_SIZE
	// is without being set. More would hold up what comes behind, and saves nothing.
	frameMax  = 16384
	maxID     = 1<<31 - 1
	maxWindow = 1<<31 - 1
)

// A frameType is the number of a kind of frame: RFC 9113 6. Others than these are passed over.
type frameType uint8

const (
	typeData frameType = iota
	typeHeaders
	typePriority
	typeReset
	typeSettings
	typePushPromise
	typePing
	typeGoAway
	typeWindowUpdate
	typeContinuation
)

const (
	flagEnd        = 0x1 // DATA, HEADERS
	flagAck        = 0x1 // SETTINGS, PING
	flagEndHeaders = 0x4
	flagPadded     = 0x8
	flagPriority   = 0x20
)

// A frame is the head of one.
type frame struct {
	typ   frameType
	flags uint8
	id    uint32
	size  int // of the payload, bytes
}

// parseFrame reads the head of a frame, p's first nine bytes.
func parseFrame(p []byte) frame {
	_ = p[frameHead-1]
	return frame{
		size:  int(p[0])<<16 | int(p[1])<<8 | int(p[2]),
		typ:   frameType(p[3]),
		flags: p[4],
		id:    binary.BigEndian.Uint32(p[5:]) & maxID,
	}
}

func (f frame) end() bool        { return f.flags&flagEnd != 0 }
func (f frame) endHeaders() bool { return f.flags&flagEndHeaders != 0 }
func (f frame) padded() bool     { return f.flags&flagPadded != 0 }

// appendHead appends the head of a frame.
func appendHead(b []byte, f frame) []byte {
	b = append(b, byte(f.size>>16), byte(f.size>>8), byte(f.size), byte(f.typ), f.flags)
	return binary.BigEndian.AppendUint32(b, f.id)
}

// putHead appends the head of a frame to out.
func putHead(out *buf.Out, f frame) {
	out.Commit(appendHead(out.Block(), f))
}

// putWord appends a frame whose payload is one number of 32 bits.
func putWord(out *buf.Out, typ frameType, id, word uint32) {
	b := appendHead(out.Block(), frame{typ: typ, id: id, size: 4})
	out.Commit(binary.BigEndian.AppendUint32(b, word))
}

// unpad finds the content of a payload: behind the length of its padding, and
// before the padding.
func unpad(f frame, p []byte) (content []byte, why string) {
	if !f.padded() {
		return p, ""
	}
	if len(p) == 0 {
		return nil, "padded frame without a length of its padding"
	}
	if n := int(p[0]); n < len(p) {
		return p[1 : len(p)-n], ""
	}
	return nil, "padding of " + strconv.Itoa(int(p[0])) + " bytes in a frame of " + strconv.Itoa(len(p))
}

// fault checks what can be checked of a frame by its head alone: the length and
// the stream of its type. An error with Stream set ends the stream only.
func (f frame) fault() *Error {
	bad := func(code Code, why string) *Error { return &Error{Code: code, Why: why} }
	if f.size > frameMax {
		return bad(FrameSizeError, "frame of "+strconv.Itoa(f.size)+" bytes")
	}
	var rule struct {
		size   int // of the payload; -1: any
		stream bool
		conn   bool
	}
	switch rule.size = -1; f.typ {
	case typeData, typeHeaders, typePushPromise, typeContinuation:
		rule.stream = true
	case typePriority:
		rule.stream = true
		if f.size != 5 && f.id != 0 { // RFC 9113, section 6.3: of the stream only
			return &Error{Code: FrameSizeError, Stream: f.id, Why: "PRIORITY of " + strconv.Itoa(f.size) + " bytes"}
		}
	case typeReset:
		rule.stream, rule.size = true, 4
	case typeSettings:
		rule.conn = true
		if f.flags&flagAck != 0 {
			rule.size = 0
		} else if f.size%6 != 0 {
			return bad(FrameSizeError, "SETTINGS of "+strconv.Itoa(f.size)+" bytes")
		}
	case typePing:
		rule.conn, rule.size = true, 8
	case typeGoAway:
		rule.conn = true
		if f.size < 8 {
			return bad(FrameSizeError, "GOAWAY of "+strconv.Itoa(f.size)+" bytes")
		}
	case typeWindowUpdate:
		rule.size = 4
	}
	switch {
	case rule.stream && f.id == 0:
		return bad(ProtocolError, "frame of type "+strconv.Itoa(int(f.typ))+" without a stream")
	case rule.conn && f.id != 0:
		return bad(ProtocolError, "frame of type "+strconv.Itoa(int(f.typ))+" on a stream")
	case rule.size >= 0 && f.size != rule.size:
		return bad(FrameSizeError, "frame of type "+strconv.Itoa(int(f.typ))+" with "+strconv.Itoa(f.size)+" bytes")
	}
	return nil
}
