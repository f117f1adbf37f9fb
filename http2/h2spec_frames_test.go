package http2

import "strings"

// specFrames: sections 4 to 6 of RFC 9113, as h2spec asks about them.
func specFrames() []specCase {
	const proto, size, closed, flow = "goaway PROTOCOL_ERROR", "goaway FRAME_SIZE_ERROR", "STREAM_CLOSED", "FLOW_CONTROL_ERROR"
	return append([]specCase{
		{"4.1/1 unknown type", func(r *raw) { r.frame(0xff, 0, 0, "12345678").frame(typePing, 0, 0, "12345678") }, "ping 1 12345678"},
		{"4.1/2 undefined flag", func(r *raw) { r.frame(typePing, 0x16, 0, "12345678") }, "ping 1 12345678"},
		{"4.1/3 reserved bit", func(r *raw) { r.frame(typePing, 0, 1<<31, "12345678") }, "ping 1 12345678"},
		{"4.2/1 DATA of 2^14", func(r *raw) { r.post(1).data(1, flagEnd, strings.Repeat("x", 1<<14)) }, served},
		{"4.2/2 DATA beyond the frame size", func(r *raw) { r.post(1).data(1, flagEnd, strings.Repeat("x", 1<<14+1)) }, size},
		{"4.2/3 HEADERS beyond the frame size", func(r *raw) { r.head(1, flagEnd, with(get, "x-dummy", strings.Repeat("x", 1<<15))...) }, size},
		{"4.3/1 invalid block", func(r *raw) { r.frame(typeHeaders, flagEnd|flagEndHeaders, 1, "\x40") }, "goaway COMPRESSION_ERROR"},
		{"4.3/2 PRIORITY in a block", func(r *raw) {
			r.frame(typeHeaders, flagEnd, 1, r.fields(get...)).priority(1, 0, 255).cont(1, flagEndHeaders, "")
		}, proto},
		{"4.3/3 HEADERS in a block", func(r *raw) { r.frame(typeHeaders, flagEnd, 1, r.fields(get...)).get(3) }, proto},
		{"5.1/1 idle DATA", func(r *raw) { r.data(1, flagEnd, "test") }, proto},
		{"5.1/2 idle RST_STREAM", func(r *raw) { r.rst(1) }, proto},
		{"5.1/3 idle WINDOW_UPDATE", func(r *raw) { r.update(1, 100) }, proto},
		{"5.1/4 idle CONTINUATION", func(r *raw) { r.cont(1, flagEndHeaders, r.fields(get...)) }, proto},
		// The answer has left, so that these streams are closed already.
		{"5.1/5 half closed (remote) DATA", func(r *raw) { r.get(1).data(1, flagEnd, "test") }, served + ", goaway " + closed},
		{"5.1/6 half closed (remote) HEADERS", func(r *raw) { r.get(1).get(1) }, served + ", goaway " + closed},
		{"5.1/7 half closed (remote) CONTINUATION", func(r *raw) { r.get(1).cont(1, flagEndHeaders, r.fields(get...)) }, served + ", " + proto},
		{"5.1/8 reset DATA", func(r *raw) { r.post(1).rst(1).data(1, flagEnd, "test") }, "rst 1 " + closed},
		{"5.1/9 reset HEADERS", func(r *raw) { r.post(1).rst(1).get(1) }, "rst 1 " + closed},
		{"5.1/10 reset CONTINUATION", func(r *raw) { r.post(1).rst(1).cont(1, flagEndHeaders, r.fields("x", "y")) }, proto},
		{"5.1/11 closed DATA", func(r *raw) { r.get(1).data(1, flagEnd, "test") }, served + ", goaway " + closed},
		{"5.1/12 closed HEADERS", func(r *raw) { r.get(1).get(1) }, served + ", goaway " + closed},
		{"5.1/13 closed CONTINUATION", func(r *raw) { r.get(1).cont(1, flagEndHeaders, r.fields("x", "y")) }, served + ", " + proto},
		{"5.1.1/1 even number", func(r *raw) { r.get(2) }, proto},
		{"5.1.1/2 smaller number", func(r *raw) { r.get(5).get(3) }, "headers 5, data 5 5 end, " + proto},
		{"5.3.1/1 HEADERS on itself", func(r *raw) {
			r.frame(typeHeaders, flagEnd|flagEndHeaders|flagPriority, 1, word(1)+"\xff"+r.fields(get...))
		}, "rst 1 PROTOCOL_ERROR"},
		{"5.3.1/2 PRIORITY on itself, idle", func(r *raw) { r.priority(1, 1, 255) }, proto},
		{"5.3.1/2 PRIORITY on itself", func(r *raw) { r.post(1).priority(1, 1, 255) }, "rst 1 PROTOCOL_ERROR"},
		{"5.4.1/1 invalid PING", func(r *raw) { r.frame(typePing, 0, 3, "12345678") }, proto},
		{"5.5/1 unknown extension", func(r *raw) { r.frame(0x16, 0, 0, "12345678").frame(typePing, 0, 0, "12345678") }, "ping 1 12345678"},
		{"5.5/2 unknown extension in a block", func(r *raw) {
			r.frame(typeHeaders, flagEnd, 1, r.fields(get...)).frame(0x16, 0, 0, "12345678")
		}, proto},
		{"6.1/1 DATA without a stream", func(r *raw) { r.data(0, flagEnd, "test") }, proto},
		{"6.1/2 DATA on half-closed", func(r *raw) { r.get(1).data(1, flagEnd, "test") }, served + ", goaway " + closed},
		{"6.1/3 DATA with invalid padding", func(r *raw) { r.post(1).data(1, flagEnd|flagPadded, "\x06test") }, proto},
		{"6.2/1 HEADERS, then PRIORITY", func(r *raw) { r.frame(typeHeaders, 0, 1, r.fields(get...)).priority(1, 0, 255) }, proto},
		{"6.2/2 HEADERS, then HEADERS", func(r *raw) { r.frame(typeHeaders, 0, 1, r.fields(get...)).get(3) }, proto},
		{"6.2/3 HEADERS without a stream", func(r *raw) { r.get(0) }, proto},
		{"6.2/4 HEADERS with invalid padding", func(r *raw) {
			r.frame(typeHeaders, flagEnd|flagEndHeaders|flagPadded, 1, "\xf0"+r.fields(get...))
		}, proto},
		{"6.3/1 PRIORITY without a stream", func(r *raw) { r.priority(0, 0, 255) }, proto},
		{"6.3/2 PRIORITY of 4 bytes", func(r *raw) { r.post(1).frame(typePriority, 0, 1, "\x80\x00\x00\x01") }, "rst 1 FRAME_SIZE_ERROR"},
		{"6.3/2 PRIORITY of 4 bytes, closed", func(r *raw) { r.get(1).frame(typePriority, 0, 1, "\x80\x00\x00\x01") }, served + ", rst 1 FRAME_SIZE_ERROR"},
		{"6.4/1 RST_STREAM without a stream", func(r *raw) { r.rst(0) }, proto},
		{"6.4/2 RST_STREAM idle", func(r *raw) { r.rst(1) }, proto},
		{"6.4/3 RST_STREAM of 3 bytes", func(r *raw) { r.post(1).frame(typeReset, 0, 1, "\x00\x00\x00") }, size},
		{"6.5/1 SETTINGS ACK with payload", func(r *raw) { r.frame(typeSettings, flagAck, 0, "\x00") }, size},
		{"6.5/2 SETTINGS on a stream", func(r *raw) { r.frame(typeSettings, 0, 1, string(appendSetting(nil, settingStreams, 100))) }, proto},
		{"6.5/3 SETTINGS of 3 bytes", func(r *raw) { r.frame(typeSettings, 0, 0, "\x00\x03\x00") }, size},
		{"6.5.2/1 ENABLE_PUSH of 2", func(r *raw) { r.setting(settingPush, 2) }, proto},
		{"6.5.2/2 INITIAL_WINDOW_SIZE beyond", func(r *raw) { r.setting(settingWindow, 1<<31) }, "goaway " + flow},
		{"6.5.2/3 MAX_FRAME_SIZE below", func(r *raw) { r.setting(settingFrame, 1<<14-1) }, proto},
		{"6.5.2/4 MAX_FRAME_SIZE beyond", func(r *raw) { r.setting(settingFrame, 1<<24) }, proto},
		{"6.5.2/5 unknown setting", func(r *raw) { r.setting(0xff, 1).frame(typePing, 0, 0, "12345678") }, "ack, ping 1 12345678"},
		{"6.5.3/1 settings in order", func(r *raw) {
			r.frame(typeSettings, 0, 0, string(appendSetting(appendSetting(nil, settingWindow, 100), settingWindow, 1))).get(1)
		}, "ack, headers 1, data 1 1"},
		{"6.5.3/2 SETTINGS are acknowledged", func(r *raw) { r.setting(settingPush, 0) }, "ack"},
		{"6.7/1 PING", func(r *raw) { r.frame(typePing, 0, 0, "h2spec\x00\x00") }, "ping 1 h2spec\x00\x00"},
		{"6.7/2 PING ACK", func(r *raw) { r.frame(typePing, flagAck, 0, "invalid\x00").frame(typePing, 0, 0, "h2spec\x00\x00") }, "ping 1 h2spec\x00\x00"},
		{"6.7/3 PING on a stream", func(r *raw) { r.frame(typePing, 0, 1, "12345678") }, proto},
		{"6.7/4 PING of 6 bytes", func(r *raw) { r.frame(typePing, 0, 0, "123456") }, size},
		{"6.8/1 GOAWAY on a stream", func(r *raw) { r.frame(typeGoAway, 0, 1, word(0)+word(0)) }, proto},
	}, specWindows()...)
}

