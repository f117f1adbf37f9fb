package netio

import (
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
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
		l, err := newLoop(&ls.run)
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
	run  *sync.WaitGroup // who joins its goroutine
	poll *sys.Poll
	file *os.File // owns the descriptor of poll
	raw  syscall.RawConn

	bell uintptr     // an eventfd in poll; it is rung when something was put into mu.later
	idle atomic.Bool // the goroutine looks at mu.later no more before an event

	mu struct {
		sync.Mutex
		conns  table[loopConn]
		later  []*loopConn  // their turns are over, but they want another one
		local  *net.TCPAddr // of the last connection: accepted ones mostly have one
		closed bool
	}

	// Owned by the goroutine.
	events [128]sys.Event
	n      int // of them were fetched
	ready  []loopEvent
	at     int         // of ready, how many were handled
	again  []*loopConn // those whose turn was over before there was nothing left
	turns  []*loopConn // those that have another: again's other half
	turn   int         // of turns, how many have had it
}

// A loopEvent is what epoll says of one connection.
type loopEvent struct {
	c     *loopConn
	flags uint32
}

// idleFlags are what is waited for on an idle connection. EPOLLOUT comes to it
// only while a flush waits: a unix socket would report it for each message that
// its peer takes.
const idleFlags = sys.Readable | sys.PeerGone | sys.Edge

// newLoop starts a loop, whose goroutine run waits for.
func newLoop(run *sync.WaitGroup) (*loop, error) {
	p, err := sys.NewPoll()
	if err != nil {
		return nil, err
	}
	f := os.NewFile(p.Fd(), "netio loop")
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	bell, err := sys.Eventfd()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if err := p.Add(bell, sys.Readable|sys.Edge, bellTag); err != nil {
		return nil, errors.Join(err, f.Close(), sys.Close(bell))
	}
	return &loop{run: run, poll: p, file: f, raw: raw, bell: bell}, nil
}

// bellTag is of no connection.
var bellTag = ticket{Slot: 1<<32 - 1}

// postpone has the loop resume c after others had their turn. False: the loop
// has ended.
func (l *loop) postpone(c *loopConn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return false
	}
	l.mu.later = append(l.mu.later, c)
	// Look after the append: a goroutine that is about to sleep looks at the
	// list after it has said so.
	if l.idle.Load() {
		sys.Ring(l.bell) //nolint:errcheck // it cannot fail but for a closed descriptor
	}
	return true
}

// takeLater moves those who were postponed to again.
func (l *loop) takeLater() (some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.again = append(l.again, l.mu.later...)
	clear(l.mu.later)
	l.mu.later = l.mu.later[:0]
	return len(l.again) > 0
}

// add puts c on the loop; events may come before it returns.
func (l *loop) add(c *loopConn) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return os.ErrClosed
	}
	c.ticket = l.mu.conns.put(c)
	if a, ok := c.local.(*net.TCPAddr); ok {
		if b := l.mu.local; b != nil && a.Port == b.Port && a.Zone == b.Zone && a.IP.Equal(b.IP) {
			c.local = b
		}
		l.mu.local = c.local.(*net.TCPAddr)
	}
	err := l.poll.Add(c.handle.fd, idleFlags, c.ticket)
	if err != nil {
		l.mu.conns.drop(c.ticket)
	}
	return err
}

// remove forgets a connection; its socket, which is closed next, leaves the
// epoll by itself.
func (l *loop) remove(t ticket) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.conns.drop(t)
}

// serve runs until the file is closed. It stays in RawConn.Read for good: to
// enter that anew would reset the poller's edge and cost a look for what came
// before. It does so all the same if what runs on the loop ends its goroutine
// (runtime.Goexit): another one goes on with what is left.
func (l *loop) serve() {
	ended := true
	defer func() {
		if ended {
			l.run.Go(l.serve)
		}
	}()
	l.raw.Read(l.work) //nolint:errcheck // closed: there is nothing else to end it
	for some := true; some; some = l.takeLater() {
		l.goOn() // they learn of the end
	}
	sys.Close(l.bell) //nolint:errcheck // nobody rings it: mu.closed is set
	ended = false
}

// work is RawConn.Read's callback: it handles events until there are none;
// false has Go's poller park the goroutine.
func (l *loop) work(uintptr) (leave bool) {
	l.idle.Store(false)
	for {
		if l.at == len(l.ready) {
			l.fetch(0)
			l.find()
		}
		for l.at < len(l.ready) {
			e := l.ready[l.at]
			l.ready[l.at] = loopEvent{}
			l.at++ // first: e may end this goroutine
			e.c.event(e.flags)
		}
		l.takeLater()
		l.goOn()
		// What comes from here on wakes us. After several events look again
		// before that: more have come by now, most likely.
		if l.n > 1 || len(l.again) > 0 {
			continue
		}
		if l.idle.Store(true); !l.takeLater() {
			return false
		}
		l.idle.Store(false)
	}
}

// fetch looks for events.
func (l *loop) fetch(uintptr) (some bool) {
	l.n, _ = l.poll.Poll(l.events[:]) // it cannot fail but for a closed descriptor
	return l.n > 0
}

// find turns the events into connections that still are what they were.
func (l *loop) find() {
	l.ready, l.at = l.ready[:0], 0
	if l.n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.n {
		if c := l.mu.conns.at(l.events[i].Tag()); c != nil {
			l.ready = append(l.ready, loopEvent{c, l.events[i].Flags()})
		}
	}
}

// goOn gives another turn to those who want one.
func (l *loop) goOn() {
	if l.turn == len(l.turns) {
		l.again, l.turns, l.turn = l.turns[:0], l.again, 0
	}
	for l.turn < len(l.turns) {
		c := l.turns[l.turn]
		l.turns[l.turn] = nil
		l.turn++ // first: c may end this goroutine
		c.resume(l)
	}
}

// close aborts the loop's connections and ends the loop, without joining it.
func (l *loop) close() error {
	l.mu.Lock()
	l.mu.closed = true
	var all []*loopConn
	for _, p := range l.mu.conns.places {
		if p.c != nil {
			all = append(all, p.c)
		}
	}
	l.mu.Unlock()
	for _, c := range all {
		c.Abort()
	}
	return l.file.Close()
}

// offLoop reports whether the caller's goroutine is not that of an event loop:
// only then may it wait for what a loop announces. It costs some microseconds.
func offLoop() bool {
	var pcs [32]uintptr
	for skip := 0; ; skip += len(pcs) {
		n := runtime.Callers(skip, pcs[:])
		if n == 0 {
			return true
		}
		frames := runtime.CallersFrames(pcs[:n])
		for more := true; more; {
			var f runtime.Frame
			if f, more = frames.Next(); strings.HasSuffix(f.Function, "netio.(*loop).serve") {
				return false
			}
		}
	}
}
