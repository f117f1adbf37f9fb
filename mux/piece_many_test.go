package mux_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// Many large messages at once, more than one connection may hold, wait for each
// other: none is refused, and nothing stands still, whichever way they go.
func TestManyLargeMessagesAtOnce(t *testing.T) {
	const size = 1 << 20
	large := strings.Repeat("x", 4*size)
	for name, arg := range map[string]string{"down": "", "up": large, "both": large[:size]} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigOver(t, ttheader.Protocol{}, rpc.Limits{}, ownMethods(handlers{
					"echo": echo["echo"],
					"down": func(context.Context, string) (string, error) { return large, nil },
					"up":   func(context.Context, string) (string, error) { return "", nil },
					"both": func(_ context.Context, arg string) (string, error) { return arg, nil },
				}), mux.Spare)
				// From the first one it is known how large the next may be: what is begun before that
				// may be more than there is room for, and is refused.
				for _, first := range []string{"echo", name} {
					if _, _, err := r.call(t.Context(), first, arg); err != nil {
						t.Fatal(err)
					}
				}
				start := time.Now()
				var all sync.WaitGroup
				for range 4 * size * 20 / max(size, len(arg)) {
					all.Go(func() {
						if _, _, err := r.call(t.Context(), "echo", "small"); err != nil { // so that they go in pieces
							t.Error(err)
						}
						if _, _, err := r.call(t.Context(), name, arg); err != nil {
							t.Errorf("%v, %v", err, rpc.SentOf(err))
						}
					})
				}
				all.Wait()
				if took := time.Since(start); took > 500*time.Millisecond {
					t.Errorf("took %v", took)
				}
			})
		})
	}
}
