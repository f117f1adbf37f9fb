package mux_test

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/wire"
)

// A half rig is one end of a connection whose other end the test plays, in the frames
// of a two.
type halfRig struct {
	*rig
	peer *pipe.Conn
	got  twoFrames
}

// newTwoClient is a client of the test's.
func newTwoClient(t *testing.T, p *two, lim rpc.Limits) *halfRig {
	r := &halfRig{rig: &rig{}}
	r.cend, r.peer = pipe.New(pipe.Config{})
	r.client = mux.NewConn(r.cend, p.Open(wire.Client, lim.WithDefaults()), mux.Config{Limits: lim.WithDefaults()})
	t.Cleanup(func() { hangUp(r.peer); r.client.Close() })
	return r
}

// newTwoServer is a server of the test's.
func newTwoServer(t *testing.T, p *two, route mux.Router, where mux.Handlers) *halfRig {
	r := &halfRig{rig: &rig{finished: make(chan error, 1)}}
	r.peer, r.send = pipe.New(pipe.Config{})
	lim := rpc.Limits{}.WithDefaults()
	r.server = mux.NewServerConn(r.send, p.Open(wire.Server, lim), &mux.ServerConfig{Config: mux.Config{Limits: lim, Logger: logTo(t)}, Route: route, Base: t.Context(), Handlers: where})
	go r.server.Run(func(err error) { r.finished <- err })
	t.Cleanup(func() { hangUp(r.peer); <-r.finished })
	return r
}

// say sends frames, all at once.
func (r *halfRig) say(frames ...[]byte) { put(r.peer, slices.Concat(frames...)) }

// hears gives what has come since the last call, once nothing more does.
func (r *halfRig) hears() string {
	synctest.Wait()
	r.got = nil
	for {
		wake := time.AfterFunc(time.Nanosecond, r.peer.Kick) // which comes when all others wait
		why, _ := r.peer.Receive(false, func(in *buf.In) (bool, error) { r.got.take(in); return true, nil })
		wake.Stop()
		if why == netio.Lost {
			r.got = append(r.got, "lost")
		}
		if why != netio.Enough {
			return r.got.String()
		}
	}
}

// begin makes a unary call.
func (r *rig) beginCall(ctx context.Context, name, arg string) <-chan string {
	done := make(chan string, 1)
	go func() {
		got, call, err := r.call(ctx, name, arg)
		if err != nil {
			got = fmt.Sprintf("%v %v", rpc.CodeOf(err), rpc.SentOf(err))
		}
		for _, p := range call.Trailer {
			got += " " + p.Key + "=" + p.Value
		}
		done <- got
	}()
	return done
}

// now is what has come of a call by now, "" if nothing has.
func now(c <-chan string) string {
	synctest.Wait()
	select {
	case s := <-c:
		return s
	default:
		return ""
	}
}

// settings, answer and trailers are what a server says.
func settings(calls, window int) []byte { return twoFrame('S', 0, word(calls)+word(window)) }
func answer(id uint32, body string) []byte {
	return twoFrame('M', id, twoMessage(twoText|twoEnd, 0, "", "", body))
}

// Calls and streams work where the session gives them ids of its own, and learns only
// in Apply what it has cut: also many at once, and with windows.
func TestSessionThatLearnsInApply(t *testing.T) {
	for _, window := range []int{0, 4096} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			r := newRigOver(t, &two{caps: twoCaps, window: window}, rpc.Limits{}, simple.route, mux.Spare)
			var waits []<-chan string
			for i := range 50 {
				waits = append(waits, r.beginCall(ctx, "echo", fmt.Sprint("hello ", i)))
			}
			for i, c := range waits {
				if got, want := now(c), fmt.Sprintf("hello %d seen=hello %d", i, i); got != want {
					t.Errorf("window %d: echo = %q, want %q", window, got, want)
				}
			}
			if got, err := r.sum(ctx, strs(100, strings.Repeat("x", 50))); err != nil || *got != "5190" {
				t.Errorf("window %d: sum: %v", window, err)
			}
			n := 0
			for _, err := range r.count(ctx, "300") {
				if err != nil {
					t.Fatalf("window %d: message %d: %v", window, n, err)
				}
				n++
			}
			for m, err := range r.chat(ctx, strs(100, "y")) {
				if err != nil || !strings.HasSuffix(*m, "!") {
					t.Fatalf("window %d: chat: %v", window, err)
				}
				n++
			}
			if n != 400 {
				t.Errorf("window %d: %d messages", window, n)
			}
			r.quiet(t)
			if off := mux.Misplaced(r.client); off != 0 {
				t.Errorf("window %d: the client has lost count of %d bytes", window, off)
			}
		})
	}
}

