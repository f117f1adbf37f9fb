package mux_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// farRig is a client and a server whose bytes take delay each way.
func farRig(t *testing.T, delay time.Duration) *rig {
	lim := rpc.Limits{}.WithDefaults()
	r := &rig{finished: make(chan error, 1)}
	r.cend, r.send = pipe.New(pipe.Config{Delay: delay})
	p := ttheader.Protocol{}
	r.server = mux.NewServerConn(r.send, p.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim, Logger: slog.New(slog.DiscardHandler)}, Route: simple.route, Base: t.Context()})
	go r.server.Run(func(err error) { r.finished <- err })
	r.client = mux.NewConn(r.cend, p.Open(wire.Client, lim), mux.Config{Limits: lim})
	return r
}

// A hello that takes longer than a sender waits for it ends no stream: what was
// sent beyond the first window meanwhile is taken as from a peer without credit,
// and credit is heeded from then on.
func TestLateHelloEndsNoStream(t *testing.T) {
	for _, delay := range []time.Duration{100, 400, 600, 3000} {
		synctest.Test(t, func(t *testing.T) {
			r := farRig(t, delay*time.Millisecond)
			got, err := r.sum(t.Context(), strs(500, strings.Repeat("x", 1000)))
			if want := 500*1000 + 10 + 90*2 + 400*3; err != nil || *got != fmt.Sprint(want) {
				t.Errorf("one way %v: %v", delay*time.Millisecond, err)
			}
			r.quiet(t)
			r.stop()
		})
	}
}

// A stream that is opened while the peer is taken for one without credit grants
// some once it turns out to know it.
func TestStreamBeforeALateHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := farRig(t, 600*time.Millisecond)
		sent := make(chan error, 1)
		go func() {
			_, err := r.sum(t.Context(), strs(100, strings.Repeat("x", 1000)))
			sent <- err
		}()
		time.Sleep(1100 * time.Millisecond)
		const n = 500_000 / 5
		got := 0
		for _, err := range r.count(t.Context(), fmt.Sprint(n)) {
			if err != nil {
				t.Fatalf("after %d messages: %v", got, err)
			}
			got++
		}
		if err := <-sent; err != nil || got != n {
			t.Errorf("%v; %d messages, want %d", err, got, n)
		}
		r.quiet(t)
		r.stop()
	})
}
