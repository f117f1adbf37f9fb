package simnet_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
)

// A dead path takes what either side sends, and neither hears of it, whatever is
// healed later.
func TestVanish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		client, server := pair(t, n)
		n.Links("a", "b")[0].Vanish()
		send(client, "lost")
		send(server, "lost too")
		client.CloseWrite() //nolint:errcheck // nobody hears of it
		n.Release("a", "b")
		n.Partition("a", "b")
		n.HealAll()
		for name, c := range map[string]netio.Conn{"client": client, "server": server} {
			if got, err := receive(c, time.Hour); got != "" || err != nil {
				t.Errorf("the %s hears %q, %v", name, got, err)
			}
		}
		if len(n.Links("", "")) != 1 {
			t.Error("neither end has noticed, and the link is gone")
		}
	})
}

// Numbers and names are those of the dials, also of dials that fail: a seed's faults
// meet the same connections each time.
func TestShapesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []string
		n := simnet.New(func(i int, from, to string) pipe.Config {
			asked = append(asked, fmt.Sprint(i, from, to))
			return pipe.Config{Delay: time.Duration(i) * time.Second}
		})
		for _, to := range []string{"nobody", "b", "b"} {
			if to == "b" && len(asked) == 1 {
				l, err := n.Listen("b")
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
			}
			start, want := time.Now(), time.Duration(len(asked))*time.Second
			if c, err := n.Dial(t.Context(), "a", to); err == nil {
				defer c.Abort()
			} else if !errors.Is(err, syscall.ECONNREFUSED) {
				t.Error(err)
			}
			if took := time.Since(start); took != want {
				t.Errorf("dial %d took %v", len(asked)-1, took)
			}
		}
		if want := []string{"0anobody", "1ab", "2ab"}; !slices.Equal(asked, want) {
			t.Errorf("%q", asked)
		}
		var numbers []int
		for _, l := range n.Links("", "b") {
			numbers = append(numbers, l.Number)
		}
		if !slices.Equal(numbers, []int{1, 2}) || n.Links("b", "") != nil || n.Links("a", "nobody") != nil {
			t.Errorf("links %v", numbers)
		}
	})
}

// A release ends holds and stalls, and leaves a partition; partitions of a pair of
// hosts are of one direction of dials.
func TestReleaseIsNotHeal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		client, server := pair(t, n)
		l := n.Links("a", "b")[0]
		l.Stall(simnet.Down, true)
		go send(server, "down")
		n.Partition("a", "b")
		send(client, "up")
		n.Release("a", "b")
		synctest.Wait()
		if q := server.Output().Queued(); q != 0 {
			t.Errorf("%d bytes are stalled", q)
		}
		for _, c := range []netio.Conn{client, server} {
			if got, _ := receive(c, time.Hour); got != "" {
				t.Errorf("%q crosses the partition", got)
			}
		}
		n.Heal("b", "a") // another one
		if got, _ := receive(server, time.Hour); got != "" {
			t.Errorf("%q crosses the partition", got)
		}
		n.Heal("a", "b")
		if got, _ := receive(server, 0); got != "up" {
			t.Errorf("healed: %q", got)
		}
		if got, _ := receive(client, 0); got != "down" {
			t.Errorf("healed: %q", got)
		}
	})
}

// A dial ends with its context, at any moment, and says why.
func TestDialEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(func(int, string, string) pipe.Config { return pipe.Config{Delay: time.Minute} })
		nl, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		defer nl.Close()
		why := errors.New("no more")
		for name, after := range map[string]time.Duration{"before": 0, "on the way": time.Second, "at a partition": time.Hour} {
			ctx, cancel := context.WithCancelCause(t.Context())
			if after == 0 {
				cancel(why)
			} else {
				time.AfterFunc(after, func() { cancel(why) })
			}
			if after == time.Hour {
				n.Partition("a", "b")
			}
			start := time.Now()
			_, err := n.Dial(ctx, "a", "b")
			e, ok := errors.AsType[*netio.Error](err)
			if !ok || e.Op != "dial" || e.Addr != "b" || !errors.Is(err, why) || time.Since(start) != after {
				t.Errorf("%s: %v after %v", name, err, time.Since(start))
			}
			n.HealAll()
		}
		if links := n.Links("", ""); len(links) != 0 {
			t.Errorf("%d links were made", len(links))
		}
	})
}

// Whoever waits in Accept is told when the listener closes, once and for all.
func TestAcceptEndsWithItsListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		l, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Addr(); got.Network() != "sim" || got.String() != "b" {
			t.Errorf("%v", got)
		}
		ended := make(chan error, 2)
		for range 2 {
			go func() { _, err := l.Accept(); ended <- err }()
		}
		synctest.Wait()
		l.Close()
		for range 2 {
			if err := <-ended; !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
		}
		if err := l.Close(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("twice: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("after the end: %v", err)
		}
		if simnet.Up.String() == simnet.Down.String() {
			t.Error("directions have one name")
		}
	})
}

// Each of several that wait in Accept gets a connection, also of those that come at once.
func TestAcceptsBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := simnet.New(nil)
		l, err := n.Listen("b")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		const many = 8
		accepted := make(chan net.Conn, many)
		for range many {
			go func() {
				if nc, err := l.Accept(); err == nil {
					accepted <- nc
				}
			}()
		}
		synctest.Wait()
		for range many {
			go func() {
				if c, err := n.Dial(t.Context(), "a", "b"); err == nil {
					defer c.Abort()
				}
			}()
		}
		synctest.Wait()
		if len(accepted) != many {
			t.Errorf("%d of %d were accepted", len(accepted), many)
		}
		for range len(accepted) {
			(<-accepted).Close()
		}
	})
}
