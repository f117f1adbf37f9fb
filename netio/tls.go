package netio

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// sealAhead is how much is encrypted before it is sent, in bytes: enough for one
// large send, little enough to be still in the cache then.
const sealAhead = 128 << 10

// A TLS is a Conn over another one, encrypted by crypto/tls. It shares the
// Output of the connection below: the flusher encrypts what was queued, outside
// of the lock, right before it is sent. Receiving decrypts inside the Receive of
// the connection below.
//
// A peer that ends without saying so in TLS (close_notify) ends Receive with
// io.ErrUnexpectedEOF: somebody may have cut the connection.
type TLS struct {
	Core // its In holds plain text
	ends

	// Set by Client or Server, then constant.
	lower Conn
	tc    *tls.Conn
	onIn  Step // t.decryptFrom, bound once

	// Owned by the read role, while inside Receive.
	from *buf.In // what the connection below has received; nil outside of its step

	// Owned by the handshake, constant afterwards.
	running bool // the handshake is over: never block
	hsOwed  bool // the handshake is the flusher
	hsStep  Step
	hsRead  []byte
	hsN     int
	hsLeft  int // bytes of the peer's that it may take still

	// mu guards what tls.Conn has encrypted and the flusher has not taken. The
	// flusher appends, and now and then the reader: an alert, an answer to a
	// KeyUpdate. It is the innermost lock.
	mu struct {
		sync.Mutex
		cipher buf.Out
		closed bool
	}
	waiting atomic.Int64 // bytes of cipher; they count as queued
	flushes elsewhere    // of answers that met a full socket

	iov [1][]byte // owned by the flusher
}

// ConnectionState tells version, cipher, ALPN protocol and peer certificates.
func (t *TLS) ConnectionState() tls.ConnectionState { return t.tc.ConnectionState() }

// Receive implements [Conn].
func (t *TLS) Receive(owed bool, step Step) (Outcome, error) {
	if p, is := t.lower.(*wrappedConn); is && owed { // as its own Receive does
		p.flushes.start(t.out)
		owed = false
	}
	t.enter(owed, step)
	defer t.leave()
	// tls.Conn may hold decrypted or whole records of the last round.
	if t.leftover() || t.decrypt() {
		t.settle(t.out.sender)
		if t.gate.closed() {
			t.lower.Receive(false, nil) //nolint:errcheck // Lost: it gives its memory back
		}
		return t.outcome, t.err
	}
	t.owed = false // it is paid below
	why, err := t.lower.Receive(owed, t.onIn)
	switch {
	case why == Full:
		t.full()
	case t.outcome != panicked: // a step ended it
	case why == Lost && err == io.EOF:
		t.stop(Lost, io.ErrUnexpectedEOF)
	default:
		t.stop(why, err)
	}
	return t.outcome, t.err
}

// decryptFrom is the step of the connection below.
func (t *TLS) decryptFrom(in *buf.In) (more bool, err error) {
	t.from = in
	defer func() { t.from = nil }()
	if t.decrypt() {
		return false, t.err
	}
	return true, nil
}

// decrypt offers to step what can be decrypted now. True: Receive is over.
func (t *TLS) decrypt() (done bool) {
	for {
		n, err := t.tc.Read(t.in.Space())
		if n > 0 {
			t.in.Filled(n)
			if t.cut() {
				return true
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, errWouldBlock):
			t.answer()
			t.in.Idle()
			return false
		case err == io.EOF:
			t.stop(Lost, io.EOF)
			return true
		default:
			t.answer() // an alert says why, if there is room
			t.out.Fail(wrapError("receive", t.remote, err))
			t.stop(Lost, t.closedErr())
			return true
		}
	}
}

// seal is the sealer's: it runs on the flusher.
func (t *TLS) seal(plain, dst *buf.Out) error {
	t.takeCipher(dst)
	for plain.Len() > 0 && dst.Len() < sealAhead {
		p := plain.Iov(t.iov[:0])[0]
		n, err := t.tc.Write(p[:min(len(p), sealAhead)])
		t.iov[0] = nil
		plain.Sent(n)
		t.takeCipher(dst)
		if err != nil {
			return wrapError("send", t.remote, err)
		}
	}
	return nil
}

// finish is the sealer's: close_notify.
func (t *TLS) finish(dst *buf.Out) error {
	err := t.tc.CloseWrite()
	t.takeCipher(dst)
	return err
}

// takeCipher moves records that crypto/tls has written into dst.
func (t *TLS) takeCipher(dst *buf.Out) {
	t.mu.Lock()
	n := t.mu.cipher.Len()
	dst.MoveFrom(&t.mu.cipher)
	t.waiting.Add(int64(-n))
	t.out.count(-n) // dst counts
	t.mu.Unlock()
}

