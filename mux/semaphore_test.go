package mux_test

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// bloating is a codec whose messages take sixteen times their bytes; each decode
// waits for its go.
type bloating struct {
	text
	running *atomic.Int32
	next    chan struct{}
}

func (s bloating) DecodeWeighed(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	s.running.Add(1)
	<-s.next
	s.running.Add(-1)
	if body.Len() > 200<<10 {
		panic("bloating")
	}
	return 16 * body.Len(), s.Decode(body, msg, lim)
}

// Large requests that come together are decoded one after the other if together they
// may become more than the server may hold; once one has become too much, the others
// are refused. One whose codec panics gives its room back.
func TestDecodingHasRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{}.WithDefaults()
		total := mux.NewTotal(2<<20, nil, "")
		codec := bloating{running: new(atomic.Int32), next: make(chan struct{})}
		m := method("wait", rpc.Unary)
		m.Codec = codec
		hold := make(chan struct{})
		h := rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
			if _, err := c.Request(); err != nil {
				return err
			}
			<-hold
			return nil
		}}
		route := func(string, string) (rpc.Handler, string, bool) { return h, "", true }
		var all []*rig
		connect := func() *rig {
			r := &rig{finished: make(chan error, 1)}
			r.cend, r.send = pipe.New(pipe.Config{})
			r.server = mux.NewServerConn(r.send, ttheader.Protocol{}.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim, Logger: logTo(t), Total: total}, Route: route, Base: t.Context()})
			r.server.CountUnder(total.Share(1 << 20))
			go r.server.Run(func(err error) { r.finished <- err })
			r.client = mux.NewConn(r.cend, ttheader.Protocol{}.Open(wire.Client, lim), mux.Config{Limits: lim})
			all = append(all, r)
			return r
		}
		var calls sync.WaitGroup
		var refused, done atomic.Int32
		call := func(r *rig, bytes int) {
			calls.Go(func() {
				_, _, err := r.call(t.Context(), "wait", strings.Repeat("x", bytes))
				switch {
				case err == nil:
					done.Add(1)
				case rpc.CodeOf(err) == rpc.ResourceExhausted:
					refused.Add(1)
				}
			})
			synctest.Wait()
		}
		call(connect(), 201<<10) // it panics, and holds nothing then
		if n := codec.running.Load(); n != 1 {
			t.Fatalf("%d are decoded", n)
		}
		codec.next <- struct{}{}
		calls.Wait()
		for range 5 {
			call(connect(), 190<<10)
		}
		for range 5 {
			if n := codec.running.Load(); n > 1 {
				t.Errorf("%d are decoded at a time", n)
			}
			select {
			case codec.next <- struct{}{}:
			default:
			}
			synctest.Wait()
		}
		if total.Held() > 5*200<<10+16*200<<10 {
			t.Errorf("%d bytes are held", total.Held())
		}
		close(hold)
		calls.Wait()
		if done.Load() != 1 || refused.Load() != 4 {
			t.Errorf("%d were served and %d refused of 5", done.Load(), refused.Load())
		}
		for _, r := range all {
			r.stop()
		}
		if total.Held() != 0 {
			t.Errorf("%d bytes are counted in the end", total.Held())
		}
	})
}