func specWindows() []specCase {
	const proto, size, flow = "goaway PROTOCOL_ERROR", "goaway FRAME_SIZE_ERROR", "FLOW_CONTROL_ERROR"
	return []specCase{
		{"6.9/1 WINDOW_UPDATE of 0", func(r *raw) { r.update(0, 0) }, proto},
		{"6.9/2 WINDOW_UPDATE of 0 on a stream", func(r *raw) { r.post(1).update(1, 0) }, "rst 1 PROTOCOL_ERROR"},
		{"6.9/3 WINDOW_UPDATE of 3 bytes", func(r *raw) { r.frame(typeWindowUpdate, 0, 0, "\x00\x00\x01") }, size},
		{"6.9.1/1 window of 1", func(r *raw) { r.setting(settingWindow, 1).get(1) }, "ack, headers 1, data 1 1"},
		{"6.9.1/2 connection's window beyond", func(r *raw) { r.update(0, 1<<31-1).update(0, 1<<31-1) }, "goaway " + flow},
		{"6.9.1/3 stream's window beyond", func(r *raw) { r.post(1).update(1, 1<<31-1).update(1, 1<<31-1) }, "rst 1 " + flow},
		{"6.9.2/1 window changed after HEADERS", func(r *raw) { r.setting(settingWindow, 0).get(1).setting(settingWindow, 1) }, "ack, headers 1, ack, data 1 1"},
		{"6.9.2/2 window below zero", func(r *raw) { r.setting(settingWindow, 3).get(1).setting(settingWindow, 2).update(1, 2) },
			"ack, headers 1, data 1 3, ack, data 1 1"},
		{"6.9.2/3 initial window beyond", func(r *raw) { r.setting(settingWindow, 1<<31) }, "goaway " + flow},
		{"6.10/1 multiple CONTINUATION", func(r *raw) {
			p := r.fields(get...)
			r.frame(typeHeaders, flagEnd, 1, p[:1]).cont(1, 0, p[1:3]).cont(1, flagEndHeaders, p[3:])
		}, served},
		{"6.10/2 CONTINUATION, then DATA", func(r *raw) {
			p := r.fields(get...)
			r.frame(typeHeaders, 0, 1, p[:1]).cont(1, 0, p[1:]).data(1, flagEnd, "test")
		}, proto},
		{"6.10/3 CONTINUATION without a stream", func(r *raw) {
			p := r.fields(get...)
			r.frame(typeHeaders, flagEnd, 1, p[:1]).cont(0, flagEndHeaders, p[1:])
		}, proto},
		{"6.10/4 CONTINUATION behind END_HEADERS", func(r *raw) { r.post(1).cont(1, flagEndHeaders, r.fields("x", "y")) }, proto},
		{"6.10/5 CONTINUATION behind CONTINUATION with END_HEADERS", func(r *raw) {
			p := r.fields(post...)
			r.frame(typeHeaders, 0, 1, p[:1]).cont(1, flagEndHeaders, p[1:]).cont(1, flagEndHeaders, r.fields("x", "y"))
		}, proto},
		{"6.10/6 CONTINUATION behind DATA", func(r *raw) { r.post(1).data(1, 0, "test").cont(1, flagEndHeaders, r.fields("x", "y")) }, proto},
		{"7/1 GOAWAY with unknown code", func(r *raw) { r.frame(typeGoAway, 0, 0, word(0)+word(0xff)).frame(typePing, 0, 0, "12345678") }, "ping 1 12345678"},
		{"7/2 RST_STREAM with unknown code", func(r *raw) {
			r.post(1).frame(typeReset, 0, 1, word(0xff)).frame(typePing, 0, 0, "12345678")
		}, "ping 1 12345678"},
	}
}

