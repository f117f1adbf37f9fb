//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package netio

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/limosa-rpc/limosa/internal/sys"
)

// A sockLane is one direction between two sockets. Its goroutine lives in
// readable, the callback of the source's RawConn.Read, which passes on what it
// gets at once. It leaves only when the destination is full, to park there.
type sockLane struct {
	// Set by sockLane, then constant.
	r        *relay
	src, dst *sockConn
	pipes    *Pipes
	onIn     func(fd uintptr) bool // l.readable, bound once
	onOut    func(fd uintptr) bool // l.writable
	onFull   func(fd uintptr) bool // l.writableOrPark

	// Owned by the goroutine of run. Bytes on their way lie in the pipe or in
	// the In of src, never in both.
	pace  pace
	pipe  *KernelPipe // nil unless it holds bytes, outside of a burst
	whole bool        // the descriptors cannot be spliced: copy
	n     int64
	end   error // what the source ended with
	err   error // what the destination failed with
	armed bool  // a write deadline is set, to until
	until time.Time
}

func (r *relay) sockLane(src, dst Conn) relayLane {
	s, ok := src.(*sockConn)
	if !ok {
		return nil
	}
	d, ok := dst.(*sockConn)
	if !ok {
		return nil
	}
	l := &sockLane{r: r, src: s, dst: d, pipes: &s.net.pipes}
	l.onIn, l.onOut, l.onFull = l.readable, l.writable, l.writableOrPark
	return l
}

func (l *sockLane) moved() int64 { return l.n }

func (l *sockLane) run(ctx context.Context) error {
	l.src.enter(false, nil)
	defer l.leave()
	if l.src.outcome == Lost { // closed
		return l.src.err
	}
	if err := l.r.clearOutput(ctx, l.dst); err != nil {
		return err
	}
	for !l.r.stopped.Load() {
		if l.held() > 0 {
			if err := l.push(); err != nil {
				return err
			}
			continue
		}
		switch {
		case l.end == nil && l.src.pending != nil:
			l.end = l.src.pending
		case l.end == nil:
			l.pull()
		case l.end == io.EOF:
			return l.r.passEnd(l.dst)
		default:
			return l.end
		}
	}
	return errStopped
}

// leave ends the read role, deferred, whatever way run ended.
func (l *sockLane) leave() {
	l.pipes.Put(l.pipe) // closed, if it holds bytes
	l.pipe = nil
	s := l.src
	if l.end != nil {
		s.stop(Lost, l.end)
	} else if s.outcome != Lost {
		s.stop(Enough, nil)
	}
	s.leave()
}

// held is how many bytes are on their way.
func (l *sockLane) held() int {
	if l.pipe != nil {
		return l.pipe.Len()
	}
	return l.src.in.Len()
}

// pull receives and passes on, parked while there is nothing, until the
// destination is full or the source has ended.
func (l *sockLane) pull() {
	err := l.src.raw.Read(l.onIn)
	switch {
	case err == nil:
	case errors.Is(err, os.ErrDeadlineExceeded):
		// A kick: the relay's end, or one that was meant for somebody before.
		// Clear first, then run looks: the flag is set before the kick.
		l.src.nc.SetReadDeadline(time.Time{}) //nolint:errcheck // closed: the next Read says so
	case errors.Is(err, net.ErrClosed):
		l.end = l.src.closedErr()
	default:
		l.fail(err)
	}
}

// fail notes that the source is broken.
func (l *sockLane) fail(err error) {
	l.src.out.Fail(wrapError("receive", l.src.Remote(), err))
	l.end = l.src.out.Err()
}

// readable is the callback of RawConn.Read: false parks.
func (l *sockLane) readable(fd uintptr) (leave bool) {
	for !l.r.stopped.Load() {
		if l.src.gate.closed() { // or a peer that never pauses would keep Close waiting
			l.end = l.src.closedErr()
			return true
		}
		left, err := l.receive(fd)
		switch {
		case err == sys.EAGAIN:
			l.src.in.Idle()
			return false
		case err != nil:
			l.fail(err)
			return true
		case l.end != nil:
			return true
		}
		if l.dst.raw.Write(l.onOut) != nil || l.err != nil || l.held() > 0 {
			return true // push finds out
		}
		// As in sockConn.readable: go on until EAGAIN, unless the kernel said that
		// nothing is left, and somebody is there to tell of a reset.
		if left == 0 && l.src.guarded() {
			l.src.in.Idle()
			return false
		}
	}
	return true
}

