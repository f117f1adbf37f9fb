//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import (
	"errors"
	"os"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// A sending is a Send that goes through Go's poller. It is lent for the call:
// a connection that sleeps needs none.
type sending struct {
	c     *sockConn
	batch *Batch
	wait  time.Duration
	try   func(fd uintptr) bool // s.writable, bound once

	n     int
	err   error
	armed bool // a write deadline is set, to until
	until time.Time
}

var sendings = sync.Pool{New: func() any {
	s := new(sending)
	s.try = s.writable
	return s
}}

// vectors lends vectors for one call that sends many pieces.
var vectors = sync.Pool{New: func() any { return new([sys.MaxPieces][]byte) }}

// send is sockConn.Send.
func (s *sending) send() (int, error) {
	c := s.c
	for {
		s.n, s.err = 0, nil
		err := c.raw.Write(s.try)
		timedOut := s.armed && !time.Now().Before(s.until)
		if s.armed {
			s.armed = false
			c.nc.SetWriteDeadline(time.Time{}) //nolint:errcheck // closed: the next Send says so
		}
		switch {
		case err == nil:
			return s.n, s.err
		case !errors.Is(err, os.ErrDeadlineExceeded):
			return 0, c.sendError(err)
		case timedOut:
			return 0, os.ErrDeadlineExceeded
		}
		// Wake left a deadline in the past, now or for this Send to find.
		c.nc.SetWriteDeadline(time.Time{}) //nolint:errcheck
		if c.woken.Swap(false) && s.wait > 0 {
			return 0, nil
		}
	}
}

// writable is RawConn.Write's callback: it sends once, or parks.
func (s *sending) writable(fd uintptr) (leave bool) {
	s.n, s.err = s.c.sendTo(fd, s.batch)
	if s.n > 0 || s.err != nil || s.wait == 0 {
		return true
	}
	if !s.armed && s.wait < 1<<62 {
		s.armed, s.until = true, time.Now().Add(s.wait)
		s.c.nc.SetWriteDeadline(s.until) //nolint:errcheck
	}
	// Look after setting the deadline, which may have covered up Wake's.
	return s.c.woken.Swap(false)
}
