package mux_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What a session keeps for want of windows has not left: a drain waits for it.
func TestDrainWaitsForWhatIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoServer(t, &two{caps: twoCaps, window: 50}, plainRoute(handlers(echo)), mux.Spare)
		for i := range uint32(5) {
			r.say(twoFrame('Q', 2*i+1, "echo\x00"+strings.Repeat(string(rune('a'+i)), 100)))
		}
		before := r.hears()
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		over := make(chan bool)
		go func() { r.server.Drain(ctx); close(over) }()
		time.Sleep(5 * time.Second)
		before += r.hears()
		r.say(twoFrame('W', 0, word(1<<20)))
		for i := range uint32(5) {
			r.say(twoFrame('W', 2*i+1, word(1<<10)))
		}
		time.Sleep(time.Second)
		if got := before + r.hears(); strings.Count(got, "seen=") != 5 {
			t.Errorf("%d of 5 answers have come: %s", strings.Count(got, "seen="), got)
		}
		<-over
	})
}

// What a session keeps counts: for the connection, and for all of them.
func TestWhatIsKeptIsCharged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		total := mux.NewTotal(1<<20, nil, "")
		r := &halfRig{rig: &rig{finished: make(chan error, 1)}}
		r.peer, r.send = pipe.New(pipe.Config{})
		lim := rpc.Limits{}.WithDefaults()
		p := &two{caps: twoCaps, window: 50}
		r.server = mux.NewServerConn(r.send, p.Open(wire.Server, lim), &mux.ServerConfig{
			Config: mux.Config{Limits: lim, Total: total}, Route: plainRoute(handlers(echo)), Base: t.Context()})
		go r.server.Run(func(err error) { r.finished <- err })
		for i := range uint32(5) {
			r.say(twoFrame('Q', 2*i+1, "echo\x00"+strings.Repeat("x", 100<<10)))
			r.hears()
		}
		if held := total.Held(); held < 400<<10 {
			t.Errorf("%d bytes are held, of 400 KB that wait for windows", held)
		}
		r.say(twoFrame('W', 0, word(1<<20)))
		for i := range uint32(5) {
			r.say(twoFrame('W', 2*i+1, word(1<<20)))
		}
		r.hears()
		if held := total.Held(); held > 100<<10 {
			t.Errorf("%d bytes are held once they have left", held)
		}
		hangUp(r.peer)
		<-r.finished
		if held := total.Held(); held != 0 {
			t.Errorf("%d bytes are held in the end", held)
		}
	})
}
