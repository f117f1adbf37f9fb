package web_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
)

// A client of HTTP/2 that is gone without a word is noticed while calls of it live; one
// that is silent and answers pings is not given up, by any side.
func TestServerProbesClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newServerRig(t, rpc.Limits{})
		e := newEnd(t, r.peer, http2.Client)
		e.send(http2.Send{Flags: whole, ID: 7, Head: head("/test.Words/Say")}, message("wait"))
		e.hears()
		time.Sleep(20 * time.Minute)
		if running := r.server.Running(); len(running) > 0 {
			t.Errorf("%v runs for a client that is gone", running)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, rpc.Limits{CallTime: 2 * time.Hour}, pipe.Config{})
		begun := time.Now()
		go func() {
			time.Sleep(time.Hour)
			if running := r.server.Running(); len(running) != 1 {
				t.Errorf("after an hour %v runs", running)
			}
		}()
		if _, _, err := say(t.Context(), r.client, "wait"); rpc.CodeOf(err) != rpc.DeadlineExceeded || time.Since(begun) != 2*time.Hour {
			t.Errorf("%v after %v", err, time.Since(begun))
		}
	})
}
