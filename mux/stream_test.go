package mux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// streamHandlers serves streams of strings.
type streamHandlers struct {
	count func(ctx context.Context, arg string) iter.Seq2[*string, error]
	sum   func(ctx context.Context, in iter.Seq2[*string, error]) (*string, error)
	chat  func(ctx context.Context, in iter.Seq2[*string, error]) iter.Seq2[*string, error]
}

var (
	countMethod = streamMethod("count", rpc.ServerStream)
	sumMethod   = streamMethod("sum", rpc.ClientStream)
	chatMethod  = streamMethod("chat", rpc.Bidi)
)

func streamMethod(name string, kind rpc.Kind) *rpc.Method {
	m := method(name, kind)
	m.New = stub.New[string, string]
	return m
}

// handler is what generated code will be.
func (h streamHandlers) route(service, name string) (rpc.Handler, string, bool) {
	switch {
	case name == "count" && h.count != nil:
		return rpc.Handler{Method: countMethod, Serve: func(ctx context.Context, c *rpc.Call) error {
			arg, err := stub.First[string](c)
			if err != nil {
				return err
			}
			return stub.SendAll(c, h.count(ctx, *arg))
		}}, "", true
	case name == "sum" && h.sum != nil:
		return rpc.Handler{Method: sumMethod, Serve: func(ctx context.Context, c *rpc.Call) error {
			res, err := h.sum(ctx, stub.Arriving[string](c))
			if err != nil {
				return err
			}
			return rpc.EngineOf(c).Stream().Send(res)
		}}, "", true
	case name == "chat" && h.chat != nil:
		return rpc.Handler{Method: chatMethod, Serve: func(ctx context.Context, c *rpc.Call) error {
			return stub.SendAll(c, h.chat(ctx, stub.Arriving[string](c)))
		}}, "", true
	}
	return handlers(echo).route(service, name)
}

func (r *rig) count(ctx context.Context, arg string) iter.Seq2[*string, error] {
	x := stub.NewCall[string, string](countMethod, "Test")
	x.Args = arg
	return stub.Incoming[string](ctx, r.client, &x.Call)
}

func (r *rig) sum(ctx context.Context, in iter.Seq2[*string, error]) (*string, error) {
	return stub.Gather[string, string](ctx, r.client, &stub.NewCall[string, string](sumMethod, "Test").Call, in)
}

func (r *rig) chat(ctx context.Context, in iter.Seq2[*string, error]) iter.Seq2[*string, error] {
	return stub.Exchange[string, string](ctx, r.client, &stub.NewCall[string, string](chatMethod, "Test").Call, in)
}

func strs(n int, text string) iter.Seq2[*string, error] {
	return func(yield func(*string, error) bool) {
		for i := range n {
			if s := fmt.Sprint(text, i); !yield(&s, nil) {
				return
			}
		}
	}
}

// simple answers streams without surprises.
var simple = streamHandlers{
	count: func(_ context.Context, arg string) iter.Seq2[*string, error] {
		var n int
		fmt.Sscan(arg, &n)
		return strs(n, "m")
	},
	sum: func(_ context.Context, in iter.Seq2[*string, error]) (*string, error) {
		n := 0
		for s, err := range in {
			if err != nil {
				return nil, err
			}
			n += len(*s)
		}
		return new(fmt.Sprint(n)), nil
	},
	chat: func(_ context.Context, in iter.Seq2[*string, error]) iter.Seq2[*string, error] {
		return func(yield func(*string, error) bool) {
			for s, err := range in {
				if err != nil {
					yield(nil, err)
					return
				}
				if !yield(new(*s+"!"), nil) {
					return
				}
			}
		}
	},
}

func newStreamRig(t *testing.T, lim rpc.Limits, h streamHandlers) *rig {
	return newRigWith(t, ttheader.TTHeader, lim, h.route, mux.Spare)
}

