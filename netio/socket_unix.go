//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import (
	"errors"
	"net"
	"os"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// A Socket is the descriptor of a Conn with a parked reader, for code that moves
// bytes past Receive and Output, as package netio/relay does: a system call runs in
// a callback of Read or Write, which gets the descriptor, as that of
// [syscall.RawConn] does. There is none on systems without parked readers.
//
// Methods from Begin to End belong to the read role, Begin and End around the
// others. Those from Write on belong to the only writer, with nothing queued.
type Socket struct{ c *sockConn }

// SocketOf gives the Socket of c, if c is a TCP or unix connection with a parked
// reader.
func SocketOf(c Conn) (s Socket, ok bool) {
	s.c, ok = c.(*sockConn)
	return s, ok
}

// Begin begins what stands for a Receive. The error says that the connection is
// closed. End is due in any case.
func (s Socket) Begin() error {
	s.c.enter(false, nil)
	if s.c.outcome == Lost {
		return s.c.err
	}
	return nil
}

// In holds what was received and not taken, and is where a copy may go.
func (s Socket) In() *buf.In { return &s.c.in }

// Pending is the end that a Receive before has found behind what In holds, nil if
// none.
func (s Socket) Pending() error { return s.c.pending }

// Read calls f, in the place of a Receive: f receives and returns false to park
// until there is more, true to leave. Read returns nil as well after a kick; what
// that was for is to be looked at. An error is what the connection has ended with.
func (s Socket) Read(f func(fd uintptr) (leave bool)) error {
	err := s.c.raw.Read(f)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		// Clear first, then the caller looks: whoever kicks has written why before.
		s.c.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: the next Read says so
		return nil
	case errors.Is(err, net.ErrClosed):
		return s.c.closedErr()
	}
	return s.Broken(err)
}

// Recv receives once, within f of Read. left is what the kernel holds after it,
// counting a FIN as one byte; -1: unknown. n 0 without an error is the peer's end.
func (s Socket) Recv(fd uintptr, p []byte) (n, left int, err error) { return s.c.recv(fd, p, true) }

// Guarded reports whether f of Read may park once nothing is left, instead of
// receiving once more: somebody is there to tell of a reset.
func (s Socket) Guarded() bool { return s.c.guarded() }

// Closed is why the connection is closed, nil while it is not. f of Read has to
// look, or a peer that never pauses would keep Close waiting.
func (s Socket) Closed() error {
	if s.c.gate.closed() {
		return s.c.closedErr()
	}
	return nil
}

// Broken has the connection fail because receiving has, and gives what it has
// failed with.
func (s Socket) Broken(err error) error {
	s.c.out.Fail(wrapError("receive", s.c.Remote(), err))
	return s.c.out.Err()
}

// End ends what Begin began. err is what the peer's side has ended with, nil while
// it goes on.
func (s Socket) End(err error) {
	if err != nil {
		s.c.stop(Lost, err)
	} else if s.c.outcome != Lost {
		s.c.stop(Enough, nil)
	}
	s.c.leave()
}

// Write calls f, which sends; false parks until there is room, true leaves. It
// fails with os.ErrDeadlineExceeded after the deadline, or Wake.
func (s Socket) Write(f func(fd uintptr) (leave bool)) error { return s.c.raw.Write(f) }

// SetWriteDeadline bounds a Write, also one that waits.
func (s Socket) SetWriteDeadline(t time.Time) {
	s.c.nc.SetWriteDeadline(t) //nolint:errcheck // closed: the next Write says so
}

// Patience is for how long the peer may take nothing, Config.WriteStall; ok false:
// for ever.
func (s Socket) Patience() (d time.Duration, ok bool) {
	return s.c.out.stall, s.c.out.stall < 1<<62
}

// Stalled aborts the connection, whose peer took nothing for so long, and gives what
// it has failed with.
func (s Socket) Stalled() error {
	s.c.Stalled(ErrStalled)
	return s.c.out.Err()
}

// Unsent has the connection fail because sending has, and gives what it has failed
// with.
func (s Socket) Unsent(err error) error {
	s.c.out.Fail(s.c.sendError(err))
	return s.c.out.Err()
}
