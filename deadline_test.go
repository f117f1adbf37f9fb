package limosa_test

import (
	"context"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
)

// A handler whose caller's time is over is told that, whichever comes first: the
// server's own clock, or the caller's word that it has given the call up. On a
// connection of one call at a time the caller's word is its end; THeader has no code
// for a server that is first, so that what the caller is told is not compared.
func TestHandlersSeeTheDeadline(t *testing.T) {
	ended := make(chan error, 1)
	svc, m := one("wait", func(ctx context.Context, _ *rpc.Call) error {
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	})
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{svc}}, "127.0.0.1:0")
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.THeader} {
		c := &limosa.Client{Target: target, Thrift: form}
		other := 0
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
			_, err := call(ctx, c, m, "")
			cancel()
			if saw := <-ended; err == nil {
				t.Errorf("%v: the handler saw %v, the caller nothing", form, saw)
			} else if saw != context.DeadlineExceeded {
				other++
			}
		}
		if other > 5 { // a busy machine may hold up a request for longer than its cancellation
			t.Errorf("%v: %d of 20 handlers saw something else", form, other)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		time.AfterFunc(5*time.Millisecond, cancel)
		_, err := call(ctx, c, m, "")
		if saw := <-ended; rpc.CodeOf(err) != rpc.Canceled || saw != context.Canceled {
			t.Errorf("%v: the handler of a call that was given up saw %v, the caller %v", form, saw, err)
		}
		c.Close()
	}
}
