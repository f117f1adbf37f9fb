package serve_test

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

// Servers that count into one set have limits of their own: what one of them
// holds is no reason for another to refuse calls.
func TestServersThatShareASet(t *testing.T) {
	set := stats.NewSet()
	lim := rpc.Limits{HeldPerServer: 1 << 20, MessageBytes: 1 << 20}
	var targets []string
	for range 2 {
		target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Limits: lim, Stats: set}, "127.0.0.1:0")
		targets = append(targets, target)
	}
	full := &limosa.Client{Target: targets[0]}
	defer full.Shutdown(rig.Canceled())
	refused := make(chan struct{}, 100)
	for range 100 {
		go func() {
			if _, err := rig.Call(t.Context(), full, rig.Wait, strings.Repeat("x", 50<<10)); rpc.CodeOf(err) == rpc.ResourceExhausted {
				refused <- struct{}{}
			}
		}()
	}
	<-refused
	c := &limosa.Client{Target: targets[1]}
	defer c.Close()
	for range 10 {
		if _, err := rig.Call(t.Context(), c, rig.Echo, strings.Repeat("x", 50<<10)); err != nil {
			t.Fatal(err)
		}
	}
}
