// Package health tells clients of gRPC whether a server, and each of its services, is fit
// for calls: grpc.health.v1.Health, which load balancers, Kubernetes and grpcurl ask.
//
//	limosa.Serve(ctx, ":8888", health.With(hello.Service(impl))...)
//
// All services given are SERVING then, and so is the server, whose name is "". A program
// that knows better says so:
//
//	var states health.Health
//	go serve(states.With(shop.Service(impl))...)
//	states.Set("shop.Shop", health.NotServing) // its database is gone
//
// While the server drains it is not serving, whatever was set: Watch says so, and ends.
// The service is one of Protobuf; a server speaks gRPC if its Protocols name web.Protocol,
// and Limosa's own clients may ask in any form that they speak.
package health

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/limosa-rpc/limosa/grpc/health/internal/healthpb"
	"github.com/limosa-rpc/limosa/rpc"
)

//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -M grpc/health/v1/health.proto=github.com/limosa-rpc/limosa/grpc/health/internal/healthpb -prefix github.com/limosa-rpc/limosa/grpc/health -out ../grpc/health -I ../grpc/health/internal/idl ../grpc/health/internal/idl"

// A State is what is told of a service.
type State int32

// The states, as the protocol numbers them.
const (
	Unknown    State = State(healthpb.HealthCheckResponseServingStatusUNKNOWN)
	Serving    State = State(healthpb.HealthCheckResponseServingStatusSERVING)
	NotServing State = State(healthpb.HealthCheckResponseServingStatusNOT_SERVING)
)

// String gives the name that the protocol has for it.
func (s State) String() string { return healthpb.HealthCheckResponseServingStatus(s).String() }

const (
	// watchersMost is how many calls of Watch a Health has at once, over all connections.
	watchersMost = 10_000
	// listMost is how many states List gives, at most.
	listMost = 1000
)

// With gives the services and, behind them, one that says that they are serving: With of a
// new Health, for programs that set nothing.
func With(services ...rpc.Service) []rpc.Service { return new(Health).With(services...) }

// A Health is the states of a server and its services. The zero value is ready: the server,
// whose name is "", is serving. All methods may be called concurrently.
type Health struct {
	mu struct {
		sync.Mutex
		states   map[string]State
		changed  chan struct{} // closed with the next change; nil: nobody waits for one
		watchers int
	}
}

// With gives the services and, behind them, the one that tells their states. Those of which
// nothing was set are serving from now on.
func (h *Health) With(services ...rpc.Service) []rpc.Service {
	all := append(slices.Clip(services), h.Service())
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range all {
		if _, known := h.mu.states[s.Name]; !known {
			h.setLocked(s.Name, Serving)
		}
	}
	return all
}

// Service gives the service that tells the states.
func (h *Health) Service() rpc.Service { return healthpb.Service(answers{h}) }

// Set says what is told of a service from now on; of the server as a whole, if service is "".
// What is not a state of this package counts as Unknown.
func (h *Health) Set(service string, s State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setLocked(service, s)
}

// SetAll is Set for the server and every service of which something was said.
func (h *Health) SetAll(s State) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.setLocked("", s)
	for name := range h.mu.states {
		h.setLocked(name, s)
	}
}

// setLocked is Set, for a caller that holds mu. Watchers are woken by a change only: a program that
// says the same again and again costs them nothing.
func (h *Health) setLocked(service string, s State) {
	if s < Unknown || s > NotServing {
		s = Unknown
	}
	if h.mu.states == nil {
		h.mu.states = map[string]State{"": Serving}
	}
	if was, known := h.mu.states[service]; known && was == s {
		return
	}
	h.mu.states[service] = s
	if h.mu.changed != nil {
		close(h.mu.changed)
		h.mu.changed = nil
	}
}

// stateLocked is what is told of a service now.
func (h *Health) stateLocked(service string) (s State, known bool) {
	if h.mu.states == nil && service == "" {
		return Serving, true
	}
	s, known = h.mu.states[service]
	return s, known
}

// state is stateLocked for a handler, whose server may drain.
func (h *Health) state(ctx context.Context, service string) (s State, known bool) {
	h.mu.Lock()
	s, known = h.stateLocked(service)
	h.mu.Unlock()
	if draining(ctx) {
		s = NotServing
	}
	return s, known
}

// draining reports whether the server of the handler that has ctx drains.
func draining(ctx context.Context) bool {
	select {
	case <-rpc.Draining(ctx):
		return true
	default:
		return false
	}
}

// answers are the methods of the protocol, kept off Health's own.
type answers struct{ h *Health }

// Check implements grpc.health.v1.Health.
func (a answers) Check(ctx context.Context, req *healthpb.HealthCheckRequest) (*healthpb.HealthCheckResponse, error) {
	s, known := a.h.state(ctx, req.Service)
	if !known {
		return nil, rpc.Errorf(rpc.NotFound, "unknown service")
	}
	return answer(s), nil
}

// List implements grpc.health.v1.Health.
func (a answers) List(ctx context.Context, _ *healthpb.HealthListRequest) (*healthpb.HealthListResponse, error) {
	drains := draining(ctx)
	h := a.h
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mu.states) > listMost {
		return nil, rpc.Errorf(rpc.ResourceExhausted, "%d services have a state, a list has at most %d", len(h.mu.states), listMost)
	}
	all := map[string]*healthpb.HealthCheckResponse{}
	all[""] = answer(Serving)
	for name, s := range h.mu.states {
		all[name] = answer(s)
	}
	if drains {
		for name := range all {
			all[name] = answer(NotServing)
		}
	}
	return &healthpb.HealthListResponse{Statuses: all}, nil
}

// Watch implements grpc.health.v1.Health. It remembers nothing of the name, which is the
// caller's choice: with each change, of whatever service, all watchers look at theirs.
func (a answers) Watch(ctx context.Context, req *healthpb.HealthCheckRequest) iter.Seq2[*healthpb.HealthCheckResponse, error] {
	return func(yield func(*healthpb.HealthCheckResponse, error) bool) {
		if !a.h.enter() {
			yield(nil, rpc.Errorf(rpc.ResourceExhausted, "%d callers watch already", watchersMost))
			return
		}
		defer a.h.leave()
		for last := State(-1); ; {
			s, changed := a.h.watched(req.Service)
			drains := draining(ctx)
			if drains {
				s = NotServing
			}
			if s != last && !yield(answer(s), nil) {
				return
			}
			if last = s; drains { // which waits for the end of all calls
				yield(nil, rpc.Errorf(rpc.Unavailable, "the server is shutting down"))
				return
			}
			select {
			case <-changed:
			case <-rpc.Draining(ctx):
			case <-ctx.Done():
				yield(nil, ctx.Err())
				return
			}
		}
	}
}

// enter counts a watcher in, if there is room for it.
func (h *Health) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.mu.watchers >= watchersMost {
		return false
	}
	h.mu.watchers++
	return true
}

// leave counts a watcher out.
func (h *Health) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.mu.watchers--
}

// watched is what Watch tells of a service now, and what is closed with the next change.
func (h *Health) watched(service string) (s State, changed <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, known := h.stateLocked(service)
	if !known {
		s = State(healthpb.HealthCheckResponseServingStatusSERVICE_UNKNOWN)
	}
	if h.mu.changed == nil {
		h.mu.changed = make(chan struct{})
	}
	return s, h.mu.changed
}

// answer is a state as the protocol has it.
func answer(s State) *healthpb.HealthCheckResponse {
	return &healthpb.HealthCheckResponse{Status: healthpb.HealthCheckResponseServingStatus(s)}
}
