package mux

import (
	"cmp"
	"context"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

// A Router finds the handler of a method; interceptors are part of Serve
// already. service is empty where the protocol does not say it. ok == false is
// answered with Unimplemented and why. A handler that was found stays the one
// of its names for as long as the connection lives.
type Router func(service, method string) (h rpc.Handler, why string, ok bool)

// ServerConfig is what every connection of a server shares.
type ServerConfig struct {
	Config
	Route Router
	Base  context.Context // the values that handlers see
	Gate  *Gate           // nil: no limit over all connections
	Watch *StallWatch     // nil: every batch has a spare worker
	Rush  *Rush           // nil: requests are begun in the order in which they are read, whoever leaves

	// Zlib has a place for each message that is inflated or compressed at a time: a
	// peer that sends little has this side work much, and an answer has its memory
	// twice while it is compressed. nil: no bound. Inline handlers, which nothing
	// may hold up, do without.
	Zlib chan struct{}

	Handlers Handlers

	// Chain puts the interceptors around what refuses a call of which there is no
	// handler, or for which there is no room in Gate: they see it too. nil: there are
	// none. Calls that are refused for want of memory, while their connection or
	// server ends, or since they make no sense at all, pass none.
	Chain func(final rpc.Next) rpc.Next
	// Unknown stands for all methods that are not here: what interceptors do to calls of
	// them is logged as sparsely as failures of one method. nil: of each call.
	Unknown *rpc.Method

	// Timeout is the deadline of calls of one message that come without one; 0: none.
	// Streams have their callers'.
	Timeout time.Duration
}

// deadlined gives the time that a call of one message has whose caller gives it d,
// with 0 for no end.
func (c *ServerConfig) deadlined(d time.Duration) time.Duration {
	d = cmp.Or(d, c.Timeout)
	if most := c.Limits.CallTime; most > 0 && (d == 0 || d > most) {
		d = most
	}
	return d
}

// Handlers says on which goroutines handlers run.
type Handlers uint8

const (
	// Spare, the default: on the goroutine that has read the request, with a
	// spare one behind it that takes over should the handler block.
	Spare Handlers = iota
	// Inline: on the goroutine that has read the request, and nothing behind
	// it. A handler that blocks stops its connection; one that calls back over
	// the same connection hangs.
	Inline
	// Goroutines: on a goroutine for each request.
	Goroutines
)

// A Gate bounds the calls in flight over all connections of a server.
type Gate struct {
	// Set by NewGate, then constant.
	limit   int64
	refused *stats.Counter // may be nil

	n atomic.Int64
}

// NewGate makes a gate for limit calls; 0 is no limit. It shows in set, which may be
// nil, how many it has refused.
func NewGate(limit int, set *stats.Set) *Gate {
	return &Gate{limit: int64(limit), refused: set.Counter("rpc_server_refused_calls", "Calls that were refused since as many were in flight as Limits.CallsPerServer allows.")}
}

// Enter counts a call in, unless the limit is met.
func (g *Gate) Enter() bool {
	if n := g.n.Add(1); g.limit > 0 && n > g.limit {
		g.n.Add(-1)
		g.refused.Inc()
		return false
	}
	return true
}

// Leave counts a call out.
func (g *Gate) Leave() { g.n.Add(-1) }
