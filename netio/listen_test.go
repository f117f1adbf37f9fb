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
