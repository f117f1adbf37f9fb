package netio

import (
	"net"
	"os"
	"sync"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// viewPiece is how much a view queues before it flushes.
const viewPiece = 64 << 10

// View makes a net.Conn of any Conn, for code that knows no other. It holds the
// read role and is the only writer from then on. Conns that are net.Conns inside
// have a better one: call NetConn.
func View(c Conn) net.Conn {
	v := &view{c: c}
	v.step = v.cut
	return v
}

// viewed gives the Conn that nc is a View of: a listener in memory hands it over
// so, and whoever wraps it wants the Conn again.
func viewed(nc net.Conn) (c Conn, ok bool) {
	if v, is := nc.(*view); is {
		return v.c, true
	}
	return nil, false
}

// A view translates: deadlines become kicks and wakes.
type view struct {
	c    Conn
	step Step // v.cut, bound once

	read struct {
		sync.Mutex // held by Read
		p          []byte
		n          int
	}
	write struct {
		sync.Mutex      // held by Write
		owing      bool // the last Write ran into its deadline and still is the flusher
	}
	mu struct {
		sync.Mutex
		readBy, writeBy time.Time
		kick            *time.Timer // at readBy
	}
}

// Read implements [net.Conn].
func (v *view) Read(p []byte) (int, error) {
	v.read.Lock()
	defer v.read.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	v.read.p, v.read.n = p, 0
	defer func() { v.read.p = nil }()
	for {
		if by := v.readBy(); !by.IsZero() && !time.Now().Before(by) {
			return 0, os.ErrDeadlineExceeded
		}
		why, err := v.c.Receive(false, v.step)
		switch why {
		case Enough:
			return v.read.n, nil
		case Lost:
			return 0, err
		}
	}
}

// cut is the step of a Read: it takes what fits into the reader's buffer, and asks for more if that is nothing.
func (v *view) cut(in *buf.In) (more bool, err error) {
	v.read.n = copy(v.read.p, in.Next(min(len(v.read.p), in.Len())))
	return v.read.n == 0, nil
}

// Write implements [net.Conn]. Bytes that were queued when the deadline came count as
// written: the next Write sends them first.
func (v *view) Write(p []byte) (n int, err error) {
	v.write.Lock()
	defer v.write.Unlock()
	if err := v.flush(v.write.owing); err != nil {
		return 0, err
	}
	o := v.c.Output()
	for n < len(p) {
		piece := p[n:min(len(p), n+viewPiece)]
		o.Lock()
		o.Out().Append(piece)
		flusher := o.Unlock()
		n += len(piece)
		if err := v.flush(flusher); err != nil {
			return n, err
		}
	}
	return n, nil
}

// flush sends what is queued until the deadline.
func (v *view) flush(flusher bool) (err error) {
	o := v.c.Output()
	if by := v.writeBy(); !by.IsZero() && !time.Now().Before(by) {
		v.write.owing = flusher
		return os.ErrDeadlineExceeded
	}
	if !flusher {
		return o.Err()
	}
	v.write.owing, err = o.FlushBy(v.writeBy)
	return err
}

// CloseWrite ends our side.
func (v *view) CloseWrite() error {
	v.write.Lock()
	defer v.write.Unlock()
	if err := v.flush(v.write.owing); err != nil {
		return err
	}
	return v.c.CloseWrite()
}

// readBy is the deadline of reads; zero: none.
func (v *view) readBy() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.readBy
}

// writeBy is the deadline of writes; zero: none.
func (v *view) writeBy() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.mu.writeBy
}

// SetDeadline implements [net.Conn].
func (v *view) SetDeadline(t time.Time) error {
	v.SetReadDeadline(t) //nolint:errcheck // never fails
	return v.SetWriteDeadline(t)
}

// SetReadDeadline implements [net.Conn].
func (v *view) SetReadDeadline(t time.Time) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.readBy = t
	if v.mu.kick != nil {
		v.mu.kick.Stop()
		v.mu.kick = nil
	}
	if t.IsZero() {
		return nil
	}
	if d := time.Until(t); d > 0 {
		v.mu.kick = time.AfterFunc(d, v.c.Kick)
	} else {
		v.c.Kick()
	}
	return nil
}

// SetWriteDeadline implements [net.Conn].
func (v *view) SetWriteDeadline(t time.Time) error {
	v.mu.Lock()
	v.mu.writeBy = t
	v.mu.Unlock()
	// A Write that waits looks again; otherwise the wake is stale.
	v.c.Output().Wake()
	return nil
}

// Close implements [net.Conn].
func (v *view) Close() error {
	v.SetReadDeadline(time.Time{}) //nolint:errcheck // never fails
	if v.write.TryLock() {         // else a Write waits, which the close ends
		if v.write.owing {
			by := time.Now().Add(closeMoment)
			v.write.owing, _ = v.c.Output().FlushBy(func() time.Time { return by })
		}
		v.write.Unlock()
	}
	err := CloseWithin(v.c, closeMoment)
	// A Write and a Read that waited have returned by now, or are about to.
	v.write.Lock()
	if v.write.owing {
		v.write.owing = false
		v.c.Output().giveUp()
	}
	v.write.Unlock()
	v.read.Lock()
	v.c.Receive(false, v.step) //nolint:errcheck // Lost: it gives back what is unread
	v.read.Unlock()
	return err
}

// LocalAddr implements [net.Conn].
func (v *view) LocalAddr() net.Addr { return v.c.Local() }

// RemoteAddr implements [net.Conn].
func (v *view) RemoteAddr() net.Addr { return v.c.Remote() }
