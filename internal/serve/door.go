package serve

import (
	"errors"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
)

// A door knows the connections of a server, and whether it takes another. Each that is
// served has a place; where all are taken and somebody waits, those go that have been
// idle for longest.
// No address has more than its share of them.
type door struct {
	// Set by newDoor, then constant.
	lim    *rpc.Limits
	total  *mux.Total    // what all connections hold
	share  int           // of it, for an address, bytes; 0: no bound
	places chan struct{} // a token for each connection that is served

	open             *stats.Gauge
	refused, evicted *stats.Counter

	mu struct {
		sync.Mutex
		all   map[netio.Conn]*guest // by what was accepted, also of those that speak TLS
		peers map[netip.Addr]*peer  // by address; connections without one are not counted
	}
}

// A peer is an address that connections come from.
type peer struct {
	conns int
	share *mux.Total // of what the server may hold
}

// A guest is a connection that was accepted.
type guest struct {
	nc    netio.Conn      // what was accepted
	from  netip.Addr      // zero: none, such as over a unix socket
	c     *mux.ServerConn // nil: its protocol is not known yet
	known chan struct{}   // closed when it is, or never will be; nil while nobody waits for that
	busy  time.Time       // when it was last seen with calls
	goes  bool            // it is being drained, for it was idle
}

// settledLocked notes that c is set, or never will be.
func (g *guest) settledLocked() {
	if g.known != nil {
		close(g.known)
		g.known = nil
	}
}

// newDoor makes a door for connections that hold at most held bytes, 0 being no
// limit, and counts them in set.
func newDoor(lim *rpc.Limits, held int, set *stats.Set) *door {
	d := &door{lim: lim, total: mux.NewTotal(held, set, "rpc_server_"), share: lim.HeldPerAddress, places: make(chan struct{}, lim.Conns)}
	if d.share == 0 && held > 0 {
		d.share = max(held/4, lim.HeldPerConn)
	}
	d.open = set.Gauge("rpc_server_conns", "Connections that are open.")
	d.refused = set.Counter("rpc_server_conns_refused", "Connections that were refused since their address has its share.")
	d.evicted = set.Counter("rpc_server_conns_evicted", "Connections that were closed for they were idle, for long or when others needed the place.")
	d.mu.all, d.mu.peers = map[netio.Conn]*guest{}, map[netip.Addr]*peer{}
	return d
}

var errShare = errors.New("too many connections from this address")

// enter takes nc in, which is to get a place next.
func (d *door) enter(nc netio.Conn) error {
	g := guest{nc: nc}
	// 1.2.3.4 and ::ffff:1.2.3.4 are one peer, and so are all zones of a link-local address.
	if at, err := netip.ParseAddrPort(nc.Remote().String()); err == nil {
		g.from = at.Addr().Unmap().WithZone("")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	// A listener's connection without an address, such as a unix socket's, has no share:
	// who may open that socket is the file system's to say.
	switch {
	case !g.from.IsValid():
	case d.mu.peers[g.from] == nil:
		d.mu.peers[g.from] = &peer{conns: 1, share: d.total.Share(d.share)}
	case d.mu.peers[g.from].conns >= d.lim.ConnsPerAddress && d.lim.ConnsPerAddress < d.lim.Conns:
		d.refused.Inc()
		return errShare
	default:
		d.mu.peers[g.from].conns++
	}
	d.mu.all[nc] = &g
	d.open.Inc()
	return nil
}

// promote notes that the protocol of nc is known, and who serves it.
func (d *door) promote(nc netio.Conn, c *mux.ServerConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g := d.mu.all[nc]
	g.c = c
	if p := d.mu.peers[g.from]; p != nil {
		c.CountUnder(p.share)
	}
	g.settledLocked()
}

// leave takes nc out, and gives its place back.
func (d *door) leave(nc netio.Conn) {
	d.forget(nc)
	<-d.places
}

// forget takes nc out, which has no place.
func (d *door) forget(nc netio.Conn) {
	d.mu.Lock()
	g := d.mu.all[nc]
	delete(d.mu.all, nc)
	g.settledLocked()
	if p := d.mu.peers[g.from]; p != nil {
		if p.conns--; p.conns == 0 {
			delete(d.mu.peers, g.from)
		}
	}
	d.mu.Unlock()
	d.open.Dec()
}

// guests gives all that are there. Those whose protocol is not known yet are
// waited for by seen.
func (d *door) guests() (all []*guest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.mu.all {
		all = append(all, g)
	}
	return all
}

// seen waits until the protocol of g is known, at most for grace, and gives who
// serves it. nil: it has gone, or is made to go, without a call; while TLS code of
// the user's does not return it cannot.
func (d *door) seen(g *guest, grace time.Duration) *mux.ServerConn {
	d.mu.Lock()
	if g.c != nil || d.mu.all[g.nc] != g {
		defer d.mu.Unlock()
		return g.c
	}
	known := make(chan struct{})
	g.known = known
	d.mu.Unlock()
	timer := time.AfterFunc(grace, func() { netio.CloseWithin(g.nc, 0) }) //nolint:errcheck // nobody is left to tell
	stuck := time.NewTimer(2 * grace)
	select {
	case <-known:
	case <-stuck.C:
	}
	stuck.Stop()
	timer.Stop()
	d.mu.Lock()
	defer d.mu.Unlock()
	return g.c
}

// all gives those whose protocol is known.
func (d *door) all() (conns []*mux.ServerConn) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, g := range d.mu.all {
		if g.c != nil {
			conns = append(conns, g.c)
		}
	}
	return conns
}

// idle chooses at most n connections to go, the oldest first, of those that
// have had no calls since a moment before.
func (d *door) idle(before time.Time, n int) (chosen []*guest) {
	type idler struct {
		g     *guest
		since time.Time
	}
	now := time.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	var found []idler
	for _, g := range d.mu.all {
		if g.c == nil || g.goes {
			continue
		}
		since := g.c.Idle()
		if since.IsZero() {
			g.busy = now
			continue
		}
		if g.busy.After(since) {
			since = g.busy // its last call has ended after that
		}
		if since.Before(before) {
			found = append(found, idler{g, since})
		}
	}
	if len(found) > n {
		slices.SortFunc(found, func(a, b idler) int { return a.since.Compare(b.since) })
		found = found[:n]
	}
	for _, f := range found {
		f.g.goes = true
		chosen = append(chosen, f.g)
	}
	return chosen
}

// stays notes that g has calls again: it does not go.
func (d *door) stays(g *guest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	g.goes = false
}