// What Apply answers to settings leaves before a handler runs; the rest waits for what
// is to be sent besides, and does not wait for a handler that blocks.
func TestAppliedIsFlushed(t *testing.T) {
	for where, first := range map[mux.Handlers]string{mux.Inline: "", mux.Spare: `p0 ""`, mux.Goroutines: `p0 ""`} {
		synctest.Test(t, func(t *testing.T) {
			open := make(chan struct{})
			h := handlers{"wait": func(context.Context, string) (string, error) { <-open; return "done", nil }}
			r := newTwoServer(t, &two{caps: twoCaps}, plainRoute(h), where)
			r.say(settings(0, 0), twoFrame('P', 0, ""))
			if got, want := r.hears(), `S0 "\x00\x00\x00\x00\x00\x00\x00\x00" s0 "" p0 ""`; got != want {
				t.Errorf("%v: to settings %s, want %s", where, got, want)
			}
			r.say(twoFrame('P', 0, ""), twoFrame('Q', 1, "wait\x00"))
			if got := r.hears(); got != first {
				t.Errorf("%v: while the handler runs %s, want %s", where, got, first)
			}
			r.say(settings(0, 0))
			close(open)
			if got := r.hears(); !strings.Contains(got, "done") || !strings.Contains(first+got, "p0") || !strings.Contains(got, "s0") {
				t.Errorf("%v: then %s", where, got)
			}
		})
	}
}

// A client's acknowledgements leave with its next call, and without one at once.
func TestClientAcknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
		one := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(twoFrame('P', 0, ""))
		if got := r.hears(); got != `p0 ""` {
			t.Errorf("to a ping while a call waits: %s", got)
		}
		r.say(twoFrame('P', 0, ""), settings(7, 0), answer(1, "A"))
		if got := r.hears(); got != `p0 "" s0 ""` || now(one) != "A" {
			t.Errorf("to a ping with the answer: %s", got)
		}
		if caps, _ := r.client.Status(); caps.Calls != 7 {
			t.Errorf("the peer takes %d calls at once", caps.Calls)
		}
		two := r.beginCall(t.Context(), "echo", "b")
		r.hears()
		r.say(settings(8, 0), twoFrame('M', 3, twoMessage(twoEnd, rpc.NotFound, "no", "why=gone", ""))) // M11
		if got := now(two); got != "NotFound processed why=gone" {
			t.Errorf("a call that failed: %s", got)
		}
		if caps, _ := r.client.Status(); caps.Calls != 8 { // M3
			t.Errorf("the peer takes %d calls at once", caps.Calls)
		}
		if off := mux.Misplaced(r.client); off != 0 { // M2
			t.Errorf("the client has lost count of %d bytes", off)
		}
	})
}

// What waits in the session for a window leaves in Apply, and is counted.
func TestKeptMessagesAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps, window: 50}, rpc.Limits{})
		var calls []<-chan string
		for i := range 3 {
			calls = append(calls, r.beginCall(t.Context(), "echo", fmt.Sprint(strings.Repeat("x", 100), i)))
			if got := strings.Contains(r.hears(), fmt.Sprint("x", i)); got != (i < 2) {
				t.Fatalf("the message of call %d was sent: %v", i, got)
			}
		}
		if off := mux.Misplaced(r.client); off != 0 {
			t.Errorf("with a message kept the client has lost count of %d bytes", off)
		}
		r.say(twoFrame('W', 0, word(1000)))
		if got := r.hears(); !strings.Contains(got, "x2") {
			t.Fatalf("with credit %s", got)
		}
		calls = append(calls, r.beginCall(t.Context(), "echo", "b"))
		r.hears()
		if off := mux.Misplaced(r.client); off != 0 {
			t.Errorf("the client has lost count of %d bytes", off)
		}
		r.say(answer(1, "a"), answer(5, "c"), answer(3, "b"), answer(7, "d"))
		for i, c := range calls {
			if got := now(c); got != string(rune('a'+i)) {
				t.Errorf("call %d: %s", i, got)
			}
		}
	})
}