// quiet checks that both ends have forgotten every stream.
func (r *rig) quiet(t *testing.T) {
	t.Helper()
	synctest.Wait()
	// Late ends are read by the next call.
	if got, _, err := r.call(t.Context(), "echo", "still"); err != nil || got != "still" {
		t.Errorf("a call on the same connection: %q, %v", got, err)
	}
	if c, s := mux.OpenStreams(r.client, r.server); c != 0 || s != 0 {
		t.Errorf("%d streams are open on the client, %d on the server", c, s)
	}
	if n := mux.Abandoned(r.client); n != 0 {
		t.Errorf("%d slots wait for late answers", n)
	}
}

func TestStreamsOfEachShape(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		synctest.Test(t, func(t *testing.T) {
			r := newStreamRig(t, rpc.Limits{}, simple)
			i := 0
			for s, err := range r.count(t.Context(), fmt.Sprint(n)) {
				if err != nil || *s != fmt.Sprint("m", i) {
					t.Fatalf("message %d: %v, %v", i, s, err)
				}
				i++
			}
			if i != n {
				t.Fatalf("%d messages of %d", i, n)
			}
			want := 0
			for s := range strs(n, "x") {
				want += len(*s)
			}
			if got, err := r.sum(t.Context(), strs(n, "x")); err != nil || *got != fmt.Sprint(want) {
				t.Fatalf("sum = %v, %v; want %d", got, err, want)
			}
			i = 0
			for s, err := range r.chat(t.Context(), strs(n, "y")) {
				if err != nil || *s != fmt.Sprint("y", i, "!") {
					t.Fatalf("answer %d: %v, %v", i, s, err)
				}
				i++
			}
			if i != n {
				t.Fatalf("%d answers of %d", i, n)
			}
			r.quiet(t)
		})
	}
}

func TestLeavingTheLoopCancels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		h := simple
		h.count = func(ctx context.Context, _ string) iter.Seq2[*string, error] {
			return func(yield func(*string, error) bool) {
				for yield(new("on"), nil) {
				}
				<-ctx.Done()
				ended <- context.Cause(ctx)
			}
		}
		r := newStreamRig(t, rpc.Limits{}, h)
		n := 0
		for _, err := range r.count(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 3 {
				break
			}
		}
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("the handler's context ended with %v", err)
		}
		r.quiet(t)
	})
}

func TestStreamsEndWithErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := simple
		h.count = func(_ context.Context, arg string) iter.Seq2[*string, error] {
			return func(yield func(*string, error) bool) {
				if yield(new("one"), nil) {
					switch arg {
					case "panic":
						panic("at the disco")
					case "hidden":
						yield(nil, errors.New("secret"))
					default:
						yield(nil, rpc.Errorf(rpc.NotFound, "nothing more"))
					}
				}
			}
		}
		h.sum = func(_ context.Context, in iter.Seq2[*string, error]) (*string, error) {
			for range in {
				return nil, rpc.Errorf(rpc.OutOfRange, "enough")
			}
			return nil, nil
		}
		r := newStreamRig(t, rpc.Limits{}, h)
		for arg, want := range map[string]rpc.Code{"": rpc.NotFound, "hidden": rpc.Internal, "panic": rpc.Internal} {
			var got []string
			for s, err := range r.count(t.Context(), arg) {
				if err != nil {
					got = append(got, rpc.CodeOf(err).String())
					if strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "disco") {
						t.Errorf("the caller reads %v", err)
					}
					continue
				}
				got = append(got, *s)
			}
			if fmt.Sprint(got) != fmt.Sprint([]string{"one", want.String()}) {
				t.Errorf("%q: %v", arg, got)
			}
		}
		// The sender learns of the end although it never stops by itself.
		endless := func(yield func(*string, error) bool) {
			for yield(new(strings.Repeat("x", 1000)), nil) {
			}
		}
		if _, err := r.sum(t.Context(), endless); rpc.CodeOf(err) != rpc.OutOfRange {
			t.Errorf("sum: %v", err)
		}
		// An error of the caller's own messages cancels the call and is the result.
		own := errors.New("my own")
		failing := func(yield func(*string, error) bool) {
			if yield(new("x"), nil) {
				yield(nil, own)
			}
		}
		if _, err := r.sum(t.Context(), failing); rpc.CodeOf(err) != rpc.OutOfRange && !errors.Is(err, own) {
			t.Errorf("sum of a failing sequence: %v", err)
		}
		var last error
		for _, err := range r.chat(t.Context(), failing) {
			last = err
		}
		if !errors.Is(last, own) {
			t.Errorf("chat of a failing sequence: %v", last)
		}
		r.quiet(t)
	})
}

func TestStreamOfNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStreamRig(t, rpc.Limits{}, streamHandlers{})
		for _, err := range r.count(t.Context(), "1") {
			if rpc.CodeOf(err) != rpc.Unimplemented {
				t.Errorf("count: %v", err)
			}
		}
		if _, err := r.sum(t.Context(), strs(10_000, "long enough to need credit")); rpc.CodeOf(err) != rpc.Unimplemented {
			t.Errorf("sum: %v", err)
		}
		r.quiet(t)
	})
	synctest.Test(t, func(t *testing.T) {
		r := newStreamRig(t, rpc.Limits{}, simple)
		x := stub.NewCall[string, string](method("count", rpc.Unary), "Test")
		if err := r.client.Do(t.Context(), &x.Call); rpc.CodeOf(err) != rpc.Unimplemented {
			t.Errorf("a stream called as a unary method: %v", err)
		}
		y := stub.NewCall[string, string](streamMethod("echo", rpc.ServerStream), "Test")
		for _, err := range stub.Incoming[string](t.Context(), r.client, &y.Call) {
			if rpc.CodeOf(err) != rpc.Unimplemented {
				t.Errorf("a unary method called as a stream: %v", err)
			}
		}
		r.quiet(t)
	})
}

// TestSlowReceiverHoldsTheSenderUp: what is under way is bounded by the window.
func TestSlowReceiverHoldsTheSenderUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int64
		h := simple
		h.count = func(context.Context, string) iter.Seq2[*string, error] {
			return func(yield func(*string, error) bool) {
				for range 10_000 {
					sent.Add(1)
					if !yield(new(strings.Repeat("x", 1000)), nil) {
						return
					}
				}
			}
		}
		r := newStreamRig(t, rpc.Limits{}, h)
		n := 0
		for _, err := range r.count(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n%1000 == 1 {
				time.Sleep(time.Second) // as a slow reader does; virtual
				synctest.Wait()
				if under := sent.Load() - int64(n); under > (1<<20)/1000*2 {
					t.Fatalf("%d messages are under way after %d", under, n)
				}
			}
		}
		if n != 10_000 {
			t.Errorf("%d messages", n)
		}
		r.quiet(t)
	})
}

func TestCancelAndDeadlineOfAStream(t *testing.T) {
	for _, shape := range []string{"count", "sum", "chat"} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan error, 8)
			wait := func(ctx context.Context) { <-ctx.Done(); ended <- ctx.Err() }
			h := streamHandlers{
				count: func(ctx context.Context, _ string) iter.Seq2[*string, error] {
					return func(yield func(*string, error) bool) { wait(ctx); yield(nil, ctx.Err()) }
				},
				sum: func(ctx context.Context, _ iter.Seq2[*string, error]) (*string, error) {
					wait(ctx)
					return nil, ctx.Err()
				},
				chat: func(ctx context.Context, in iter.Seq2[*string, error]) iter.Seq2[*string, error] {
					return func(yield func(*string, error) bool) {
						for _, err := range in {
							ended <- err
							yield(nil, err)
							return
						}
					}
				},
			}
			r := newStreamRig(t, rpc.Limits{}, h)
			for _, deadline := range []bool{false, true} {
				ctx, cancel := context.WithCancel(t.Context())
				want := rpc.Canceled
				if deadline {
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), time.Second)
					want = rpc.DeadlineExceeded
				} else {
					time.AfterFunc(time.Second, cancel)
				}
				var err error
				never := func(func(*string, error) bool) { <-ctx.Done() }
				switch shape {
				case "count":
					for _, err = range r.count(ctx, "") {
					}
				case "sum":
					_, err = r.sum(ctx, strs(100_000, strings.Repeat("y", 100)))
				default:
					for _, err = range r.chat(ctx, never) {
					}
				}
				if rpc.CodeOf(err) != want {
					t.Errorf("%s: %v, want %v", shape, err, want)
				}
				if e := <-ended; e == nil {
					t.Error("the handler was not told")
				}
				cancel()
				r.quiet(t)
			}
		})
	}
}

