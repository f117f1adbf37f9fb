package limosa_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
)

// A handler whose caller's time is over is told that, whichever comes first: the
// server's own clock, or the caller's word that it has given the call up, unless that
// comes much earlier. On a connection of one call at a time the caller's word is its
// end; THeader has no code for a server that is first, so that the caller's is not
// compared there.
func TestHandlersSeeTheDeadline(t *testing.T) {
	const allowed = 10 * time.Millisecond
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.THeader} {
		for _, tt := range []struct {
			held, until time.Duration // from when till when nothing comes from the client; the call begins at 0
			gives       time.Duration // when the caller gives the call up before its time is over; 0: never
			ends        time.Duration // when the handler sees the end,
			saw         error         // and as what
		}{
			{0, 0, 0, allowed, context.DeadlineExceeded},
			// The request is under way for a while, so that the server's clock is late.
			{0, 5 * time.Millisecond, 0, allowed, context.DeadlineExceeded},
			{0, 6 * time.Millisecond, 0, allowed, context.Canceled},
			// The caller's word is under way for longer than its time.
			{time.Millisecond, time.Second, 0, allowed, context.DeadlineExceeded},
			{0, 0, 3 * time.Millisecond, 3 * time.Millisecond, context.Canceled},
		} {
			t.Run(fmt.Sprintf("%v, held from %v to %v, given up after %v", form, tt.held, tt.until, tt.gives), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					began := time.Now()
					at, saw := time.Duration(0), make(chan error, 1)
					svc, m := one("wait", func(ctx context.Context, _ *rpc.Call) error {
						<-ctx.Done()
						at = time.Since(began)
						saw <- ctx.Err()
						return ctx.Err()
					})
					n := simnet.New(nil)
					stop, ended := netServer(t, n, &limosa.Server{Services: []rpc.Service{svc}})
					c := netClient(n, &limosa.Client{Thrift: form})
					rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
						nc, err := n.Dial(ctx, "client", "server")
						up := n.Links("client", "server")[0]
						after(tt.held, tt.until > 0, func() { up.Hold(simnet.Up) })
						after(tt.until, tt.until > 0, func() { up.Release(simnet.Up) })
						return nc, err
					})
					ctx, cancel := context.WithTimeout(t.Context(), allowed)
					defer cancel()
					after(tt.gives, tt.gives > 0, cancel)
					_, err := call(ctx, c, m, "")
					want := rpc.DeadlineExceeded
					if tt.gives > 0 {
						want = rpc.Canceled
					}
					if rpc.CodeOf(err) != want && (form == limosa.TTHeader || err == nil) {
						t.Errorf("the caller has %v; want %v", err, want)
					}
					if got := <-saw; got != tt.saw || at != tt.ends {
						t.Errorf("the handler saw %v after %v; want %v after %v", got, at, tt.saw, tt.ends)
					}
					c.Close()
					stop()
					<-ended
				})
			})
		}
	}
}

// after calls f in d, or at once, if it is to be called.
func after(d time.Duration, calls bool, f func()) {
	switch {
	case calls && d > 0:
		time.AfterFunc(d, f)
	case calls:
		f()
	}
}
