//go:build linux

package netio

import (
	"os"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// A watcher notices peers that close, or connections that break, while nobody
// receives: nobody can stand by in RawConn.Read, because a second one waits for
// the first. All connections of a Net share one epoll, which waits for nothing
// but the end (EPOLLRDHUP, edge-triggered) and is itself nested in Go's poller:
// one goroutine, no thread.
type watcher struct {
	mu struct {
		sync.Mutex
		poll   *sys.Poll // nil before the first connection
		file   *os.File  // owns the descriptor of poll
		conns  table[sockConn]
		closed bool
	}
	down atomic.Bool // closed: nobody is told any more
	run  sync.WaitGroup
}

// add watches c. False: the Net is closed, or the system has no more
// descriptors; the loss is then noticed when c is used.
func (w *watcher) add(raw syscall.RawConn, c *sockConn) (ticket, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.mu.closed || !w.startLocked() {
		return ticket{}, false
	}
	t := w.mu.conns.put(c)
	var err error
	// An end that came before is reported at once.
	if e := raw.Control(func(fd uintptr) { err = w.mu.poll.Add(fd, sys.PeerGone|sys.Edge, t) }); e != nil || err != nil {
		w.mu.conns.drop(t)
		return ticket{}, false
	}
	return t, true
}

// startLocked makes the epoll and its goroutine.
func (w *watcher) startLocked() bool {
	if w.mu.poll != nil {
		return true
	}
	p, err := sys.NewPoll()
	if err != nil {
		return false
	}
	f := os.NewFile(p.Fd(), "netio loss watch")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close() //nolint:errcheck // not made after all
		return false
	}
	w.mu.poll, w.mu.file = p, f
	w.run.Go(func() { w.loop(p, raw) })
	return true
}

// remove forgets a connection; its socket, which is closed next, leaves the
// epoll by itself.
func (w *watcher) remove(t ticket) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.mu.conns.drop(t)
}

// loop runs until the file is closed.
func (w *watcher) loop(p *sys.Poll, raw syscall.RawConn) {
	var events [64]sys.Event
	var gone [len(events)]goner
	for {
		n := 0
		err := raw.Read(func(uintptr) bool {
			n, _ = p.Poll(events[:])
			return n > 0
		})
		if err != nil {
			return
		}
		for _, c := range w.find(events[:n], gone[:0]) {
			c.peerGone(c.broken)
		}
		clear(gone[:])
	}
}

// find turns events into connections that still are what they were.
func (w *watcher) find(events []sys.Event, gone []goner) []goner {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range events {
		if c := w.mu.conns.at(events[i].Tag()); c != nil {
			gone = append(gone, goner{c, events[i].Flags()&(sys.Hangup|sys.Failed) != 0})
		}
	}
	return gone
}

// A goner is a connection whose peer is gone; broken: in both directions.
type goner struct {
	*sockConn
	broken bool
}

// close ends the watch and joins its goroutine; connections are not closed.
func (w *watcher) close() error {
	w.mu.Lock()
	if w.mu.closed {
		w.mu.Unlock()
		w.run.Wait()
		return nil
	}
	w.mu.closed = true
	w.down.Store(true)
	file := w.mu.file
	w.mu.Unlock()
	if file == nil {
		return nil
	}
	err := file.Close()
	w.run.Wait()
	return err
}
