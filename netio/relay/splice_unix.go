//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package relay

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/sys"
	"github.com/limosa-rpc/limosa/netio"
)

// A spliceLane is one direction between two sockets. Its goroutine lives in
// readable, the callback of the source's RawConn.Read, which passes on what it
// gets at once. It leaves only when the destination is full, to park there.
type spliceLane struct {
	// Set by relay.spliceLane, then constant.
	r        *relay
	to       netio.Conn // dst
	in       *buf.In    // of src
	src, dst netio.Socket
	onIn     func(fd uintptr) bool // l.readable, bound once
	onOut    func(fd uintptr) bool // l.writable
	onFull   func(fd uintptr) bool // l.writableOrPark

	// Owned by the goroutine of run. Bytes on their way lie in the pipe or in
	// the In of src, never in both.
	pace  pace
	pipe  *Pipe // nil unless it holds bytes, outside of a burst
	whole bool  // the descriptors cannot be spliced: copy
	n     int64
	end   error // what the source ended with
	err   error // what the destination failed with
	armed bool  // a write deadline is set, to until
	until time.Time
}

// spliceLane is a lane between two sockets, nil where one of the two is none. Without
// pipes it copies, without leaving the callbacks of the poller all the same.
func (r *relay) spliceLane(src, dst netio.Conn) lane {
	s, ok := netio.SocketOf(src)
	if !ok {
		return nil
	}
	d, ok := netio.SocketOf(dst)
	if !ok {
		return nil
	}
	l := &spliceLane{r: r, to: dst, src: s, dst: d, in: s.In(), whole: r.pipes == nil}
	l.onIn, l.onOut, l.onFull = l.readable, l.writable, l.writableOrPark
	return l
}

// moved implements lane.
func (l *spliceLane) moved() int64 { return l.n }

// run implements lane. What is in the pipe goes first: only with an empty one is the source read, and its end
// passed on behind its last byte.
func (l *spliceLane) run(ctx context.Context) error {
	err := l.src.Begin()
	defer l.leave()
	if err != nil { // closed
		return err
	}
	if err := l.r.clearOutput(ctx, l.to); err != nil {
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
		case l.end == nil && l.src.Pending() != nil:
			l.end = l.src.Pending()
		case l.end == nil:
			l.pull()
		case l.end == io.EOF:
			return l.r.passEnd(l.to)
		default:
			return l.end
		}
	}
	return errStopped
}

// leave ends the read role, deferred, whatever way run ended.
func (l *spliceLane) leave() {
	if l.pipe != nil {
		l.r.pipes.Put(l.pipe) // it holds bytes, so that it is closed
		l.pipe = nil
	}
	l.src.End(l.end)
}

// held is how many bytes are on their way.
func (l *spliceLane) held() int {
	if l.pipe != nil {
		return l.pipe.len()
	}
	return l.in.Len()
}

// pull receives and passes on, parked while there is nothing, until the
// destination is full or the source has ended.
func (l *spliceLane) pull() {
	// A kick is the relay's end, or was meant for somebody before: run looks.
	if err := l.src.Read(l.onIn); err != nil {
		l.end = err
	}
}

// readable is the callback of RawConn.Read: false parks.
func (l *spliceLane) readable(fd uintptr) (leave bool) {
	for !l.r.stopped.Load() {
		if l.end = l.src.Closed(); l.end != nil {
			return true
		}
		left, err := l.receive(fd)
		switch {
		case err == sys.EAGAIN:
			l.in.Idle()
			return false
		case err != nil:
			l.end = l.src.Broken(err)
			return true
		case l.end != nil:
			return true
		}
		if l.dst.Write(l.onOut) != nil || l.err != nil || l.held() > 0 {
			return true // push finds out
		}
		// With data and the end in one event no second edge comes. So go on until EAGAIN, unless the kernel said that
		// nothing is left, and somebody is there to tell of a reset.
		if left == 0 && l.src.Guarded() {
			l.in.Idle()
			return false
		}
	}
	return true
}

// receive brings in what has arrived, by either way. left is as of Recv.
func (l *spliceLane) receive(fd uintptr) (left int, err error) {
	if l.pace.splice && !l.whole {
		if left, err, ok := l.fill(fd); ok {
			return left, err
		}
	}
	n, left, err := l.src.Recv(fd, l.in.Space())
	switch {
	case err != nil:
		return 0, err
	case n == 0:
		l.end = io.EOF
		return 0, nil
	}
	l.in.Filled(n)
	l.pace.copied(n, left)
	return left, nil
}

// fill brings what has arrived into a pipe. Not ok: copy.
func (l *spliceLane) fill(fd uintptr) (left int, err error, ok bool) {
	k := l.r.pipes.Take()
	if k == nil {
		return 0, nil, false
	}
	n, err := k.fill(fd)
	if n > 0 {
		l.pipe = k
		l.pace.spliced(n)
		return -1, nil, true
	}
	l.r.pipes.Put(k)
	switch err {
	case nil:
		l.end = io.EOF
	case syscall.EINVAL:
		l.whole = true
		return 0, nil, false
	}
	return 0, err, true
}

// writable is the callback of RawConn.Write for a caller that must not park: it sends
// until nothing is on its way or the destination is full.
func (l *spliceLane) writable(fd uintptr) (leave bool) {
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
func (l *spliceLane) send(fd uintptr) (n int, err error) {
	if k := l.pipe; k != nil {
		if n, err = k.drain(fd); err == syscall.EINVAL {
			return 0, l.unload()
		}
		if k.len() == 0 {
			l.pipe = nil
			l.r.pipes.Put(k)
		}
		return n, err
	}
	in := l.in
	if n, err = sys.Send(fd, in.Peek(in.Len())); n > 0 {
		in.Skip(n)
	}
	return n, err
}

// unload takes the bytes out of a pipe whose destination cannot be spliced to,
// and has the direction copy from then on.
func (l *spliceLane) unload() error {
	l.whole = true
	in := l.in
	in.Expect(l.pipe.len())
	for l.pipe.len() > 0 {
		n, err := l.pipe.read(in.Space())
		if err != nil {
			return err
		}
		in.Filled(n)
	}
	l.r.pipes.Put(l.pipe)
	l.pipe = nil
	return nil
}

// push sends what is on its way, parked while the destination is full.
func (l *spliceLane) push() error {
	for l.held() > 0 && l.err == nil {
		before := l.n
		err := l.dst.Write(l.onFull)
		timedOut := l.armed && !time.Now().Before(l.until)
		if l.armed || err != nil {
			l.armed = false
			l.dst.SetWriteDeadline(time.Time{})
		}
		switch {
		case l.r.stopped.Load():
			return nil
		case l.n > before || err == nil:
		case !errors.Is(err, os.ErrDeadlineExceeded):
			l.err = err
		case timedOut:
			return l.dst.Stalled()
		}
	}
	if l.err != nil {
		return l.dst.Unsent(l.err)
	}
	return nil
}

// writableOrPark is the callback of Write for push.
func (l *spliceLane) writableOrPark(fd uintptr) (leave bool) {
	before := l.n
	l.writable(fd)
	if l.n > before || l.err != nil || l.held() == 0 {
		return true
	}
	if stall, ok := l.dst.Patience(); ok && !l.armed {
		l.armed, l.until = true, time.Now().Add(stall)
		l.dst.SetWriteDeadline(l.until)
	}
	// Look after setting the deadline, which may have covered up the stop's.
	return l.r.stopped.Load()
}
