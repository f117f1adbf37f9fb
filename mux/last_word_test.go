package mux_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/rpc"
)

// While a client's last word leaves, so may requests that are queued: their calls are
// not said to be unsent.
func TestRequestsBesideAClientsLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
		first := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.cend.Stall(true)
		second := r.beginCall(t.Context(), "echo", "b")
		synctest.Wait()
		third := r.beginCall(t.Context(), "echo", "c")
		synctest.Wait()
		r.say(twoFrame('?', 0, ""))
		synctest.Wait()
		r.cend.Stall(false)
		heard := r.hears()
		for i, c := range []<-chan string{first, second, third} {
			got := now(c)
			if sent := strings.Contains(heard, fmt.Sprintf("%c", 'a'+i)); strings.HasSuffix(got, "not sent") && sent {
				t.Errorf("call %d: %s, and the peer hears %s", i, got, heard)
			}
		}
	})
}

// A connection that the session ends takes no calls from then on.
func TestNoCallsBehindAClientsLastWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
		first := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(answer(1, "A"), twoFrame('!', 0, ""))
		if got := now(first); got != "A" {
			t.Errorf("the call: %s", got)
		}
		if _, usable := r.client.Status(); usable {
			t.Error("the connection takes calls")
		}
		if got := r.hears(); !strings.Contains(got, "lost") {
			t.Errorf("the peer hears %s", got)
		}
	})
}
