package mux_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// probed are the abilities of a protocol that has pings for both sides, as HTTP/2 has.
func probed() wire.Caps {
	caps := twoCaps
	caps.Probes = true
	return caps
}

// A client asks a server that takes many pings for an attack once like any other, and
// then at most every five minutes, however long its calls wait.
func TestClientProbesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: probed()}, rpc.Limits{})
		r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(settings(0, 0))
		var at []time.Duration
		for begun := time.Now(); time.Since(begun) < 31*time.Minute; time.Sleep(time.Second) {
			if got := r.hears(); strings.Contains(got, "P") {
				at = append(at, time.Since(begun))
				r.say(twoFrame('p', 0, ""))
			}
		}
		if len(at) < 6 {
			t.Errorf("pings at %v: a server that is gone would not be noticed", at)
		}
		for i, d := range at {
			if i > 0 && d-at[i-1] <= 5*time.Minute {
				t.Errorf("pings at %v", at)
			}
		}
		if _, usable := r.client.Status(); !usable {
			t.Error("the connection was given up")
		}
	})
}

// A server that does not answer the ping is given up, and who waits is told.
func TestClientNoticesDeadServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: probed()}, rpc.Limits{})
		begun := time.Now()
		waits := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(settings(0, 0))
		if got := <-waits; got != "Unavailable maybe" || time.Since(begun) > 2*time.Minute {
			t.Errorf("%s after %v", got, time.Since(begun))
		}
	})
}

// A server asks a client that is silent while its calls run. One that answers goes on,
// also where it says nothing else for hours.
func TestServerProbes(t *testing.T) {
	for _, answers := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			left := make(chan error, 1)
			route := plainRoute(handlers{"wait": func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				left <- ctx.Err()
				return "", ctx.Err()
			}})
			r := newTwoServer(t, &two{caps: probed()}, route, mux.Spare)
			begun := time.Now()
			r.say(twoFrame('Q', 1, "wait\x00"))
			pings := 0
			for time.Since(begun) < 2*time.Hour {
				time.Sleep(time.Second)
				got := r.hears()
				if strings.Contains(got, "lost") {
					break
				}
				if pings += strings.Count(got, "P"); strings.Contains(got, "P") && answers {
					r.say(twoFrame('p', 0, ""))
				}
			}
			switch lasted := time.Since(begun); {
			case answers && (lasted < 2*time.Hour || pings < 10 || pings > 24):
				t.Errorf("a client that answers had %d pings, and its connection for %v", pings, lasted)
			case !answers && (lasted > 12*time.Minute || pings != 1):
				t.Errorf("a client that is gone had %d pings, and its connection for %v", pings, lasted)
			}
			if answers {
				hangUp(r.peer)
			}
			<-left
		})
	}
}

// A connection without calls is not asked, nor one whose protocol has no pings for it.
func TestServerDoesNotProbe(t *testing.T) {
	for _, p := range []*two{{caps: probed()}, {caps: twoCaps}} {
		synctest.Test(t, func(t *testing.T) {
			open := make(chan struct{})
			r := newTwoServer(t, p, plainRoute(handlers{"wait": func(context.Context, string) (string, error) { <-open; return "", nil }}), mux.Spare)
			r.say(twoFrame('Q', 1, "wait\x00"))
			if p.caps.Probes {
				close(open)
			}
			time.Sleep(time.Hour)
			if got := r.hears(); strings.Contains(got, "P") || strings.Contains(got, "lost") {
				t.Errorf("%v: %s", p.caps.Probes, got)
			}
			if !p.caps.Probes {
				close(open)
			}
		})
	}
}

// While a handler holds the reader nothing can be heard of a client, and nothing is made
// of that.
func TestServerProbesWhatItReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoServer(t, &two{caps: probed()}, plainRoute(handlers{"sleep": func(context.Context, string) (string, error) { time.Sleep(time.Hour); return "rested", nil }}), mux.Inline)
		r.say(twoFrame('Q', 1, "sleep\x00"))
		time.Sleep(61 * time.Minute)
		if got := r.hears(); !strings.Contains(got, "rested") || strings.Contains(got, "lost") {
			t.Errorf("%s", got)
		}
	})
}
