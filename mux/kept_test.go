package mux_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
)

// keeper is a codec whose messages refer to the block that they came in, as lazy
// ones do, and are not given back before the end of the test.
type keeper struct {
	text
	mu   *sync.Mutex
	kept *[]buf.View
}

func (k keeper) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	k.mu.Lock()
	*k.kept = append(*k.kept, body.Retain())
	k.mu.Unlock()
	return k.text.Decode(body, msg, lim)
}

// What handlers and callers keep of messages beyond the calls is theirs, or left
// to the collector, and not held for the peer: their connection goes on.
func TestMessagesMayBeKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := keeper{mu: new(sync.Mutex), kept: new([]buf.View)}
		m := method("echo", rpc.Unary)
		m.Codec = k
		r := newRigWith(t, ttheader.TTHeader, heldLimits, func(string, string) (rpc.Handler, string, bool) {
			return rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
				arg, err := stub.Args[string](c)
				if err == nil {
					*stub.Result[string](c) = *arg
				}
				return err
			}}, "", true
		}, mux.Spare)
		defer func() {
			r.stop()
			for _, v := range *k.kept {
				v.Release()
			}
		}()
		start := time.Now()
		for i := range 1000 {
			x := stub.NewCall[string, string](m, "Test")
			x.Args = "hello"
			if err := r.client.Do(t.Context(), &x.Call); err != nil {
				t.Fatalf("after %d calls, %v: %v", i, time.Since(start), err)
			}
		}
		synctest.Wait()
		if server, client := mux.Charged(r.server), mux.ChargedClient(r.client); server > 8<<10 || client > 8<<10 {
			t.Errorf("%d bytes are held on the server, %d on the client", server, client)
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("took %v", took)
		}
	})
}
