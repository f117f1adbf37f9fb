package netio_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/netio"
)

// A taken address is one clear line, and can be asked for.
func TestListenInUse(t *testing.T) {
	l, err := netio.Listen("tcp", "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	_, err = netio.Listen("tcp", l.Addr().String(), nil)
	e, ok := errors.AsType[*netio.Error](err)
	if !ok || e.Op != "listen" || e.Addr != l.Addr().String() || !errors.Is(err, syscall.EADDRINUSE) {
		t.Fatalf("Listen: %#v", err)
	}
	if want := "listen tcp " + l.Addr().String() + ": address already in use"; err.Error() != want {
		t.Errorf("Listen: %q, want %q", err, want)
	}
	if _, err := netio.Listen("tcp", "nonsense", nil); err == nil || strings.Count(err.Error(), "listen") != 1 {
		t.Errorf("Listen: %v", err)
	}
}

func TestDialFails(t *testing.T) {
	l, err := netio.Listen("tcp", "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	_, err = netio.Dial(t.Context(), "tcp", addr, nil)
	e, ok := errors.AsType[*netio.Error](err)
	if !ok || e.Op != "dial" || e.Net != "tcp" || e.Addr != addr || !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("Dial: %#v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := netio.Dial(ctx, "tcp", addr, nil); err == nil {
		t.Error("Dial with a cancelled context succeeds")
	}
}

// The socket file of a dead process is replaced, that of a living one is not.
func TestListenUnixStale(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := netio.Listen("unix", path, nil)
	if err != nil {
		t.Fatal("Listen over a stale socket:", err)
	}
	if _, err := netio.Listen("unix", path, nil); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("Listen over a living socket: %v", err)
	}
	c, err := netio.Dial(t.Context(), "unix", path, nil)
	if err != nil {
		t.Fatal("the living socket is gone:", err)
	}
	netio.CloseWithin(c, time.Second)
	l.Close()
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := netio.Listen("unix", path, nil); err == nil {
		t.Error("Listen replaced a file that is no socket")
	}
	if b, _ := os.ReadFile(path); string(b) != "precious" {
		t.Error("the file is gone")
	}
}

// A fakeListener accepts what it is told to.
type fakeListener struct {
	answers chan any // net.Conn or error
	once    sync.Once
	done    chan struct{}
}

func newFake() *fakeListener {
	return &fakeListener{answers: make(chan any, 10), done: make(chan struct{})}
}

func (f *fakeListener) Accept() (net.Conn, error) {
	select {
	case a := <-f.answers:
		if err, ok := a.(error); ok {
			return nil, err
		}
		return a.(net.Conn), nil
	case <-f.done:
		return nil, net.ErrClosed
	}
}
func (f *fakeListener) Close() error   { f.once.Do(func() { close(f.done) }); return nil }
func (f *fakeListener) Addr() net.Addr { return &net.UnixAddr{Name: "fake", Net: "fake"} }

// Accepting goes on after errors that pass, with growing pauses, and ends with
// others.
func TestAcceptErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		var pauses []time.Duration
		l := netio.NewListener(f, &netio.Config{OnAcceptError: func(err error, d time.Duration) {
			if !errors.Is(err, syscall.EMFILE) {
				t.Errorf("told of %v", err)
			}
			pauses = append(pauses, d)
		}})
		for range 3 {
			f.answers <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept", syscall.EMFILE)}
		}
		na, nb := net.Pipe()
		f.answers <- na
		start := time.Now()
		c, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d != 35*time.Millisecond || len(pauses) != 3 || pauses[2] != 20*time.Millisecond {
			t.Errorf("accepted after %v, pauses %v", d, pauses)
		}
		netio.CloseWithin(c, time.Second)
		nb.Close()
		f.answers <- io.ErrUnexpectedEOF
		for range 2 {
			if _, err := l.Accept(t.Context()); !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("Accept: %v", err)
			}
		}
		l.Close()
	})
}

// Only what says that there is no listening socket any more is final.
func TestAcceptErrorsThatPass(t *testing.T) {
	for _, err := range []error{
		syscall.ENOBUFS, syscall.ENOMEM, syscall.EPROTO, syscall.EHOSTUNREACH, syscall.ENETDOWN, syscall.EPERM,
		syscall.ECONNABORTED, syscall.EMFILE, syscall.ENFILE, syscall.ETIMEDOUT,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFake()
			l := netio.NewListener(f, nil)
			na, nb := net.Pipe()
			f.answers <- &net.OpError{Op: "accept", Err: os.NewSyscallError("accept4", err)}
			f.answers <- na
			c, e := l.Accept(t.Context())
			if e != nil {
				t.Fatalf("after %v: %v", err, e)
			}
			netio.CloseWithin(c, time.Second)
			nb.Close()
			l.Close()
		})
	}
	for _, err := range []error{net.ErrClosed, syscall.EBADF, syscall.EINVAL, syscall.ENOTSOCK} {
		f := newFake()
		l := netio.NewListener(f, nil)
		f.answers <- &net.OpError{Op: "accept", Err: err}
		if _, e := l.Accept(t.Context()); !errors.Is(e, err) {
			t.Errorf("Accept: %v, want %v", e, err)
		}
		l.Close()
	}
}

