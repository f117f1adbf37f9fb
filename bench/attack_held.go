package main

import "strings"

// packedAttacks make a server inflate.
func packedAttacks() []*attack {
	return []*attack{
		{name: "zlib-bomb", why: "THeaders whose 16 KB inflate to 16 MB", bound: oneConn, run: func(x *attacker) {
			bomb := theader(1, 1, packed(message("echo", 1, 1, argument(1, zeros(15<<20))), 1))
			c := x.dial()
			x.hear(c)
			x.repeat(c, func(uint32) []byte { return bomb })
		}},
		{name: "zlib-tree", why: "transforms within transforms, some hundred bytes each", bound: oneConn, run: func(x *attacker) {
			bomb := theader(1, 4, packed(message("echo", 1, 1, argument(1, zeros(15<<20))), 4))
			c := x.dial()
			x.hear(c)
			x.repeat(c, func(uint32) []byte { return bomb })
		}},
		{name: "zlib-many", why: "the same bombs on 32 connections at once, for a handler that waits", bound: oneAddress, run: func(x *attacker) {
			bomb := theader(1, 1, packed(message("wait", 1, 1, argument(1, zeros(1<<20))), 1))
			x.many(32, func(int) {
				c := x.dial()
				x.hear(c)
				x.repeat(c, func(uint32) []byte { return bomb })
			})
		}},
	}
}

// heldAttacks make a server hold requests and answers.
//
// Its length is that of the table of cases, of which each stands for itself.
func heldAttacks() []*attack {
	return []*attack{
		{name: "answers-unread", why: "calls with answers of 1 MB on one shared connection that is never read", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.times(c, 8000, func(i uint32) []byte { return request("answer", seqBase+i, 1<<20, "") })
		}},
		{name: "answers-no-credit", why: "the same, read, but never granted credit for pieces", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.times(c, 4000, func(i uint32) []byte {
				return append(request("answer", seqBase+2*i, 1<<20, ""), request("echo", seqBase+2*i+1, 1, "beside")...)
			})
		}},
		{name: "answers-unread-framed", why: "the same in framed messages, pipelined", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.times(c, 8000, func(i uint32) []byte { return framedRequest("answer", i, 1<<20, "") })
		}},
		{name: "answers-behind-slow", why: "answers of 1 MB in order behind one that never comes", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, framedRequest("wait", 1, 0, ""))
			x.times(c, 8000, func(i uint32) []byte { return framedRequest("answer", i+1, 1<<20, "") })
		}},
		{name: "requests-held", why: "requests of 64 KB whose handlers wait, on one shared connection", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			body := strings.Repeat("r", 64<<10)
			x.times(c, 8000, func(i uint32) []byte { return request("wait", seqBase+i, 1, body) })
		}},
		{name: "requests-held-many", why: "the same on 64 connections", bound: oneAddress, run: func(x *attacker) {
			body := strings.Repeat("r", 64<<10)
			x.many(64, func(int) {
				c := x.dial()
				x.hear(c)
				x.say(c, firstRequest("echo", seqBase, 1, ""))
				x.times(c, 8000, func(i uint32) []byte { return request("wait", seqBase+i, 1, body) })
			})
		}},
		{name: "requests-pinned", why: "in each 64 KB one small call whose handler waits, and else what is refused at once", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.repeat(c, func(i uint32) []byte { return beside(request("wait", seqBase+1+i, 1, "")) })
		}},
		{name: "requests-decoded", why: "requests of 600 bytes that take 64 KB once they are decoded, whose handlers wait", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			const items = 500
			args := append([]byte{15, 0, 2, 12, 0, 0, items >> 8, items & 0xff}, make([]byte, items+1)...)
			x.times(c, 8000, func(i uint32) []byte {
				return head{seq: seqBase + i}.frame(message("wait", 1, seqBase+i, args), 0)
			})
		}},
		{name: "requests-held-framed", why: "framed requests of 64 KB, pipelined, whose handlers wait", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			body := strings.Repeat("r", 64<<10)
			x.times(c, 8000, func(i uint32) []byte { return framedRequest("wait", i, 1, body) })
		}},
		{name: "empty-requests", why: "as many empty calls as possible whose handlers wait", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.repeat(c, func(i uint32) []byte { return request("wait", seqBase+i, 1, "") })
		}},
		{name: "metadata", why: "15 KB of metadata with each call whose handler waits", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			value := strings.Repeat("m", 15<<10)
			x.times(c, 8000, func(i uint32) []byte {
				return head{seq: seqBase + i, strings: [][2]string{{"RPC_TRANSIT_K", value}}}.frame(message("wait", 1, seqBase+i, argument(1, "")), 0)
			})
		}},
	}
}

// besideIDs is where the ids of calls begin that nobody waits for.
const besideIDs = 1 << 30

// beside puts 48 KB of calls of a method that does not exist behind frame.
func beside(frame []byte) []byte {
	nothing := strings.Repeat("n", 12<<10)
	for i := range uint32(4) {
		frame = append(frame, request("nothing", besideIDs+i, 1, nothing)...)
	}
	return frame
}
