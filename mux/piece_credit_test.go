package mux_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

const (
	// mostOnTheWay is what a large message with small calls beside it may have
	// on its way: the first piece, the window, and the piece that overdraws it.
	mostOnTheWay = 128<<10 + ttheader.PieceWindow + 128<<10 + 4<<10
	hugeBytes    = 8 << 20
)

// hugeRig serves "size" (a large request), "grow" (a large answer, once gate is
// closed) and "echo".
func hugeRig(t *testing.T, p wire.Protocol, lim rpc.Limits, gate <-chan struct{}) *rig {
	r := newRigOver(t, p, lim, plainRoute(handlers{
		"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
		"size": func(_ context.Context, arg string) (string, error) { return fmt.Sprint(len(arg)), nil },
		"grow": func(context.Context, string) (string, error) {
			<-gate
			return strings.Repeat("x", hugeBytes), nil
		},
	}), mux.Spare)
	r.echoes(t)
	return r
}

func (r *rig) echoes(t *testing.T) {
	t.Helper()
	for range 2 {
		if got, _, err := r.call(t.Context(), "echo", "hello"); err != nil || got != "hello" {
			t.Fatalf("echo = %.20q, %v", got, err)
		}
	}
}

// begin makes the large call: of a request (up) or of an answer.
func (r *rig) begin(ctx context.Context, up bool) <-chan error {
	done := make(chan error, 1)
	name, arg, want := "grow", "", hugeBytes
	if up {
		name, arg, want = "size", strings.Repeat("x", hugeBytes), len("8388608")
	}
	go func() {
		got, _, err := r.call(ctx, name, arg)
		if err == nil && len(got) != want {
			err = fmt.Errorf("%d bytes", len(got))
		}
		done <- err
	}()
	return done
}

// What a large message has on its way is bounded while there are small calls
// beside it, and every way out of the wait for credit leaves the connection in
// order, or ends both sides.
func TestPiecesWaitForCredit(t *testing.T) {
	for _, up := range []bool{true, false} {
		for _, end := range []string{"credit", "cancel", "deadline", "loss", "close"} {
			t.Run(fmt.Sprintf("up=%v/%s", up, end), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { waitForCredit(t, up, end) })
			})
		}
	}
}

func waitForCredit(t *testing.T, up bool, end string) {
	gate := make(chan struct{})
	r := hugeRig(t, ttheader.Protocol{}, rpc.Limits{}, gate)
	from, back := r.cend, r.send // back: the way of the credit
	if !up {
		from, back = r.send, r.cend
	}
	ctx, cancel := context.WithCancel(t.Context())
	if end == "deadline" {
		ctx, cancel = context.WithTimeout(ctx, 5*time.Second)
	}
	defer cancel()
	before := from.Output().HandedToKernel()
	if up {
		back.Stall(true)
		close(gate)
	}
	done := r.begin(ctx, up)
	synctest.Wait() // the handler runs, or the first pieces have arrived
	if !up {
		back.Stall(true)
		close(gate)
	}
	synctest.Wait()
	if n := from.Output().HandedToKernel() - before; n < ttheader.PieceWindow || n > mostOnTheWay {
		t.Errorf("%d bytes were sent, at most %d were to be", n, mostOnTheWay)
	}
	want := rpc.OK
	switch end {
	case "cancel":
		cancel()
		want = rpc.Canceled
	case "deadline":
		time.Sleep(6 * time.Second) // of the bubble's time
		want = rpc.DeadlineExceeded
	case "loss":
		r.cend.Break()
		want = rpc.Unavailable
	case "close":
		r.client.Close()
		want = rpc.Unavailable
	}
	synctest.Wait()
	if end != "credit" {
		if err := <-done; rpc.CodeOf(err) != want {
			t.Errorf("%v, want %v", err, want)
		}
	}
	back.Stall(false)
	if end == "credit" {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if want != rpc.Unavailable {
		r.echoes(t)
		synctest.Wait() // the handler of the call that was given up has returned
		r.echoes(t)     // who is idle does not read what came of it
		if n := mux.Abandoned(r.client); n != 0 {
			t.Errorf("%d late answers are awaited", n)
		}
		// The credit that was granted before may come ahead of the news, and be spent.
		if n := from.Output().HandedToKernel() - before; end != "credit" && n > mostOnTheWay+ttheader.PieceWindow/2+128<<10 {
			t.Errorf("%d bytes were sent of a call that was given up", n)
		}
		if err := <-r.begin(t.Context(), up); err != nil {
			t.Errorf("the next large one: %v", err)
		}
	}
}

// stingy is a protocol whose sides never grant credit for pieces.
type stingy struct{ ttheader.Protocol }

type stingySession struct{ wire.Session }

func (p stingy) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	return stingySession{p.Protocol.Open(side, lim)}
}

func (s stingySession) Apply(out *buf.Out, ev *wire.Event) {
	if ev.Flags&(wire.Credit|wire.Stream) != wire.Credit {
		s.Session.Apply(out, ev)
	}
}

// A peer that never grants is one that takes nothing: the connection ends.
func TestPiecesToAPeerThatNeverGrants(t *testing.T) {
	for _, up := range []bool{true, false} {
		t.Run(fmt.Sprint("up=", up), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				gate := make(chan struct{})
				close(gate)
				r := hugeRig(t, stingy{}, rpc.Limits{WriteStall: time.Minute, FrameRest: 2 * time.Minute}, gate)
				start := time.Now()
				if err := <-r.begin(t.Context(), up); rpc.CodeOf(err) != rpc.Unavailable {
					t.Errorf("the large call: %v", err)
				}
				if d := time.Since(start); d != time.Minute {
					t.Errorf("after %v", d)
				}
			})
		})
	}
}

// Without small calls beside it a large message goes whole, or in pieces that
// take no credit: so it is with a stingy peer.
func TestPiecesAloneTakeNoCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		close(gate)
		r := newRigOver(t, stingy{}, rpc.Limits{}, plainRoute(handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
		}), mux.Spare)
		for _, n := range []int{300 << 10, 300 << 10, 1 << 20, hugeBytes, hugeBytes} {
			if got, _, err := r.call(t.Context(), "echo", strings.Repeat("x", n)); err != nil || len(got) != n {
				t.Errorf("%d bytes for %d, %v", len(got), n, err)
			}
		}
	})
}

// Large messages both ways at once, each with small ones beside it, do not hold
// each other up.
func TestPiecesBothWays(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Inline, mux.Goroutines} {
		t.Run(fmt.Sprint(where), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, plainRoute(largeEcho()), where)
				r.echoes(t)
				var wg sync.WaitGroup
				for w := range 8 {
					wg.Go(func() {
						for i := range 6 {
							n := 1 + (w+i)%4*(700<<10)
							if got, _, err := r.call(t.Context(), "echo", strings.Repeat("x", n)); err != nil || len(got) != n {
								t.Errorf("%d bytes for %d, %v", len(got), n, err)
								return
							}
						}
					})
				}
				wg.Wait()
			})
		})
	}
}
