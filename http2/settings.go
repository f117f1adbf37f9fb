package http2

import (
	"encoding/binary"
	"strconv"
)

// Identifiers of SETTINGS: RFC 9113, section 6.5.2.
const (
	settingTableSize = iota + 1
	settingPush
	settingStreams
	settingWindow
	settingFrame
	settingHeaderList
)

const (
	defaultTable  = 4096  // bytes of the dynamic table until SETTINGS say otherwise
	defaultWindow = 65535 // bytes of a window until SETTINGS say otherwise
)

// appendSetting appends one setting to a payload.
func appendSetting(b []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, id), value)
}

// eachSetting calls f with the settings of a payload, in order.
func eachSetting(p []byte, f func(id uint16, value uint32)) {
	for ; len(p) >= 6; p = p[6:] {
		f(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:]))
	}
}

// settingsFault says what is wrong with a payload of SETTINGS. A server may not
// push to us, whatever it says; a client does not let us.
func settingsFault(p []byte, fromServer bool) *Error {
	var e *Error
	eachSetting(p, func(id uint16, v uint32) {
		var code Code
		switch {
		case id == settingPush && (v > 1 || fromServer && v == 1):
			code = ProtocolError
		case id == settingWindow && v > maxWindow:
			code = FlowControlError
		case id == settingFrame && (v < frameMax || v > 1<<24-1):
			code = ProtocolError
		default:
			return
		}
		if e == nil {
			e = &Error{Code: code, Why: "setting " + strconv.Itoa(int(id)) + " of " + strconv.FormatUint(uint64(v), 10)}
		}
	})
	return e
}
