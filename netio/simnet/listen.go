package simnet

import (
	"net"
	"sync"
	"syscall"

	"github.com/limosa-rpc/limosa/netio"
)

// Listen makes a host that listens at addr, for [netio.NewListener]: the
// connections that it accepts are the pipes themselves. The address is taken
// until it is closed.
func (n *Net) Listen(addr string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.mu.listeners[addr] != nil {
		return nil, &netio.Error{Op: "listen", Net: "sim", Addr: addr, Err: syscall.EADDRINUSE}
	}
	l := &listener{net: n, addr: Addr(addr), arrived: make(chan struct{}, 1), done: make(chan struct{})}
	n.mu.listeners[addr] = l
	return l, nil
}

// A listener is one host's queue of connections that nobody has accepted yet.
type listener struct {
	// Set by Listen, then constant.
	net     *Net
	addr    Addr
	arrived chan struct{} // holds a signal that backlog has grown
	done    chan struct{} // closed by Close

	mu struct {
		sync.Mutex
		backlog []net.Conn
		closed  bool
	}
}

// offer queues a connection; false: the listener is closed.
func (l *listener) offer(nc net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed {
		return false
	}
	l.mu.backlog = append(l.mu.backlog, nc)
	l.signalLocked()
	return true
}

// signalLocked has the next Accept look. One signal stands for any number of connections,
// so that whoever takes it and leaves some signals again.
func (l *listener) signalLocked() {
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// take gives the first connection of the queue, nil if there is none.
func (l *listener) take() (nc net.Conn, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.mu.closed || len(l.mu.backlog) == 0 {
		return nil, l.mu.closed
	}
	nc = l.mu.backlog[0]
	if l.mu.backlog = l.mu.backlog[1:]; len(l.mu.backlog) > 0 {
		l.signalLocked()
	}
	return nc, false
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	for {
		nc, closed := l.take()
		switch {
		case closed:
			return nil, net.ErrClosed
		case nc != nil:
			return nc, nil
		}
		select {
		case <-l.arrived:
		case <-l.done:
		}
	}
}

// Close implements [net.Listener]: connections that nobody has accepted are
// reset, and the address is free again.
func (l *listener) Close() error {
	l.mu.Lock()
	if l.mu.closed {
		l.mu.Unlock()
		return net.ErrClosed
	}
	l.mu.closed = true
	left := l.mu.backlog
	l.mu.backlog = nil
	close(l.done)
	l.mu.Unlock()
	l.net.mu.Lock()
	delete(l.net.mu.listeners, string(l.addr))
	l.net.mu.Unlock()
	for _, nc := range left {
		netio.Wrap(nc, nil).Abort()
	}
	return nil
}

// Addr implements [net.Listener].
func (l *listener) Addr() net.Addr { return l.addr }
