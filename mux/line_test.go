package mux_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A call that was let in and is over at once, as one without an answer or one whose
// codec ends its goroutine, lets the next one in.
func TestLineGoesOnBehindCallsThatDoNotLast(t *testing.T) {
	for name, call := range map[string]func(t *testing.T, r *halfRig){
		"oneway": func(t *testing.T, r *halfRig) { r.call(t.Context(), "oneway", "o") },
		"goexit": func(t *testing.T, r *halfRig) {
			gone(func() {
				x := stub.NewCall[string, string](leaving("exit", rpc.Unary, 0), "Test")
				x.Args = "leave"
				r.client.Do(t.Context(), &x.Call)
			})
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
			first := r.beginCall(t.Context(), "echo", "a")
			r.hears()
			r.say(settings(1, 0))
			r.hears()
			go call(t, r)
			synctest.Wait()
			last := r.beginCall(t.Context(), "echo", "last")
			if got := r.hears(); got != "" {
				t.Errorf("%s: beyond the limit: %s", name, got)
			}
			r.say(answer(1, "A"))
			if got := r.hears(); !strings.Contains(got, "last") || now(first) != "A" {
				t.Errorf("%s: behind it: %s", name, got)
			}
			r.say(answer(3, "L"), answer(5, "L"))
			if got := now(last); got != "L" {
				t.Errorf("%s: the last call: %q", name, got)
			}
		})
	}
}
