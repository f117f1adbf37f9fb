package limosa_test

import (
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
)

// TestClientThatHoldsAllThatItMay: a stream whose messages nobody takes fills
// what the client may hold; new calls fail before anything is sent, the stream
// goes on, and once its messages are taken so do calls.
func TestClientThatHoldsAllThatItMay(t *testing.T) {
	both := streams(nil)
	both.Methods = append(both.Methods, service(nil).Methods...)
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{both}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, Limits: rpc.Limits{HeldPerClient: 8 << 10}}
	defer c.Close()
	if _, err := call(t.Context(), c, echoMethod, "hello"); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range tally(t.Context(), c, 1000) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n > 1 {
			continue
		}
		waitFor(t, "bytes", func() (int, bool) {
			_, err := call(t.Context(), c, echoMethod, "one more")
			if err != nil && (rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.NotSent) {
				t.Errorf("%v, %v", err, rpc.SentOf(err))
			}
			return 0, err != nil
		})
	}
	if n != 1000 {
		t.Errorf("%d messages", n)
	}
	if got, err := call(t.Context(), c, echoMethod, "again"); err != nil || got != "again" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}
