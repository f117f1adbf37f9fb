package netio_test

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/internal/nettest"
)

// Goroutines that always have something to do let one go first whose socket has
// become readable: before each of them has had a few more turns. With
// runtime.Gosched they have thousands.
func TestYieldLetsReadersGoFirst(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	a, b, stop := dialed(t, "unix") // what is sent has arrived when the send returns
	defer stop()
	defer a.Abort()
	defer b.Abort()
	const greedy, rounds = 8, 20
	var turns atomic.Int64
	var over atomic.Bool
	var all sync.WaitGroup
	defer all.Wait()
	defer over.Store(true)
	y := a.(netio.Yielder)
	for range greedy {
		all.Go(func() {
			for !over.Load() {
				turns.Add(1)
				y.Yield()
			}
		})
	}
	late := make([]int64, rounds)
	for i := range late {
		arrived := make(chan int64, 1)
		go func() {
			a.Receive(false, func(in *buf.In) (bool, error) {
				in.Skip(in.Len())
				arrived <- turns.Load()
				return false, nil
			})
		}()
		for range 3 { // until it is parked
			y.Yield()
		}
		sent := turns.Load()
		out := b.Output()
		out.Lock()
		out.Out().AppendString("x")
		if out.Unlock() && out.Flush() != nil {
			t.Error("not sent")
		}
		late[i] = <-arrived - sent
	}
	// A round in which the kernel had the sender's thread wait between its look at
	// turns and the send says nothing: the processor is given to others meanwhile.
	slices.Sort(late)
	if late[rounds*3/4] > 4*greedy {
		t.Errorf("turns of %d greedy goroutines before what had arrived was seen: %d", greedy, late)
	}
}

// All who yield go on, also when the Net is closed meanwhile.
func TestYieldsEndWithTheNet(t *testing.T) {
	for _, network := range []string{"tcp", "tls", "loop"} {
		cfg := &netio.Config{Net: new(netio.Net)}
		if network == "loop" {
			cfg.Loops = 1
		}
		a, b, stop := dialedBy(t, "tcp", cfg)
		if network == "tls" {
			a, b = nettest.TLS(t, a, b, 0)
		}
		defer a.Abort()
		defer b.Abort()
		var all sync.WaitGroup
		var n atomic.Int32
		y := a.(netio.Yielder)
		for range 100 {
			all.Go(func() {
				for range 100 {
					y.Yield()
					n.Add(1)
				}
			})
		}
		for n.Load() < 1000 {
			y.Yield()
		}
		stop() // also the connection, if it is on a loop
		all.Wait()
		if y.Crowded(0) {
			t.Error("somebody waits still")
		}
		y.Yield() // at once
	}
}

// A Receive that finds nothing changes Rests, and one that finds something does not.
func TestRests(t *testing.T) {
	a, b, stop := dialed(t, "tcp")
	defer stop()
	defer a.Abort()
	defer b.Abort()
	y := a.(netio.Yielder)
	say := func(s string) {
		out := b.Output()
		out.Lock()
		out.Out().AppendString(s)
		if out.Unlock() && out.Flush() != nil {
			t.Fatal("not sent")
		}
	}
	hear := func() {
		a.Receive(false, func(in *buf.In) (bool, error) { in.Skip(1); return false, nil }) //nolint:errcheck // seen by what is counted
	}
	say("abc")
	hear() // whether it waits is the kernel's affair
	for n := y.Rests(); n == y.Rests(); {
		hear() // the others are there
		hear()
		if n != y.Rests() {
			t.Error("a Receive that has found something has rested")
		}
		said := make(chan struct{})
		time.AfterFunc(10*time.Millisecond, func() { say("d"); close(said) })
		hear()
		<-said // its flush may come back after what it has sent was heard
		if n == y.Rests() {
			t.Error("a Receive that has waited has not rested")
		}
	}
}
