package limosa_test

import (
	"context"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// Whoever decides by Call.Service decides by the name that was registered.
func TestServiceIsTheRegisteredOne(t *testing.T) {
	names := make(chan [2]string, 2)
	svc, _ := one("say", func(_ context.Context, c *rpc.Call) error { names <- [2]string{c.Service, c.Asked}; return nil })
	svc.Name = "Registered"
	target, _ := start(t, &limosa.Server{Services: []rpc.Service{svc}}, "127.0.0.1:0")
	c := &limosa.Client{Target: target}
	defer c.Close()
	for _, asked := range []string{"Registered", "Public"} {
		x := stub.NewCall[string, string](svc.Methods[0].Method, asked)
		if err := c.Do(t.Context(), &x.Call); err != nil {
			t.Fatal(err)
		}
		if got := <-names; got != [2]string{"Registered", asked} {
			t.Errorf("Service, Asked = %q", got)
		}
	}
}

// A server may hold callers to the services that they name.
func TestExactServices(t *testing.T) {
	ran := make(chan string, 10)
	var services []rpc.Service
	for _, name := range []string{"Users", "Items"} {
		svc, _ := one("delete", func(_ context.Context, c *rpc.Call) error { ran <- c.Service; return nil })
		svc.Name = name
		services = append(services, svc)
	}
	for _, exact := range []bool{false, true} {
		s := &limosa.Server{Services: services, ExactServices: exact}
		target, _ := start(t, s, "127.0.0.1:0")
		c := &limosa.Client{Target: target}
		defer c.Close()
		for how, caller := range map[string]rpc.Caller{"tcp": c, "local": s.Caller()} {
			for asked, want := range map[string]string{"Items": "Items", "Orders": "Users", "": "Users"} {
				if exact && asked == "Orders" {
					want = ""
				}
				x := stub.NewCall[string, string](services[0].Methods[0].Method, asked)
				err := caller.Do(t.Context(), &x.Call)
				if want == "" && (rpc.CodeOf(err) != rpc.Unimplemented || rpc.SentOf(err) != rpc.Refused || !strings.Contains(err.Error(), "Orders")) || want != "" && err != nil {
					t.Errorf("%s, exact %v: a call to %q: %v", how, exact, asked, err)
				}
				if err == nil {
					if got := <-ran; got != want {
						t.Errorf("%s, exact %v: a call to %q was served by %s", how, exact, asked, got)
					}
				}
			}
		}
	}
}
