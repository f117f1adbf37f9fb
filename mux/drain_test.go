package mux_test

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// A handler that ends its goroutine fails its call, and nothing else.
func TestGoexit(t *testing.T) {
	for name, where := range everyMode {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, handlers{
					"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
					"exit": func(context.Context, string) (string, error) { runtime.Goexit(); return "", nil },
				}, where)
				for range 3 {
					if _, _, err := r.call(t.Context(), "exit", ""); rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.Processed {
						t.Errorf("exit = %v, %v", err, rpc.SentOf(err))
					}
					if got, _, err := r.call(t.Context(), "echo", "on"); err != nil || got != "on" {
						t.Errorf("echo = %q, %v", got, err)
					}
				}
				if n := mux.Workers(r.server); n > 2 {
					t.Errorf("%d workers are left", n)
				}
				r.server.Drain(t.Context())
			})
		})
	}
}

func TestGoexitOfAStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, streamHandlers{
			count: func(context.Context, string) iter.Seq2[*string, error] {
				return func(yield func(*string, error) bool) { runtime.Goexit() }
			}}.route, mux.Spare)
		for range 3 {
			for _, err := range r.count(t.Context(), "") {
				if rpc.CodeOf(err) != rpc.Internal {
					t.Errorf("count = %v", err)
				}
			}
		}
		r.quiet(t)
		r.server.Drain(t.Context())
	})
}

// A drain ends when answers have left, however long their reader takes.
func TestDrainWaitsForAnswersToLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"echo":  func(_ context.Context, arg string) (string, error) { return arg, nil },
			"large": func(context.Context, string) (string, error) { ran.Add(1); return strings.Repeat("x", 1<<20), nil },
		})
		if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
			t.Fatal(err)
		}
		r.send.Stall(true)
		var calls sync.WaitGroup
		var lost atomic.Int32
		for range 12 {
			calls.Go(func() {
				if _, _, err := r.call(t.Context(), "large", ""); err != nil {
					lost.Add(1)
				}
			})
		}
		synctest.Wait()
		drained := make(chan struct{})
		go func() { r.server.Drain(t.Context()); close(drained) }()
		time.Sleep(10 * time.Second)
		r.send.Stall(false)
		calls.Wait()
		<-drained
		if n := lost.Load(); n != 0 {
			t.Errorf("%d of 12 answers were lost", n)
		}
	})
}

// What runs on after a drain is left to itself, and named.
func TestDrainNamesWhatRunsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		open := make(chan struct{})
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"deaf": func(context.Context, string) (string, error) { <-open; return "", nil }})
		go r.call(t.Context(), "deaf", "")
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		r.server.Drain(ctx)
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("the drain took %v", took)
		}
		if got := fmt.Sprint(r.server.Running()); got != "[Test/deaf]" {
			t.Errorf("running: %s", got)
		}
		close(open)
	})
}

// DrainIdle leaves a connection alone that has a call, however it came to be
// chosen, and drains one that has none.
func TestDrainIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"slow": func(context.Context, string) (string, error) { time.Sleep(10 * time.Second); return "done", nil },
		})
		answer := make(chan error, 1)
		go func() { _, _, err := r.call(t.Context(), "slow", ""); answer <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		if r.server.DrainIdle(ctx) {
			t.Error("a connection with a call drains")
		}
		if err := <-answer; err != nil {
			t.Errorf("slow = %v", err)
		}
		synctest.Wait()
		if !r.server.DrainIdle(t.Context()) {
			t.Error("an idle connection does not drain")
		}
	})
}

// A drain that comes while another one waits for the peer to leave says nothing behind
// this side's last word, and does not break the connection with it.
func TestDrainBehindTheLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, echo)
		if _, _, err := r.call(t.Context(), "echo", ""); err != nil {
			t.Fatal(err)
		}
		r.send.Hold() // the client does not hear of it
		var drains sync.WaitGroup
		drains.Go(func() { r.server.DrainIdle(t.Context()) })
		time.Sleep(1500 * time.Millisecond) // a second for the client, then the last word
		drains.Go(func() { r.server.Drain(t.Context()) })
		synctest.Wait()
		if err := r.send.Output().Err(); err != nil {
			t.Errorf("the output: %v", err)
		}
		r.send.Release()
		drains.Wait()
	})
}
