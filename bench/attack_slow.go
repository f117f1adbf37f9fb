package main

import (
	"fmt"
	"io"
	"strings"
)

// slowAttacks have handlers that take a while end together with much to answer, or fail
// with much to say.
func slowAttacks() []*attack {
	return []*attack{
		{name: "slow-framed-8", why: "answers of 15 MB that take 50 ms, on eight framed connections that read nothing", bound: oneAddress, run: func(x *attacker) {
			x.many(8, func(int) {
				c := x.dial()
				x.repeat(c, func(i uint32) []byte { return framedRequest("later", i, 15<<20, "") })
			})
		}},
		{name: "slow-unread", why: "answers of 1 MB that take 50 ms, on 32 shared connections that read nothing, once one was read", bound: oneAddress, run: func(x *attacker) {
			x.learn(1 << 20)
			x.many(32, func(int) {
				c := x.dial()
				x.say(c, firstRequest("later", seqBase, 1<<20, ""))
				x.repeat(c, func(i uint32) []byte { return request("later", seqBase+i, 1<<20, "") })
			})
		}},
		{name: "slow-alternate", why: "one answer of 4 MB, and then 40 small ones and 200 of 4 MB, in turn", bound: oneAddress, run: func(x *attacker) {
			x.learn(4 << 20)
			c := x.dial()
			x.hear(c)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.repeat(c, func(i uint32) []byte {
				if i%240 < 41 {
					return request("later", seqBase+i, 1, "")
				}
				return request("later", seqBase+i, 4<<20, "")
			})
		}},
		{name: "log-fail", why: "calls that fail with what they were given, 8 MB", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			text := strings.Repeat("\x01", 8<<20)
			x.say(c, firstRequest("echo", seqBase, 1, ""))
			x.repeat(c, func(i uint32) []byte { return request("fail", seqBase+i, 1, text) })
		}},
		{name: "framed-nomethod", why: "framed calls of methods that are not there, with names of 1 KB, on eight connections", bound: oneAddress, run: func(x *attacker) {
			x.many(8, func(int) {
				c := x.dial()
				x.hear(c)
				x.repeat(c, func(i uint32) []byte { return framedRequest(strings.Repeat("\x01", 1<<10), i, 1, "") })
			})
		}},
	}
}

// learn has the server know how large answers are of the method that the attack calls: one
// that nobody has asked for before is not foreseen.
func (x *attacker) learn(n int64) {
	c := x.dial()
	if c == nil {
		return
	}
	x.say(c, framedRequest("later", 1, n, ""))
	if _, err := io.CopyN(io.Discard, c, n); err != nil && x.ctx.Err() == nil {
		panic(fmt.Sprintf("no answer to learn from: %v", err))
	}
}
