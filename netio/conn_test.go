package netio_test

import (
	"errors"
	"net"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/conntest"
)

// dialed gives a pair over a real socket, each with a Net of its own.
func dialed(t testing.TB, network string) (a, b netio.Conn, stop func()) {
	t.Helper()
	return dialedBy(t, network, &netio.Config{Net: new(netio.Net)})
}

// dialedBy gives a pair over a real socket; stop closes their Net.
func dialedBy(t testing.TB, network string, cfg *netio.Config) (a, b netio.Conn, stop func()) {
	t.Helper()
	addr := "127.0.0.1:0"
	if network == "unix" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	l, err := netio.Listen(network, addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	a, err = netio.Dial(t.Context(), network, l.Addr().String(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	b, err = l.Accept(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	return a, b, func() { cfg.Net.Close() }
}

func TestTCP(t *testing.T) {
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "tcp") }, conntest.Caps{})
}

func TestUnix(t *testing.T) {
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) { return dialed(t, "unix") }, conntest.Caps{})
}

func TestPipe(t *testing.T) {
	for name, cfg := range map[string]netio.PipeConfig{
		"perfect": {},
		"delayed": {Delay: 50 * time.Microsecond},
		"partial": {MaxSend: 1000, MaxReceive: 777, Buffer: 32 << 10},
	} {
		t.Run(name, func(t *testing.T) {
			conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
				a, b = netio.Pipe(cfg)
				return a, b, func() {}
			}, conntest.Caps{Small: name != "perfect"})
		})
	}
}

// An opaque net.Conn is one whose type netio does not know.
type opaque struct{ *net.TCPConn }

func TestPlain(t *testing.T) {
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		na, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		nb, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		a = netio.Wrap(opaque{na.(*net.TCPConn)}, nil)
		b = netio.Wrap(opaque{nb.(*net.TCPConn)}, nil)
		return a, b, func() {}
	}, conntest.Caps{NoFull: true, LateLoss: true})
}

// An abort is a reset to the peer, and drops what it had not received.
func TestAbortResets(t *testing.T) {
	a, b, stop := dialed(t, "tcp")
	defer stop()
	a.Abort()
	why, err := b.Receive(false, func(*buf.In) (bool, error) { return true, nil })
	e, ok := errors.AsType[*netio.Error](err)
	if why != netio.Lost || !ok || e.Op != "receive" || e.Addr != b.Remote().String() || !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the peer's Receive: %v, %v", why, err)
	}
	if b.Output().Err() != err {
		t.Errorf("the peer's Err: %v", b.Output().Err())
	}
	b.Close()
}
