//go:build unix

package relay_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/relay"
)

// relayLoad, in the environment, makes TestRelayLoad the other side of
// BenchmarkRelay: "front chunk conns".
const relayLoad = "NETIO_RELAY_LOAD"

// TestRelayLoad is a process of its own when BenchmarkRelay starts it, so that
// the benchmark's CPU time is the relay's alone. It echoes at the back, calls at
// the front, and makes as many exchanges as each line on its input says.
func TestRelayLoad(t *testing.T) {
	if os.Getenv(relayLoad) == "" {
		t.Skip("only for BenchmarkRelay")
	}
	var front string
	var chunk, conns int
	if _, err := fmt.Sscan(os.Getenv(relayLoad), &front, &chunk, &conns); err != nil {
		t.Fatal(err)
	}
	back, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := back.Accept()
			if err != nil {
				return
			}
			go func() {
				p := make([]byte, chunk)
				for {
					if _, err := io.ReadFull(c, p); err != nil {
						return
					}
					c.Write(p)
				}
			}()
		}
	}()
	fmt.Println("back", back.Addr())
	callers := make([]net.Conn, conns)
	for i := range callers {
		if callers[i], err = net.Dial("tcp", front); err != nil {
			t.Fatal(err)
		}
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var n int64
		fmt.Sscan(lines.Text(), &n)
		var wg sync.WaitGroup
		var left atomic.Int64
		left.Store(n)
		for _, c := range callers {
			wg.Go(func() {
				p := make([]byte, chunk)
				for left.Add(-1) >= 0 {
					c.Write(p)
					if _, err := io.ReadFull(c, p); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
		fmt.Println("done")
	}
}

// pipes are those of all relays of the benchmark.
var pipes = new(relay.Pipes)

// relayPeers are ways to relay between two TCP connections, which they close.
var relayPeers = []struct {
	name string
	run  func(a, b *net.TCPConn)
}{
	{"limosa", func(a, b *net.TCPConn) {
		ca, cb := netio.Wrap(a, nil), netio.Wrap(b, nil)
		relay.Run(noContext{}, ca, cb, pipes)
		netio.CloseWithin(ca, time.Second)
		netio.CloseWithin(cb, time.Second)
	}},
	{"io-copy", func(a, b *net.TCPConn) {
		bothWays(a, b, func(dst, src *net.TCPConn) { io.Copy(dst, src) })
	}},
	{"copy-loop", func(a, b *net.TCPConn) {
		bothWays(a, b, func(dst, src *net.TCPConn) {
			p := make([]byte, 64<<10)
			for {
				n, err := src.Read(p)
				if err != nil {
					return
				}
				if _, err := dst.Write(p[:n]); err != nil {
					return
				}
			}
		})
	}},
}

// noContext never ends.
type noContext struct{}

func (noContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (noContext) Done() <-chan struct{}       { return nil }
func (noContext) Err() error                  { return nil }
func (noContext) Value(any) any               { return nil }

func bothWays(a, b *net.TCPConn, one func(dst, src *net.TCPConn)) {
	var wg sync.WaitGroup
	wg.Go(func() { one(a, b); a.CloseWrite() })
	one(b, a)
	b.CloseWrite()
	wg.Wait()
	a.Close()
	b.Close()
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkRelay is one exchange: a chunk there and back through the relay.
// cpu_s/GB is this process's, over the bytes that it relayed.
func BenchmarkRelay(b *testing.B) {
	const conns = 16
	for _, chunk := range []int{1 << 10, 64 << 10} {
		for _, peer := range relayPeers {
			b.Run(fmt.Sprintf("%dB/%s", chunk, peer.name), func(b *testing.B) {
				front, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					b.Fatal(err)
				}
				defer front.Close()
				cmd := exec.Command(os.Args[0], "-test.run=^TestRelayLoad$")
				cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%s %d %d", relayLoad, front.Addr(), chunk, conns))
				in, _ := cmd.StdinPipe()
				out, _ := cmd.StdoutPipe()
				if err := cmd.Start(); err != nil {
					b.Fatal(err)
				}
				lines := bufio.NewScanner(out)
				await := func(prefix string) string {
					for lines.Scan() {
						if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
							return rest
						}
					}
					b.Fatal("the load is gone")
					return ""
				}
				back := await("back ")
				var relays sync.WaitGroup
				for range conns {
					c, err := front.Accept()
					if err != nil {
						b.Fatal(err)
					}
					d, err := net.Dial("tcp", back)
					if err != nil {
						b.Fatal(err)
					}
					relays.Go(func() { peer.run(c.(*net.TCPConn), d.(*net.TCPConn)) })
				}
				exchange := func(n int) {
					fmt.Fprintln(in, n)
					await("done")
				}
				exchange(conns * 20)
				b.SetBytes(2 * int64(chunk))
				b.ResetTimer()
				before := cpuTime()
				exchange(b.N)
				cpu := cpuTime() - before
				b.StopTimer()
				b.ReportMetric(cpu.Seconds()/(2*float64(chunk)*float64(b.N)/1e9), "cpu_s/GB")
				b.ReportMetric(float64(cpu.Nanoseconds())/float64(b.N)/1000, "cpu_us/op")
				in.Close()
				cmd.Wait()
				relays.Wait()
			})
		}
	}
}
