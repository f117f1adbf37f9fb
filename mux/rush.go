package mux

import (
	"cmp"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/netio"
)

// rushTime is for how long after a caller has left it is believed that others do.
const rushTime = 250 * time.Millisecond

// A Rush orders the requests of a server whose callers leave by resetting their
// connections: where calls have no ids, or the peer is not known yet, a call can be
// taken back in no other way. Handlers that compute run one after the other, and
// while they do requests lie unread in the kernel, first come first, the resets
// behind them: were they begun as they are read, all would be begun in vain once
// the callers wait for less time than that queue takes.
//
// A reset alone says little: callers leave idle servers too. From one on, until a
// moment after the last, the socket is asked before a request is begun (wary). The
// first that is found there to be for nobody has waited for longer than its caller:
// from then on, until a moment after the last such, requests that are alone on
// their connection are not begun as they are read (on); others have the order of
// their connection's queue. They wait here, while whoever can be read is read, and
// leave if their connection is lost. One goroutine has the newest begin, whose
// caller still waits when it is answered, and yields before the next: that one
// begins once a processor has nothing else to run. So there is no limit to handlers
// that wait for something.
//
// Calm, it costs a request the load of an atomic; wary, a system call; on, two
// hand-overs and more, which handlers of some microseconds would notice. The zero value is ready; Close
// joins its goroutine, which runs only while requests wait. Its lock is taken
// after that of an output.
type Rush struct {
	// Atomic: until when, Unix time in ns; 0: not at all.
	waryUntil, onUntil atomic.Int64

	work sync.WaitGroup
	mu   struct {
		sync.Mutex
		newest, oldest *place
		runs           bool
	}
}

// A place is where a request waits.
type place struct {
	come chan struct{} // closed when it is over

	// Set by join, then constant.
	by time.Time // when it has waited for too long

	// Guarded by the Rush; late is constant once come is closed.
	newer, older *place
	listed       bool
	late         bool
}

// left is told that a caller has left.
func (h *Rush) left(now time.Time) {
	if h != nil {
		h.waryUntil.Store(now.Add(rushTime).UnixNano())
	}
}

// inVain is told that a caller has left whose request was not begun yet.
func (h *Rush) inVain(now time.Time) {
	h.left(now)
	h.onUntil.Store(now.Add(rushTime).UnixNano())
}

// wary reports whether requests are to be looked at before they are begun. Only
// then it may be on.
func (h *Rush) wary() bool { return h != nil && lasts(&h.waryUntil) }

// on reports whether requests have to wait.
func (h *Rush) on() bool { return lasts(&h.onUntil) }

// lasts reports whether the time until is to come, and forgets one that is over.
func lasts(until *atomic.Int64) bool {
	at := until.Load()
	if at == 0 {
		return false
	}
	if time.Now().UnixNano() < at {
		return true
	}
	until.CompareAndSwap(at, 0)
	return false
}

// join makes a place for the newest, which waits until by at most.
func (h *Rush) join(by time.Time) *place {
	p := &place{come: make(chan struct{}), by: by, listed: true}
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.older = h.mu.newest; p.older != nil {
		p.older.newer = p
	} else {
		h.mu.oldest = p
	}
	h.mu.newest = p
	if !h.mu.runs {
		h.mu.runs = true
		h.work.Go(h.run)
	}
	return p
}

// leave ends the wait of p, whose caller has left.
func (h *Rush) leave(p *place) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if p.listed {
		h.inVain(time.Now())
		h.endLocked(p)
	}
}

// endLocked ends the wait of p, and takes it out of the list.
func (h *Rush) endLocked(p *place) {
	p.listed = false
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		h.mu.newest = p.older
	}
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		h.mu.oldest = p.newer
	}
	close(p.come)
}

// run has them begin, while there are any.
func (h *Rush) run() {
	for more := true; more; more = h.round() {
		runtime.Gosched()
	}
}

// round ends the wait of the newest, and of those that have waited for too long.
// False: nobody waits any more.
func (h *Rush) round() (more bool) {
	now := time.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := h.mu.oldest; p != nil && !now.Before(p.by); p = h.mu.oldest {
		p.late = true
		h.endLocked(p)
	}
	if p := h.mu.newest; p != nil {
		h.endLocked(p)
	}
	h.mu.runs = h.mu.newest != nil
	return h.mu.runs
}

// Close joins what runs. The connections have ended before, and their requests
// wait no more.
func (h *Rush) Close() { h.work.Wait() }

// leftLocked reports whether the end of the connection, with err, is how a caller
// leaves. The peer of one that ends in order may still wait, or never have called.
func (c *ServerConn) leftLocked(err error) bool {
	err = cmp.Or(c.out.Err(), err)
	switch {
	case c.cutErr != nil || errors.Is(err, net.ErrClosed):
		return false
	case errors.Is(err, io.EOF):
		return c.broken && c.requests.n > 0
	}
	return true
}

// queueUpLocked has r, which begins, looked at before; and wait in the server's
// Rush if that is on and r is alone, unless nobody would read meanwhile.
func (c *ServerConn) queueUpLocked(r *request) {
	h := c.cfg.Rush
	if r.oneway || !h.wary() { // nobody waits for a oneway call anyway
		return
	}
	r.wary = true
	if h.on() && c.runningLocked() == 1 && c.cfg.Handlers != Inline {
		r.place = h.join(r.arrived.Add(cmp.Or(r.ev.Timeout, c.lim.QueueTime)))
	}
}

// await waits for the turn of r, if it has to. An error: it is not to be started.
func (c *ServerConn) await(r *request) error {
	if !r.wary {
		return nil
	}
	if r.place != nil {
		<-r.place.come
		if r.place.late {
			return r.expired()
		}
	}
	if netio.Broken(c.nc) { // and who reads has not found out yet
		c.cfg.Rush.inVain(time.Now())
		return givenUp.refusal()
	}
	return nil
}