// answer sends what crypto/tls has to say by itself: nobody has appended
// anything, so nobody else would. It never waits.
func (t *TLS) answer() {
	if t.waiting.Load() == 0 {
		return
	}
	o := t.out
	o.Lock()
	if !o.Unlock() {
		return // somebody flushes already, and finds it
	}
	if full, _ := o.TryFlush(); full {
		t.flushes.start(o)
	}
}

// Kick implements [Conn].
func (t *TLS) Kick() { t.lower.Kick() }

// Rests implements [Yielder], if the connection below is one.
func (t *TLS) Rests() (n uint32) {
	if y, ok := t.lower.(Yielder); ok {
		n = y.Rests()
	}
	return n
}

// Crowded implements [Yielder].
func (t *TLS) Crowded(work int) bool {
	y, ok := t.lower.(Yielder)
	return ok && y.Crowded(work)
}

// Yield implements [Yielder].
func (t *TLS) Yield() {
	if y, ok := t.lower.(Yielder); ok {
		y.Yield()
	} else {
		runtime.Gosched()
	}
}

// OnLost implements [Conn].
func (t *TLS) OnLost(f func()) { t.lower.OnLost(f) }

// Close implements [Conn].
func (t *TLS) Close(ctx context.Context) error {
	// The end is due with what is queued; Close of the one below sends both.
	t.out.mu.Lock()
	t.out.EndLocked()
	t.out.mu.Unlock()
	err := t.lower.Close(ctx)
	t.release()
	t.flushes.join()
	return err
}

// Abort implements [Conn].
func (t *TLS) Abort() {
	t.lower.Abort()
	t.release()
}

// release implements ender.
func (t *TLS) release() {
	if _, free := t.gate.close(); free {
		t.in.Close()
	}
	t.mu.Lock()
	t.mu.closed = true
	n := t.mu.cipher.Len()
	t.mu.cipher.Reset()
	t.waiting.Add(int64(-n))
	t.out.count(-n)
	t.mu.Unlock()
}

// CloseWrite implements [Conn]: close_notify, and the end of the connection below.
func (t *TLS) CloseWrite() error { return t.lower.CloseWrite() }

// NetConn implements [Conn].
func (t *TLS) NetConn() net.Conn { return View(t) }

// wouldBlock is the temporary error after which tls.Conn goes on where it was.
type wouldBlock struct{}

func (wouldBlock) Error() string   { return "netio: nothing has arrived" }
func (wouldBlock) Timeout() bool   { return true }
func (wouldBlock) Temporary() bool { return true }

var errWouldBlock net.Error = wouldBlock{}

// A tlsLower is a TLS as the net.Conn that its tls.Conn stands on. During the
// handshake it blocks; afterwards Read gives what is there, and Write collects.
type tlsLower TLS

// Read implements [net.Conn].
func (l *tlsLower) Read(p []byte) (int, error) {
	t := (*TLS)(l)
	if t.running {
		if t.from == nil || t.from.Len() == 0 {
			return 0, errWouldBlock
		}
		return copy(p, t.from.Next(min(len(p), t.from.Len()))), nil
	}
	if err := t.handshakeFlush(); err != nil {
		return 0, err
	}
	t.hsRead = p
	for {
		why, err := t.lower.Receive(false, t.hsStep)
		switch why {
		case Enough:
			return t.hsN, nil
		case Lost:
			return 0, err
		}
	}
}

// Write implements [net.Conn].
func (l *tlsLower) Write(p []byte) (int, error) {
	t := (*TLS)(l)
	if t.running {
		t.mu.Lock()
		if !t.mu.closed {
			t.mu.cipher.Append(p)
			t.waiting.Add(int64(len(p)))
			t.out.count(len(p))
		}
		t.mu.Unlock()
		return len(p), nil
	}
	t.out.Lock()
	t.out.Out().Append(p)
	if t.out.Unlock() {
		t.hsOwed = true
	}
	return len(p), t.out.Err()
}

// Close implements [net.Conn]: a handshake whose context has ended.
func (l *tlsLower) Close() error {
	l.lower.Abort()
	return nil
}

// The rest is net.Conn's. Deadlines are the context's, and Kick's.
func (l *tlsLower) LocalAddr() net.Addr              { return l.local }
func (l *tlsLower) RemoteAddr() net.Addr             { return l.remote }
func (l *tlsLower) SetDeadline(time.Time) error      { return nil }
func (l *tlsLower) SetReadDeadline(time.Time) error  { return nil }
func (l *tlsLower) SetWriteDeadline(time.Time) error { return nil }
