// Package simnet is a network in memory for simulations: hosts that listen and
// dial by name, over [pipe.New], with faults that a test or a seed decides on.
// It blocks on channels and timers only, so that it lives in testing/synctest
// bubbles, in virtual time, and it draws no random numbers of its own.
package simnet

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// A Shape says how the connection number n of a network behaves, which from
// dials to. Numbers count from 0 in the order of dials.
type Shape func(n int, from, to string) pipe.Config

// A Net connects hosts. All methods may be called concurrently.
//
// Faults are of links, which are numbered, or of a pair of hosts. What a fault does to
// each of its connections is the pipe's: hold, stall, reset. Nothing is ever reordered
// or lost within a connection, for a transport does not do that either; packets that
// are lost for good are a connection that falls silent (Vanish).
type Net struct {
	shape Shape // set by New, then constant; nil: perfect connections

	mu struct {
		sync.Mutex
		listeners map[string]*listener
		links     []*Link
		cut       map[path]bool // partitions
		healed    chan struct{} // closed when the next one ends; nil while nobody waits
	}
}

// A path is what a partition cuts.
type path struct{ from, to string }

// New makes a network without hosts.
func New(shape Shape) *Net {
	n := &Net{shape: shape}
	n.mu.listeners, n.mu.cut = map[string]*listener{}, map[path]bool{}
	return n
}

// Dial connects the host from to whoever listens at to. It takes the delay of
// the connection that it makes. Across a partition it waits until that is
// healed or ctx ends; where nobody listens it fails with ECONNREFUSED.
func (n *Net) Dial(ctx context.Context, from, to string) (netio.Conn, error) {
	cfg, link := n.reserve(from, to)
	if err := sleep(ctx, cfg.Delay); err != nil {
		return nil, dialError(to, err)
	}
	// A partition may begin and end, and listeners come and go, as often as they like
	// before the connection is made; so all is looked at anew each time.
	for {
		l, healed := n.reach(link, cfg)
		if healed != nil {
			select {
			case <-healed:
				continue
			case <-ctx.Done():
				return nil, dialError(to, context.Cause(ctx))
			}
		}
		if l == nil {
			return nil, dialError(to, syscall.ECONNREFUSED)
		}
		if !l.offer(link.server.NetConn()) {
			link.client.Abort()
			continue // closed meanwhile
		}
		return link.client, nil
	}
}

// reserve gives the next connection its number and its shape.
func (n *Net) reserve(from, to string) (pipe.Config, *Link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	link := &Link{net: n, Number: len(n.mu.links), From: from, To: to}
	n.mu.links = append(n.mu.links, link)
	if n.shape == nil {
		return pipe.Config{}, link
	}
	return n.shape(link.Number, from, to), link
}

// reach gives the listener at the end of link, nil if there is none, and makes
// the connection; or what is closed when a partition has ended. It does both at
// once, so that a partition cuts what is made before it.
func (n *Net) reach(link *Link, cfg pipe.Config) (l *listener, healed <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.cut[path{link.From, link.To}] {
		if n.mu.healed == nil {
			n.mu.healed = make(chan struct{})
		}
		return nil, n.mu.healed
	}
	if l = n.mu.listeners[link.To]; l != nil {
		link.client, link.server = pipe.New(cfg)
	}
	return l, nil
}

// Links gives the connections that from has made to to and that are not known
// to be gone, the oldest first. Empty names stand for every host.
func (n *Net) Links(from, to string) []*Link {
	return slices.DeleteFunc(n.made(from, to), func(l *Link) bool { return !l.open() })
}

// made is Links with those that are gone: what they have held may still be on
// its way.
func (n *Net) made(from, to string) []*Link {
	n.mu.Lock()
	defer n.mu.Unlock()
	var found []*Link
	for _, l := range n.mu.links {
		if l.client != nil && (from == "" || from == l.From) && (to == "" || to == l.To) {
			found = append(found, l)
		}
	}
	return found
}

// Partition cuts from off from to: what either sends on connections that from
// has made does not arrive, and dials wait.
func (n *Net) Partition(from, to string) {
	n.mu.Lock()
	n.mu.cut[path{from, to}] = true
	n.mu.Unlock()
	for _, l := range n.made(from, to) {
		l.Hold(Up)
		l.Hold(Down)
	}
}

// Heal ends a partition: everything arrives at once.
func (n *Net) Heal(from, to string) {
	n.mu.Lock()
	delete(n.mu.cut, path{from, to})
	if n.mu.healed != nil {
		close(n.mu.healed)
		n.mu.healed = nil
	}
	n.mu.Unlock()
	n.Release(from, to)
}

// Release ends every hold and stall of the connections that from has made to
// to, but not a partition.
func (n *Net) Release(from, to string) {
	n.mu.Lock()
	cut := n.mu.cut[path{from, to}]
	n.mu.Unlock()
	for _, l := range n.made(from, to) {
		for _, d := range []Direction{Up, Down} {
			l.Stall(d, false)
			if !cut {
				l.Release(d)
			}
		}
	}
}

// HealAll ends every partition, hold and stall.
func (n *Net) HealAll() {
	n.mu.Lock()
	cut := n.mu.cut
	n.mu.cut = map[path]bool{}
	n.mu.Unlock()
	paths := make([]path, 0, len(cut))
	for p := range cut {
		paths = append(paths, p)
	}
	slices.SortFunc(paths, func(a, b path) int { // a simulation that is run again does all in one order
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	for _, p := range paths {
		n.Heal(p.from, p.to)
	}
	n.Release("", "")
}

// sleep waits, or fails with ctx's cause.
func sleep(ctx context.Context, d time.Duration) error {
	if ctx.Err() != nil || d <= 0 {
		return context.Cause(ctx)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// dialError wraps err as a dial over the operating system would: callers look at the Op.
func dialError(to string, err error) error {
	return &netio.Error{Op: "dial", Net: "sim", Addr: to, Err: err}
}

// An Addr is the name of a host.
type Addr string

// Network implements [net.Addr].
func (Addr) Network() string { return "sim" }

// String implements [net.Addr].
func (a Addr) String() string { return string(a) }
