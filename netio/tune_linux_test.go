package netio_test

import (
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/limosa-rpc/limosa/netio"
)

// TestTuned: dialed connections, accepted ones and wrapped ones have the options
// of the Config; what the listener accepts inherits them.
func TestTuned(t *testing.T) {
	for name, cfg := range map[string]*netio.Config{
		"default": {Net: new(netio.Net)},
		"own":     {Net: new(netio.Net), KeepAlive: 9 * time.Second, UserTimeout: 7 * time.Second, ReadBuffer: 50 << 10},
		"off":     {Net: new(netio.Net), KeepAlive: -1, UserTimeout: -1},
	} {
		a, b, stop := dialedBy(t, "tcp", cfg)
		for side, c := range map[string]netio.Conn{"dialed": a, "accepted": b} {
			nc := c.NetConn().(interface{ NetConn() net.Conn }).NetConn().(*net.TCPConn)
			raw, err := nc.SyscallConn()
			if err != nil {
				t.Fatal(err)
			}
			get := func(level, opt int) (v int) {
				raw.Control(func(fd uintptr) { v, err = unix.GetsockoptInt(int(fd), level, opt) })
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			got := [...]int{
				get(unix.SOL_SOCKET, unix.SO_KEEPALIVE), get(unix.IPPROTO_TCP, unix.TCP_KEEPIDLE),
				get(unix.IPPROTO_TCP, unix.TCP_KEEPINTVL), get(unix.IPPROTO_TCP, unix.TCP_KEEPCNT),
				get(unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT), get(unix.IPPROTO_TCP, unix.TCP_NODELAY),
			}
			want := map[string][6]int{"default": {1, 15, 5, 3, 30000, 1}, "own": {1, 9, 3, 3, 7000, 1}}[name]
			if name == "off" {
				want = got // whatever the system has, but for:
				want[0], want[4], want[5] = 0, 0, 1
			}
			if got != want {
				t.Errorf("%s, %s: %v, want %v", name, side, got, want)
			}
			if n := get(unix.SOL_SOCKET, unix.SO_RCVBUF); name == "own" && n != 100<<10 {
				t.Errorf("%s: SO_RCVBUF is %d", side, n)
			}
		}
		a.Abort()
		b.Abort()
		stop()
	}
}