// OnAcceptError may close the Listener.
func TestCloseInOnAcceptError(t *testing.T) {
	f := newFake()
	var l *netio.Listener
	closed := make(chan struct{})
	l = netio.NewListener(f, &netio.Config{OnAcceptError: func(error, time.Duration) { l.Close(); close(closed) }})
	f.answers <- syscall.EMFILE
	if _, err := l.Accept(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	select {
	case <-closed:
	case <-time.After(20 * time.Second):
		t.Fatal("Close waits for its caller")
	}
}

// The file of a unix socket has the mode that was asked for, and Close leaves
// the file of another listener alone.
func TestListenUnixFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no such modes")
	}
	path := filepath.Join(t.TempDir(), "s")
	first, err := netio.Listen("unix", path, &netio.Config{SocketMode: 0o600})
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 600", fi.Mode(), err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	second, err := netio.Listen("unix", path, &netio.Config{SocketMode: 0o666})
	if err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(path); err != nil || fi.Mode().Perm() != 0o666 {
		t.Errorf("%v, %v; want mode 666", fi.Mode(), err)
	}
	first.Close()
	c, err := netio.Dial(t.Context(), "unix", path, nil)
	if err != nil {
		t.Fatal("the first listener's Close removed the second one's file:", err)
	}
	c.Abort()
	second.Close()
	if _, err := os.Lstat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Close left the file: %v", err)
	}
}

// Accept ends by its context, and by Close; nothing that arrived is lost.
func TestAcceptEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake()
		l := netio.NewListener(f, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Accept(ctx); err != context.DeadlineExceeded {
			t.Errorf("Accept: %v", err)
		}
		na, nb := net.Pipe()
		defer nb.Close()
		f.answers <- na
		c, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		netio.CloseWithin(c, time.Second)
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := l.Accept(t.Context()); err != net.ErrClosed {
					t.Errorf("Accept: %v", err)
				}
			})
		}
		synctest.Wait()
		l.Close()
		l.Close()
		wg.Wait()
		unused := netio.NewListener(newFake(), nil)
		unused.Close()
		if _, err := unused.Accept(t.Context()); err != net.ErrClosed {
			t.Errorf("Accept after Close: %v", err)
		}
	})
}

// Limit holds over listeners, and Close of a connection gives its place back.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limit := netio.NewLimit(2)
		f := newFake()
		l := netio.NewListener(f, &netio.Config{Limit: limit})
		var peers []net.Conn
		for range 3 {
			na, nb := net.Pipe()
			f.answers <- na
			peers = append(peers, nb)
		}
		first, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		second, err := l.Accept(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := l.Accept(ctx); err != context.DeadlineExceeded || limit.Open() != 2 {
			t.Errorf("Accept beyond the limit: %v, %d open", err, limit.Open())
		}
		netio.CloseWithin(first, time.Second)
		first.Abort()
		third, err := l.Accept(t.Context())
		if err != nil {
			t.Errorf("Accept below the limit: %v", err)
		}
		netio.CloseWithin(second, time.Second)
		netio.CloseWithin(third, time.Second)
		l.Close()
		if n := limit.Open(); n != 0 {
			t.Errorf("%d places are taken in the end", n)
		}
		for _, p := range peers {
			p.Close()
		}
	})
}

// connListener gives the connections of a Listener to net/http.
type connListener struct{ *netio.Listener }

func (l connListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept(context.Background())
	if err != nil {
		return nil, err
	}
	return c.NetConn(), nil
}

// net/http stands on the net.Conns: keep-alive, pipelines of its own background
// reads, deadlines, shutdown.
func TestHTTP(t *testing.T) {
	for _, over := range []string{"socket", "view"} {
		t.Run(over, func(t *testing.T) {
			l, err := netio.Listen("tcp", "127.0.0.1:0", nil)
			if err != nil {
				t.Fatal(err)
			}
			s := &http.Server{
				ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second, IdleTimeout: 5 * time.Second,
				Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					body, _ := io.ReadAll(r.Body) // HTTP/1 reads all before it answers
					w.Write(body)
				}),
			}
			var nl net.Listener = connListener{l}
			if over == "view" {
				nl = viewListener{l}
			}
			var wg sync.WaitGroup
			wg.Go(func() { s.Serve(nl) })
			tr := &http.Transport{DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
				c, err := netio.Dial(ctx, network, addr, nil)
				if err != nil {
					return nil, err
				}
				return c.NetConn(), nil
			}}
			hc := http.Client{Transport: tr}
			for i := range 50 {
				want := strings.Repeat("x", i*3000)
				resp, err := hc.Post("http://"+l.Addr().String(), "text/plain", strings.NewReader(want))
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || string(got) != want {
					t.Fatalf("request %d: %d bytes, %v", i, len(got), err)
				}
			}
			tr.CloseIdleConnections()
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error("Shutdown:", err)
			}
			wg.Wait()
		})
	}
}

// viewListener is connListener with the net.Conn that fits any Conn.
type viewListener struct{ *netio.Listener }

func (l viewListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept(context.Background())
	if err != nil {
		return nil, err
	}
	return netio.View(c), nil
}

// A listener to which nobody connects takes no place from another one.
func TestLimitOfManyListeners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := &netio.Config{Limit: netio.NewLimit(1)}
		idle, busy := newFake(), newFake()
		waiting, l := netio.NewListener(idle, cfg), netio.NewListener(busy, cfg)
		go waiting.Accept(t.Context()) // until Close
		synctest.Wait()
		for range 2 {
			na, nb := net.Pipe()
			busy.answers <- na
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			c, err := l.Accept(ctx)
			cancel()
			if err != nil {
				t.Errorf("Accept with %d of 1 open: %v", cfg.Limit.Open(), err)
			} else {
				c.Abort()
			}
			nb.Close()
		}
		waiting.Close()
		l.Close()
		if n := cfg.Limit.Open(); n != 0 {
			t.Errorf("%d places are taken in the end", n)
		}
	})
}