func TestLossEndsStreams(t *testing.T) {
	for _, side := range []string{"client", "server"} {
		synctest.Test(t, func(t *testing.T) {
			over := make(chan error, 1)
			h := simple
			h.chat = func(ctx context.Context, in iter.Seq2[*string, error]) iter.Seq2[*string, error] {
				return func(yield func(*string, error) bool) {
					for _, err := range in {
						if err != nil {
							over <- err
							return
						}
						yield(new("ok"), nil)
					}
				}
			}
			r := newStreamRig(t, rpc.Limits{}, h)
			hold := make(chan struct{})
			in := func(yield func(*string, error) bool) {
				yield(new("x"), nil)
				<-hold
			}
			var last error
			for _, err := range r.chat(t.Context(), in) {
				if last = err; err == nil {
					if side == "client" {
						r.cend.Abort()
					} else {
						r.send.Abort()
					}
				}
			}
			close(hold)
			if rpc.CodeOf(last) != rpc.Unavailable {
				t.Errorf("the client is told %v", last)
			}
			if err := <-over; err == nil {
				t.Error("the handler is not told")
			}
		})
	}
}

// TestThousandStreams has them all at once on one connection, beside calls.
func TestThousandStreams(t *testing.T) {
	r := newStreamRig(t, rpc.Limits{}, simple)
	if _, _, err := r.call(t.Context(), "echo", "until the peer is known a connection has one call"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			const n = 20
			got := 0
			switch i % 3 {
			case 0:
				for s, err := range r.count(t.Context(), fmt.Sprint(n)) {
					if err != nil || *s != fmt.Sprint("m", got) {
						t.Error(s, err)
						return
					}
					got++
				}
			case 1:
				for s, err := range r.chat(t.Context(), strs(n, fmt.Sprint(i, "."))) {
					if err != nil || *s != fmt.Sprint(i, ".", got, "!") {
						t.Error(s, err)
						return
					}
					got++
				}
			default:
				if s, err := r.sum(t.Context(), strs(n, "")); err != nil || *s != "30" {
					t.Error(s, err)
				}
				got = n
			}
			if got != n {
				t.Errorf("%d messages of %d", got, n)
			}
		})
		if i%10 == 0 {
			wg.Go(func() {
				if got, _, err := r.call(t.Context(), "echo", "beside"); err != nil || got != "beside" {
					t.Error(got, err)
				}
			})
		}
	}
	wg.Wait()
}

func TestTooManyStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := simple
		h.count = func(ctx context.Context, _ string) iter.Seq2[*string, error] {
			return func(func(*string, error) bool) { <-ctx.Done() }
		}
		r := newStreamRig(t, rpc.Limits{StreamsPerConn: 2}, h)
		ctx, cancel := context.WithCancel(t.Context())
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for range r.count(ctx, "") {
				}
			})
		}
		synctest.Wait()
		for _, err := range r.count(ctx, "") {
			if rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.NotSent {
				t.Errorf("a third stream: %v, %v", err, rpc.SentOf(err))
			}
		}
		cancel()
		wg.Wait()
		r.quiet(t)
	})
}

func TestDrainWaitsForStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStreamRig(t, rpc.Limits{}, simple)
		release := make(chan struct{})
		in := func(yield func(*string, error) bool) {
			yield(new("first"), nil)
			<-release
			yield(new("second"), nil)
		}
		var got []string
		drained := make(chan struct{})
		for s, err := range r.chat(t.Context(), in) {
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, *s); len(got) == 1 {
				go func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					r.server.Drain(ctx)
					close(drained)
				}()
				time.Sleep(time.Second)
				close(release)
			}
		}
		if fmt.Sprint(got) != "[first! second!]" {
			t.Errorf("got %q", got)
		}
		<-drained
	})
}

func TestShutdownWaitsForStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStreamRig(t, rpc.Limits{}, simple)
		n, done := 0, make(chan struct{})
		for _, err := range r.count(t.Context(), "500") {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 {
				go func() { r.client.Shutdown(t.Context()); close(done) }()
				time.Sleep(time.Second)
			}
		}
		if n != 500 {
			t.Errorf("%d messages", n)
		}
		<-done
	})
}

// TestLastMessagesBeforeTheLossAreReceived: the peer's end is noticed while the
// caller is busy, and what came before it is not lost.
func TestLastMessagesBeforeTheLossAreReceived(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStreamRig(t, rpc.Limits{}, simple)
		n := 0
		for _, err := range r.count(t.Context(), "100") {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 1 {
				time.Sleep(time.Second)
				r.drain(t.Context())
				time.Sleep(5 * time.Second)
			}
		}
		if n != 100 {
			t.Errorf("%d messages", n)
		}
	})
}

func TestStreamHooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStreamRig(t, rpc.Limits{}, simple)
		x := stub.NewCall[string, string](chatMethod, "Test")
		var seen []string
		x.OnSend(func(msg any) error { seen = append(seen, "send "+*msg.(*string)); return nil })
		x.OnReceive(func(msg any) error { seen = append(seen, "receive "+*msg.(*string)); return io.ErrUnexpectedEOF })
		var last error
		for _, err := range stub.Exchange[string, string](t.Context(), r.client, &x.Call, strs(1, "m")) {
			last = err
		}
		if !errors.Is(last, io.ErrUnexpectedEOF) || fmt.Sprint(seen) != "[send m0 receive m0!]" {
			t.Errorf("%v, %v", last, seen)
		}
		r.quiet(t)
	})
}

// greedy is a protocol whose client heeds no credit.
type greedy struct{ ttheader.Protocol }

type greedySession struct{ wire.Session }

func (g greedy) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	if side == wire.Server {
		return g.Protocol.Open(side, lim)
	}
	return greedySession{g.Protocol.Open(side, lim)}
}

func (greedySession) Credit(uint64) int { return 1 << 30 }

// TestFloodEndsTheStream: what nobody receives is bounded, whether the peer
// knows no credit or does not heed it, and the connection stays.
func TestFloodEndsTheStream(t *testing.T) {
	for name, p := range map[string]wire.Protocol{"no credit": ttheader.Protocol{NoOffer: true}, "no credit, empty": ttheader.Protocol{NoOffer: true}, "not heeded": greedy{}} {
		text := strings.Repeat("x", 1000)
		if strings.HasSuffix(name, "empty") {
			text = ""
		}
		t.Run(name, func(t *testing.T) {
			func() { // in real time: a sender without credit never waits
				told := make(chan error, 1)
				var begun atomic.Bool
				h := simple
				h.sum = func(ctx context.Context, in iter.Seq2[*string, error]) (*string, error) {
					begun.Store(true)
					<-ctx.Done() // reads nothing
					for _, err := range in {
						if err != nil {
							told <- err
							return nil, err
						}
					}
					told <- nil
					return nil, nil
				}
				r := newRigOver(t, p, rpc.Limits{QueuedBytes: 1 << 20}, h.route, mux.Spare)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a busy machine takes seconds
				defer cancel()
				sent := 0
				endless := func(yield func(*string, error) bool) {
					for yield(&text, nil) {
						sent++
					}
				}
				_, err := r.sum(ctx, endless)
				if want := map[bool]rpc.Code{true: rpc.Unknown, false: rpc.ResourceExhausted}[name != "not heeded"]; rpc.CodeOf(err) != want || !strings.Contains(err.Error(), "the peer") {
					t.Errorf("the sender is told %v after %d messages", err, sent)
				}
				select {
				case err := <-told:
					if rpc.CodeOf(err) != rpc.ResourceExhausted {
						t.Errorf("the handler is told %v", err)
					}
				case <-time.After(5 * time.Second):
					if begun.Load() { // else the flood was refused before it began
						t.Error("the handler is told nothing")
					}
				}
				if n := mux.Held(r.server); n != 0 {
					t.Errorf("%d bytes are held", n)
				}
			}()
		})
	}
}

