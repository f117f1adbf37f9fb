package netio

import (
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// loops are the event loops of a Net. They are made when the first connection
// asks for them.
type loops struct {
	run sync.WaitGroup
	mu  struct {
		sync.Mutex
		all    []*loop
		next   int // whose turn it is to get a connection
		closed bool
	}
}

// pick gives one of n loops, in turn; nil: the Net is closed, or the system has
// no more descriptors.
func (ls *loops) pick(n int) *loop {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	if ls.mu.closed {
		return nil
	}
	for len(ls.mu.all) < n {
		l, err := newLoop()
		if err != nil {
			break
		}
		ls.mu.all = append(ls.mu.all, l)
		ls.run.Go(l.serve)
	}
	if n = min(n, len(ls.mu.all)); n == 0 {
		return nil
	}
	ls.mu.next = (ls.mu.next + 1) % n
	return ls.mu.all[ls.mu.next]
}

// close aborts the connections and joins the loops.
func (ls *loops) close() (err error) {
	ls.mu.Lock()
	ls.mu.closed = true
	all := ls.mu.all
	ls.mu.all = nil
	ls.mu.Unlock()
	for _, l := range all {
		err = errors.Join(err, l.close())
	}
	ls.run.Wait()
	return err
}

// A loop serves many connections on one goroutine. Its epoll, edge-triggered,
// is nested in Go's poller: while nothing is ready it costs no thread.
type loop struct {
	// Set by newLoop, then constant.
	poll *sys.Poll
	file *os.File // owns the descriptor of poll
	raw  syscall.RawConn

	mu struct {
		sync.Mutex
		slots  []loopSlot
		free   []uint32
		local  *net.TCPAddr // of the last connection: accepted ones mostly have one
		closed bool
	}

	// Owned by the goroutine.
	events [128]sys.Event
	n      int // of them were fetched
	ready  []loopEvent
	again  []*looped // those whose turn was over before there was nothing left
	spare  []*looped // again's other half
}

// A loopSlot is a connection's place in the table. An event names slot and
// generation, so that one of the former owner is told apart.
type loopSlot struct {
	c   *looped
	gen uint32
}

type loopEvent struct {
	c     *looped
	flags uint32
}

// idleFlags are what is waited for on an idle connection. EPOLLOUT comes to it
// only while a flush waits: a unix socket would report it for each message that
// its peer takes.
const idleFlags = sys.Readable | sys.PeerGone | sys.Edge

func newLoop() (*loop, error) {
	p, err := sys.NewPoll()
	if err != nil {
		return nil, err
	}
	f := os.NewFile(p.Fd(), "netio loop")
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &loop{poll: p, file: f, raw: raw}, nil
}

// add puts c on the loop; events may come before it returns.
func (l *loop) add(c *looped) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return os.ErrClosed
	}
	if n := len(l.mu.free); n > 0 {
		c.ticket.Slot = l.mu.free[n-1]
		l.mu.free = l.mu.free[:n-1]
	} else {
		c.ticket.Slot = uint32(len(l.mu.slots))
		l.mu.slots = append(l.mu.slots, loopSlot{})
	}
	s := &l.mu.slots[c.ticket.Slot]
	s.c, c.ticket.Gen = c, s.gen
	if a, ok := c.local.(*net.TCPAddr); ok {
		if b := l.mu.local; b != nil && a.Port == b.Port && a.Zone == b.Zone && a.IP.Equal(b.IP) {
			c.local = b
		}
		l.mu.local = c.local.(*net.TCPAddr)
	}
	err := l.poll.Add(c.handle.fd, idleFlags, c.ticket)
	if err != nil {
		l.removeLocked(c.ticket)
	}
	return err
}

// remove forgets a connection; its socket, which is closed next, leaves the
// epoll by itself.
func (l *loop) remove(t ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.removeLocked(t)
}

func (l *loop) removeLocked(t ticket) {
	s := &l.mu.slots[t.Slot]
	s.c = nil
	s.gen++
	l.mu.free = append(l.mu.free, t.Slot)
}

// serve runs until the file is closed. It stays in RawConn.Read for good: to
// enter that anew would reset the poller's edge and cost a look for what came
// before.
func (l *loop) serve() { l.raw.Read(l.work) } //nolint:errcheck // closed: there is nothing else to end it

// work is RawConn.Read's callback: it handles events until there are none;
// false has Go's poller park the goroutine.
func (l *loop) work(uintptr) (leave bool) {
	for {
		l.fetch(0)
		l.find()
		for _, e := range l.ready {
			e.c.event(e.flags)
		}
		clear(l.ready)
		l.goOn()
		// What comes from here on wakes us. After several events look again
		// before that: more have come by now, most likely.
		if l.n <= 1 && len(l.again) == 0 {
			return false
		}
	}
}

// fetch looks for events.
func (l *loop) fetch(uintptr) (some bool) {
	l.n, _ = l.poll.Poll(l.events[:]) // it cannot fail but for a closed descriptor
	return l.n > 0
}

// find turns the events into connections that still are what they were.
func (l *loop) find() {
	l.ready = l.ready[:0]
	if l.n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.n {
		t := l.events[i].Tag()
		if s := &l.mu.slots[t.Slot]; s.gen == t.Gen && s.c != nil {
			l.ready = append(l.ready, loopEvent{s.c, l.events[i].Flags()})
		}
	}
}

// goOn gives another turn to those who want one.
func (l *loop) goOn() {
	l.again, l.spare = l.spare[:0], l.again
	for _, c := range l.spare {
		c.resume(l)
	}
	clear(l.spare)
}

// close aborts the loop's connections and ends the loop, without joining it.
func (l *loop) close() error {
	l.mu.Lock()
	l.mu.closed = true
	var all []*looped
	for _, s := range l.mu.slots {
		if s.c != nil {
			all = append(all, s.c)
		}
	}
	l.mu.Unlock()
	for _, c := range all {
		c.Abort()
	}
	return l.file.Close()
}
