package mux_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// text is a codec for the tests: a message is a *string. "bad" cannot be
// decoded, "boom" panics.
type text struct{}

func (text) Append(out *buf.Out, msg any) error {
	s := *msg.(*string)
	if s == "unencodable" {
		out.AppendString("half of it")
		return errors.New("cannot encode")
	}
	out.AppendString(s)
	return nil
}

func (text) Decode(body buf.View, msg any, _ *rpc.Limits) error {
	s := string(body.Bytes())
	switch s {
	case "bad":
		return rpc.Errorf(rpc.InvalidArgument, "offset 0: bad")
	case "boom":
		panic("boom")
	}
	*msg.(*string) = s
	return nil
}

func method(name string, kind rpc.Kind) *rpc.Method {
	return &rpc.Method{Service: "Test", Name: name, Kind: kind, Codec: text{}, New: stub.New[string, string]}
}

// handlers is what the servers of the tests run, by method name.
type handlers map[string]func(ctx context.Context, arg string) (string, error)

func (h handlers) route(service, name string) (rpc.Handler, string, bool) {
	f, ok := h[name]
	if !ok {
		return rpc.Handler{}, "no method " + name, false
	}
	kind := rpc.Unary
	if strings.HasPrefix(name, "oneway") {
		kind = rpc.Oneway
	}
	m := method(name, kind)
	rpc.HintsOf(m).NoteResponse(1 << 20) // encoded outside the lock, and cut into pieces when it is large
	return rpc.Handler{Method: m, Serve: func(ctx context.Context, c *rpc.Call) error {
		arg, err := stub.Args[string](c)
		if err != nil {
			return err
		}
		c.Trailer.Add("seen", (*arg)[:min(len(*arg), 1000)])
		res, err := f(ctx, *arg)
		*stub.Result[string](c) = res
		return err
	}}, "", true
}

// A rig is a client and a server on the two ends of a pipe.
type rig struct {
	client   *mux.Conn
	server   *mux.ServerConn
	cend     *pipe.Conn
	send     *pipe.Conn
	finished chan error
	once     sync.Once
	told     atomic.Bool // the client has told that it takes no more calls
	drains   sync.WaitGroup
}

// newRig starts both; the test's end checks that everything is joined.
func newRig(t *testing.T, form ttheader.Form, lim rpc.Limits, h handlers) *rig {
	t.Helper()
	return newRigOf(t, form, lim, h, mux.Spare)
}

func newRigOf(t *testing.T, form ttheader.Form, lim rpc.Limits, h handlers, where mux.Handlers) *rig {
	t.Helper()
	return newRigWith(t, form, lim, h.route, where)
}

func newRigWith(t *testing.T, form ttheader.Form, lim rpc.Limits, route mux.Router, where mux.Handlers) *rig {
	t.Helper()
	return newRigOver(t, ttheader.Protocol{Form: form}, lim, route, where)
}

func newRigOver(t *testing.T, p wire.Protocol, lim rpc.Limits, route mux.Router, where mux.Handlers) *rig {
	t.Helper()
	return newRigBetween(t, p, lim.WithDefaults(), lim.WithDefaults(), route, where)
}

// newRigBetween has a client and a server with limits of their own.
func newRigBetween(t *testing.T, p wire.Protocol, clients, servers *rpc.Limits, route mux.Router, where mux.Handlers) *rig {
	t.Helper()
	return newRigAcross(t, pipe.Config{}, p, clients, servers, route, where)
}

// newRigOn has them on a pipe of a kind.
func newRigOn(t *testing.T, cfg pipe.Config, route mux.Router) *rig {
	t.Helper()
	lim := rpc.Limits{}.WithDefaults()
	return newRigAcross(t, cfg, ttheader.Protocol{}, lim, lim, route, mux.Spare)
}

func newRigAcross(t *testing.T, over pipe.Config, p wire.Protocol, clients, servers *rpc.Limits, route mux.Router, where mux.Handlers) *rig {
	t.Helper()
	before := buf.Live() // tests that play the peer themselves leave what they were lent
	r := &rig{finished: make(chan error, 1)}
	r.cend, r.send = pipe.New(over)
	cfg := &mux.ServerConfig{Config: mux.Config{Limits: servers, Logger: logTo(t)}, Route: route, Base: t.Context(), Handlers: where}
	r.server = mux.NewServerConn(r.send, p.Open(wire.Server, servers), cfg)
	go r.server.Run(func(err error) { r.finished <- err })
	r.client = mux.NewConn(r.cend, p.Open(wire.Client, clients), mux.Config{Limits: clients, Notify: func() {
		if _, usable := r.client.Status(); !usable {
			r.told.Store(true)
		}
	}})
	t.Cleanup(func() {
		r.stop()
		r.drains.Wait() // one that is under way drops what nobody hears any more
		if n := buf.Live() - before; n != 0 {
			t.Errorf("%d blocks were not released: %s", n, buf.Unreleased())
		}
	})
	return r
}