// TestCloseWaitsForNoPace: a connection that is not read for a while, since a
// peer without credit sends more than is received, is closed at once.
func TestCloseWaitsForNoPace(t *testing.T) {
	for _, side := range []wire.Side{wire.Client, wire.Server} {
		synctest.Test(t, func(t *testing.T) {
			h := simple
			received, cancelled := make(chan struct{}), make(chan struct{})
			stuck := sync.OnceFunc(func() {
				close(received)
				time.Sleep(time.Hour) // virtual
			})
			h.sum = func(ctx context.Context, in iter.Seq2[*string, error]) (*string, error) {
				for range in {
					close(received)
					<-ctx.Done()
					close(cancelled)
					break
				}
				return nil, ctx.Err()
			}
			r := newRigOver(t, ttheader.Protocol{NoOffer: true}, rpc.Limits{}, h.route, mux.Spare)
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				if side == wire.Server {
					r.sum(t.Context(), strs(1e6, strings.Repeat("x", 1000))) //nolint:errcheck // it is cut off
					return
				}
				for range r.count(t.Context(), "1000000") {
					stuck()
				}
			}()
			<-received
			for !mux.Paced(r.client, r.server, side) {
				time.Sleep(time.Millisecond)
			}
			began := time.Now()
			if side == wire.Server {
				r.server.Abort()
				<-cancelled
				r.stop() // the last worker has left
			} else {
				r.client.Close()
			}
			if took := time.Since(began); took > 0 {
				t.Errorf("side %v: closed after %v", side, took)
			}
			<-ended
		})
	}
}

// mutePeer is a server of another kind that says nothing before its handler
// does: its client sees no hello.
type mutePeer struct{ ttheader.Protocol }

func (m mutePeer) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	if side == wire.Server {
		return muteSession{m.Protocol.Open(side, lim)}
	}
	return m.Protocol.Open(side, lim)
}

type muteSession struct{ wire.Session }

// Cut hides the client's offer.
func (m muteSession) Cut(in *buf.In) (wire.Event, int, error) {
	for {
		ev, need, err := m.Session.Cut(in)
		if ev.Flags &^= wire.Settings; ev.Flags != 0 || err != nil || need > 0 {
			return ev, need, err
		}
	}
}

// TestSilentPeerGetsItsMessages: a sender does not wait for ever for credit
// from a peer that knows none.
func TestSilentPeerGetsItsMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOver(t, mutePeer{}, rpc.Limits{}, simple.route, mux.Spare)
		const n = 500
		text := strings.Repeat("x", 1000)
		got, err := r.sum(t.Context(), strs(n, text))
		if want := n*1000 + 10 + 90*2 + 400*3; err != nil || *got != fmt.Sprint(want) {
			t.Errorf("sum %v, %v; want %d", got, err, want)
		}
	})
}

// TestCallAfterAStreamToAnotherKind: Kitex closes a connection that has both.
func TestCallAfterAStreamToAnotherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOver(t, ttheader.Protocol{NoOffer: true}, rpc.Limits{}, simple.route, mux.Spare)
		if _, err := r.sum(t.Context(), strs(3, "x")); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.call(t.Context(), "echo", "x"); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("a call: %v, %v", err, rpc.SentOf(err))
		}
		if _, err := r.sum(t.Context(), strs(3, "x")); err != nil {
			t.Error(err)
		}
	})
}
