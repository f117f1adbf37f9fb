package netio

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// acceptPause and acceptPauseMax bound the pause after a failed accept. The
	// usual reason is that descriptors ran out: others close in the meantime.
	acceptPause    = 5 * time.Millisecond
	acceptPauseMax = time.Second
	// staleDial is how long whoever owns a socket file has to answer.
	staleDial = time.Second
)

// A Listener gives Conns. All methods may be called concurrently.
type Listener struct {
	// Set by NewListener, then constant.
	l     net.Listener
	cfg   Config
	tuned bool        // accepted sockets have the listening one's options
	file  fs.FileInfo // of a unix socket that is ours; nil: none
	conns chan net.Conn
	done  chan struct{} // closed by Close
	ended chan struct{} // closed by pump when it ends, after err was set

	start, stop sync.Once
	pumps       sync.WaitGroup
	err         error // why pump ended
}

// Listen listens on addr. network is "tcp", "tcp4", "tcp6" or "unix". The file
// of a unix socket is removed first if it is stale: if nobody answers on it; and
// it is removed by Close. The error is an *Error: one line, errors.Is(err,
// syscall.EADDRINUSE) if the address is taken.
func Listen(network, addr string, cfg *Config) (*Listener, error) {
	lc := net.ListenConfig{KeepAlive: -1} // Config.tune sets it
	c := cfg.orDefault()
	lc.Control = func(_, _ string, raw syscall.RawConn) error { return raw.Control(c.beforeBind) }
	l, err := lc.Listen(context.Background(), network, addr)
	if err != nil && network == "unix" && errors.Is(err, syscall.EADDRINUSE) && removeStale(addr) {
		l, err = lc.Listen(context.Background(), network, addr)
	}
	if err != nil {
		err = addrError("listen", network, addr, err)
		if se, ok := errors.AsType[*os.SyscallError](err); ok {
			err.(*Error).Err = se.Err
		}
		return nil, err
	}
	nl := NewListener(l, cfg)
	nl.tuned = network != "unix" && inherits
	if u, ok := l.(*net.UnixListener); ok && !strings.HasPrefix(addr, "@") {
		nl.file, err = ownFile(u, c.SocketMode)
		if err != nil {
			l.Close() //nolint:errcheck // not to be used
			return nil, addrError("listen", network, addr, err)
		}
	}
	return nl, nil
}

// ownFile notes which file is the socket's, and gives it its mode.
func ownFile(l *net.UnixListener, mode fs.FileMode) (fs.FileInfo, error) {
	l.SetUnlinkOnClose(false)
	path := l.Addr().String()
	if mode != 0 {
		if err := os.Chmod(path, mode.Perm()); err != nil {
			os.Remove(path) //nolint:errcheck // the first error counts
			return nil, err
		}
	}
	fi, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	return fi, nil
}

// removeFile removes the socket's file, unless it is another listener's by now.
func (l *Listener) removeFile() {
	if l.file == nil {
		return
	}
	path := l.Addr().String()
	if fi, err := os.Lstat(path); err == nil && os.SameFile(fi, l.file) {
		os.Remove(path) //nolint:errcheck // stale at worst
	}
}

// removeStale removes the socket file at path if nobody answers there. Two
// processes that start at the same moment may still take it from each other.
func removeStale(path string) bool {
	if strings.HasPrefix(path, "@") { // abstract: no file, and never stale
		return false
	}
	fi, err := os.Lstat(path)
	if err != nil || fi.Mode().Type() != fs.ModeSocket {
		return false
	}
	nc, err := net.DialTimeout("unix", path, staleDial)
	if err == nil {
		nc.Close() //nolint:errcheck // only a question
		return false
	}
	return errors.Is(err, syscall.ECONNREFUSED) && os.Remove(path) == nil
}

// NewListener makes a Listener of l, which it owns from then on.
func NewListener(l net.Listener, cfg *Config) *Listener {
	return &Listener{
		l: l, cfg: cfg.orDefault(), conns: make(chan net.Conn),
		done: make(chan struct{}), ended: make(chan struct{}),
	}
}