// Room of the connection wakes the streams that wait for it, in either direction.
func TestConnectionsRoomWakesStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 3
		r := newTwoClient(t, &two{caps: twoCaps, window: 100}, rpc.Limits{})
		sends := make(chan string, many)
		for range many {
			go func() {
				_, err := r.sum(t.Context(), strs(10, strings.Repeat("x", 100)))
				sends <- fmt.Sprint(err)
			}()
		}
		r.hears()
		r.say(settings(0, 100_000)) // the streams have room, the connection's 400 bytes are soon used up
		if got := strings.Count(r.hears(), "xxx9"); got != 0 {
			t.Fatalf("%d streams have sent all", got)
		}
		r.say(twoFrame('W', 0, word(100_000)))
		if got := strings.Count(r.hears(), "xxx9"); got != many {
			t.Errorf("%d streams of %d have sent all", got, many)
		}
		for i := range uint32(many) {
			r.say(twoFrame('M', 2*i+1, twoMessage(twoText|twoEnd, 0, "", "", "1")))
			if got := now(sends); got != "<nil>" {
				t.Errorf("sum: %s", got)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newTwoServer(t, &two{caps: twoCaps, window: 100}, simple.route, mux.Spare)
		r.say(settings(0, 100_000), twoFrame('O', 1, "count"), twoFrame('M', 1, twoMessage(twoText|twoPlain, 0, "", "", "100")))
		if got := r.hears(); strings.Contains(got, "m99") || !strings.Contains(got, "m1") {
			t.Fatalf("the peer hears %s", got)
		}
		r.say(twoFrame('W', 0, word(100_000)))
		if got := r.hears(); !strings.Contains(got, "m99") || !strings.Contains(got, `M1 "\x02\x00`) {
			t.Errorf("with room %s", got)
		}
	})
}

// A little room on a connection wakes as many streams as may use it, not all that wait.
func TestLittleRoomWakesFewStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 200
		var session *twoSession
		r := newTwoServer(t, &two{caps: twoCaps, window: 100, spy: func(s *twoSession) { session = s }}, simple.route, mux.Spare)
		r.say(settings(0, 100_000))
		for i := range uint32(many) {
			r.say(twoFrame('O', 2*i+1, "count"), twoFrame('M', 2*i+1, twoMessage(twoText|twoPlain, 0, "", "", "50")))
		}
		r.hears()
		for range 20 {
			r.say(twoFrame('W', 0, word(20)))
			r.hears()
		}
		before := session.asked
		r.say(twoFrame('W', 0, word(20)))
		if got := strings.Count(r.hears(), "M"); got == 0 || got > 2 {
			t.Errorf("%d messages have left", got)
		}
		if n := session.asked - before; n > many+many/2 {
			t.Errorf("the session was asked %d times for the room of %d streams", n, many)
		}
		r.say(twoFrame('W', 0, word(1<<20)))
		if got := strings.Count(r.hears(), "m49"); got != many {
			t.Errorf("%d streams of %d have sent all", got, many)
		}
	})
}

// What a peer said last is read although nobody waits for it: it may say why it went.
func TestLastWordsOfAnIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
		one := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(answer(1, "A"))
		now(one)
		r.say(answer(1, "nothing"), twoFrame('?', 0, ""))
		r.peer.CloseWrite()
		synctest.Wait()
		if _, _, err := r.call(t.Context(), "echo", "b"); rpc.SentOf(err) != rpc.NotSent || !strings.Contains(err.Error(), "unreadable") {
			t.Errorf("a call afterwards: %v", err)
		}
	})
}

