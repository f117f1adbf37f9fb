package endpoint_test

import (
	"context"
	"crypto/tls"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/stats"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// A server that accepts connections and closes them at once is not dialled for
// every call: it is given a growing pause, as one that cannot be dialled. One
// that answers again has its calls again.
func TestNoStormOfDials(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": 0, "soon": 3 * time.Millisecond} {
		for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed} {
			t.Run(name+" "+form.String(), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					n := simnet.New(nil)
					dials, well := 0, false
					c := rig.NetClient(n, &limosa.Client{Thrift: form})
					var mu sync.Mutex
					rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
						mu.Lock()
						defer mu.Unlock()
						dials++
						if well {
							return n.Dial(ctx, "client", "server")
						}
						a, b := pipe.New(pipe.Config{})
						time.AfterFunc(after, func() { netio.CloseWithin(b, 0) })
						return a, nil
					})
					calls := 0
					for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
						calls++
						ctx, cancel := context.WithTimeout(t.Context(), time.Second)
						_, err := rig.Call(ctx, c, rig.Echo, "")
						cancel()
						if err == nil {
							t.Fatal("a call was answered")
						}
					}
					if dials > 40 {
						t.Errorf("%d calls in 10 s have made %d dials", calls, dials)
					}
					_, err := rig.Call(t.Context(), c, rig.Echo, "")
					if rpc.SentOf(err) == rpc.NotSent && !strings.Contains(err.Error(), "before their peer said anything") {
						t.Errorf("a call in the pause: %v", err)
					}
					mu.Lock()
					well = true
					mu.Unlock()
					stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
					time.Sleep(2 * time.Second)
					for range 3 {
						if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
							t.Error(err)
						}
					}
					// What broke before it was heard is forgotten: a loss costs nothing.
					for _, l := range n.Links("", "") {
						l.Break()
					}
					synctest.Wait()
					if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
						t.Error(err)
					}
					stop()
					<-ended
					c.Close()
				})
			})
		}
	}
}

// Nor is a server dialled for every call that says hello, or what its protocol has for it,
// and goes: it may be draining, or mean ill. A good one has its calls again.
func TestNoStormOfHellos(t *testing.T) {
	for name, tt := range map[string]struct {
		client *limosa.Client
		hello  string
	}{
		"TTHeader":     {&limosa.Client{}, "\x00\x00\x00\x38\x10\x00\x00\x00\x00\x00\x00\x00\x00\x0a\x00\x00\x01\x00\x01\x00\x0climosa-hello\x00\x11v=1;mux=1;chunks=1\x00\x00\x00"},
		"HTTP/2":       {&limosa.Client{Protocols: []wire.Protocol{web.Protocol{}}}, "\x00\x00\x00\x04\x00\x00\x00\x00\x00"},
		"HTTP/2, away": {&limosa.Client{Protocols: []wire.Protocol{web.Protocol{}}}, "\x00\x00\x00\x04\x00\x00\x00\x00\x00" + "\x00\x00\x08\x07\x00\x00\x00\x00\x00" + "\x00\x00\x00\x00\x00\x00\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := simnet.New(nil)
				var dials atomic.Int32
				var well atomic.Bool
				c := rig.NetClient(n, tt.client)
				rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
					dials.Add(1)
					if well.Load() {
						return n.Dial(ctx, "client", "server")
					}
					a, b := pipe.New(pipe.Config{})
					nc := b.NetConn()
					nc.Write([]byte(tt.hello)) //nolint:errcheck // to memory
					time.AfterFunc(3*time.Millisecond, func() { nc.Close() })
					return a, nil
				})
				for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Second)
					if _, err := rig.Call(ctx, c, rig.Echo, ""); err == nil {
						t.Fatal("a call was answered")
					}
					cancel()
				}
				if n := dials.Load(); n > 40 {
					t.Errorf("%d dials in 10 s", n)
				}
				stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}}})
				well.Store(true)
				time.Sleep(2 * time.Second)
				for range 3 {
					if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil && !strings.Contains(err.Error(), "no such method") {
						t.Error(err)
					}
				}
				stop()
				<-ended
				c.Close()
			})
		})
	}
}

