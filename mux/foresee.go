package mux

import (
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What the answer of a request may weigh is to be known before it begins: what its
// handler makes is held from then on, and counted only once it has returned. So what is
// expected is set aside, of the connection (fitsLocked) and of the server (promise);
// where there is no room the request waits. All of it comes from answerBytes.
//
// A Method is shared by all callers, and so is what it knows: one who is answered with
// much would have all others wait. Therefore a connection that was answered with little
// only is believed, for a few requests at a time. If that was wrong their answers
// are counted once they are there, or dropped (hold).

const (
	// smallMost is for how many requests at a time a connection is believed that had as
	// many small answers in a row, and no large one for largestFor.
	smallMost  = 32
	largestFor = 5 * time.Second
)

// An outlook is what the answers of one connection weighed lately, of those methods that
// have large ones for somebody: the last few. Guarded by the output lock.
type outlook [4]seen

// seen is what was seen of one method.
type seen struct {
	method *rpc.Method
	small  int       // answers in a row
	large  time.Time // when the batch arrived before the last large one; zero: there was none
}

// noteLocked takes in the size of an answer of m.
func (c *ServerConn) noteLocked(m *rpc.Method, n int) {
	if rpc.HintsOf(m).ResponseBytes() <= smallHolder {
		return
	}
	if c.outlook == nil {
		c.outlook = new(outlook)
	}
	at := c.outlook.find(m)
	if at == nil {
		copy(c.outlook[1:], c.outlook[:]) // the oldest goes
		at = &c.outlook[0]
		*at = seen{method: m}
	}
	if n > smallHolder {
		at.small, at.large = 0, c.arrived
	} else {
		at.small++
	}
}

// find gives what was seen of m; nil: nothing was.
func (o *outlook) find(m *rpc.Method) *seen {
	for i := range o {
		if o[i].method == m {
			return &o[i]
		}
	}
	return nil
}

// believedLocked reports whether the answers of m were small on this connection, more of them than are awaited.
func (c *ServerConn) believedLocked(m *rpc.Method) bool {
	if c.outlook == nil {
		return false
	}
	at := c.outlook.find(m)
	return at != nil && c.runningLocked() < min(at.small, smallMost) && c.arrived.Sub(at.large) >= largestFor
}

// answerBytes is what the answer of r may weigh, as far as is known, 0 for little: what
// the largest of the method weighed lately, whoever was answered with it, unless
// the connection is believed to have small ones.
func (c *ServerConn) answerBytes(r *request) int {
	m := r.h.Method
	if m == nil || m.Kind != rpc.Unary {
		return 0
	}
	n := rpc.HintsOf(m).ResponseBytes()
	if n > smallHolder && c.believedLocked(m) {
		return 0
	}
	return n
}

// promiseLocked sets aside of the server what the answer of r may weigh, if that is
// much, or notes that it is to be waited for.
func (c *ServerConn) promiseLocked(r *request) {
	n := c.answerBytes(r)
	if n <= smallHolder || c.account.total == nil || c.cfg.Handlers == Inline {
		return
	}
	if r.promised = n; !c.account.total.promise(n) {
		r.promised, r.wants = 0, n
	}
}

// awaitRoom waits until there is room on the server for what the answer of r may weigh. An
// error: nobody waits for r any more.
func (c *ServerConn) awaitRoom(r *request) error {
	if r.wants == 0 {
		return nil
	}
	err := c.account.total.awaitPromise(r.wants, func() error { return c.unwanted(r) })
	if err == nil {
		err = c.unwanted(r)
		c.out.Lock()
		r.promised = r.wants
		c.unlock()
	}
	return err
}

// redeemLocked gives back what was set aside of the server for the answer of r, which
// is counted now, or which there is none of.
func (c *ServerConn) redeemLocked(r *request) {
	if n := r.promised; n > 0 {
		r.promised = 0
		c.account.total.redeem(n)
	}
}

// packed reports whether it is not known yet what r is.
func (r *request) packed() bool { return r.ev.Flags&wire.Packed != 0 }
