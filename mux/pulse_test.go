package mux_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
)

// sleepers answers echo, and sleep after a while.
func sleepers(d time.Duration) handlers {
	return handlers{"echo": echo["echo"], "sleep": func(context.Context, string) (string, error) { time.Sleep(d); return "awake", nil }}
}

// Packets vanish on the way back: after three deadlines without a byte the peer
// is asked, after a second without an answer the connection gets no more calls,
// and in the end who still waits is told.
func TestDeadPathIsNoticedByDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, echo)
		if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
			t.Fatal(err)
		}
		r.send.Stall(true)
		waits := make(chan error, 1)
		begun := time.Now()
		go func() {
			_, _, err := r.call(t.Context(), "echo", "for ever")
			waits <- err
		}()
		for range 3 {
			if _, usable := r.client.Status(); !usable {
				t.Error("given up before three deadlines")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			if _, _, err := r.call(ctx, "echo", "lost"); rpc.CodeOf(err) != rpc.DeadlineExceeded || rpc.SentOf(err) != rpc.Maybe {
				t.Error(err)
			}
			cancel()
		}
		time.Sleep(1100 * time.Millisecond)
		if _, usable := r.client.Status(); usable || !r.told.Load() {
			t.Errorf("usable %v, told %v a second after the ping", usable, r.told.Load())
		}
		err := <-waits
		if d := time.Since(begun); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Maybe || d > 32*time.Second {
			t.Errorf("who waits is told %v, %v after %v", err, rpc.SentOf(err), d)
		}
		r.send.Stall(false)
	})
}

// The same without deadlines: by the silence alone.
func TestDeadPathIsNoticedBySilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{Silence: 10 * time.Second}, echo)
		if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
			t.Fatal(err)
		}
		r.send.Stall(true)
		begun := time.Now()
		_, _, err := r.call(t.Context(), "echo", "for ever")
		if d := time.Since(begun); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.Maybe || d > 26*time.Second {
			t.Errorf("%v, %v after %v", err, rpc.SentOf(err), d)
		}
		r.send.Stall(false)
	})
}

// A server that is slow, or only says nothing, is not given up: it answers.
func TestSlowServerKeepsItsConnection(t *testing.T) {
	for _, form := range []ttheader.Form{ttheader.TTHeader, ttheader.Framed} {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t, form, rpc.Limits{}, sleepers(10*time.Minute))
			if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
				t.Fatal(err)
			}
			for range 20 {
				if form == ttheader.Framed {
					break // which has no ids: the connection ends with the deadline
				}
				ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
				r.call(ctx, "sleep", "")
				cancel()
			}
			if got, _, err := r.call(t.Context(), "sleep", ""); err != nil || got != "awake" {
				t.Errorf("%v: after ten minutes: %q, %v", form, got, err)
			}
			if _, usable := r.client.Status(); !usable {
				t.Errorf("%v: given up", form)
			}
		})
	}
}

// A ping of which the answer is long in coming costs the connection its new
// calls; those in flight are answered, and then it ends.
func TestLateAnswerToAPing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{Silence: 10 * time.Second}, sleepers(time.Second))
		if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
			t.Fatal(err)
		}
		r.send.Stall(true)
		time.AfterFunc(20*time.Second, func() { r.send.Stall(false) })
		if got, _, err := r.call(t.Context(), "sleep", ""); err != nil || got != "awake" {
			t.Errorf("%q, %v", got, err)
		}
		synctest.Wait()
		select {
		case <-r.client.Ended():
		default:
			t.Error("the connection that takes no calls and has none goes on")
		}
	})
}

// A stream that rests is not silence: nobody waits.
func TestRestingStreamIsNotAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigWith(t, ttheader.TTHeader, rpc.Limits{}, simple.route, mux.Spare)
		n := 0
		for _, err := range r.chat(t.Context(), func(yield func(*string, error) bool) {
			for range 3 {
				time.Sleep(5 * time.Minute)
				if !yield(new("x"), nil) {
					return
				}
			}
		}) {
			if err != nil {
				t.Error(err)
			}
			n++
		}
		if _, usable := r.client.Status(); n != 3 || !usable {
			t.Errorf("%d answers, usable %v", n, usable)
		}
	})
}
