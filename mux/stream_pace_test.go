package mux_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// Peers without credit, and limits that a few batches fit into.
var (
	noCredit    = ttheader.Protocol{NoOffer: true}
	littleQueue = rpc.Limits{QueuedBytes: 512 << 10, FrameRest: 2 * time.Second}
)

// slowly is as long as a message takes its receiver: less than what reading
// waits for, but far more than sending one does.
const slowly = 100 * time.Millisecond

func kilobytes(n int) iter.Seq2[*string, error] {
	return func(yield func(*string, error) bool) {
		for range n {
			if !yield(new(strings.Repeat("x", 1000)), nil) {
				return
			}
		}
	}
}

// countSlowly receives all of in.
func countSlowly(in iter.Seq2[*string, error]) (n int, err error) {
	for _, err := range in {
		if err != nil {
			return n, err
		}
		n++
		time.Sleep(slowly) // virtual
	}
	return n, nil
}

// ended makes sure that no stream is left.
func (r *rig) ended(t *testing.T) {
	t.Helper()
	synctest.Wait()
	if c, s := mux.OpenStreams(r.client, r.server); c != 0 || s != 0 {
		t.Errorf("%d streams are open on the client, %d on the server", c, s)
	}
}

// TestPaceOfAServer: a peer that knows no credit is held up by TCP while a slow
// handler receives, and loses nothing.
func TestPaceOfAServer(t *testing.T) {
	for _, where := range []mux.Handlers{mux.Spare, mux.Inline} {
		synctest.Test(t, func(t *testing.T) {
			h := simple
			h.sum = func(_ context.Context, in iter.Seq2[*string, error]) (*string, error) {
				n, err := countSlowly(in)
				return new(fmt.Sprint(n)), err
			}
			r := newRigOver(t, noCredit, littleQueue, h.route, where)
			if got, err := r.sum(t.Context(), kilobytes(3000)); err != nil || *got != "3000" {
				t.Errorf("the slow handler's answer is %v", err)
			}
			r.ended(t)
		})
	}
}

// TestPaceOfAClient is the other way round. The loop over the messages is the
// reader only while it waits for one.
func TestPaceOfAClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := simple
		h.count = func(context.Context, string) iter.Seq2[*string, error] { return kilobytes(3000) }
		r := newRigOver(t, noCredit, littleQueue, h.route, mux.Spare)
		if n, err := countSlowly(r.count(t.Context(), "")); err != nil || n != 3000 {
			t.Errorf("%d messages: %v", n, err)
		}
		r.ended(t)
	})
}

// TestPaceGivesUp: who receives nothing holds the connection up for a moment
// only; then the stream is ended and others go on.
func TestPaceGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := make(chan struct{})
		h := simple
		h.sum = func(ctx context.Context, in iter.Seq2[*string, error]) (*string, error) {
			for range in {
				close(began)
				<-ctx.Done() // receives nothing more
				break
			}
			return nil, ctx.Err()
		}
		r := newRigOver(t, noCredit, littleQueue, h.route, mux.Spare)
		flooded := make(chan error, 1)
		go func() {
			_, err := r.sum(t.Context(), kilobytes(3000))
			flooded <- err
		}()
		<-began
		start := time.Now()
		for _, err := range r.count(t.Context(), "3") {
			if err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start); took > 1100*time.Millisecond {
			t.Errorf("another stream takes %v", took)
		}
		if err := <-flooded; err == nil || !strings.Contains(err.Error(), "wait to be received") {
			t.Errorf("the sender is told %v", err)
		}
		r.ended(t)
	})
}

// TestPaceEndsWithItsStream: a handler that returns lets the reader go at once,
// as does a caller who leaves.
func TestPaceEndsWithItsStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		enough := errors.New("enough")
		h := simple
		h.sum = func(_ context.Context, in iter.Seq2[*string, error]) (*string, error) {
			for range in {
				time.Sleep(slowly) // virtual: the reader waits by now
				return nil, rpc.Errorf(rpc.Aborted, "%w", enough)
			}
			return nil, nil
		}
		h.count = func(context.Context, string) iter.Seq2[*string, error] { return kilobytes(3000) }
		r := newRigOver(t, noCredit, littleQueue, h.route, mux.Spare)
		start := time.Now()
		if _, err := r.sum(t.Context(), kilobytes(3000)); err == nil || !strings.Contains(err.Error(), enough.Error()) {
			t.Errorf("the sender is told %v", err)
		}
		for range r.count(t.Context(), "") {
			time.Sleep(slowly) // virtual
			break
		}
		if took := time.Since(start); took > 3*slowly {
			t.Errorf("both take %v", took)
		}
		r.ended(t)
	})
}

// TestFramesInHalves: a peer that has always begun a frame is no peer that does
// not finish one.
func TestFramesInHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lim := rpc.Limits{FrameRest: time.Second}.WithDefaults()
		p := ttheader.Protocol{Form: ttheader.Framed}
		r := &rig{finished: make(chan error, 1)}
		r.cend, r.send = pipe.New(pipe.Config{})
		r.server = mux.NewServerConn(r.send, p.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim}, Route: echo.route, Base: t.Context()})
		go r.server.Run(func(err error) { r.finished <- err })
		var frames buf.Out
		session := p.Open(wire.Client, lim)
		for id := range uint64(10) {
			ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: id + 1, Service: "Test", Method: "echo"}
			m := session.Begin(&frames, &ev)
			frames.Append([]byte{11, 0, 1, 0, 0, 0, 1, 'x', 0})
			if err := session.End(&frames, m, &ev); err != nil {
				t.Fatal(err)
			}
		}
		sent := frames.Bytes()
		frame := len(sent) / 10
		send := func(n int) {
			o := r.cend.Output()
			o.Lock()
			o.Out().Append(sent[:n])
			sent = sent[n:]
			o.Unlock()
			if err := o.Flush(); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		send(frame / 2)
		for len(sent) > frame {
			time.Sleep(lim.FrameRest * 3 / 4) // virtual
			send(frame)
		}
		select {
		case err := <-r.finished:
			t.Fatalf("the connection has ended: %v", err)
		default:
		}
		time.Sleep(lim.FrameRest * 5 / 4) // virtual: this one is not finished
		select {
		case <-r.finished:
		default:
			t.Error("half a frame holds the connection")
		}
		r.cend.Abort()
		synctest.Wait()
	})
}