// collect receives all of a stream.
func collect(in iter.Seq2[*string, error]) (got string) {
	for m, err := range in {
		if err != nil {
			return got + rpc.CodeOf(err).String()
		}
		got += *m + " "
	}
	return got
}

// The last message of a stream may bring the error that the call ends with, and a trailer.
func TestLastMessageWithAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
		done := make(chan string, 1)
		go func() {
			x := stub.NewCall[string, string](countMethod, "Test")
			got := collect(stub.Incoming[string](t.Context(), r.client, &x.Call))
			done <- got + " " + x.Trailer.Get("why")
		}()
		r.hears()
		r.say(twoFrame('M', 1, twoMessage(twoText, 0, "", "", "one")), twoFrame('M', 1, twoMessage(twoText|twoEnd, rpc.DataLoss, "no", "why=disk", "two")))
		if got := now(done); got != "one two DataLoss disk" {
			t.Errorf("received %s", got)
		}
	})
}

// The end that a handler has announced is framed with what it returns.
func TestServersEndSaysWhatTheHandlerReturns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed, open := make(chan error, 3), make(chan struct{})
		route := func(string, string) (rpc.Handler, string, bool) {
			return rpc.Handler{Method: chatMethod, Serve: func(_ context.Context, c *rpc.Call) error {
				s := rpc.EngineOf(c).Stream()
				closed <- s.Send(new("one"))
				closed <- s.CloseSend()
				<-open
				closed <- s.Send(new("two"))
				c.Trailer.Add("k", "v")
				return rpc.Errorf(rpc.DataLoss, "after all")
			}}, "", true
		}
		r := newTwoServer(t, &two{caps: twoCaps}, route, mux.Spare)
		r.say(twoFrame('O', 1, "chat"))
		if got := r.hears(); strings.Contains(got, `M1 "\x02`) || !strings.Contains(got, "one") {
			t.Errorf("while the handler runs %s", got)
		}
		close(open)
		if got, want := r.hears(), fmt.Sprintf("M1 %q", twoMessage(twoEnd, rpc.DataLoss, "after all", "k=v", "")); got != want {
			t.Errorf("the end is %s, want %s", got, want)
		}
		if one, end, two := <-closed, <-closed, <-closed; one != nil || end != nil || rpc.CodeOf(two) != rpc.FailedPrecondition {
			t.Errorf("Send %v, CloseSend %v, Send %v", one, end, two)
		}
	})
}

// Calls and streams that are given up leave nothing behind where a reset is final: any
// number of timeouts does not cost the connection, and what was on its way is ignored.
func TestFinalResetsFreeTheirSlots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{Abandoned: 2})
		for i := range uint32(10) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			call := r.beginCall(ctx, "echo", "a")
			stream := make(chan string, 1)
			go func() {
				_, err := r.sum(ctx, strs(1, "s"))
				stream <- rpc.CodeOf(err).String()
			}()
			r.hears()
			time.Sleep(time.Second)
			if a, b := now(call), now(stream); a != "DeadlineExceeded maybe" || b != "DeadlineExceeded" {
				t.Errorf("round %d: call %s, stream %s", i, a, b)
			}
			if got := r.hears(); strings.Count(got, "R") != 2 {
				t.Errorf("the peer is told %s", got)
			}
			r.say(answer(4*i+1, "late"), answer(4*i+3, "late"))
			cancel()
		}
		last := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(answer(41, "in time"))
		if got := now(last); got != "in time" || mux.Abandoned(r.client) != 0 {
			t.Errorf("afterwards %s, %d slots wait for late answers", got, mux.Abandoned(r.client))
		}
		if bad := mux.Inconsistent(r.client); bad != "" {
			t.Error(bad)
		}
	})
}

// What tells the peer why a client ends the connection leaves before the end.
func TestClientsLastWordLeaves(t *testing.T) {
	for _, calls := range []int{1, 2} { // one that leads, or a reader
		synctest.Test(t, func(t *testing.T) {
			r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
			var all []<-chan string
			for range calls {
				all = append(all, r.beginCall(t.Context(), "echo", "a"))
			}
			r.hears()
			r.say(twoFrame('P', 0, ""), twoFrame('?', 0, ""))
			if got := r.hears(); got != `p0 "" G65536 "" lost` {
				t.Errorf("%d calls: the peer hears %s", calls, got)
			}
			for _, c := range all {
				if got := now(c); got != "Unavailable maybe" {
					t.Errorf("call: %s", got)
				}
			}
		})
	}
}

