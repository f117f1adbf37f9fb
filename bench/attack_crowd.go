package main

import "strings"

// crowdAttacks make a server hold little on each of many connections, or what no
// account sees at once.
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
	return []*attack{
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
