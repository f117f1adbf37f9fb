package netio_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/conntest"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
)

// kernelBytes bounds what a socket of a test holds: conntest has to fill it.
const kernelBytes = 1 << 20

// dialed gives a pair over a real socket, each with a Net of its own.
func dialed(t testing.TB, network string) (a, b netio.Conn, stop func()) {
	t.Helper()
	return dialedBy(t, network, &netio.Config{Net: new(netio.Net), ReadBuffer: kernelBytes, WriteBuffer: kernelBytes})
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

// write queues p and flushes.
func write(c netio.Conn, p string) error {
	o := c.Output()
	o.Lock()
	o.Out().AppendString(p)
	if o.Unlock() {
		return o.Flush()
	}
	return o.Err()
}

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
		cfg := &netio.Config{ReadBuffer: kernelBytes, WriteBuffer: kernelBytes}
		a = netio.Wrap(nettest.Opaque(na), cfg)
		b = netio.Wrap(nettest.Opaque(nb), cfg)
		return a, b, func() {}
	}, conntest.Caps{NoFull: true, LateLoss: true})
}

// A tls.Conn that is wrapped instead of made by Client and Server works, too.
func TestWrappedTLS(t *testing.T) {
	client, server := nettest.Certificates()
	conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
		na, nb := nettest.Sockets(t, "tcp")
		for _, nc := range []net.Conn{na, nb} {
			nc.(*net.TCPConn).SetReadBuffer(kernelBytes)
			nc.(*net.TCPConn).SetWriteBuffer(kernelBytes)
		}
		ta, tb := tls.Client(na, client), tls.Server(nb, server)
		var other sync.WaitGroup
		other.Go(func() { tb.HandshakeContext(t.Context()) })
		if err := ta.HandshakeContext(t.Context()); err != nil {
			t.Fatal(err)
		}
		other.Wait()
		return netio.Wrap(ta, nil), netio.Wrap(tb, nil), func() {}
	}, conntest.Caps{NoFull: true, LateLoss: true})
}

// What a plain connection's flush leaves behind is no deadline of the net.Conn
// that it becomes.
func TestPlainNetConnAfterFlush(t *testing.T) {
	na, nb := nettest.Sockets(t, "tcp")
	defer nb.Close()
	c := netio.Wrap(nettest.Opaque(na), &netio.Config{WriteStall: 20 * time.Millisecond})
	if err := write(c, "queued"); err != nil {
		t.Fatal(err)
	}
	v := c.NetConn()
	defer v.Close()
	<-time.After(40 * time.Millisecond)
	if _, err := v.Write([]byte("later")); err != nil {
		t.Error("Write:", err)
	}
}

// A view of a unix socket gives away the socket, for what only that can do.
func TestNetConnKnowsItsSocket(t *testing.T) {
	a, b, stop := dialed(t, "unix")
	defer stop()
	v := a.NetConn()
	defer v.Close()
	defer b.Abort()
	inner, ok := v.(interface{ NetConn() net.Conn })
	if !ok {
		t.Fatalf("%T has no NetConn", v)
	}
	if _, ok := inner.NetConn().(*net.UnixConn); !ok {
		t.Errorf("the view stands on a %T", inner.NetConn())
	}
}

// A peer that never pauses does not keep Close waiting.
func TestCloseUnderFlood(t *testing.T) {
	na, nb := nettest.Sockets(t, "tcp")
	defer nb.Close()
	c := netio.Wrap(na, &netio.Config{Net: new(netio.Net)})
	go func() {
		for p := make([]byte, 1<<20); ; {
			if _, err := nb.Write(p); err != nil {
				return
			}
		}
	}()
	read := make(chan struct{})
	reading := make(chan struct{}, 1)
	go func() {
		defer close(read)
		c.Receive(false, func(in *buf.In) (bool, error) {
			in.Skip(in.Len())
			select {
			case reading <- struct{}{}:
			default:
			}
			return true, nil
		})
	}()
	<-reading
	start := time.Now()
	c.Abort()
	<-read
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("Abort and the reader took %v", d)
	}
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
	netio.CloseWithin(b, time.Second)
}

// Trying a flush, which cannot be done with a tls.Conn, does not ruin it.
func TestWrappedTLSTryFlush(t *testing.T) {
	client, server := nettest.Certificates()
	na, nb := nettest.Sockets(t, "tcp")
	peer := tls.Server(nb, server)
	defer nb.Close()
	c := netio.Wrap(tls.Client(na, client), nil)
	got := make(chan string, 1)
	go func() {
		p := make([]byte, 6)
		n, _ := io.ReadFull(peer, p)
		got <- string(p[:n])
	}()
	o := c.Output()
	o.Lock()
	o.Out().AppendString("queued")
	if !o.Unlock() {
		t.Fatal("not the flusher")
	}
	if full, err := o.TryFlush(); !full || err != nil {
		t.Fatalf("TryFlush: %v, %v; want full", full, err)
	}
	if err := o.Flush(); err != nil {
		t.Error("Flush:", err)
	}
	if s := <-got; s != "queued" {
		t.Errorf("the peer got %q", s)
	}
	c.Abort()
}