// A goodbye with the last call that was started ends those behind it as ones that may
// be made elsewhere; the others go on.
func TestGoodbyeNamesTheLastCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
		var calls []<-chan string
		for range 3 {
			calls = append(calls, r.beginCall(t.Context(), "echo", "a"))
			r.hears()
		}
		r.say(twoFrame('G', 0, "")) // go elsewhere
		if _, usable := r.client.Status(); usable && r.hears() == "" {
			if _, usable = r.client.Status(); usable {
				t.Error("the connection takes calls")
			}
		}
		r.say(twoFrame('G', 3, ""), answer(3, "second"))
		for i, want := range []string{"", "second", "Unavailable refused"} {
			if got := now(calls[i]); got != want {
				t.Errorf("call %d: %q, want %q", i, got, want)
			}
		}
		r.say(answer(1, "first"))
		if got := now(calls[0]); got != "first" {
			t.Errorf("the first call: %s", got)
		}
	})
}

// A message of a stream counts as what it has taken of the window, and is unpacked by
// who receives it. What the peer may send is the session's to know.
func TestMessagesKnowTheirCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps, window: 4096}, rpc.Limits{})
		done := make(chan string, 1)
		go func() {
			x := stub.NewCall[string, string](countMethod, "Test")
			done <- collect(stub.Incoming[string](t.Context(), r.client, &x.Call))
		}()
		r.hears()
		for i := range 3 {
			r.say(twoFrame('M', 1, twoMessage(twoText, 0, "", "", strings.Repeat("x", 1000))))
			got := r.hears()
			if credit := fmt.Sprintf("W1 %q", word(3000)); strings.Contains(got, credit) != (i == 2) { // half the window
				t.Errorf("to message %d: %s", i, got)
			}
		}
		r.say(twoFrame('M', 1, twoMessage(twoText|twoPack, 0, "", "", "CAPITALS")), twoFrame('M', 1, twoMessage(twoText|twoEnd|twoPack, 0, "", "", "GARBAGE")))
		if got := strings.TrimLeft(now(done), "x "); got != "capitals DataLoss" {
			t.Errorf("received %s", got)
		}
	})
	synctest.Test(t, func(t *testing.T) { // more than the engine would let any other peer send
		open := make(chan struct{})
		h := streamHandlers{sum: func(ctx context.Context, in iter.Seq2[*string, error]) (*string, error) {
			<-open
			return simple.sum(ctx, in)
		}}
		r := newTwoServer(t, &two{caps: twoCaps, window: 64}, h.route, mux.Spare)
		frames := [][]byte{twoFrame('O', 1, "sum")}
		for range 100 {
			frames = append(frames, twoFrame('M', 1, twoMessage(twoText, 0, "", "", strings.Repeat("x", 1000))))
		}
		r.say(append(frames, twoFrame('M', 1, twoMessage(twoPlain, 0, "", "", "")))...)
		r.hears()
		close(open)
		if got := r.hears(); !strings.Contains(got, "100000") {
			t.Errorf("the peer hears %s", got)
		}
	})
}