// logTo gives a logger whose lines are shown if the test fails. All handlers
// have ended before the test does.
func logTo(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(t.Output(), nil)) }

// drain has the server drain beside what the test does. The test's end waits for it.
func (r *rig) drain(ctx context.Context) { r.drains.Go(func() { r.server.Drain(ctx) }) }

// stop ends both sides and waits for them.
func (r *rig) stop() {
	r.once.Do(func() {
		r.client.Close()
		<-r.finished
	})
}

func (r *rig) call(ctx context.Context, name, arg string) (string, *rpc.Call, error) {
	kind := rpc.Unary
	if strings.HasPrefix(name, "oneway") {
		kind = rpc.Oneway
	}
	x := stub.NewCall[string, string](method(name, kind), "Test")
	x.Args = arg
	err := r.client.Do(ctx, &x.Call)
	return x.Result, &x.Call, err
}

var echo = handlers{"echo": func(_ context.Context, arg string) (string, error) { return arg, nil }}

func TestCallsOnEveryForm(t *testing.T) {
	for _, form := range []ttheader.Form{ttheader.TTHeader, ttheader.Framed} {
		t.Run(fmt.Sprint(form), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t, form, rpc.Limits{}, echo)
				for i := range 3 {
					want := fmt.Sprint("hello ", i)
					got, call, err := r.call(t.Context(), "echo", want)
					if err != nil || got != want {
						t.Fatalf("echo = %q, %v", got, err)
					}
					if form == ttheader.TTHeader && call.Trailer.Get("seen") != want {
						t.Errorf("trailer %v", call.Trailer)
					}
				}
				if caps, usable := r.client.Status(); caps.Mux != (form == ttheader.TTHeader) || !usable || caps.Pending {
					t.Errorf("status %+v, %v", caps, usable)
				}
			})
		})
	}
}

func TestManyCallersGetTheirOwnAnswers(t *testing.T) {
	for _, h := range []mux.Handlers{mux.Spare, mux.Inline, mux.Goroutines} {
		t.Run(fmt.Sprint(h), func(t *testing.T) { manyCallers(t, h) })
	}
}

func manyCallers(t *testing.T, h mux.Handlers) {
	r := newRigOf(t, ttheader.TTHeader, rpc.Limits{}, echo, h)
	if _, _, err := r.call(t.Context(), "echo", "first"); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for w := range 32 {
		wg.Go(func() {
			for i := range 100 {
				want := strings.Repeat(fmt.Sprint(w, ".", i, " "), 1+rand.N(200))
				if got, _, err := r.call(t.Context(), "echo", want); err != nil || got != want {
					t.Errorf("caller %d: %.20q for %.20q, %v", w, got, want, err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestErrorsReachTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"echo":    func(_ context.Context, arg string) (string, error) { return arg, nil },
			"missing": func(context.Context, string) (string, error) { return "", rpc.Errorf(rpc.NotFound, "user 7") },
			"secret":  func(context.Context, string) (string, error) { return "", errors.New("password 1234") },
			"panics":  func(context.Context, string) (string, error) { panic("password 1234") },
			"half":    func(context.Context, string) (string, error) { return "unencodable", nil },
		})
		for _, tt := range []struct {
			method, arg string
			code        rpc.Code
			text        string
			sent        rpc.Sent
		}{
			{"missing", "", rpc.NotFound, "user 7", rpc.Processed},
			{"secret", "", rpc.Internal, "internal error", rpc.Processed},
			{"panics", "", rpc.Internal, "internal error", rpc.Processed},
			{"half", "", rpc.Internal, "internal error", rpc.Processed},
			{"nowhere", "", rpc.Unimplemented, "no method nowhere", rpc.Refused},
			{"echo", "bad", rpc.InvalidArgument, "offset 0: bad", rpc.Processed},
			{"echo", "boom", rpc.Internal, "internal error", rpc.Processed},
			{"echo", "unencodable", rpc.Internal, "cannot encode", rpc.NotSent},
		} {
			_, _, err := r.call(t.Context(), tt.method, tt.arg)
			if rpc.CodeOf(err) != tt.code || !strings.Contains(fmt.Sprint(err), tt.text) || rpc.SentOf(err) != tt.sent {
				t.Errorf("%s(%q) = %v, %v", tt.method, tt.arg, err, rpc.SentOf(err))
			}
			if err != nil && strings.Contains(err.Error(), "1234") {
				t.Errorf("%s leaks: %v", tt.method, err)
			}
		}
		if got, _, err := r.call(t.Context(), "echo", "still there"); err != nil || got != "still there" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

func TestAnswerThatCannotBeDecoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{"say": func(_ context.Context, arg string) (string, error) { return arg[1:], nil }})
		for arg, want := range map[string]rpc.Code{"+bad": rpc.InvalidArgument, "+boom": rpc.Internal, "+fine": rpc.OK} {
			if _, _, err := r.call(t.Context(), "say", arg); rpc.CodeOf(err) != want || err != nil && rpc.SentOf(err) != rpc.Processed {
				t.Errorf("say(%q) = %v", arg, err)
			}
		}
	})
}

func TestDeadlineTravels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				ended <- ctx.Err()
				time.Sleep(time.Millisecond) // virtual: the caller's own timer is for the same moment
				return "late", nil
			}})
		r.call(t.Context(), "echo", "") // the hello is exchanged
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, _, err := r.call(ctx, "wait", "")
		if rpc.CodeOf(err) != rpc.DeadlineExceeded || rpc.SentOf(err) != rpc.Maybe || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if err := <-ended; err == nil {
			t.Error("the handler's context did not end")
		}
		synctest.Wait() // the late answer has freed its slot
		if got, _, err := r.call(t.Context(), "echo", "next"); err != nil || got != "next" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

func TestCancelReachesTheHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, _ string) (string, error) {
				<-ctx.Done()
				ended <- ctx.Err()
				return "", ctx.Err()
			}})
		r.call(t.Context(), "echo", "")
		ctx, cancel := context.WithCancelCause(t.Context())
		cause := errors.New("the user went home")
		time.AfterFunc(time.Second, func() { cancel(cause) })
		_, _, err := r.call(ctx, "wait", "")
		if !errors.Is(err, context.Canceled) || !errors.Is(err, cause) || rpc.SentOf(err) != rpc.Maybe {
			t.Errorf("wait = %v", err)
		}
		if err := <-ended; err != context.Canceled {
			t.Errorf("the handler saw %v", err)
		}
	})
}

func TestCancelledBeforeSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, echo)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := r.call(ctx, "echo", ""); rpc.CodeOf(err) != rpc.Canceled || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("echo = %v", err)
		}
	})
}

// Without ids an answer that comes late could be taken for the next call's.
func TestCancelClosesAConnectionWithoutIDs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.Framed, rpc.Limits{}, handlers{"wait": func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", nil
		}})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, _, err := r.call(ctx, "wait", ""); rpc.CodeOf(err) != rpc.DeadlineExceeded {
			t.Errorf("wait = %v", err)
		}
		if _, _, err := r.call(t.Context(), "wait", ""); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("the next call: %v", err)
		}
	})
}

func TestLossEndsEveryCallOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		block := make(chan struct{})
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, _ string) (string, error) { <-block; return "", nil }})
		defer close(block)
		r.call(t.Context(), "echo", "")
		var wg sync.WaitGroup
		var failed atomic.Int32
		for range 20 {
			wg.Go(func() {
				if _, _, err := r.call(t.Context(), "wait", ""); rpc.CodeOf(err) == rpc.Unavailable && rpc.SentOf(err) == rpc.Maybe {
					failed.Add(1)
				}
			})
		}
		synctest.Wait()
		r.cend.Break()
		wg.Wait()
		if failed.Load() != 20 {
			t.Errorf("%d of 20 calls failed as they should", failed.Load())
		}
		if _, _, err := r.call(t.Context(), "echo", ""); rpc.CodeOf(err) != rpc.Unavailable || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("the next call: %v", err)
		}
	})
}

// What is still in our own queue when the connection breaks was not sent.
func TestUnsentBytesAreNotSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, echo)
		r.call(t.Context(), "echo", "")
		r.cend.Stall(true) // our socket is full from here on
		errs := make(chan error, 2)
		for range 2 {
			go func() {
				_, _, err := r.call(t.Context(), "echo", strings.Repeat("x", 1000))
				errs <- err
			}()
		}
		synctest.Wait()
		r.cend.Break()
		for range 2 {
			if err := <-errs; rpc.SentOf(err) != rpc.NotSent {
				t.Errorf("%v, %v", err, rpc.SentOf(err))
			}
		}
	})
}

func TestCancelWhileTheSocketIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, echo)
		r.call(t.Context(), "echo", "")
		r.cend.Stall(true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		if _, _, err := r.call(ctx, "echo", "x"); rpc.CodeOf(err) != rpc.DeadlineExceeded || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		r.cend.Stall(false)
		if got, _, err := r.call(t.Context(), "echo", "y"); err != nil || got != "y" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

func TestOneway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, form := range []ttheader.Form{ttheader.TTHeader, ttheader.Framed} {
			got := make(chan string, 3)
			r := newRig(t, form, rpc.Limits{}, handlers{
				"oneway": func(_ context.Context, arg string) (string, error) {
					got <- arg
					return "", errors.New("nobody hears it")
				},
				"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			})
			for i := range 3 {
				if _, _, err := r.call(t.Context(), "oneway", fmt.Sprint(i)); err != nil {
					t.Fatal(err)
				}
			}
			all := []string{<-got, <-got, <-got}
			slices.Sort(all)
			if !slices.Equal(all, []string{"0", "1", "2"}) {
				t.Errorf("arrived: %v", all)
			}
			if s, _, err := r.call(t.Context(), "echo", "then"); err != nil || s != "then" {
				t.Errorf("afterwards: %q, %v", s, err)
			}
		}
	})
}

func TestDrainLetsCallsFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(ctx context.Context, _ string) (string, error) { <-release; return "done", ctx.Err() }})
		r.call(t.Context(), "echo", "")
		answer := make(chan error, 1)
		go func() {
			got, _, err := r.call(t.Context(), "wait", "")
			if got != "done" {
				err = fmt.Errorf("%q, %w", got, err)
			}
			answer <- err
		}()
		synctest.Wait()
		drained := make(chan struct{})
		go func() { r.server.Drain(t.Context()); close(drained) }()
		synctest.Wait()
		if _, usable := r.client.Status(); usable {
			t.Error("the client does not know of the drain")
		}
		if _, _, err := r.call(t.Context(), "echo", ""); rpc.CodeOf(err) != rpc.Unavailable || !rpc.SentOf(err).Retryable() {
			t.Errorf("a new call: %v", err)
		}
		close(release)
		if err := <-answer; err != nil {
			t.Errorf("the call that ran: %v", err)
		}
		<-drained
		<-r.client.Ended()
	})
}

func TestDrainCancelsWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"wait": func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }})
		answer := make(chan error, 1)
		go func() { _, _, err := r.call(t.Context(), "wait", ""); answer <- err }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		r.server.Drain(ctx)
		if err := <-answer; rpc.CodeOf(err) != rpc.Unavailable {
			t.Errorf("wait = %v", err)
		}
		if took := time.Since(start); took < time.Minute || took > time.Minute+3*time.Second {
			t.Errorf("the drain took %v", took)
		}
	})
}

func TestShutdownWaitsForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, ttheader.TTHeader, rpc.Limits{}, handlers{
			"wait": func(ctx context.Context, _ string) (string, error) { time.Sleep(time.Second); return "done", nil }}) // virtual
		answer := make(chan error, 1)
		go func() { _, _, err := r.call(t.Context(), "wait", ""); answer <- err }()
		synctest.Wait()
		r.client.Shutdown(t.Context())
		if err := <-answer; err != nil {
			t.Errorf("wait = %v", err)
		}
	})
}

// A peer that closes its sending side still gets what it asked for.
func TestHalfCloseIsAnswered(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			h := handlers{"wait": func(ctx context.Context, arg string) (string, error) { time.Sleep(time.Second); return arg, ctx.Err() }}
			full := rpc.Limits{}.WithDefaults()
			a, b := pipe.New(pipe.Config{})
			p := ttheader.Protocol{Form: ttheader.Framed}
			server := mux.NewServerConn(b, p.Open(wire.Server, full), &mux.ServerConfig{Config: mux.Config{Limits: full}, Route: h.route, Base: t.Context()})
			done := make(chan error, 1)
			go server.Run(func(err error) { done <- err })
			s := p.Open(wire.Client, full)
			o := a.Output()
			o.Lock()
			ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 1, Method: "wait"}
			m := s.Begin(o.Out(), &ev)
			o.Out().AppendString("payload")
			s.End(o.Out(), m, &ev)
			if o.Unlock() {
				o.Flush()
			}
			a.CloseWrite()
			var answer string
			why, err := a.Receive(false, func(in *buf.In) (bool, error) {
				ev, _, err := s.Cut(in)
				answer += string(ev.Body.Bytes())
				ev.Body.Release()
				return true, err
			})
			if answer != "payload" || why != netio.Lost || !errors.Is(err, io.EOF) {
				t.Fatalf("answer %q, then %v, %v", answer, why, err)
			}
			if err := <-done; !errors.Is(err, io.EOF) {
				t.Errorf("Run = %v", err)
			}
			netio.CloseWithin(a, time.Second)
		})
	}
}

