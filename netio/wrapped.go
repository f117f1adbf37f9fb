package netio

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// longAgo is a deadline in the past.
var longAgo = time.Unix(1, 0)

// plainPiece is how much one Write gets, so that progress is seen.
const plainPiece = 64 << 10

// A wrappedConn is any net.Conn: Receive reads in the caller's goroutine. An owed
// flush cannot be tried without waiting here, so a goroutine does it; Full never
// happens. An idle connection keeps a read buffer.
type wrappedConn struct {
	Core
	ends

	// Set by newWrappedConn, then constant.
	nc  net.Conn
	cfg Config

	flushes elsewhere
	woken   atomic.Bool // Wake was called and no Send has seen it

	iov [1][]byte // owned by the flusher
}

// newWrappedConn makes a Conn of any net.Conn, with a goroutine's blocking reads and writes beneath.
func newWrappedConn(nc net.Conn, cfg Config) *wrappedConn {
	p := &wrappedConn{nc: nc, cfg: cfg}
	p.local, p.remote = nc.LocalAddr(), nc.RemoteAddr()
	p.out = newOutput(p, nil, cfg.WriteStall)
	cfg.tune(nc)
	return p
}

// Receive implements [Conn].
func (p *wrappedConn) Receive(owed bool, step Step) (Outcome, error) {
	p.enter(owed, step)
	defer p.leave()
	if owed {
		p.flushes.start(p.out)
		p.owed = false
	}
	if p.leftover() {
		return p.outcome, p.err
	}
	for {
		n, err := p.nc.Read(p.in.Space())
		if n > 0 {
			p.in.Filled(n)
			if p.cut() {
				p.remember(err)
				return p.outcome, p.err
			}
		}
		if err != nil {
			p.end(err)
			return p.outcome, p.err
		}
	}
}

// end is Receive's return after a failed Read.
func (p *wrappedConn) end(err error) {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		// Clear first: a kick from here on is for the next Receive.
		p.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: the next Read says so
		p.stop(Kicked, nil)
	case p.gate.closed():
		p.stop(Lost, p.closedErr())
	case err == io.EOF:
		p.stop(Lost, io.EOF)
	default:
		p.out.Fail(wrapError("receive", p.remote, err))
		p.stop(Lost, p.out.Err())
	}
}

// remember keeps an error that came together with data for the next Receive.
func (p *wrappedConn) remember(err error) {
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded): // still set: the next Read fails alike
	case p.outcome == Enough && err == io.EOF:
		p.pending = err
	case p.outcome == Enough:
		p.out.Fail(wrapError("receive", p.remote, err))
		p.pending = p.out.Err()
	}
}

// Send implements [Sender].
func (p *wrappedConn) Send(b *Batch, wait time.Duration) (int, error) {
	// A Write cannot be tried without waiting, and a deadline of now would ruin a
	// tls.Conn for good: whoever must not wait finds the connection full.
	if wait <= 0 {
		return 0, nil
	}
	var until time.Time
	if wait < 1<<62 {
		until = time.Now().Add(wait)
	}
	p.nc.SetWriteDeadline(until) //nolint:errcheck // not every net.Conn has deadlines
	// Look after setting the deadline, which may have covered up Wake's.
	if p.woken.Swap(false) {
		return 0, nil
	}
	iov := b.Pieces(p.iov[:0])
	if len(iov) == 0 {
		return 0, net.ErrClosed
	}
	piece := iov[0]
	n, err := p.nc.Write(piece[:min(len(piece), plainPiece)])
	p.iov[0] = nil
	b.Sent(n)
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		if err = nil; n == 0 && !p.woken.Swap(false) {
			err = os.ErrDeadlineExceeded
		}
	case errors.Is(err, net.ErrClosed):
		err = net.ErrClosed
	default:
		err = wrapError("send", p.remote, err)
	}
	return n, err
}

// CloseSend implements [Sender]. Without a half-close of its own, nothing happens.
func (p *wrappedConn) CloseSend() error {
	if w, ok := p.nc.(interface{ CloseWrite() error }); ok {
		if err := w.CloseWrite(); err != nil {
			return wrapError("send", p.remote, err)
		}
	}
	return nil
}

// Wake implements [Sender].
func (p *wrappedConn) Wake() {
	p.woken.Store(true)
	p.nc.SetWriteDeadline(longAgo) //nolint:errcheck
}

// Stalled implements [Sender].
func (p *wrappedConn) Stalled(cause error) {
	p.out.Fail(wrapError("send", p.remote, cause))
	p.Abort()
}

// Kick implements [Conn].
func (p *wrappedConn) Kick() { wakeReader(p.nc, &p.gate) }

// Close implements [Conn].
func (p *wrappedConn) Close(ctx context.Context) error {
	err := p.conclude(ctx, p, nil)
	p.flushes.join()
	return err
}

// Abort implements [Conn].
func (p *wrappedConn) Abort() {
	if t, ok := p.nc.(interface{ SetLinger(int) error }); ok {
		t.SetLinger(0) //nolint:errcheck
	}
	p.shut(p.release, nil)
}

// release implements ender.
func (p *wrappedConn) release() {
	p.nc.Close() //nolint:errcheck // there is nothing left to do about it
}

// NetConn implements [Conn].
func (p *wrappedConn) NetConn() net.Conn { return newNetView(p, &p.Core, p.nc) }
