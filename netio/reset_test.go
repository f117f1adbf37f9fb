package netio_test

import (
	"net"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// TestResetsAreNoticed sends 500 parked readers, on the accepting or the dialing
// side, data that means nothing to them and a reset right behind it: all notice.
func TestResetsAreNoticed(t *testing.T) {
	for name, cfg := range map[string]*netio.Config{"parked": {}, "loops": {Loops: 2}} {
		for _, dials := range []bool{false, true} {
			t.Run(name+map[bool]string{false: ", accepted", true: ", dialed"}[dials], func(t *testing.T) {
				cfg := &netio.Config{Net: new(netio.Net), Loops: cfg.Loops}
				defer cfg.Net.Close()
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				var readers sync.WaitGroup
				var left atomic.Int64
				for range 500 {
					c, peer := rawPeer(t, l, cfg, dials)
					var seen atomic.Int64
					left.Add(1)
					readers.Go(func() {
						skip := func(in *buf.In) (bool, error) { seen.Add(int64(in.Skip(in.Len()))); return true, nil }
						if why, _ := c.Receive(false, skip); why != netio.Lost {
							t.Errorf("Receive: %v", why)
						}
						c.Abort()
						left.Add(-1)
					})
					for i := range 3 {
						peer.Write(make([]byte, 40))
						for i < 2 && seen.Load() < int64(40*(i+1)) {
							// Real time: the reset must fall between two reads of the kernel.
							time.Sleep(10 * time.Microsecond)
						}
					}
					peer.SetLinger(0)
					peer.Close()
				}
				done := make(chan struct{})
				go func() { readers.Wait(); close(done) }()
				select {
				case <-done:
				case <-time.After(5 * time.Second):
					t.Errorf("%d of 500 readers stay", left.Load())
				}
			})
		}
	}
}

// rawPeer gives a connection and its peer.
func rawPeer(t *testing.T, l net.Listener, cfg *netio.Config, dials bool) (netio.Conn, *net.TCPConn) {
	t.Helper()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if !dials {
		nc, other = other, nc
	}
	return netio.Wrap(nc, cfg), other.(*net.TCPConn)
}

// hunts is how many attempts a hunt makes: LIMOSA_HUNT, or a few.
func hunts(t *testing.T, few int) int {
	if n, err := strconv.Atoi(os.Getenv("LIMOSA_HUNT")); err == nil {
		return n
	}
	if testing.Short() {
		return few / 10
	}
	return few
}
