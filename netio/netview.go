package netio

import (
	"io"
	"net"
	"sync"
)

// A netView is the net.Conn of a connection that stands on one itself: reads,
// writes and deadlines are the inner connection's, after what was received or
// queued before.
type netView struct {
	net.Conn
	c    Conn
	core *core

	mu sync.Mutex // guards what the connection has received and not given
}

// newNetView hands c's In over to a view: Close leaves it alone from now on.
func newNetView(c Conn, core *core, nc net.Conn) *netView {
	core.gate.word.Or(gateLent)
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

// flush sends what was queued before the connection became a net.Conn.
func (v *netView) flush() error {
	if v.core.out.Queued() == 0 {
		return nil
	}
	v.core.out.Lock()
	if v.core.out.Unlock() {
		return v.core.out.Flush()
	}
	return v.core.out.Err()
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
	err := v.c.Close()
	v.mu.Lock()
	v.core.in.Close()
	v.mu.Unlock()
	return err
}
