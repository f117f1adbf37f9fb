// Package conntest is the suite that every netio.Conn passes: sockets, TLS, the
// in-memory Pipe, plain connections and shared memory alike. Behaviour that is
// tested here is what an engine may rely on.
//
// A transport of one's own runs it so:
//
//	func TestConn(t *testing.T) {
//		conntest.Run(t, func(t *testing.T) (a, b netio.Conn, stop func()) {
//			… // dial and accept
//			return a, b, func() { l.Close() }
//		}, conntest.Caps{})
//	}
//
// Each behaviour has a pair of its own, and ends with a look at goroutines, descriptors
// and blocks: none may be left. The behaviours are in files by what they are about:
// data (what was sent arrives), flush (the debt of a Receive), writers (many of them,
// and room), kick, end (losses), close, settle (two of these at once) and view (the
// net.Conn of a connection).
//
// No behaviour waits for a time to pass where a transport may be slow: it waits for
// what has to happen, for a minute at most. Where something must not happen it gives it
// a moment (settle), so that a slow machine may let a defect pass, and never fails a
// transport that is right.
package conntest

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
)

// Caps says what a kind of connection cannot do. The zero value is a
// connection that can do everything.
type Caps struct {
	// NoFull: an owed flush never meets a full socket, because somebody else
	// does it; nor does receiving come first then.
	NoFull bool
	// NoHalfClose: CloseWrite does nothing.
	NoHalfClose bool
	// LateLoss: OnLost's function may run no earlier than Close.
	LateLoss bool
	// Small: the connection is slow; sizes are a tenth.
	Small bool
}

// patience is how long something that has to happen may take. It is never
// waited for in a test that passes.
const patience = time.Minute

// Run runs the suite. make gives a connected pair and what ends it, after both
// have been closed: listeners and the like. A connection may hold some megabytes
// on their way, at most 16.
func Run(t *testing.T, make func(t *testing.T) (a, b netio.Conn, stop func()), caps Caps) {
	// What is made once and stays, such as the descriptors of Go's poller.
	warm := &env{make: make, caps: caps}
	warm.pair(t)
	warm.close()
	for _, tt := range suite(caps) {
		t.Run(tt.name, func(t *testing.T) {
			if tt.skip {
				t.Skip("not for this kind of connection")
			}
			leaks := measure()
			e := &env{make: make, caps: caps}
			defer leaks.check(t) // last: after the pairs are closed
			defer e.close()
			tt.run(t, e)
		})
	}
}

// A behaviour is one test of the suite.
//
// skip is by what its Caps say of a kind of connection, never by its name.
type behaviour struct {
	name string
	run  func(*testing.T, *env)
	skip bool
}

// suite is all of them.
func suite(caps Caps) []behaviour {
	return []behaviour{
		{"Echo", testEcho, false},
		{"Frames", testFrames, false},
		{"Bytes", testBytes, false},
		{"Pieces", testPieces, false},
		{"Leftover", testLeftover, false},
		{"Lent", testLent, false},
		{"StepError", testStepError, false},
		{"StepPanic", testStepPanic, false},
		{"KickBefore", testKickBefore, false},
		{"KickStale", testKickStale, false},
		{"KickParked", testKickParked, false},
		{"KickAnytime", testKickAnytime, false},
		{"KickOwed", testKickOwed, false},
		{"ReceiveFirst", testReceiveFirst, caps.NoFull},
		{"OwedPaid", testOwedPaid, false},
		{"OwedFull", testOwedFull, caps.NoFull},
		{"OwedFullError", testOwedFullError, caps.NoFull},
		{"OwedAtEnd", testOwedAtEnd, caps.NoHalfClose},
		{"TryFlush", testTryFlush, caps.NoFull},
		{"BothWriteFirst", testBothWriteFirst, false},
		{"Writers", testWriters, false},
		{"WaitRoom", testWaitRoom, false},
		{"WaitCancel", testWaitCancel, false},
		{"NeverReads", testNeverReads, false},
		{"EndWithData", testEndWithData, caps.NoHalfClose},
		{"HalfClose", testHalfClose, caps.NoHalfClose},
		{"LossIdle", testLossIdle, caps.LateLoss},
		{"LossUnread", testLossUnread, caps.LateLoss},
		{"LossActive", testLossActive, false},
		{"LossByClose", testLossByClose, false},
		{"CloseSends", testCloseSends, false},
		{"CloseWaits", testCloseWaits, false},
		{"CloseCut", testCloseCut, false},
		{"CloseOver", testCloseOver, false},
		{"CloseBeside", testCloseBeside, false},
		{"CloseSooner", testCloseSooner, false},
		{"CloseParked", testCloseParked, false},
		{"AbortParked", testAbortParked, false},
		{"CloseTwice", testCloseTwice, false},
		{"Sticky", testSticky, false},
		{"ResetBehindData", testResetBehindData, false},
		{"LentAfterFull", testLentAfterFull, caps.NoFull},
		{"KickFull", testKickFull, caps.NoFull},
		{"HandedToKernel", testHandedToKernel, false},
		{"NetConn", testNetConn, false},
		{"NetConnDeadlines", testNetConnDeadlines, false},
		{"NetConnLeftover", testNetConnLeftover, false},
		{"NetConnKicked", testNetConnKicked, false},
		{"NetConnTrickle", testNetConnTrickle, false},
	}
}

