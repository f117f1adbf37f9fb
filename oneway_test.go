package limosa_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
)

// A oneway call that was accepted reaches its server, also when its client is
// closed right behind it: what the server says meanwhile, a hello for one, does
// not reset the connection that the call is on its way on.
func TestOnewayThenClose(t *testing.T) {
	var ran atomic.Int32
	s, m := one("note", func(context.Context, *rpc.Call) error { ran.Add(1); return nil })
	m.Kind = rpc.Oneway
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{s}}, "127.0.0.1:0")
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed} {
		ran.Store(0)
		const n = 50
		for range n {
			c := &limosa.Client{Target: target, Thrift: form}
			for _, size := range []int{1, 1 << 20} {
				if _, err := call(t.Context(), c, m, strings.Repeat("x", size)); err != nil {
					t.Fatal(err)
				}
			}
			c.Close()
		}
		for by := time.Now().Add(5 * time.Second); ran.Load() < 2*n && time.Now().Before(by); {
			// Real time: sockets of the kernel; a poll with a bound.
			time.Sleep(time.Millisecond)
		}
		if got := ran.Load(); got != 2*n {
			t.Errorf("%v: %d of %d oneway calls have run", form, got, 2*n)
		}
	}
}
