package http2

import (
	"testing"
)

func TestFrameHead(t *testing.T) {
	f := frame{typ: typeHeaders, flags: flagEnd | flagEndHeaders, id: maxID, size: 1<<24 - 1}
	p := appendHead(nil, f)
	if len(p) != frameHead || parseFrame(p) != f {
		t.Errorf("%x is %+v", p, parseFrame(p))
	}
	p[5] |= 0x80 // the reserved bit is ignored
	if parseFrame(p) != f {
		t.Errorf("%x is %+v", p, parseFrame(p))
	}
}

func TestFrameFault(t *testing.T) {
	for _, c := range []struct {
		f      frame
		code   Code
		stream uint32
	}{
		{frame{typ: typeData, id: 1, size: frameMax}, NoError, 0},
		{frame{typ: typeData, id: 1, size: frameMax + 1}, FrameSizeError, 0},
		{frame{typ: typeData}, ProtocolError, 0},
		{frame{typ: typeHeaders}, ProtocolError, 0},
		{frame{typ: typePriority, id: 3, size: 5}, NoError, 0},
		{frame{typ: typePriority, id: 3, size: 4}, FrameSizeError, 3},
		{frame{typ: typePriority, size: 5}, ProtocolError, 0},
		{frame{typ: typeReset, id: 1, size: 4}, NoError, 0},
		{frame{typ: typeReset, id: 1, size: 3}, FrameSizeError, 0},
		{frame{typ: typeReset, size: 4}, ProtocolError, 0},
		{frame{typ: typeSettings, size: 12}, NoError, 0},
		{frame{typ: typeSettings, size: 7}, FrameSizeError, 0},
		{frame{typ: typeSettings, id: 1}, ProtocolError, 0},
		{frame{typ: typeSettings, flags: flagAck}, NoError, 0},
		{frame{typ: typeSettings, flags: flagAck, size: 6}, FrameSizeError, 0},
		{frame{typ: typePushPromise, id: 1}, NoError, 0},
		{frame{typ: typePing, size: 8}, NoError, 0},
		{frame{typ: typePing, size: 6}, FrameSizeError, 0},
		{frame{typ: typePing, id: 1, size: 8}, ProtocolError, 0},
		{frame{typ: typeGoAway, size: 8}, NoError, 0},
		{frame{typ: typeGoAway, size: 7}, FrameSizeError, 0},
		{frame{typ: typeGoAway, id: 1, size: 8}, ProtocolError, 0},
		{frame{typ: typeWindowUpdate, size: 4}, NoError, 0},
		{frame{typ: typeWindowUpdate, id: 1, size: 3}, FrameSizeError, 0},
		{frame{typ: typeContinuation}, ProtocolError, 0},
		{frame{typ: 0x77, id: 5, size: 3}, NoError, 0},
	} {
		e := c.f.fault()
		if (e == nil) != (c.code == NoError) || e != nil && (e.Code != c.code || e.Stream != c.stream) {
			t.Errorf("%+v: %v; want %v of stream %d", c.f, e, c.code, c.stream)
		}
	}
}

func TestUnpad(t *testing.T) {
	for _, c := range []struct{ payload, want, why string }{
		{"\x00abc", "abc", ""},
		{"\x02abc", "a", ""},
		{"\x03abc", "", ""},
		{"\x04abc", "", "padding of 4 bytes in a frame of 4"},
		{"", "", "padded frame without a length of its padding"},
	} {
		got, why := unpad(frame{flags: flagPadded}, []byte(c.payload))
		if string(got) != c.want || why != c.why {
			t.Errorf("%q: %q, %q", c.payload, got, why)
		}
	}
	if got, why := unpad(frame{}, []byte("\x02abc")); string(got) != "\x02abc" || why != "" {
		t.Errorf("%q, %q", got, why)
	}
}

func TestSettingsFault(t *testing.T) {
	for _, c := range []struct {
		id     uint16
		value  uint32
		server bool
		code   Code
	}{
		{settingPush, 0, false, NoError}, {settingPush, 1, false, NoError}, {settingPush, 2, false, ProtocolError},
		{settingPush, 0, true, NoError}, {settingPush, 1, true, ProtocolError},
		{settingWindow, maxWindow, false, NoError}, {settingWindow, maxWindow + 1, false, FlowControlError},
		{settingFrame, frameMax, false, NoError}, {settingFrame, frameMax - 1, false, ProtocolError},
		{settingFrame, 1<<24 - 1, false, NoError}, {settingFrame, 1 << 24, false, ProtocolError},
		{0xff, 1 << 31, false, NoError},
	} {
		p := appendSetting(appendSetting(nil, 0x99, 1), c.id, c.value)
		if e := settingsFault(p, c.server); (e == nil) != (c.code == NoError) || e != nil && e.Code != c.code {
			t.Errorf("setting %d of %d: %v; want %v", c.id, c.value, e, c.code)
		}
	}
}

func TestCodesHaveNames(t *testing.T) {
	if len(codeNames) != int(HTTP11Required)+1 || HTTP11Required.String() != "HTTP_1_1_REQUIRED" || Code(0x77).String() != "0x77" {
		t.Error("the table of names does not fit the codes")
	}
	e := &Error{Code: StreamClosed, Stream: 5, Offset: 77, Why: "DATA behind the end"}
	if got, want := e.Error(), "http2: stream 5: STREAM_CLOSED: DATA behind the end (at byte 77)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