// An env gives a test its pairs and closes them.
type env struct {
	make  func(t *testing.T) (a, b netio.Conn, stop func())
	caps  Caps
	stops []func()
}

// pair gives a connected pair, closed when the test ends. By then nobody may be
// in Receive any more.
func (e *env) pair(t *testing.T) (a, b netio.Conn) {
	t.Helper()
	a, b, stop := e.make(t)
	e.stops = append(e.stops, func() {
		for _, c := range []netio.Conn{a, b} {
			c.Abort()
			if !t.Failed() { // or somebody may hang in it
				c.Receive(false, nil) //nolint:errcheck // gives back what was lent
			}
		}
		stop()
	})
	return a, b
}

// close ends what the test has opened, whether it has passed or not.
func (e *env) close() {
	for _, stop := range e.stops {
		stop()
	}
	e.stops = nil
}

// size scales a size or a count for slow connections.
func (e *env) size(n int) int {
	if e.caps.Small {
		return max(1, n/10)
	}
	return n
}

// A level is what a test must not leave behind.
type level struct {
	goroutines, fds int
	blocks          int64
}

// measure counts what is in use now. Descriptors of everything in the process count:
// tests of one package run one after the other.
func measure() level {
	return level{runtime.NumGoroutine(), openFiles(), buf.Live()}
}

// openFiles is 0 where the system does not tell.
func openFiles() int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(names)
}

// check fails if more is in use than at the measure. The kernel and goroutines
// that end need a moment.
func (l level) check(t *testing.T) {
	t.Helper()
	if t.Failed() {
		return
	}
	var now level
	ok := eventually(2*time.Second, func() bool {
		now = measure()
		return now.goroutines <= l.goroutines && now.fds <= l.fds && now.blocks <= l.blocks
	})
	if !ok {
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		t.Errorf("left behind: goroutines, descriptors, blocks were %v, are %v\n%s", l, now, stacks)
	}
}

// eventually waits until cond holds.
func eventually(limit time.Duration, cond func() bool) bool {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(limit); !cond(); <-tick.C {
		if time.Now().After(deadline) {
			return false
		}
	}
	return true
}

// settle gives goroutines the time to park. A test that needs it checks less if
// the time was too short; it does not fail.
func settle() { <-time.After(3 * time.Millisecond) }

// send queues p and flushes if it is the flusher.
func send(c netio.Conn, p []byte) error {
	if queue(c, p) {
		return c.Output().Flush()
	}
	return c.Output().Err()
}

// queue queues p. True: the caller is the flusher.
func queue(c netio.Conn, p []byte) (flusher bool) {
	o := c.Output()
	o.Lock()
	o.Out().Append(p)
	return o.Unlock()
}

// receive receives n bytes, and no more.
//
// It asks until n are there, through kicks and wakes that were meant for others.
func receive(c netio.Conn, n int) ([]byte, error) {
	var got []byte
	step := func(in *buf.In) (bool, error) {
		got = append(got, in.Next(min(n-len(got), in.Len()))...)
		return len(got) < n, nil
	}
	for len(got) < n {
		if why, err := c.Receive(false, step); why == netio.Lost {
			return got, err
		}
	}
	return got, nil
}

// receiveAll receives until the end.
func receiveAll(c netio.Conn) ([]byte, error) {
	return receive(c, int(^uint(0)>>1))
}

// none is a step that wants no more than there is.
func none(in *buf.In) (bool, error) { return in.Len() == 0, nil }

// noise is n bytes that tell a seed and their position.
func noise(seed uint64, n int) []byte {
	p := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), 1})
	r.Read(p) //nolint:errcheck // never fails
	return p
}

// same fails unless got is want.
func same(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, want) {
		i := 0
		for i < len(got) && i < len(want) && got[i] == want[i] {
			i++
		}
		t.Errorf("%s: got %d bytes, want %d; the first difference is at %d", what, len(got), len(want), i)
	}
}

// within fails if f takes for ever, with all stacks.
//
// It does not end f: what hangs is what the stacks are to show.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(patience):
		stacks := make([]byte, 1<<20)
		stacks = stacks[:runtime.Stack(stacks, true)]
		t.Fatalf("%s hangs\n%s", what, stacks)
	}
}

// is fails unless err is one of the wanted.
func is(t *testing.T, what string, err error, want ...error) {
	t.Helper()
	for _, w := range want {
		if errors.Is(err, w) {
			return
		}
	}
	t.Errorf("%s: %v, want one of %v", what, err, want)
}

// group runs functions and waits for them.
type group struct{ sync.WaitGroup }

// wait fails if one of them hangs.
func (g *group) wait(t *testing.T, what string) {
	t.Helper()
	within(t, what, g.Wait)
}

// soon is a context that ends long before patience does.
func soon(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// closeSoon closes c; what the peer does not take is dropped after a moment.
func closeSoon(c netio.Conn) error { return netio.CloseWithin(c, 100*time.Millisecond) }
