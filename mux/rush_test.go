package mux

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// The newest begins first, those that have waited for too long are refused, and
// who leaves is woken.
func TestRushOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(Rush)
		h.mu.runs = true // the test is who runs
		now := time.Now()
		var places []*place
		for i := range 5 {
			places = append(places, h.join(now.Add(time.Duration(i+1)*time.Second)))
		}
		over := func() (which []int) {
			for i, p := range places {
				select {
				case <-p.come:
					which = append(which, i)
				default:
				}
			}
			return which
		}
		want := func(more bool, was bool, which ...int) {
			t.Helper()
			got := over()
			same := len(got) == len(which) && more == was
			for i := range min(len(got), len(which)) {
				same = same && got[i] == which[i]
			}
			if !same {
				t.Errorf("over are %v, want %v; more: %v", got, which, was)
			}
		}
		want(true, true)
		want(true, h.round(), 4)
		h.leave(places[2])
		h.leave(places[2])
		if !h.on() {
			t.Error("it is off although one has left that waited")
		}
		want(true, true, 2, 4)
		want(true, h.round(), 2, 3, 4)
		time.Sleep(time.Second)
		want(false, h.round(), 0, 1, 2, 3, 4)
		for i, p := range places {
			if p.late != (i == 0) {
				t.Errorf("place %d is late: %v", i, p.late)
			}
		}
	})
}

// A Rush ends by itself, holds up no more than its own, and does not bound how
// many begin.
func TestRushRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := new(Rush)
		(*Rush)(nil).left(time.Now())
		if h.wary() || h.on() || (*Rush)(nil).wary() {
			t.Error("it is wary although nobody has left")
		}
		h.left(time.Now())
		if !h.wary() || h.on() {
			t.Errorf("wary: %v, on: %v once a caller has left", h.wary(), h.on())
		}
		h.inVain(time.Now())
		if !h.wary() || !h.on() {
			t.Errorf("wary: %v, on: %v once a caller has left before its call began", h.wary(), h.on())
		}
		var work sync.WaitGroup
		for range 100 {
			work.Go(func() {
				<-h.join(time.Now().Add(time.Hour)).come
				time.Sleep(time.Second) // a handler that waits
			})
		}
		start := time.Now()
		work.Wait()
		if took := time.Since(start); took != time.Second {
			t.Errorf("100 handlers of a second took %v", took)
		}
		if h.wary() || h.on() {
			t.Error("it is wary a second later")
		}
		h.Close()
	})
}