// receive brings in what has arrived, by either way. left is as of sockConn.recv.
func (l *sockLane) receive(fd uintptr) (left int, err error) {
	if l.pace.splice && !l.whole {
		if left, err, ok := l.fill(fd); ok {
			return left, err
		}
	}
	n, left, err := l.src.recv(fd, l.src.in.Space(), true)
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		l.end = io.EOF
		return 0, nil
	}
	l.src.in.Filled(n)
	l.pace.copied(n, left)
	return left, nil
}

// fill brings what has arrived into a pipe. Not ok: copy.
func (l *sockLane) fill(fd uintptr) (left int, err error, ok bool) {
	k := l.pipes.Take()
	if k == nil {
		return 0, nil, false
	}
	n, err := k.Fill(fd)
	if n > 0 {
		l.pipe = k
		l.pace.spliced(n)
		return -1, nil, true
	}
	l.pipes.Put(k)
	switch err {
	case nil:
		l.end = io.EOF
	case syscall.EINVAL:
		l.whole = true
		return 0, nil, false
	}
	return 0, err, true
}

// writable is the callback of RawConn.Write for who must not park: it sends
// until nothing is on its way or the destination is full.
func (l *sockLane) writable(fd uintptr) (leave bool) {
	for l.held() > 0 {
		n, err := l.send(fd)
		l.n += int64(n)
		if err == sys.EAGAIN {
			return true
		}
		if err != nil {
			l.err = err
			return true
		}
	}
	return true
}

// send sends once, out of the pipe or the In.
func (l *sockLane) send(fd uintptr) (n int, err error) {
	if k := l.pipe; k != nil {
		if n, err = k.Drain(fd); err == syscall.EINVAL {
			return 0, l.unload()
		}
		if k.Len() == 0 {
			l.pipe = nil
			l.pipes.Put(k)
		}
		return n, err
	}
	in := &l.src.in
	if n, err = sys.Send(fd, in.Peek(in.Len())); n > 0 {
		in.Skip(n)
	}
	return n, err
}

// unload takes the bytes out of a pipe whose destination cannot be spliced to,
// and has the direction copy from then on.
func (l *sockLane) unload() error {
	l.whole = true
	in := &l.src.in
	in.Expect(l.pipe.Len())
	for l.pipe.Len() > 0 {
		n, err := l.pipe.Read(in.Space())
		if err != nil {
			return err
		}
		in.Filled(n)
	}
	l.pipes.Put(l.pipe)
	l.pipe = nil
	return nil
}

// push sends what is on its way, parked while the destination is full.
func (l *sockLane) push() error {
	d := l.dst
	for l.held() > 0 && l.err == nil {
		before := l.n
		err := d.raw.Write(l.onFull)
		timedOut := l.armed && !time.Now().Before(l.until)
		if l.armed || err != nil {
			l.armed = false
			d.nc.SetWriteDeadline(time.Time{}) //nolint:errcheck // closed: the next Write says so
		}
		switch {
		case l.r.stopped.Load():
			return nil
		case l.n > before || err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			l.err = err
		case timedOut:
			d.Stalled(ErrStalled)
			return d.out.Err()
		}
	}
	if l.err != nil {
		d.out.Fail(d.sendError(l.err))
		return d.out.Err()
	}
	return nil
}

// writableOrPark is the callback of RawConn.Write for push.
func (l *sockLane) writableOrPark(fd uintptr) (leave bool) {
	before := l.n
	l.writable(fd)
	if l.n > before || l.err != nil || l.held() == 0 {
		return true
	}
	d := l.dst
	if stall := d.out.stall; !l.armed && stall < 1<<62 {
		l.armed, l.until = true, time.Now().Add(stall)
		d.nc.SetWriteDeadline(l.until) //nolint:errcheck
	}
	// Look after setting the deadline, which may have covered up the stop's.
	return l.r.stopped.Load()
}
