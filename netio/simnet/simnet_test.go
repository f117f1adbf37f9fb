package simnet_test

import (
	"context"
	"errors"
	"io"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
)

// pair connects a host "a" to a host "b".
func pair(t *testing.T, n *simnet.Net) (client, server netio.Conn) {
	t.Helper()
	nl, err := n.Listen("b")
	if err != nil {
		t.Fatal(err)
	}
	l := netio.NewListener(nl, nil)
	t.Cleanup(func() { l.Close() })
	if client, err = n.Dial(t.Context(), "a", "b"); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, ok := server.(*pipe.Conn); !ok {
		t.Fatalf("accepted a %T, not the pipe", server)
	}
	t.Cleanup(func() { client.Abort(); server.Abort() })
	return client, server
}

func send(c netio.Conn, s string) {
	out := c.Output()
	out.Lock()
	out.Out().AppendString(s)
	if out.Unlock() {
		out.Flush()
	}
}

// receive gives what arrives within d.
func receive(c netio.Conn, d time.Duration) (s string, err error) {
	kick := time.AfterFunc(d, c.Kick)
	defer kick.Stop()
	_, err = c.Receive(false, func(in *buf.In) (bool, error) {
		s = string(in.Next(in.Len()))
		return false, nil
	})
	return s, err
}

func TestPartitionHoldsAndHealDelivers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		client, server := pair(t, n)
		n.Partition("a", "b")
		send(client, "one")
		if got, err := receive(server, time.Minute); got != "" || err != nil {
			t.Errorf("across a partition: %q, %v", got, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if _, err := n.Dial(ctx, "a", "b"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a dial across a partition: %v", err)
		}
		other, err := n.Dial(t.Context(), "c", "b")
		if err != nil {
			t.Fatalf("a host beside it: %v", err)
		}
		other.Abort()
		client.Close(t.Context()) // what is on its way arrives all the same
		n.HealAll()
		if got, err := receive(server, time.Minute); got != "one" || err != nil {
			t.Errorf("healed: %q, %v", got, err)
		}
		if _, err := receive(server, time.Minute); err != io.EOF {
			t.Errorf("after what was sent: %v", err)
		}
	})
}

func TestLinksAreHeldStalledAndBroken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: time.Millisecond} })
		client, server := pair(t, n)
		links := n.Links("a", "")
		if len(links) != 1 || links[0].To != "b" {
			t.Fatalf("links %+v", links)
		}
		l := links[0]
		l.Hold(simnet.Down)
		send(server, "held")
		send(client, "passes")
		if got, _ := receive(server, time.Second); got != "passes" {
			t.Errorf("the other direction: %q", got)
		}
		if got, _ := receive(client, time.Second); got != "" {
			t.Errorf("held, and yet %q", got)
		}
		l.Release(simnet.Down)
		if got, _ := receive(client, time.Second); got != "held" {
			t.Errorf("released: %q", got)
		}
		l.Stall(simnet.Up, true)
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			send(client, "later")
		}()
		synctest.Wait()
		select {
		case <-sent:
			t.Error("a full connection takes bytes")
		default:
		}
		l.Stall(simnet.Up, false)
		<-sent
		if got, _ := receive(server, time.Second); got != "later" {
			t.Errorf("no longer full: %q", got)
		}
		l.Break()
		if _, err := receive(server, time.Second); !errors.Is(err, pipe.ErrReset) {
			t.Errorf("broken: %v", err)
		}
		if left := n.Links("", ""); len(left) != 0 {
			t.Errorf("%d links are left", len(left))
		}
	})
}

func TestListenersComeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		if _, err := n.Dial(t.Context(), "a", "b"); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("nobody listens: %v", err)
		}
		l, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := n.Listen("b"); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("twice: %v", err)
		}
		waiting, err := n.Dial(t.Context(), "a", "b")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if _, err := receive(waiting, time.Second); err == nil || err == io.EOF {
			t.Errorf("never accepted: %v", err)
		}
		waiting.Abort()
		if again, err := n.Listen("b"); err != nil {
			t.Error(err)
		} else {
			again.Close()
		}
	})
}

// The places of a netio.Limit are given back by connections in memory too.
func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		nl, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		limit := netio.NewLimit(1)
		l := netio.NewListener(nl, &netio.Config{Limit: limit})
		defer l.Close()
		for range 3 {
			client, err := n.Dial(t.Context(), "a", "b")
			if err != nil {
				t.Fatal(err)
			}
			server, err := l.Accept(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			server.Abort()
			client.Abort()
		}
	})
}

// A connection that is made while a partition begins is cut as well.
func TestPartitionMeetsADial(t *testing.T) {
	for i := range 500 {
		n := simnet.New(nil)
		l, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		cut := make(chan struct{})
		go func() {
			defer close(cut)
			for range i % 50 {
				runtime.Gosched()
			}
			n.Partition("a", "b")
		}()
		c, err := n.Dial(ctx, "a", "b")
		<-cut
		if err == nil {
			server, _ := l.Accept()
			send(c, "across")
			server.SetReadDeadline(time.Now().Add(time.Millisecond))
			if k, _ := server.Read(make([]byte, 10)); k > 0 {
				t.Errorf("attempt %d: bytes cross the partition", i)
			}
			server.Close()
			c.Abort()
		}
		l.Close()
		cancel()
		if t.Failed() {
			return
		}
	}
}

// Two that accept at one time get two connections, however close these come: a signal
// that is lost leaves one of them waiting, which synctest reports as a deadlock.
func TestTwoAccepts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		l, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		for range 20_000 {
			var both sync.WaitGroup
			for range 2 {
				both.Go(func() {
					if _, err := l.Accept(); err != nil {
						t.Error(err)
					}
				})
				both.Go(func() {
					if _, err := n.Dial(t.Context(), "a", "b"); err != nil {
						t.Error(err)
					}
				})
			}
			both.Wait()
		}
	})
}
