package mux_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// A oneway call that was accepted, and waits in the session for the peer's window, leaves
// before the connection ends: a shutdown waits for it, as for what waits in the output.
func TestShutdownAwaitsWhatIsKept(t *testing.T) {
	for name, tt := range map[string]struct {
		grant bool
		want  error // of Shutdown
	}{"granted": {true, nil}, "never granted": {false, context.DeadlineExceeded}} {
		synctest.Test(t, func(t *testing.T) {
			r := newTwoClient(t, &two{caps: twoCaps, window: 50}, rpc.Limits{})
			for i := range 3 { // the third finds the connection's window used up
				if _, _, err := r.call(t.Context(), "oneway", strings.Repeat("x", 100)+string(rune('0'+i))); err != nil {
					t.Fatalf("%s: oneway: %v", name, err)
				}
			}
			if got := r.hears(); strings.Contains(got, "x2") || !strings.Contains(got, "x1") {
				t.Fatalf("%s: without room %s", name, got)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			ended := make(chan error, 1)
			go func() { ended <- r.client.Shutdown(ctx) }()
			if tt.grant {
				time.Sleep(3 * time.Second)
				r.say(settings(0, 0), twoFrame('W', 0, word(1000)))
			}
			if got := r.hears(); strings.Contains(got, "x2") != tt.grant {
				t.Errorf("%s: after the shutdown has begun %s", name, got)
			}
			if tt.grant {
				hangUp(r.peer) // it has all, and goes
			}
			if err := <-ended; err != tt.want { //nolint:errorlint // as it is
				t.Errorf("%s: Shutdown = %v", name, err)
			}
		})
	}
}

// Such a call leaves as soon as the peer has room, although nobody waits for anything,
// and the connection goes on.
func TestKeptOnewayLeavesByItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps, window: 50}, rpc.Limits{})
		for i := range 3 {
			if _, _, err := r.call(t.Context(), "oneway", strings.Repeat("x", 100)+string(rune('0'+i))); err != nil {
				t.Fatalf("oneway: %v", err)
			}
		}
		r.hears()
		time.Sleep(time.Second)
		r.say(settings(0, 0), twoFrame('W', 0, word(1000)))
		if got := r.hears(); !strings.Contains(got, "x2") {
			t.Errorf("with room %s", got)
		}
		time.Sleep(time.Hour)
		last := r.beginCall(t.Context(), "echo", "last")
		r.hears()
		r.say(answer(7, "L"))
		if got := now(last); got != "L" {
			t.Errorf("a call afterwards: %q", got)
		}
	})
}
