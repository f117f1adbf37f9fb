package mux

import (
	"testing"
	"testing/synctest"
	"time"
)

// An alarm that was stopped is never set again, started before or not: it would keep its
// connection for as long as it runs.
func TestStoppedAlarm(t *testing.T) {
	for _, started := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var a alarm
			rang := 0
			if started {
				a.start(time.Second, func() { rang++ })
			}
			a.stop()
			if !a.again(time.Second) {
				a.start(time.Second, func() { rang++ })
			}
			time.Sleep(time.Minute)
			if synctest.Wait(); rang != 0 || a.armed {
				t.Errorf("started before: %v: it rang %d times; armed: %v", started, rang, a.armed)
			}
		})
	}
}
