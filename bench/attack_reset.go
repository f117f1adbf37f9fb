package main

import (
	"slices"
	"time"
)

// resetAttacks open much on connections that they reset at once, as fast as possible.
func resetAttacks() []*attack {
	resets := func(b []byte) func(x *attacker) {
		return func(x *attacker) {
			x.many(8, func(int) {
				for x.ctx.Err() == nil {
					c := x.dial()
					if c == nil {
						continue
					}
					x.say(c, b)
					c.SetLinger(0) //nolint:errcheck // it goes in any case
					time.Sleep(5 * time.Millisecond)
					c.Close()
				}
			})
		}
	}
	hello := h2Hello(h2FirstWindow)
	h2Streams, h2Calls, h2Halves := slices.Clone(hello), slices.Clone(hello), slices.Clone(hello)
	for i := range uint32(900) {
		h2Streams = append(h2Streams, h2Open(odd(i), "Hold", 0)...)
		h2Calls = append(h2Calls, h2Call(odd(i), "Wait", 1)...)
		h2Halves = append(h2Halves, h2Open(odd(i), "Wait", 0)...)
	}
	streams := openStream("hold", seqBase, true)
	calls := firstRequest("wait", seqBase, 1, "")
	for i := range uint32(900) {
		streams = append(streams, openStream("hold", seqBase+1+i, false)...)
		calls = append(calls, request("wait", seqBase+1+i, 1, "")...)
	}
	return []*attack{
		{name: "reset-streams", why: "900 streams whose handlers wait on connections that are reset, as fast as possible", bound: oneAddress, run: resets(streams)},
		{name: "reset-calls", why: "the same with calls", bound: oneAddress, run: resets(calls)},
		{name: "h2-reset-streams", why: "the same with streams of HTTP/2", bound: oneAddress, grpc: true, run: resets(h2Streams)},
		{name: "h2-reset-calls", why: "and with calls of HTTP/2", bound: oneAddress, grpc: true, run: resets(h2Calls)},
		{name: "h2-reset-halves", why: "and with those whose message does not come", bound: oneAddress, grpc: true, run: resets(h2Halves)},
	}
}
