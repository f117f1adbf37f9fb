package relay_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
)

// full writes to c until its relay takes nothing any more, and a moment longer.
func full(t *testing.T, nc net.Conn) {
	t.Helper()
	p := make([]byte, 64<<10)
	for {
		nc.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
		if _, err := nc.Write(p); err != nil {
			if ne, ok := errors.AsType[net.Error](err); !ok || !ne.Timeout() {
				t.Fatal(err)
			}
			return
		}
	}
}

// A relay ends by its context, by Close and by Abort: parked for bytes on both
// sides, and parked with bytes for a peer that takes none.
func TestRelayEnds(t *testing.T) {
	cause := errors.New("enough of it")
	ends := map[string]struct {
		end  func(l *line, cancel context.CancelCauseFunc)
		want []error
	}{
		"context":  {func(_ *line, cancel context.CancelCauseFunc) { cancel(cause) }, []error{cause}},
		"close":    {func(l *line, _ context.CancelCauseFunc) { netio.CloseWithin(l.in, time.Second) }, []error{net.ErrClosed}},
		"closeOut": {func(l *line, _ context.CancelCauseFunc) { netio.CloseWithin(l.out, time.Second) }, []error{net.ErrClosed, pipe.ErrReset}},
		"abort":    {func(l *line, _ context.CancelCauseFunc) { l.out.Abort() }, []error{net.ErrClosed}},
		"reset":    {func(l *line, _ context.CancelCauseFunc) { l.server.Abort() }, []error{syscall.ECONNRESET, syscall.EPIPE, pipe.ErrReset, io.ErrUnexpectedEOF}},
	}
	for kind, pair := range pairings() {
		for state, prepare := range map[string]func(*testing.T, net.Conn){
			"idle": func(*testing.T, net.Conn) {},
			"full": full,
		} {
			for name, tt := range ends {
				t.Run(kind+"/"+state+"/"+name, func(t *testing.T) {
					if kind == "unix" && name == "reset" && state == "idle" {
						t.Skip("an aborted unix socket without unread bytes ends orderly")
					}
					if name == "close" && state == "full" {
						t.Skip("nobody looks at the source while the destination takes nothing")
					}
					leakless(t)
					l := joined(t, pair, pair)
					ctx, cancel := context.WithCancelCause(t.Context())
					defer cancel(nil)
					done := l.relay(ctx)
					// One exchange: the relay runs.
					client, server := l.peers()
					client.Write([]byte("x"))
					io.ReadFull(server, make([]byte, 1))
					prepare(t, client)
					tt.end(l, cancel)
					r := await(t, "Relay", done)
					for _, want := range tt.want { // crypto/tls has an error of its own for a local end
						if errors.Is(r.err, want) || r.err != nil && kind == "tls" && name == "closeOut" {
							return
						}
					}
					t.Errorf("Relay = %v; want one of %v", r.err, tt.want)
				})
			}
		}
	}
}

// A context that has ended already moves nothing for long.
func TestRelayEndedContext(t *testing.T) {
	kinds := pairings()
	for _, name := range []string{"tcp", "pipe"} {
		leakless(t)
		l := joined(t, kinds[name], kinds[name])
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if r := await(t, "Relay", l.relay(ctx)); !errors.Is(r.err, context.Canceled) {
			t.Errorf("%s: %v", name, r.err)
		}
	}
}

// A peer that takes nothing for WriteStall is given up.
func TestRelayStall(t *testing.T) {
	kinds := pairings()
	for _, name := range []string{"tcp", "unix", "tls"} {
		t.Run(name, func(t *testing.T) {
			leakless(t)
			l := joined(t, kinds[name], func(t testing.TB, cfg *netio.Config) (a, b netio.Conn) {
				c := *cfg
				c.WriteStall = 30 * time.Millisecond
				return kinds[name](t, &c)
			})
			done := l.relay(t.Context())
			client, _ := l.peers()
			written := make(chan struct{})
			go func() {
				defer close(written)
				p := make([]byte, 64<<10)
				for {
					if _, err := client.Write(p); err != nil {
						return
					}
				}
			}()
			r := await(t, "Relay", done)
			if !errors.Is(r.err, netio.ErrStalled) {
				t.Errorf("Relay = %v", r.err)
			}
			client.Close()
			<-written
		})
	}
}

// A relay that is cut short ends no stream: behind it Close is as Abort, so that
// no peer takes what has come for all there was. A direction that has ended in
// order stays so.
func TestRelayCutShort(t *testing.T) {
	for kind, pair := range pairings() {
		if kind == "unix" {
			continue // knows no reset
		}
		for _, state := range []string{"idle", "full", "half"} {
			t.Run(kind+"/"+state, func(t *testing.T) {
				leakless(t)
				l := joined(t, pair, pair)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				done := l.relay(ctx)
				client, server := l.peers()
				client.Write([]byte("x"))
				io.ReadFull(server, make([]byte, 1))
				switch state {
				case "full":
					full(t, client)
				case "half":
					client.Write([]byte("last"))
					client.(interface{ CloseWrite() error }).CloseWrite()
					if got, err := io.ReadAll(server); string(got) != "last" || err != nil {
						t.Errorf("the server has received %q, %v", got, err)
					}
				}
				cancel()
				await(t, "Relay", done)
				netio.CloseWithin(l.in, 10*time.Second)
				netio.CloseWithin(l.out, 10*time.Second)
				server.SetReadDeadline(time.Now().Add(10 * time.Second))
				if n, err := io.Copy(io.Discard, server); (err == nil) != (state == "half") || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the server has received %d bytes, then %v", n, err)
				}
				client.SetReadDeadline(time.Now().Add(10 * time.Second))
				if n, err := io.Copy(io.Discard, client); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
					t.Errorf("the client has received %d bytes, then %v", n, err)
				}
			})
		}
	}
}

// Close of a relay's connection ends it although its peer never pauses.
func TestRelayCloseBesideAFlood(t *testing.T) {
	for _, kind := range []string{"tcp", "unix", "pipe"} {
		for _, side := range []string{"in", "out"} {
			t.Run(kind+"/"+side, func(t *testing.T) {
				leakless(t)
				l := joined(t, pairings()[kind], pairings()[kind])
				done := l.relay(t.Context())
				client, server := l.peers()
				var flood sync.WaitGroup
				flood.Go(func() {
					p := make([]byte, 200)
					for {
						if _, err := client.Write(p); err != nil {
							return
						}
					}
				})
				flood.Go(func() {
					p := make([]byte, 1<<20)
					for {
						if _, err := server.Read(p); err != nil {
							return
						}
						// Real time: a peer that reads slower than the other sends.
						time.Sleep(time.Millisecond)
					}
				})
				// Real time: sockets are full by then.
				time.Sleep(50 * time.Millisecond)
				closed := make(chan error, 1)
				go func() {
					c := l.in
					if side == "out" {
						c = l.out
					}
					closed <- netio.CloseWithin(c, time.Second)
				}()
				await(t, "Close", closed)
				await(t, "Relay", done)
				l.in.Abort()
				l.out.Abort()
				server.Close()
				flood.Wait()
			})
		}
	}
}
