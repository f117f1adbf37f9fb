package http2

import (
	"strconv"
)

// A Code says why a stream or a connection ended: RFC 9113, section 7.
type Code uint32

// The codes of RFC 9113. Others may arrive; they mean nothing special.
const (
	NoError Code = iota
	ProtocolError
	InternalError
	FlowControlError
	SettingsTimeout
	StreamClosed
	FrameSizeError
	RefusedStream
	Cancel
	CompressionError
	ConnectError
	EnhanceYourCalm
	InadequateSecurity
	HTTP11Required
)

var codeNames = [...]string{"NO_ERROR", "PROTOCOL_ERROR", "INTERNAL_ERROR", "FLOW_CONTROL_ERROR", "SETTINGS_TIMEOUT",
	"STREAM_CLOSED", "FRAME_SIZE_ERROR", "REFUSED_STREAM", "CANCEL", "COMPRESSION_ERROR", "CONNECT_ERROR",
	"ENHANCE_YOUR_CALM", "INADEQUATE_SECURITY", "HTTP_1_1_REQUIRED"}

// String is the RFC's name of the code.
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return "0x" + strconv.FormatUint(uint64(c), 16)
}

// An Error is what was wrong with what the peer sent, or, from End, with what
// was to be sent.
type Error struct {
	Code   Code
	Stream uint32 // it ends this stream; 0: the whole connection
	Offset int64  // of the frame in all that was received; -1: not about received bytes
	Limit  bool   // a limit of this side was reached: nothing is wrong with the bytes
	Why    string
}

// Error implements error.
func (e *Error) Error() string {
	s := "http2: "
	if e.Stream != 0 {
		s += "stream " + strconv.FormatUint(uint64(e.Stream), 10) + ": "
	}
	s += e.Code.String() + ": " + e.Why
	if e.Offset >= 0 {
		s += " (at byte " + strconv.FormatInt(e.Offset, 10) + ")"
	}
	return s
}

// sendErr is an error of what was to be sent.
func sendErr(code Code, why string) *Error { return &Error{Code: code, Offset: -1, Why: why} }
