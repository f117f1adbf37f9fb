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
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
)

// swelling is a codec whose messages take as much as lim allows.
type swelling struct{ text }

func (s swelling) DecodeWeighed(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	return lim.DecodeBudget(body.Len()), s.Decode(body, msg, lim)
}

// One request that is decoded to much, whoever made it, does not have small ones
// of the same method wait for room that they cannot need.
func TestSmallRequestsNeedLittleRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var begun atomic.Int32
		open := make(chan struct{})
		m := method("echo", rpc.Unary)
		m.Codec = swelling{}
		r := newRigWith(t, ttheader.TTHeader, heldLimits, func(string, string) (rpc.Handler, string, bool) {
			return rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
				arg, err := stub.Args[string](c)
				if err != nil {
					return err
				}
				begun.Add(1)
				if len(*arg) < 100 {
					<-open
				}
				return nil
			}}, "", true
		}, mux.Spare)
		if _, _, err := r.call(t.Context(), "echo", strings.Repeat("x", 100<<10)); err != nil {
			t.Fatal(err)
		}
		const small = 10
		var calls sync.WaitGroup
		for range small {
			calls.Go(func() {
				if _, _, err := r.call(t.Context(), "echo", "small"); err != nil {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := begun.Load(); n != small+1 {
			t.Errorf("%d of %d small requests have begun", n-1, small)
		}
		close(open)
		calls.Wait()
	})
}
