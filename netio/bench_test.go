package netio_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// pingPong is one exchange of n bytes on the caller's connection.
type pingPong struct {
	c    netio.Conn
	p    []byte
	left int
	step netio.Step
}

func newPingPong(c netio.Conn, n int) *pingPong {
	x := &pingPong{c: c, p: make([]byte, n)}
	x.step = func(in *buf.In) (bool, error) {
		x.left -= in.Skip(x.left)
		return x.left > 0, nil
	}
	return x
}

// do sends and receives, as a caller that reads its own connection does.
func (x *pingPong) do() error {
	o := x.c.Output()
	o.Lock()
	o.Out().Append(x.p)
	owed := o.Unlock()
	x.left = len(x.p)
	for x.left > 0 {
		why, err := x.c.Receive(owed, x.step)
		if why == netio.Lost {
			return err
		}
		owed = false
	}
	return nil
}

// echo answers until the end: what it receives it owes.
func echo(c netio.Conn) {
	o := c.Output()
	owed := false
	step := func(in *buf.In) (bool, error) {
		o.Lock()
		o.Out().Append(in.Next(in.Len()))
		owed = o.Unlock() || owed
		return false, nil
	}
	for {
		was := owed
		owed = false
		why, _ := c.Receive(was, step)
		switch why {
		case netio.Lost:
			return
		case netio.Full:
			o.Flush()
		}
	}
}

// An exchange on parked readers allocates nothing, neither here nor at the peer.
func TestExchangeAllocates(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		a, b, stop := dialed(t, network)
		var wg sync.WaitGroup
		wg.Go(func() { echo(b) })
		x := newPingPong(a, 1024)
		if n := testing.AllocsPerRun(200, func() {
			if err := x.do(); err != nil {
				t.Fatal(err)
			}
		}); n != 0 && !nettest.Pooless() {
			t.Errorf("%s: %v allocations an exchange", network, n)
		}
		a.Abort()
		wg.Wait()
		netio.CloseWithin(b, time.Second)
		stop()
	}
}

func BenchmarkExchange(b *testing.B) {
	for _, n := range []int{64, 1024} {
		b.Run(fmt.Sprintf("net.Conn/%dB", n), func(b *testing.B) { benchNet(b, n) })
		for _, network := range []string{"tcp", "unix"} {
			b.Run(fmt.Sprintf("%s/%dB", network, n), func(b *testing.B) {
				ca, cb, stop := dialed(b, network)
				benchConn(b, ca, cb, n)
				stop()
			})
		}
		b.Run(fmt.Sprintf("tls/%dB", n), func(b *testing.B) {
			ca, cb, stop := dialed(b, "tcp")
			ta, tb := nettest.TLS(b, ca, cb, 0)
			benchConn(b, ta, tb, n)
			stop()
		})
		b.Run(fmt.Sprintf("pipe/%dB", n), func(b *testing.B) {
			ca, cb := pipe.New(pipe.Config{})
			benchConn(b, ca, cb, n)
		})
	}
}

func benchConn(b *testing.B, ca, cb netio.Conn, n int) {
	var wg sync.WaitGroup
	wg.Go(func() { echo(cb) })
	x := newPingPong(ca, n)
	b.ReportAllocs()
	for b.Loop() {
		if err := x.do(); err != nil {
			b.Fatal(err)
		}
	}
	ca.Abort()
	wg.Wait()
	netio.CloseWithin(cb, time.Second)
}

// benchNet is the same with net.Conn.
func benchNet(b *testing.B, n int) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	ca, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	cb, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		p := make([]byte, 4096)
		for {
			k, err := cb.Read(p)
			if err != nil {
				return
			}
			cb.Write(p[:k])
		}
	})
	p := make([]byte, n)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ca.Write(p); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(ca, p); err != nil {
			b.Fatal(err)
		}
	}
	ca.Close()
	wg.Wait()
	cb.Close()
}
