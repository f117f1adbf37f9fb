package mux

import (
	"errors"
	"time"

	"github.com/limosa-rpc/limosa/wire"
)

// errGone is why a server gives up a connection whose client is no more to be heard.
var errGone = errors.New("the client was silent, and did not answer a ping")

// probeSlack is by how much two pings are further apart than their receiver may count:
// the network may bring the second one nearer to the first.
const probeSlack = time.Second

// A probe notices on a server that a client is gone of which nobody tells: its calls
// would run, and its streams wait, for ever. Where the protocol has pings for it
// (Caps.Probes), and calls live during Limits.Keepalive without anything having come, the
// client is asked for a sign of life; without one for Limits.Silence the connection ends.
//
// Only silence that is the client's counts: while this side does not read, for want of
// room or because a handler holds the reader, nothing can come. Guarded by the output lock.
type probe struct {
	alarm
	may     bool      // constant
	batches uint32    // that have come
	seen    uint32    // at the last look
	asked   time.Time // when a ping was sent that nothing has followed; zero: none
	why     error     // what this side gives the connection up for
}

// probeLocked sees to it that somebody looks while calls live.
func (c *ServerConn) probeLocked() {
	p := &c.probe
	if !p.may || p.armed {
		return
	}
	p.seen, p.asked = p.batches, time.Time{}
	c.probeInLocked(c.lim.Keepalive + probeSlack)
}

// probeInLocked has somebody look in d.
func (c *ServerConn) probeInLocked(d time.Duration) {
	if !c.probe.again(d) {
		c.probe.start(d, c.look)
	}
}

// look looks whether the client has been heard.
func (c *ServerConn) look() {
	c.out.Lock()
	abort := c.lookLocked()
	c.unlock()
	if abort {
		c.nc.Abort()
	}
}

// lookLocked is look. abort: the connection is to be given up.
func (c *ServerConn) lookLocked() (abort bool) {
	p := &c.probe
	p.armed = false
	if c.requests.n == 0 || c.input != inputOpen || c.parted {
		return false
	}
	heard := p.seen != p.batches || !c.reading
	p.seen = p.batches
	switch {
	case heard:
		p.asked = time.Time{}
	case !p.asked.IsZero():
		p.why = errGone
		return true
	case encode(c.out.Out(), c.sess, &wire.Event{Flags: wire.Ping}, nil) == nil:
		p.asked = time.Now()
		c.probeInLocked(c.lim.Silence)
		return false
	}
	c.probeInLocked(c.lim.Keepalive + probeSlack)
	return false
}
