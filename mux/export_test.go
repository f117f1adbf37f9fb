package mux

import (
	"fmt"

	"github.com/limosa-rpc/limosa/wire"
)

// OpenStreams counts the streams that both ends of a connection hold.
func OpenStreams(c *Conn, s *ServerConn) (client, server int) {
	c.out.Lock()
	client = c.streams.open
	if c.streams.held != 0 && client == 0 {
		client = -1
	}
	c.unlock()
	s.out.Lock()
	server = s.streams.open
	if server == 0 && (s.requests.n != 0 || s.streams.held != 0 || s.streams.grown != 0) {
		server = -1
	}
	s.unlock()
	return client, server
}

// Abandoned counts the slots that wait for late answers.
func Abandoned(c *Conn) int {
	c.out.Lock()
	defer c.unlock()
	return c.life.abandoned
}

// Held is what waits to be received on streams.
func Held(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return s.streams.held
}

// Paced reports whether side does not read for a while.
func Paced(c *Conn, s *ServerConn, side wire.Side) bool {
	if side == wire.Client {
		return c.streams.pace.pressed.Load() != nil
	}
	return s.streams.pace.pressed.Load() != nil
}

// Charged is what the peer of s makes it hold.
func Charged(s *ServerConn) int {
	s.out.Lock()
	defer s.unlock()
	return s.account.sumLocked()
}

// Charges are what of it was charged, and what the frames that are not whole
// and the session's memory are.
func Charges(s *ServerConn) (charged, partial int) {
	s.out.Lock()
	defer s.unlock()
	return s.account.held, int(s.account.partial.Load())
}

// ChargedClient is what the peer of c makes it hold.
func ChargedClient(c *Conn) int {
	c.out.Lock()
	defer c.unlock()
	return c.account.sumLocked()
}

// ChargesClient is what of it was charged.
func ChargesClient(c *Conn) int {
	c.out.Lock()
	defer c.unlock()
	return c.account.held
}

// Inconsistent says what of a client's connection at rest contradicts itself.
func Inconsistent(c *Conn) string {
	c.out.Lock()
	defer c.unlock()
	waits, late, held := 0, 0, 0
	for _, s := range c.slots.all {
		switch st := state(s.word.Load() & 0xff); {
		case st == gone:
			late++
		case st == waiting && s.stream == nil:
			waits++
		case st == waiting:
			for _, w := range []*waiter{&s.stream.recv, &s.stream.send} {
				if w.on {
					waits++
				}
			}
			held += s.stream.held + s.stream.lent + s.stream.meta
		}
		held += s.held
	}
	switch l := &c.life; {
	case l.inflight != waits:
		return fmt.Sprintf("%d are counted in flight, %d wait", l.inflight, waits)
	case l.role == nobody && waits > 0:
		return fmt.Sprintf("%d wait, and nobody reads", waits)
	case l.role == caller && waits == 0:
		return "a caller reads, and none waits"
	case l.abandoned != late:
		return fmt.Sprintf("%d are counted as late, %d slots are", l.abandoned, late)
	case c.account.held != held+c.account.wasted+c.account.kept:
		return fmt.Sprintf("%d bytes are charged, %d are held, and %d lie beside", c.account.held, held, c.account.wasted)
	case l.door > open && l.role == nobody && c.streams.open == 0:
		return "a connection that takes no calls and has none goes on"
	}
	return ""
}

// FlushAround is a flush by the flusher in which between happens before what it has
// left is seen to.
func FlushAround(c *Conn, between func()) {
	full, err := c.out.TryFlush()
	between()
	c.flushed(full, err)
}

// Count counts n bytes into t.
func Count(t *Total, n int) { t.add(n) }

// Misplaced is by how much c has lost count of what it has appended, while nothing is
// queued: calls are told by it whether they were sent.
func Misplaced(c *Conn) int64 {
	c.out.Lock()
	defer c.unlock()
	return int64(c.appended) - int64(c.out.HandedToKernel()) - int64(c.out.Out().Len())
}