// Calls and streams beyond what the peer takes at once wait, first come first served,
// until another ends, their context does, or the connection takes no more.
func TestPeersLimitOfCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps}, rpc.Limits{})
		first := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(settings(2, 0))
		r.hears()
		stream := make(chan string, 1)
		go func() {
			_, err := r.sum(t.Context(), strs(1, "s"))
			stream <- fmt.Sprint(err)
		}()
		if got := r.hears(); !strings.Contains(got, "O3") {
			t.Fatalf("a second call: %s", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		late := r.beginCall(ctx, "echo", "late")
		synctest.Wait()
		var calls []<-chan string
		for i := range 3 {
			calls = append(calls, r.beginCall(t.Context(), "echo", fmt.Sprint("call", i)))
			synctest.Wait()
		}
		if got := r.hears(); got != "" {
			t.Errorf("beyond the limit: %s", got)
		}
		time.Sleep(time.Second)
		if got := now(late); got != "DeadlineExceeded not sent" {
			t.Errorf("a call whose time was over in the line: %s", got)
		}
		r.say(answer(1, "A"))
		if got := r.hears(); !strings.Contains(got, "call0") || strings.Contains(got, "call1") || now(first) != "A" {
			t.Errorf("once a call was answered: %s", got)
		}
		r.say(twoFrame('M', 3, twoMessage(twoText|twoEnd, 0, "", "", "1")))
		if got := r.hears(); !strings.Contains(got, "call1") || strings.Contains(got, "call2") || now(stream) != "<nil>" {
			t.Errorf("once a stream has ended: %s", got)
		}
		r.say(settings(3, 0))
		if got := r.hears(); !strings.Contains(got, "call2") {
			t.Errorf("with a higher limit: %s", got)
		}
		next := r.beginCall(t.Context(), "echo", "next")
		r.hears()
		r.say(twoFrame('G', 0, ""))
		if got := now(next); got != "Unavailable not sent" {
			t.Errorf("after a goodbye: %s", got)
		}
		r.say(answer(5, "0"), answer(7, "1"), answer(9, "2"))
		for i, c := range calls {
			if got := now(c); got != fmt.Sprint(i) {
				t.Errorf("call %d: %s", i, got)
			}
		}
		if bad := mux.Inconsistent(r.client); bad != "" {
			t.Error(bad)
		}
	})
}

// A connection whose ids are used up says so of a call that was not sent.
func TestIDsAreUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps, ids: 1}, rpc.Limits{})
		first := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		if got := now(r.beginCall(t.Context(), "echo", "b")); got != "Unavailable not sent" {
			t.Errorf("a call without an id: %s", got)
		}
		if _, err := r.sum(t.Context(), strs(1, "s")); rpc.CodeOf(err) != rpc.Unavailable {
			t.Errorf("a stream without an id: %v", err)
		}
		r.say(answer(1, "A"))
		if got := now(first); got != "A" {
			t.Errorf("the first call: %s", got)
		}
	})
}

// A client's connection that carries nothing is read again after a second where what
// its peer says wants an answer; then calls find somebody who reads.
func TestIdleConnectionListens(t *testing.T) {
	caps := twoCaps
	caps.Listens = true
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: caps}, rpc.Limits{})
		one := r.beginCall(t.Context(), "echo", "a")
		r.hears()
		r.say(answer(1, "A"))
		now(one)
		r.say(twoFrame('P', 0, ""))
		if got := r.hears(); got != "" {
			t.Errorf("at once: %s", got)
		}
		for i := range 3 {
			time.Sleep(2 * time.Second)
			if got := r.hears(); got != `p0 ""` {
				t.Errorf("ping %d: %s", i, got)
			}
			r.say(twoFrame('P', 0, ""))
		}
		next := r.beginCall(t.Context(), "echo", "b")
		r.hears()
		r.say(answer(3, "B"))
		if got := now(next); got != "B" {
			t.Errorf("a call afterwards: %s", got)
		}
		time.Sleep(2 * time.Second)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		start := time.Now()
		if err := r.client.Shutdown(ctx); err != nil || time.Since(start) > 3*time.Second {
			t.Errorf("Shutdown of a connection that is read: %v after %v", err, time.Since(start))
		}
	})
}

// What waits in the session for the peer's windows has to move, or the connection ends.
func TestKeptMessagesMove(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: twoCaps, window: 50}, rpc.Limits{WriteStall: 10 * time.Second})
		var calls []<-chan string
		for range 4 {
			calls = append(calls, r.beginCall(t.Context(), "echo", strings.Repeat("x", 100)))
			r.hears()
		}
		start := time.Now()
		time.Sleep(9 * time.Second)
		r.say(twoFrame('W', 0, word(30))) // one leaves
		if got := r.hears(); strings.Count(got, "Q") != 1 {
			t.Errorf("with a little credit %s", got)
		}
		for i, c := range calls {
			got := <-c
			if took := time.Since(start); got != "Unavailable maybe" || took < 15*time.Second || took > 25*time.Second {
				t.Errorf("call %d: %s after %v", i, got, took)
			}
		}
	})
	synctest.Test(t, func(t *testing.T) {
		r := newTwoServer(t, &two{caps: twoCaps, window: 10}, plainRoute(handlers(echo)), mux.Spare)
		for i := range uint32(9) {
			r.say(twoFrame('Q', 2*i+1, "echo\x00"+strings.Repeat("x", 100)))
		}
		time.Sleep(time.Minute)
		if got := r.hears(); !strings.Contains(got, "lost") {
			t.Errorf("after a minute %s", got)
		}
	})
}