// Requests without ids are answered in their order, whatever ends first.
func TestAnswersInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handlers{"wait": func(ctx context.Context, arg string) (string, error) {
			d, _ := time.ParseDuration(arg)
			time.Sleep(d) // virtual
			return arg, nil
		}}
		full := rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{Form: ttheader.Framed}
		server := mux.NewServerConn(b, p.Open(wire.Server, full), &mux.ServerConfig{Config: mux.Config{Limits: full}, Route: h.route, Base: t.Context()})
		done := make(chan error, 1)
		go server.Run(func(err error) { done <- err })
		s := p.Open(wire.Client, full)
		o := a.Output()
		o.Lock()
		want := []string{"3s", "1s", "2s", "0s"}
		for i, d := range want {
			ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: uint64(i + 1), Method: "wait"}
			m := s.Begin(o.Out(), &ev)
			o.Out().AppendString(d)
			s.End(o.Out(), m, &ev)
		}
		if o.Unlock() {
			o.Flush()
		}
		a.CloseWrite()
		var got []string
		a.Receive(false, func(in *buf.In) (bool, error) {
			for {
				ev, _, err := s.Cut(in)
				if ev.Flags == 0 {
					return true, err
				}
				got = append(got, string(ev.Body.Bytes()))
				ev.Body.Release()
			}
		})
		if !slices.Equal(got, want) {
			t.Errorf("answers %v, want %v", got, want)
		}
		<-done
		netio.CloseWithin(a, time.Second)
	})
}

func TestLimitOfCallsOnAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		h := handlers{
			"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
			"wait": func(context.Context, string) (string, error) { <-release; return "", nil },
		}
		server, client := rpc.Limits{CallsPerConn: 2}.WithDefaults(), rpc.Limits{}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{}
		sc := mux.NewServerConn(b, p.Open(wire.Server, server), &mux.ServerConfig{Config: mux.Config{Limits: server}, Route: h.route, Base: t.Context(), Gate: mux.NewGate(0, nil)})
		r := &rig{server: sc, finished: make(chan error, 1)}
		go sc.Run(func(err error) { r.finished <- err })
		r.client = mux.NewConn(a, p.Open(wire.Client, client), mux.Config{Limits: client})
		r.call(t.Context(), "echo", "")
		for range 2 {
			go r.call(t.Context(), "wait", "")
		}
		synctest.Wait()
		if _, _, err := r.call(t.Context(), "echo", ""); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
			t.Errorf("the third call: %v, %v", err, rpc.SentOf(err))
		}
		close(release)
		synctest.Wait()
		if got, _, err := r.call(t.Context(), "echo", "again"); err != nil || got != "again" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
		r.stop()
	})
}

// A peer that sends and never reads costs what the limits say, no more.
func TestPeerThatNeverReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		h := handlers{"big": func(context.Context, string) (string, error) { ran.Add(1); return strings.Repeat("x", 64<<10), nil }}
		full := rpc.Limits{QueuedBytes: 1 << 20, WriteStall: time.Minute}.WithDefaults()
		a, b := pipe.New(pipe.Config{})
		p := ttheader.Protocol{Form: ttheader.Framed}
		server := mux.NewServerConn(b, p.Open(wire.Server, full), &mux.ServerConfig{Config: mux.Config{Limits: full}, Route: h.route, Base: t.Context()})
		done := make(chan error, 1)
		go server.Run(func(err error) { done <- err })
		s := p.Open(wire.Client, full)
		b.Stall(true)
		o := a.Output()
		for range 100 {
			o.Lock()
			for range 100 {
				ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 1, Method: "big"}
				m := s.Begin(o.Out(), &ev)
				s.End(o.Out(), m, &ev)
			}
			if o.Unlock() {
				o.TryFlush()
			}
			synctest.Wait()
		}
		if q := b.Output().Queued(); q > 1<<20+2*128*(64<<10+100) {
			t.Errorf("%d bytes are queued", q)
		}
		if n := ran.Load(); n > 300 {
			t.Errorf("%d of 10,000 requests were served", n)
		}
		a.Abort()
		<-done
	})
}
