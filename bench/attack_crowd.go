package main

import (
	"encoding/binary"
	"net"
	"strings"
	"time"
)

// stalled has each of 10,000 connections from ten addresses say first, and read nothing.
func (x *attacker) stalled(first ...[]byte) {
	x.many(100, func(i int) {
		for range 100 {
			c := x.dialFrom(net.IPv4(127, 0, 1, byte(1+i/10)))
			for _, b := range first {
				x.say(c, b)
			}
		}
		x.wait()
	})
}

// crowdAttacks make a server hold little on each of many connections, or what no
// account sees at once.
//
// Its length is that of the table of cases, of which each stands for itself.
func crowdAttacks() []*attack {
	waits := func(conns int, calls uint32) func(x *attacker) {
		return func(x *attacker) {
			x.many(conns, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, firstRequest("echo", seqBase, 1, ""))
				x.times(c, calls, func(i uint32) []byte { return request("wait", seqBase+i, 1, "") })
			})
		}
	}
	// unread has each of 400 connections say first, and then next for ever, and read nothing.
	unread := func(first []byte, next func(i uint32) []byte) func(x *attacker) {
		return func(x *attacker) {
			x.many(400, func(int) {
				c := x.dial()
				if x.say(c, first); next != nil {
					x.repeat(c, next)
				}
				x.wait()
			})
		}
	}
	ping := head{strings: [][2]string{{"limosa-ping", "1"}}}.frame(nil, 0)
	describe := func(i uint32) []byte {
		return head{seq: seqBase + i}.frame(message("limosaDescribe", 1, seqBase+i, []byte{0}), 0)
	}
	return []*attack{
		{name: "pongs-unread-many", why: "pings on 400 connections that read nothing", bound: oneAddress, run: unread(firstRequest("echo", seqBase, 1, ""), func(uint32) []byte { return ping })},
		{name: "refusals-unread-many", why: "calls of no method on 400 connections that read nothing", bound: oneAddress, run: unread(firstRequest("echo", seqBase, 1, ""), func(i uint32) []byte {
			return head{seq: seqBase + i}.frame(message("nothing", 1, seqBase+i, []byte{0}), 0)
		})},
		{name: "describes", why: "what the server serves, 100 KB of IDL, asked for again and again by 50 bytes on four connections that read", bound: oneAddress, run: func(x *attacker) {
			x.many(4, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, firstRequest("echo", seqBase, 1, ""))
				x.repeat(c, describe)
			})
		}},
		{name: "describes-unread-many", why: "the same on 400 connections that read nothing", bound: oneAddress, run: unread(firstRequest("echo", seqBase, 1, ""), describe)},
		{name: "streams-unread-many", why: "a stream that pours on each of 400 connections of peers without credit that read nothing", bound: oneAddress, run: unread(openStream("pour", 1, false), nil)},
		{name: "streams-stalled", why: "a stream that pours on each of 10,000 connections, from ten addresses, of peers without credit that read nothing", bound: manyAddresses, run: func(x *attacker) {
			x.stalled(openStream("pour", 1, false))
		}},
		{name: "answers-packed-many", why: "a compressed answer of 1 MB on each of 1,000 connections", bound: oneAddress, run: func(x *attacker) {
			b := theader(1, 1, packed(message("answer", 1, 1, argument(1<<20, "")), 1))
			x.many(1000, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, b)
				x.wait()
			})
		}},
		{name: "requests-decoded-many", why: "on each of 240 connections a request of 256 KB that takes 4 MB once it is decoded, all at the same time", bound: oneAddress, run: func(x *attacker) {
			body := swelling(1 << 15)
			x.many(240, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, firstRequest("echo", seqBase, 1, ""))
				b := head{seq: seqBase + 1}.frame(message("wait", 1, seqBase+1, body), 0)
				x.say(c, b[:len(b)-1])
				time.Sleep(300 * time.Millisecond) // so that all have come by then
				x.say(c, b[len(b)-1:])
				x.wait()
			})
		}},
		{name: "pieces-announced-many", why: "thousands of messages of 15 MB announced on each of 400 connections, which are refused and have to be read past", bound: oneAddress, run: func(x *attacker) {
			x.many(400, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, firstRequest("echo", seqBase, 1, ""))
				x.times(c, 16000, func(i uint32) []byte { return firstPiece("e", seqBase+i, 15<<20, []byte{0}) })
			})
		}},
		{name: "frames-little-many", why: "a whole frame of 40 KB and 3 KB of the next on each of 4,000 connections", bound: oneAddress, run: func(x *attacker) {
			b := framedRequest("echo", 1, 1, strings.Repeat("f", 40<<10))
			b = append(b, b[:3<<10]...)
			x.many(64, func(int) {
				for range 62 {
					c := x.dial()
					x.hear(c)
					x.say(c, b)
				}
				x.wait()
			})
		}},
		{name: "empty-requests-many", why: "8,000 empty calls whose handlers wait on each of 64 connections", bound: oneAddress, run: waits(64, 8000)},
		{name: "empty-requests-small", why: "30 empty calls whose handlers wait on each of 2,000 connections", bound: oneAddress, run: waits(2000, 30)},
		{name: "answers-unread-many", why: "an answer of 8 MB on each of 128 connections that read nothing", bound: oneAddress, run: func(x *attacker) {
			x.many(128, func(int) {
				x.say(x.dial(), firstRequest("answer", seqBase, 8<<20, ""))
				x.wait()
			})
		}},
		{name: "bare-nesting", why: "bare messages nested 2,000 deep that do not end, on 2,000 connections", bound: oneAddress, run: func(x *attacker) {
			b := append(message("echo", 1, 1, nil), strings.Repeat("\x0c\x00\x09", 2000)...)
			x.many(2000, func(int) { x.say(x.dial(), b); x.wait() })
		}},
		{name: "streams-many", why: "1,000 streams whose handlers wait on each of 64 connections", bound: oneAddress, run: func(x *attacker) {
			x.many(64, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, openStream("hold", seqBase, true))
				x.times(c, 1000, func(i uint32) []byte { return openStream("hold", seqBase+i, false) })
			})
		}},
		{name: "metadata-loose", why: "a byte of metadata in a header of 20 KB that means nothing else, with each call whose handler waits", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			nothing := strings.Repeat("m", 20<<10)
			x.times(c, 8000, func(i uint32) []byte {
				h := head{seq: seqBase + i, strings: [][2]string{{"RPC_TRANSIT_K", "v"}, {"limosa-nothing", nothing}}}
				return h.frame(message("wait", 1, seqBase+i, argument(1, "")), 0)
			})
		}},
	}
}

// swelling is arguments with so many items of 8 bytes each, which take fifteen times
// that once they are decoded.
func swelling(items uint32) []byte {
	b := binary.BigEndian.AppendUint32([]byte{15, 0, 2, 12}, items)
	for range items {
		b = append(b, 11, 0, 1, 0, 0, 0, 0, 0)
	}
	return append(b, 0)
}
