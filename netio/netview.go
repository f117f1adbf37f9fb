package netio

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net"
	"os"
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
	core *Core

	mu    sync.Mutex  // guards what the connection has received and not given
	clear atomic.Bool // nothing is queued any more: writes, and their deadline, are Conn's
	queue struct {
		writes sync.Mutex // held by the Write that waits for clear; taken first
		sync.Mutex
		by     time.Time          // the deadline of writes
		change context.CancelFunc // has that Write look again; nil while there is none
	}
}

// newNetView hands c's In over to a view: Close leaves it alone from now on.
func newNetView(c Conn, core *Core, nc net.Conn) *netView {
	core.gate.word.Or(gateLent | gateViewed)
	// A kick or a wake that nobody waited for has left a deadline in the past.
	nc.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: the next Read says so
	v := &netView{Conn: nc, c: c, core: core}
	v.cleared() //nolint:errcheck // closed: the next Write says so
	return v
}

// Read implements [net.Conn].
func (v *netView) Read(p []byte) (int, error) {
	if n := v.leftover(p); n > 0 || len(p) == 0 {
		return n, nil
	}
	return v.Conn.Read(p)
}

// leftover gives what the connection had received before the net.Conn was made of it.
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

// Write implements [net.Conn].
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

// SetDeadline implements [net.Conn].
func (v *netView) SetDeadline(t time.Time) error {
	return errors.Join(v.Conn.SetReadDeadline(t), v.SetWriteDeadline(t))
}

// SetWriteDeadline implements [net.Conn].
func (v *netView) SetWriteDeadline(t time.Time) error {
	v.queue.Lock()
	defer v.queue.Unlock()
	v.queue.by = t
	if v.queue.change != nil {
		v.queue.change()
	}
	if !v.clear.Load() {
		return nil // whoever sends what is queued has deadlines of its own
	}
	return v.Conn.SetWriteDeadline(t)
}

// cleared notes that nothing is queued, if that is so.
func (v *netView) cleared() error {
	v.queue.Lock()
	defer v.queue.Unlock()
	v.queue.change = nil
	if v.core.out.Queued() > 0 || v.clear.Swap(true) {
		return nil
	}
	return v.Conn.SetWriteDeadline(v.queue.by)
}

// flush waits for what was queued before the connection became a net.Conn: for
// whoever sends it.
func (v *netView) flush() error {
	if v.clear.Load() {
		return nil
	}
	v.queue.writes.Lock()
	defer v.queue.writes.Unlock()
	for {
		ctx, cancel := v.patience()
		err := v.core.out.Wait(ctx, 1)
		e := v.cleared()
		cancel()
		if err != context.Canceled { // else another deadline was set
			return cmp.Or(err, e)
		}
	}
}

// patience is a context that ends with the deadline of writes, or for another
// one.
func (v *netView) patience() (ctx context.Context, cancel context.CancelFunc) {
	v.queue.Lock()
	defer v.queue.Unlock()
	if by := v.queue.by; by.IsZero() {
		ctx, cancel = context.WithCancel(context.Background())
	} else {
		ctx, cancel = context.WithDeadlineCause(context.Background(), by, os.ErrDeadlineExceeded)
	}
	v.queue.change = cancel
	return ctx, cancel
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

// Close implements [net.Conn].
func (v *netView) Close() error {
	err := CloseWithin(v.c, closeMoment)
	v.mu.Lock()
	v.core.in.Close()
	v.mu.Unlock()
	return err
}