// Dials that fail together count once: the pause behind them is the first.
func TestFailuresTogetherPauseOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
		c := rig.NetClient(n, &limosa.Client{Thrift: limosa.Framed})
		var mu sync.Mutex
		down := false
		rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			time.Sleep(time.Millisecond)
			mu.Lock()
			defer mu.Unlock()
			if down {
				return nil, errors.New("refused")
			}
			return n.Dial(ctx, "client", "server")
		})
		if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		down = true
		mu.Unlock()
		for _, l := range n.Links("", "") {
			l.Break()
		}
		synctest.Wait()
		var calls sync.WaitGroup
		for range 16 {
			calls.Go(func() { rig.Call(t.Context(), c, rig.Echo, "") })
		}
		calls.Wait()
		mu.Lock()
		down = false
		mu.Unlock()
		time.Sleep(25 * time.Millisecond)
		if _, err := rig.Call(t.Context(), c, rig.Echo, ""); err != nil {
			t.Errorf("25 ms behind 16 dials that failed together: %v", err)
		}
		stop()
		<-ended
		c.Close()
	})
}

// That one connection is well says nothing of others: a second one that is not to
// be had, or that its server closes at once, is not dialled for with every call.
func TestNoStormBesideAConnectionThatIsWell(t *testing.T) {
	for name, second := range map[string]func() (netio.Conn, error){
		"refused": func() (netio.Conn, error) { return nil, errors.New("refused") },
		"closed": func() (netio.Conn, error) {
			a, b := pipe.New(pipe.Config{})
			b.Abort()
			return a, nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := simnet.New(nil)
				s, m := rig.One("slow", func(context.Context, *rpc.Call) error { time.Sleep(10 * time.Millisecond); return nil })
				stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{s}})
				c := rig.NetClient(n, new(limosa.Client))
				var dials atomic.Int32
				rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
					if dials.Add(1) > 1 {
						return second()
					}
					return n.Dial(ctx, "client", "server")
				})
				var calls sync.WaitGroup
				for range 40 {
					calls.Go(func() {
						for range 500 {
							if _, err := rig.Call(t.Context(), c, m, ""); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				calls.Wait()
				if n := dials.Load(); n > 25 {
					t.Errorf("%d dials in 5 s", n)
				}
				stop()
				<-ended
				c.Close()
			})
		})
	}
}

// A panic of the user's TLS code, or the end of its goroutine, costs the client a
// dial, not the process nor all calls to come.
func TestClientTLSCodeThatPanics(t *testing.T) {
	cert, pool := rig.Certificate(t)
	for _, form := range []limosa.Form{limosa.TTHeader, limosa.Framed} {
		target, _ := rig.Start(t, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, TLS: &tls.Config{Certificates: []tls.Certificate{cert}}}, "127.0.0.1:0")
		var how atomic.Int32
		idle, counts := rpc.Limits{Idle: 10 * time.Millisecond}, new(stats.Set)
		conns := counts.Gauge("rpc_client_conns", "")
		c := &limosa.Client{Target: target, Thrift: form, Limits: idle, Stats: counts, TLS: &tls.Config{RootCAs: pool, VerifyConnection: func(tls.ConnectionState) error {
			switch how.Load() {
			case 1:
				panic("mine")
			case 2:
				runtime.Goexit()
			}
			return nil
		}}}
		for i, want := range []string{"", "panic", "goroutine", ""} {
			how.Store(int32(i % 3))
			if i > 0 {
				// Real time: the pause behind a failure.
				time.Sleep(60 * time.Millisecond)
				rig.Eventually(t, "the connection of the call before goes", func() bool { return conns.Value() == 0 })
			}
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
			_, err := rig.Call(ctx, c, rig.Echo, "")
			cancel()
			if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || rpc.SentOf(err) != rpc.NotSent) {
				t.Errorf("%v, call %d: %v", form, i, err)
			}
		}
		c.Close()
	}
}

// A connection that was dialled for a crowd that has gone, and is too old for a first
// call by the next one, leaves that to the connection that there is.
func TestCrowdBesideAStaleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		s, m := rig.One("slow", func(context.Context, *rpc.Call) error { time.Sleep(10 * time.Millisecond); return nil })
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{s}})
		c := rig.NetClient(n, new(limosa.Client))
		var dials atomic.Int32
		rig.DialOn(c, func(ctx context.Context, _, _ string, _ *netio.Config) (netio.Conn, error) {
			d := dials.Add(1)
			if time.Sleep(20 * time.Millisecond); d > 2 {
				return nil, errors.New("refused")
			}
			return n.Dial(ctx, "client", "server")
		})
		if _, err := rig.Call(t.Context(), c, m, ""); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			var calls sync.WaitGroup
			for range 40 {
				calls.Go(func() {
					if _, err := rig.Call(t.Context(), c, m, ""); err != nil {
						t.Error(err)
					}
				})
			}
			calls.Wait()
			time.Sleep(700 * time.Millisecond)
		}
		if n := dials.Load(); n != 3 {
			t.Errorf("%d dials", n)
		}
		stop()
		<-ended
		c.Close()
	})
}
