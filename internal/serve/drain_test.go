package serve_test

import (
	"context"
	"crypto/tls"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
)

// A request that is on its way when the drain of a young connection begins, or
// has arrived in part, is refused in so many words: it can be made elsewhere.
func TestDrainHearsYoungConnections(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for at := 10500 * time.Microsecond; at < 120*time.Millisecond; at += 3 * time.Millisecond {
			synctest.Test(t, func(t *testing.T) {
				n := simnet.New(func(int, string, string) pipe.Config {
					return pipe.Config{Delay: 10 * time.Millisecond, MaxSend: 1000, Buffer: 100}
				})
				s, c := &limosa.Server{Services: []rpc.Service{rig.Service(nil)}}, rig.NetClient(n, new(limosa.Client))
				if secure {
					s.TLS, c.TLS = rig.ServerTLS(), &tls.Config{InsecureSkipVerify: true}
				}
				stop, ended := rig.NetServer(t, n, s)
				time.AfterFunc(at, stop)
				if got, err := rig.Call(t.Context(), c, rig.Echo, "hello"); err == nil && got != "hello" || err != nil && !rpc.SentOf(err).Retryable() {
					t.Errorf("a drain after %v, TLS %v: %q, %v, %v", at, secure, got, err, rpc.SentOf(err))
				}
				stop()
				if err := <-ended; err != nil {
					t.Errorf("Serve = %v", err)
				}
				c.Close()
			})
		}
	}
}

// Who connects and says nothing does not hold a drain up.
func TestDrainAndSilentConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}})
		for range 10 {
			nc, err := n.Dial(t.Context(), "client", "server")
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Abort()
		}
		synctest.Wait()
		began := time.Now()
		stop()
		if err := <-ended; err != nil || time.Since(began) > 2*time.Second {
			t.Errorf("Serve = %v after %v", err, time.Since(began))
		}
	})
}

// Who connects and says nothing meets an orderly end, as any connection that is at
// rest: a reset is for peers that did something wrong, and is logged as a failure by
// clients that keep connections ready.
func TestDrainEndsSilentConnectionsInOrder(t *testing.T) {
	for name, config := range map[string]*tls.Config{"plain": nil, "TLS": rig.ServerTLS()} {
		synctest.Test(t, func(t *testing.T) {
			n := simnet.New(nil)
			stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, TLS: config})
			nc, err := n.Dial(t.Context(), "client", "server")
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			stop()
			if _, err := nc.Receive(false, nil); err != io.EOF {
				t.Errorf("%s: %v", name, err)
			}
			nc.Abort()
			if err := <-ended; err != nil {
				t.Errorf("%s: Serve = %v", name, err)
			}
		})
	}
}

// A call that crosses the end of its connection, on which a drained server has
// waited a second for its client to go, is made elsewhere: on a connection that had
// calls before, and on one that nothing was sent on.
func TestDrainLosesNoCallThatCrossesItsEnd(t *testing.T) {
	for _, secure := range []bool{false, true} {
		for _, touched := range []bool{false, true} {
			for late := -30 * time.Millisecond; late < 30*time.Millisecond; late += time.Millisecond {
				synctest.Test(t, func(t *testing.T) { crossDrain(t, secure, touched, late) })
			}
		}
	}
}

// crossDrain makes a call so late after the end of a connection, or so early before.
func crossDrain(t *testing.T, secure, touched bool, late time.Duration) {
	n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: 10 * time.Millisecond} })
	server := func() *limosa.Server {
		s := &limosa.Server{Services: []rpc.Service{rig.Service(nil)}}
		if secure {
			s.TLS = rig.ServerTLS()
		}
		return s
	}
	c := rig.NetClient(n, new(limosa.Client))
	if secure {
		c.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	stop, ended := rig.NetServer(t, n, server())
	ctx := t.Context()
	if !touched { // it is over before the dial is
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, 5*time.Millisecond)
		defer cancel()
	}
	if _, err := rig.Call(ctx, c, rig.Echo, "hello"); err == nil != touched {
		t.Fatal(err)
	}
	time.Sleep(time.Second)
	stop()
	synctest.Wait()
	next, nextEnded := rig.NetServer(t, n, server())
	time.Sleep(time.Second + late)
	if got, err := rig.Call(t.Context(), c, rig.Echo, "again"); err != nil || got != "again" {
		t.Errorf("TLS %v, touched %v, %v after the end: %q, %v, %v", secure, touched, late, got, err, rpc.SentOf(err))
	}
	next()
	for _, e := range []<-chan error{ended, nextEnded} {
		if err := <-e; err != nil {
			t.Errorf("Serve = %v", err)
		}
	}
	c.Close()
}

// Serve says what has not ended although no handler runs.
func TestDrainNamesWhatIsNoCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		forever := make(chan struct{})
		stop, ended := rig.NetServer(t, n, &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Drain: time.Second, TLS: &tls.Config{
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { <-forever; return rig.ServerTLS(), nil },
		}})
		c := rig.NetClient(n, &limosa.Client{TLS: &tls.Config{InsecureSkipVerify: true}})
		go rig.Call(t.Context(), c, rig.Echo, "")
		time.Sleep(time.Second)
		stop()
		if err := <-ended; rpc.CodeOf(err) != rpc.DeadlineExceeded || !strings.Contains(err.Error(), "connections") {
			t.Errorf("Serve = %v", err)
		}
		close(forever)
		c.Shutdown(rig.Canceled())
	})
}