// Where answers come in the order of their requests a stream waits for its turn, and
// those behind it wait for its end.
func TestStreamsHaveTheirTurn(t *testing.T) {
	caps := twoCaps
	caps.Exclusive = true
	for _, stream := range []string{"chat", "unknown"} {
		synctest.Test(t, func(t *testing.T) {
			open := make(chan struct{})
			route := func(service, name string) (rpc.Handler, string, bool) {
				if name == "wait" {
					return handlers{"wait": func(context.Context, string) (string, error) { <-open; return "first", nil }}.route(service, name)
				}
				if name == "unknown" {
					return rpc.Handler{}, "no such method", false
				}
				return simple.route(service, name)
			}
			r := newTwoServer(t, &two{caps: caps}, route, mux.Spare)
			r.say(twoFrame('Q', 1, "wait\x00"), twoFrame('O', 3, stream), twoFrame('M', 3, twoMessage(twoText, 0, "", "", "m")), twoFrame('Q', 5, "echo\x00last"))
			if got := r.hears(); strings.Contains(got, "M") {
				t.Errorf("%s: before the first answer %s", stream, got)
			}
			close(open)
			got := r.hears()
			if stream == "unknown" {
				if a, b, c := strings.Index(got, "first"), strings.Index(got, "no such"), strings.Index(got, "last"); a < 0 || b < a || c < b {
					t.Errorf("%s: then %s", stream, got)
				}
				return
			}
			if a, b := strings.Index(got, "first"), strings.Index(got, "m!"); a < 0 || b < a || strings.Contains(got, "last") {
				t.Errorf("%s: then %s", stream, got)
			}
			r.say(twoFrame('M', 3, twoMessage(twoPlain, 0, "", "", "")))
			got = r.hears()
			if a, b := strings.Index(got, "M3"), strings.Index(got, "last"); a < 0 || b < a {
				t.Errorf("%s: with its end %s", stream, got)
			}
		})
	}
}

// A connection that carries one call at a time carries the next behind its end, a stream
// or not; a stream that is given up ends it.
func TestExclusiveConnection(t *testing.T) {
	caps := twoCaps
	caps.Exclusive = true
	synctest.Test(t, func(t *testing.T) {
		r := newTwoClient(t, &two{caps: caps}, rpc.Limits{})
		for i := range uint32(3) {
			sum := make(chan string, 1)
			go func() {
				got, err := r.sum(t.Context(), strs(1, "s"))
				sum <- fmt.Sprint(*got, err)
			}()
			r.hears()
			if got := now(r.beginCall(t.Context(), "echo", "b")); got != "Unavailable not sent" {
				t.Errorf("a call beside a stream: %s", got)
			}
			r.say(twoFrame('M', 4*i+1, twoMessage(twoText|twoEnd, 0, "", "", "1")))
			if got := now(sum); got != "1<nil>" {
				t.Errorf("the stream: %s", got)
			}
			call := r.beginCall(t.Context(), "echo", "a")
			r.hears()
			if _, err := r.sum(t.Context(), strs(1, "s")); rpc.CodeOf(err) != rpc.Unavailable {
				t.Errorf("a stream beside a call: %v", err)
			}
			r.say(answer(4*i+3, "A"))
			if got := now(call); got != "A" {
				t.Errorf("the call: %s", got)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		r.sum(ctx, strs(1, "s"))
		if got := r.hears(); !strings.Contains(got, "lost") {
			t.Errorf("after a stream was given up %s", got)
		}
	})
}
