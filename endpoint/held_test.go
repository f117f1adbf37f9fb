package endpoint_test

import (
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
)

// TestClientThatHoldsAllThatItMay: a stream whose messages nobody takes fills
// what the client may hold; new calls fail before anything is sent, the stream
// goes on, and once its messages are taken so do calls.
func TestClientThatHoldsAllThatItMay(t *testing.T) {
	both := rig.Streams(nil)
	both.Methods = append(both.Methods, rig.Service(nil).Methods...)
	target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{both}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, Limits: rpc.Limits{HeldPerClient: 8 << 10}}
	defer c.Close()
	if _, err := rig.Call(t.Context(), c, rig.Echo, "hello"); err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range rig.Tally(t.Context(), c, 1000) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; n > 1 {
			continue
		}
		rig.WaitFor(t, "bytes", func() (int, bool) {
			_, err := rig.Call(t.Context(), c, rig.Echo, "one more")
			if err != nil && (rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.NotSent) {
				t.Errorf("%v, %v", err, rpc.SentOf(err))
			}
			return 0, err != nil
		})
	}
	if n != 1000 {
		t.Errorf("%d messages", n)
	}
	if got, err := rig.Call(t.Context(), c, rig.Echo, "again"); err != nil || got != "again" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}