// specMessages: section 8, and RFC 7541.
func specMessages() []specCase {
	const bad, compress = "rst 1 PROTOCOL_ERROR", "goaway COMPRESSION_ERROR"
	request := func(list ...string) func(r *raw) {
		return func(r *raw) { r.head(1, flagEnd, list...) }
	}
	block := func(p string) func(r *raw) {
		return func(r *raw) { r.frame(typeHeaders, flagEnd|flagEndHeaders, 1, r.fields(get...)+p) }
	}
	return []specCase{
		{"8.1/1 second HEADERS without END_STREAM", func(r *raw) { r.post(1).head(1, 0, "x-test", "ok") }, bad},
		{"8.1.2/1 name in upper case", request(with(get, "X-TEST", "ok")...), bad},
		{"8.1.2.1/1 unknown pseudo-header field", request(with(get, ":test", "ok")...), bad},
		{"8.1.2.1/2 pseudo-header field of answers", request(with(get, ":status", "200")...), bad},
		{"8.1.2.1/3 pseudo-header field in trailers", func(r *raw) { r.post(1).data(1, 0, "test").head(1, flagEnd, ":method", "200") }, bad},
		{"8.1.2.1/4 pseudo-header field behind others", request(with([]string{"x-test", "ok"}, get...)...), bad},
		{"8.1.2.2/1 connection", request(with(get, "connection", "keep-alive")...), bad},
		{"8.1.2.2/2 te", request(with(get, "trailers", "test", "te", "trailers, deflate")...), bad},
		{"8.1.2.3/1 empty path", request(with(without(get, ":path"), ":path", "")...), bad},
		{"8.1.2.3/2 no method", request(without(get, ":method")...), bad},
		{"8.1.2.3/3 no scheme", request(without(get, ":scheme")...), bad},
		{"8.1.2.3/4 no path", request(without(get, ":path")...), bad},
		{"8.1.2.3/5 method twice", request(with(get, ":method", "GET")...), bad},
		{"8.1.2.3/6 scheme twice", request(with(get, ":scheme", "http")...), bad},
		{"8.1.2.3/7 path twice", request(with(get, ":path", "/")...), bad},
		{"8.1.2.6/1 content-length", func(r *raw) { r.post(1, "content-length", "1").data(1, flagEnd, "test") }, bad},
		{"8.1.2.6/2 content-length of several DATA", func(r *raw) { r.post(1, "content-length", "1").data(1, 0, "test").data(1, flagEnd, "test") }, bad},
		{"8.2/1 PUSH_PROMISE", func(r *raw) { r.frame(typePushPromise, flagEndHeaders, 1, word(3)+r.fields(get...)) }, "goaway PROTOCOL_ERROR"},
		{"hpack 2.3.3/1 invalid index", block("\xff\x00"), compress},
		{"hpack 4.2/1 size update at the end", block("\x21"), compress},
		{"hpack 5.2/1 padding of more than 7 bits", block("\x00\x85\xf2\xb2\x4a\x84\xff\x84\x49\x50\x9f\xff"), compress},
		{"hpack 5.2/2 padding of zeroes", block("\x00\x85\xf2\xb2\x4a\x84\xff\x83\x49\x50\x90"), compress},
		{"hpack 5.2/3 EOS", block("\x00\x85\xf2\xb2\x4a\x84\xff\x87\x49\x51\xff\xff\xff\xfa\x7f"), compress},
		{"hpack 6.1/1 index 0", block("\x80"), compress},
		{"hpack 6.3/1 size update beyond", func(r *raw) { r.frame(typeHeaders, flagEnd|flagEndHeaders, 1, "\x3f\xe2\x1f"+r.fields(get...)) }, compress},
	}
}