// Accept waits for a connection. After Close it returns net.ErrClosed, when ctx
// ends its cause; a connection that arrives meanwhile is the next Accept's.
// Where Config.Limit is reached, or accepting fails but may succeed later, the
// next connection is waited for longer; any other error is final.
func (l *Listener) Accept(ctx context.Context) (Conn, error) {
	// A net.Listener's Accept knows no context, so a goroutine stands in it.
	l.start.Do(func() { l.pumps.Go(l.pump) })
	select {
	case nc := <-l.conns:
		if c, ok := viewed(nc); ok {
			if a, ok := c.(interface{ accepted(*Limit) }); ok {
				a.accepted(l.cfg.Limit)
				return c, nil
			}
		}
		cfg := l.cfg
		cfg.tuned = l.tuned
		return wrap(nc, cfg, l.cfg.Limit), nil
	case <-l.ended:
		return nil, l.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// pump accepts until it fails for good or the Listener is closed.
func (l *Listener) pump() {
	defer close(l.ended)
	pause := acceptPause
	for {
		nc, err := l.l.Accept()
		if err != nil {
			if !temporary(err) {
				l.err = l.final(err)
				return
			}
			l.rest(err, pause)
			pause = min(2*pause, acceptPauseMax)
			continue
		}
		pause = acceptPause
		if !l.cfg.Limit.take(l.done) {
			nc.Close() //nolint:errcheck // nobody wants it
			l.err = net.ErrClosed
			return
		}
		select {
		case l.conns <- nc:
		case <-l.done:
			nc.Close() //nolint:errcheck // nobody wants it
			l.cfg.Limit.give()
			l.err = net.ErrClosed
			return
		}
	}
}

// rest pauses after an accept that may succeed later.
func (l *Listener) rest(err error, pause time.Duration) {
	told := make(chan struct{})
	if f := l.cfg.OnAcceptError; f == nil {
		close(told)
	} else {
		// On a goroutine of its own, so that Close, which joins the pump, may be
		// called by it.
		go func() {
			defer close(told)
			f(addrError("accept", l.Addr().Network(), l.Addr().String(), err), pause)
		}()
	}
	t := time.NewTimer(pause)
	defer t.Stop()
	for range 2 {
		select {
		case <-t.C:
			t.C = nil
		case <-told:
			told = nil
		case <-l.done:
			return
		}
	}
}

// final is net.ErrClosed after Close, else err with the address.
func (l *Listener) final(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return net.ErrClosed
	}
	return addrError("accept", l.Addr().Network(), l.Addr().String(), err)
}

// temporary reports whether an accept may succeed later. Of the system's errors
// all may but those that say that this is no listening socket any more:
// descriptors, memory or ports ran out, the network is down, a firewall
// interferes, the peer left before it was accepted. Others have to say so.
func temporary(err error) bool {
	if errors.Is(err, net.ErrClosed) {
		return false
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e != syscall.EBADF && e != syscall.EINVAL && e != syscall.ENOTSOCK
	}
	t, ok := errors.AsType[interface {
		error
		Temporary() bool
	}](err)
	return ok && t.Temporary()
}

// Addr is the address listened on, with the port that was chosen.
func (l *Listener) Addr() net.Addr { return l.l.Addr() }

// Close stops listening, wakes Accept and joins the goroutine, but not a call of
// OnAcceptError, which may be the caller. The file of a unix socket is removed,
// unless another listener has taken its place. Connections stay as they are. It
// is idempotent.
func (l *Listener) Close() (err error) {
	l.stop.Do(func() {
		close(l.done)
		l.removeFile()
		err = l.l.Close()
		// If nothing was ever accepted, nothing is to be from now on.
		l.start.Do(func() {
			l.err = net.ErrClosed
			close(l.ended)
		})
		l.pumps.Wait()
	})
	return err
}
