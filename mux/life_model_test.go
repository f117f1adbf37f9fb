package mux_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// TestLifeInRandomSteps has calls and streams, deadlines and cancels, silence, a
// drain and the end meet in every order, and looks after each step that the
// client's counts agree with its slots, that a connection which takes no calls
// has told so, and that it ends when it has none.
func TestLifeInRandomSteps(t *testing.T) {
	rounds := uint64(300)
	if testing.Short() {
		rounds = 60
	}
	for seed := range rounds {
		synctest.Test(t, func(t *testing.T) { runLife(t, seed) })
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func runLife(t *testing.T, seed uint64) {
	rnd := rand.New(rand.NewPCG(seed, 2))
	h := handlers{"echo": echo["echo"], "sleep": func(_ context.Context, arg string) (string, error) {
		d, _ := time.ParseDuration(arg)
		time.Sleep(d)
		return arg, nil
	}}
	streams := streamHandlers{chat: func(_ context.Context, in iter.Seq2[*string, error]) iter.Seq2[*string, error] {
		return func(yield func(*string, error) bool) {
			for s, err := range in {
				if err != nil || !yield(s, nil) {
					return
				}
			}
		}
	}}
	route := func(service, name string) (rpc.Handler, string, bool) {
		if name == "chat" {
			return streams.route(service, name)
		}
		return h.route(service, name)
	}
	lim := rpc.Limits{Abandoned: 8, Silence: 20 * time.Second}
	r := newRigWith(t, ttheader.TTHeader, lim, route, mux.Handlers(rnd.IntN(2)*2))
	if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
		t.Fatal(err)
	}
	var calls sync.WaitGroup
	var cancels []context.CancelFunc
	var trace []string
	note := func(format string, args ...any) { trace = append(trace, fmt.Sprintf(format, args...)) }
	context1 := func() context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		if rnd.IntN(2) == 0 {
			ctx, cancel = context.WithTimeout(t.Context(), time.Duration(1+rnd.IntN(3000))*time.Millisecond)
		}
		cancels = append(cancels, cancel)
		return ctx
	}
	for range 80 {
		switch op := rnd.IntN(100); {
		case op < 35:
			ctx, d := context1(), time.Duration(rnd.IntN(4000))*time.Millisecond
			note("call of %v", d)
			calls.Go(func() { r.call(ctx, "sleep", d.String()) })
		case op < 40:
			ctx := context1()
			note("large call")
			calls.Go(func() { r.large(ctx, "echo", strings.Repeat("x", 2*ttheader.PieceWindow)) }) // in pieces, and waits for credit
		case op < 55:
			ctx, n, pause := context1(), rnd.IntN(20), time.Duration(rnd.IntN(500))*time.Millisecond
			note("stream of %d, %v apart", n, pause)
			calls.Go(func() {
				for range r.chat(ctx, func(yield func(*string, error) bool) {
					for range n {
						time.Sleep(pause)
						if !yield(new("x"), nil) {
							return
						}
					}
				}) {
				}
			})
		case op < 70 && len(cancels) > 0:
			i := rnd.IntN(len(cancels))
			note("cancel %d", i)
			cancels[i]()
		case op < 85:
			d := time.Duration(rnd.IntN(1500)) * time.Millisecond
			note("sleep %v", d)
			time.Sleep(d)
		case op < 94:
			on := rnd.IntN(3) == 0
			note("server stalls: %v", on)
			r.send.Stall(on)
		case op < 97:
			note("client stalls for a second")
			r.cend.Stall(true)
			time.AfterFunc(time.Second, func() { r.cend.Stall(false) })
		case op == 97:
			note("drain")
			r.drain(t.Context())
		case op == 98:
			note("silence")
			r.send.Stall(true)
			time.Sleep(time.Minute)
		default:
			note("shutdown")
			go r.client.Shutdown(t.Context())
		}
		synctest.Wait()
		if why := mux.Inconsistent(r.client); why != "" {
			t.Fatalf("%s, after\n%s", why, strings.Join(trace, "\n"))
		}
		if _, usable := r.client.Status(); !usable && !r.told.Load() {
			t.Fatalf("takes no calls and has not told, after\n%s", strings.Join(trace, "\n"))
		}
	}
	for _, cancel := range cancels {
		cancel()
	}
	r.send.Stall(false)
	r.cend.Stall(false)
	calls.Wait()
	time.Sleep(5 * time.Second) // what feeds streams is told at its next message; handlers return
	synctest.Wait()
	if why := mux.Inconsistent(r.client); why != "" {
		t.Errorf("%s at the end, after\n%s", why, strings.Join(trace, "\n"))
	}
}
