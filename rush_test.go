package limosa_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Callers that have no other way, or know of none yet, leave by resetting their
// connections, behind requests that are unread: none is begun once one caller was
// seen to leave. A peer that has ended its sending side only is answered.
func TestRequestsWhoseCallersHaveLeftAreNotStarted(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, loops := range []int{0, 1} {
			for _, form := range []ttheader.Form{ttheader.Framed, ttheader.TTHeader} {
				for name, mode := range map[string]limosa.Handlers{"spare": limosa.Spare, "goroutines": limosa.Goroutines} {
					t.Run(fmt.Sprintf("%s, %d loops, %v, %s", network, loops, form, name), func(t *testing.T) {
						testLeavers(t, network, loops, form, mode)
					})
				}
			}
		}
	}
}

func testLeavers(t *testing.T, network string, loops int, form ttheader.Form, mode limosa.Handlers) {
	addr := map[string]string{"tcp": "127.0.0.1:0", "unix": filepath.Join(t.TempDir(), "s")}[network]
	l, err := netio.Listen(network, addr, &netio.Config{Loops: loops})
	if err != nil {
		t.Fatal(err)
	}
	var waits, echoes atomic.Int64
	defer serveOn(t, &limosa.Server{
		Services: []rpc.Service{service(nil)}, Handlers: mode,
		Limits: rpc.Limits{Conns: 1}, // the others are unread until the first has gone
		Interceptors: []rpc.Interceptor{func(ctx context.Context, c *rpc.Call, next rpc.Next) error {
			if c.Method == echoMethod {
				echoes.Add(1)
			} else {
				waits.Add(1)
			}
			return next(ctx, c)
		}},
	}, l)()
	first := sends(t, l.Addr(), form, "wait", "")
	eventually(t, "the first call runs", func() bool { return waits.Load() == 1 })
	for range 50 {
		leaves(sends(t, l.Addr(), form, "echo", "leaves"))
	}
	stays := sends(t, l.Addr(), form, "echo", "stays")
	if form == ttheader.Framed { // our kind never ends one side only
		if err := stays.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	leaves(first)
	stays.SetDeadline(time.Now().Add(20 * time.Second))
	var got []byte
	for p := make([]byte, 1<<10); !bytes.Contains(got, []byte("stays")); {
		n, err := stays.Read(p)
		if got = append(got, p[:n]...); err != nil {
			t.Fatalf("the one that stays is answered %q, %v", got, err)
		}
	}
	stays.Close()
	if n := echoes.Load(); n != 1 {
		t.Errorf("%d calls were begun, 1 caller has waited", n)
	}
}

// sends makes a connection to a server and a call on it.
func sends(t *testing.T, to net.Addr, form ttheader.Form, method, arg string) net.Conn {
	t.Helper()
	session := ttheader.Protocol{Form: form}.Open(wire.Client, rpc.Limits{}.WithDefaults())
	ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 1, Method: method}
	var out buf.Out
	defer out.Reset()
	m := session.Begin(&out, &ev)
	if err := (text{}).Append(&out, &arg); err != nil {
		t.Fatal(err)
	}
	session.End(&out, m, &ev)
	nc, err := net.Dial(to.Network(), to.String())
	if err == nil {
		_, err = nc.Write(out.Bytes())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { nc.Close() })
	return nc
}

// leaves gives up what was sent on nc.
func leaves(nc net.Conn) {
	if c, ok := nc.(*net.TCPConn); ok {
		c.SetLinger(0)
	}
	nc.Close()
}
