package netio_test

import (
	"io"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
)

// A peer that has aborted is known to be gone while what it sent is unread; one
// that has ended its sending side is not.
func TestBrokenBehindData(t *testing.T) {
	for name, make := range map[string]func() (a, b netio.Conn, stop func()){
		"tcp":  func() (a, b netio.Conn, stop func()) { return dialed(t, "tcp") },
		"unix": func() (a, b netio.Conn, stop func()) { return dialed(t, "unix") },
		"tcp, loops": func() (a, b netio.Conn, stop func()) {
			return dialedBy(t, "tcp", &netio.Config{Net: new(netio.Net), Loops: 1})
		},
		"unix, loops": func() (a, b netio.Conn, stop func()) {
			return dialedBy(t, "unix", &netio.Config{Net: new(netio.Net), Loops: 1})
		},
		"tls": func() (a, b netio.Conn, stop func()) {
			a, b, stop = dialed(t, "tcp")
			ta, tb := nettest.TLS(t, a, b, 0)
			return ta, tb, stop
		},
	} {
		for _, aborts := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", one side ended", true: ", aborted"}[aborts], func(t *testing.T) {
				a, b, stop := make()
				defer stop()
				if netio.Broken(b) {
					t.Error("it is broken from the beginning")
				}
				o := a.Output()
				o.Lock()
				o.Out().AppendString("unread")
				o.Unlock()
				if err := o.Flush(); err != nil {
					t.Fatal(err)
				}
				if aborts {
					a.Abort()
				} else if err := a.CloseWrite(); err != nil {
					t.Fatal(err)
				}
				for until := time.Now().Add(10 * time.Second); aborts && !netio.Broken(b) && time.Now().Before(until); {
					// Real time: sockets of the kernel; a poll with a bound.
					time.Sleep(time.Millisecond)
				}
				if got := netio.Broken(b); got != aborts {
					t.Errorf("broken: %v", got)
				}
				var got string
				why, err := b.Receive(false, func(in *buf.In) (bool, error) {
					got += string(in.Next(in.Len()))
					return true, nil
				})
				if got != "unread" || why != netio.Lost || !aborts && err != io.EOF {
					t.Errorf("received %q, then %v, %v", got, why, err)
				}
				a.Abort()
				b.Abort()
				if netio.Broken(b) {
					t.Error("a closed connection asks its descriptor")
				}
				for _, c := range []netio.Conn{a, b} {
					c.Receive(false, nil) //nolint:errcheck // gives back what was lent
				}
			})
		}
	}
}
