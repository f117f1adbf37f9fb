package mux

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// abandon leaves a call whose ctx has ended; leads says that it holds the read
// role. Where calls carry ids the peer is told and the slot stays taken until
// its late answer; elsewhere the answer could be mistaken for the next call's,
// so the connection goes.
func (c *Conn) abandon(ctx context.Context, r registered, leads bool) error {
	c.out.Lock()
	if r.slot.word.Load() == word(r.id, gone) { // else the late answer came first, and the slot serves another call
		r.slot.call = nil
	}
	c.abandoned++
	c.inflight--
	if !c.caps.Mux {
		c.leaving = true
		if leads {
			c.role = closed
		}
		c.unlock(false)
		c.nc.Abort()
		if leads {
			c.fail(context.Cause(ctx), nil)
		}
		return c.interrupted(ctx, rpc.Maybe)
	}
	c.leaving = c.leaving || c.abandoned > c.lim.Abandoned
	if c.err == nil {
		out := c.out.Out()
		before := out.Len()
		// A peer that cannot be told frames nothing here.
		if encode(out, c.s, &wire.Event{Flags: wire.Reset, ID: r.id}, nil) == nil {
			c.appended += uint64(out.Len() - before)
		}
	}
	var start, ends bool
	if leads {
		start, ends = c.settleLocked(true, true, keep)
	}
	if !leads && c.inflight == 0 && c.role == reader {
		c.nc.Kick() // the reader has nobody to read for
	}
	others := c.inflight > 0
	c.unlock(others)
	if start {
		c.work.Go(c.readOn)
	}
	if ends {
		c.end()
	}
	return c.interrupted(ctx, rpc.Maybe)
}

// hangUp is told by netio that the peer went, or that the connection was
// closed on this side. If somebody reads, that one finds out by itself.
func (c *Conn) hangUp() {
	c.out.Lock()
	c.hungUp = true
	if c.role == nobody && c.streams.open > 0 {
		// What it said last is still to be read.
		c.role = reader
		c.work.Go(c.readOn)
	}
	c.unlock(false)
	c.failIdle()
}

// failIdle ends a connection that nobody reads.
func (c *Conn) failIdle() {
	c.out.Lock()
	idle := c.role == nobody
	if idle {
		c.role = closed
	}
	c.unlock(false)
	if idle {
		c.fail(io.EOF, nil)
	}
}

// end closes a connection that is idle and takes no calls.
func (c *Conn) end() {
	c.nc.Close()
	c.failIdle()
}

// fail ends the connection and every call on it but own, whose caller it is.
// It runs once, by whom the role closed was reached.
func (c *Conn) fail(cause error, own *slot) {
	c.rest.stop()
	c.nc.Abort()
	c.nc.Receive(false, nil) // gives back the memory of what was lent
	handed := c.out.Handed()
	c.out.Lock()
	c.err = cmp.Or(cause, io.EOF)
	c.knownLocked()
	for _, t := range []*time.Timer{c.look, c.supposing} {
		if t != nil {
			t.Stop()
		}
	}
	var woken *waiter
	for _, s := range c.slots.all {
		w := s.word.Load()
		if s.stream != nil {
			if state(w&0xff) == waiting {
				s.stream.endLocked(lost(c.peer, s.sentAt(handed), cause))
				woken = s.stream.stirLocked(woken)
			}
			continue
		}
		if state(w&0xff) != waiting || !s.word.CompareAndSwap(w, w&^0xff|uint64(done)) {
			continue
		}
		s.err = lost(c.peer, s.sentAt(handed), cause)
		if s != own {
			s.done <- struct{}{}
		}
	}
	woken, _ = c.metLocked(woken)
	c.unlock(false)
	wake(woken)
	signal(c.granted)
	c.tell()
	close(c.ended) // after it, so that who has waited for Close is told nothing more
}

// Shutdown takes no new calls, waits for those in flight until ctx ends, and
// closes the connection; calls that are left then fail. It joins what runs.
func (c *Conn) Shutdown(ctx context.Context) error {
	c.out.Lock()
	c.leaving = true
	idle := c.role == nobody && c.streams.open == 0
	c.unlock(false)
	if idle {
		c.end()
	}
	select {
	case <-c.ended:
	case <-ctx.Done():
	}
	return c.Close()
}

// Close ends the connection at once; calls in flight fail. It is idempotent
// and waits.
func (c *Conn) Close() error {
	c.nc.Abort()
	c.out.Lock()
	c.streams.pace.endLocked()
	c.unlock(false)
	c.failIdle()
	<-c.ended
	c.work.Wait()
	return nil
}
