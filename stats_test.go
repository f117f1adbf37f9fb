package limosa_test

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
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
		target, _ := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}, Limits: lim, Stats: set}, "127.0.0.1:0")
		targets = append(targets, target)
	}
	full := &limosa.Client{Target: targets[0]}
	defer full.Shutdown(canceled())
	refused := make(chan struct{}, 100)
	for range 100 {
		go func() {
			if _, err := call(t.Context(), full, waitMethod, strings.Repeat("x", 50<<10)); rpc.CodeOf(err) == rpc.ResourceExhausted {
				refused <- struct{}{}
			}
		}()
	}
	<-refused
	c := &limosa.Client{Target: targets[1]}
	defer c.Close()
	for range 10 {
		if _, err := call(t.Context(), c, echoMethod, strings.Repeat("x", 50<<10)); err != nil {
			t.Fatal(err)
		}
	}
}

// A client counts what it does, as a server does.
func TestClientStats(t *testing.T) {
	set := stats.NewSet()
	target, stop := start(t, &limosa.Server{Services: []rpc.Service{service(nil)}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, Stats: set}
	if _, err := call(t.Context(), c, echoMethod, ""); err != nil {
		t.Fatal(err)
	}
	value := func(name string) (v int64) {
		v = -1
		set.Each(func(m stats.Metric) {
			if m.Name == name {
				v = m.Value
			}
		})
		return v
	}
	if conns, dials := value("rpc_client_conns"), value("rpc_client_dials"); conns != 1 || dials != 1 {
		t.Errorf("%d connections, %d dials", conns, dials)
	}
	stop()
	eventually(t, "the connection goes", func() bool { return value("rpc_client_conns") == 0 })
	if _, err := call(t.Context(), c, echoMethod, ""); err == nil {
		t.Error("a call without a server has worked")
	}
	c.Close()
	if failed, held := value("rpc_client_dials_failed"), value("rpc_client_held_bytes"); failed != 1 || held != 0 {
		t.Errorf("%d dials have failed, %d bytes are held", failed, held)
	}
}
