package health_test

import (
	"context"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/grpc/health"
	"github.com/limosa-rpc/limosa/grpc/health/internal/healthpb"
	"github.com/limosa-rpc/limosa/rpc"
)

// shop is a service of which only the name counts.
var shop = rpc.Service{Name: "shop.Shop"}

// client calls the health service of h, which was mounted beside services.
func client(h *health.Health, services ...rpc.Service) *healthpb.HealthClient {
	all := h.With(services...)
	return healthpb.NewClient(limosa.Local(all[len(all)-1]))
}

// check gives the state of a service as text, or the code of the error.
func check(t *testing.T, c *healthpb.HealthClient, service string) string {
	res, err := c.Check(t.Context(), &healthpb.HealthCheckRequest{Service: service})
	if err != nil {
		return rpc.CodeOf(err).String()
	}
	return res.Status.String()
}

// What was set is told, of services that were given or named; others are not found.
func TestStates(t *testing.T) {
	var h health.Health
	h.Set("shop.Early", health.NotServing)
	c := client(&h, shop, rpc.Service{Name: "shop.Early"})
	is := func(service, want string) {
		t.Helper()
		if got := check(t, c, service); got != want {
			t.Errorf("%q is %s, want %s", service, got, want)
		}
	}
	is("", "SERVING")
	is("shop.Shop", "SERVING")
	is("shop.Early", "NOT_SERVING") // With does not undo Set
	is("grpc.health.v1.Health", "SERVING")
	is("nobody", "NotFound")
	is(strings.Repeat("x", 1<<20), "NotFound")
	h.Set("shop.Shop", health.NotServing)
	h.Set("later", health.Unknown)
	is("shop.Shop", "NOT_SERVING")
	is("later", "UNKNOWN")
	is("", "SERVING")
	h.Set("later", health.State(77))
	is("later", "UNKNOWN")
	h.SetAll(health.NotServing)
	is("", "NOT_SERVING")
	is("later", "NOT_SERVING")

	all, err := c.List(t.Context(), &healthpb.HealthListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if names := slices.Sorted(maps.Keys(all.Statuses)); !slices.Equal(names, []string{"", "grpc.health.v1.Health", "later", "shop.Early", "shop.Shop"}) {
		t.Errorf("the list has %q", names)
	}
	for i := range 1000 {
		h.Set(fmt.Sprint("many", i), health.Serving)
	}
	if _, err := c.List(t.Context(), &healthpb.HealthListRequest{}); rpc.CodeOf(err) != rpc.ResourceExhausted {
		t.Errorf("a list of too many: %v", err)
	}
}

// The zero Health says that the server is well, and knows nothing else.
func TestZeroHealth(t *testing.T) {
	var h health.Health
	c := healthpb.NewClient(limosa.Local(h.Service()))
	if all, one := check(t, c, ""), check(t, c, "shop.Shop"); all != "SERVING" || one != "NotFound" {
		t.Errorf("the server is %s, a service %s", all, one)
	}
}

// Watch tells the state at once and whenever it has changed, also of a service that is
// not known yet, and nothing of the changes of others.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health.Health
		c := client(&h, shop)
		ctx, leave := context.WithCancel(t.Context())
		next, stop := iter.Pull2(c.Watch(ctx, &healthpb.HealthCheckRequest{Service: "later"}))
		defer stop()
		want := func(state string) {
			t.Helper()
			if res, err, ok := next(); !ok || err != nil || res.Status.String() != state {
				t.Fatalf("%v, %v, want %s", res, err, state)
			}
		}
		want("SERVICE_UNKNOWN")
		h.Set("later", health.Serving)
		want("SERVING")
		h.Set("shop.Shop", health.NotServing)
		h.Set("later", health.Serving)
		synctest.Wait()
		h.Set("later", health.NotServing)
		want("NOT_SERVING")
		leave()
		if res, err, ok := next(); !ok || rpc.CodeOf(err) != rpc.Canceled {
			t.Errorf("after the end: %v, %v", res, err)
		}
	})
}

// While the server drains it is not serving: who watches is told, and holds nothing up.
func TestDrain(t *testing.T) {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	ctx, drain := context.WithCancel(t.Context())
	served := make(chan error, 1)
	s := &limosa.Server{Services: health.With(shop), Drain: time.Minute}
	go func() { served <- s.Serve(ctx, l) }()
	c, err := healthpb.Dial(addr)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	next, stop := iter.Pull2(c.Watch(t.Context(), &healthpb.HealthCheckRequest{}))
	defer stop()
	if res, err, _ := next(); err != nil || res.Status != healthpb.HealthCheckResponseServingStatusSERVING {
		t.Fatal(res, err)
	}
	drain()
	if res, err, _ := next(); err != nil || res.Status != healthpb.HealthCheckResponseServingStatusNOT_SERVING {
		t.Errorf("%v, %v", res, err)
	}
	if res, err, _ := next(); rpc.CodeOf(err) != rpc.Unavailable {
		t.Errorf("%v, %v", res, err)
	}
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// There are only so many who watch.
func TestWatchersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var h health.Health
		c := client(&h)
		ctx, leave := context.WithCancel(t.Context())
		empty := h.FillButOne()
		go func() {
			for range c.Watch(ctx, &healthpb.HealthCheckRequest{}) { //nolint:revive // it waits
			}
		}()
		synctest.Wait()
		for res, err := range c.Watch(ctx, &healthpb.HealthCheckRequest{}) {
			if rpc.CodeOf(err) != rpc.ResourceExhausted {
				t.Errorf("one too many: %v, %v", res, err)
			}
		}
		leave()
		synctest.Wait()
		for _, err := range c.Watch(t.Context(), &healthpb.HealthCheckRequest{}) {
			if err != nil {
				t.Errorf("once they have left: %v", err)
			}
			break
		}
		empty()
	})
}

// The health of a server in one line.
func Example() {
	services := health.With(shop)
	for _, s := range services {
		fmt.Println(s.Name)
	}
	// Output:
	// shop.Shop
	// grpc.health.v1.Health
}
