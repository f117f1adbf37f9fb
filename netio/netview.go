package netio

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// A netView is the net.Conn of a connection that stands on one itself: reads,
// writes and deadlines are the inner connection's, after what was received or
// queued before.
type netView struct {
	net.Conn
	c    Conn
	core *core

	mu      sync.Mutex // guards what the connection has received and not given
	writeBy atomic.Pointer[time.Time]
	write   struct {
		sync.Mutex
		owing bool // a flush ran into the deadline and still is to be done
	}
}

// newNetView hands c's In over to a view: Close leaves it alone from now on.
func newNetView(c Conn, core *core, nc net.Conn) *netView {
	core.gate.word.Or(gateLent | gateViewed)
	// A kick or a wake that nobody waited for has left a deadline in the past.
	nc.SetDeadline(time.Time{}) //nolint:errcheck // closed: the next call says so
	return &netView{Conn: nc, c: c, core: core}
}

// Read is net.Conn's.
func (v *netView) Read(p []byte) (int, error) {
	if n := v.leftover(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	return v.Conn.Read(p)
}

func (v *netView) leftover(p []byte) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	n := min(len(p), v.core.in.Len())
	if n > 0 {
		copy(p, v.core.in.Next(n))
		v.core.in.Idle()
	}
	return n
}

// Write is net.Conn's.
func (v *netView) Write(p []byte) (int, error) {
	if err := v.flush(); err != nil {
		return 0, err
	}
	return v.Conn.Write(p)
}

// NetConn is the connection that the view stands on, for what only that can do:
// passing descriptors over a *net.UnixConn, for example. What was received or
// queued before is the view's to give and to send.
func (v *netView) NetConn() net.Conn { return v.Conn }

// SetDeadline is net.Conn's.
func (v *netView) SetDeadline(t time.Time) error {
	return errors.Join(v.Conn.SetReadDeadline(t), v.SetWriteDeadline(t))
}

// SetWriteDeadline is net.Conn's.
func (v *netView) SetWriteDeadline(t time.Time) error {
	v.writeBy.Store(&t)
	if v.core.out.Queued() > 0 {
		v.core.out.sender.Wake() // a flush that waits looks again
	}
	return v.Conn.SetWriteDeadline(t)
}

func (v *netView) deadline() time.Time {
	if t := v.writeBy.Load(); t != nil {
		return *t
	}
	return time.Time{}
}

// flush sends what was queued before the connection became a net.Conn.
func (v *netView) flush() (err error) {
	o := v.core.out
	if o.Queued() == 0 {
		return nil
	}
	v.write.Lock()
	defer v.write.Unlock()
	o.Lock()
	if !o.Unlock() && !v.write.owing {
		return o.Err()
	}
	v.write.owing, err = o.flushBy(v.deadline)
	// Sending has had deadlines of its own.
	v.Conn.SetWriteDeadline(v.deadline()) //nolint:errcheck // closed: the next Write says so
	return err
}

// ReadFrom lets io.Copy use what the system has for files, once nothing is
// queued.
func (v *netView) ReadFrom(r io.Reader) (int64, error) {
	if err := v.flush(); err != nil {
		return 0, err
	}
	return io.Copy(v.Conn, r)
}

// CloseWrite ends our side, if the inner connection can.
func (v *netView) CloseWrite() error { return v.c.CloseWrite() }

// Close is net.Conn's.
func (v *netView) Close() error {
	v.write.Lock()
	if v.write.owing {
		v.write.owing = false
		v.core.out.giveUp()
	}
	v.write.Unlock()
	err := CloseWithin(v.c, closeMoment)
	v.mu.Lock()
	v.core.in.Close()
	v.mu.Unlock()
	return err
}
