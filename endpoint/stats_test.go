package endpoint_test

import (
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

// A client counts what it does, as a server does.
func TestClientStats(t *testing.T) {
	set := stats.NewSet()
	target, stop := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target, Stats: set}
	if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
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
	rig.Eventually(t, "the connection goes", func() bool { return value("rpc_client_conns") == 0 })
	if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err == nil {
		t.Error("a call without a server has worked")
	}
	c.Close()
	if failed, held := value("rpc_client_dials_failed"), value("rpc_client_held_bytes"); failed != 1 || held != 0 {
		t.Errorf("%d dials have failed, %d bytes are held", failed, held)
	}
}
