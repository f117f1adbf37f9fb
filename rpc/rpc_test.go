package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

func TestCodesAreNamedBothWays(t *testing.T) {
	for i := range rpc.Codes {
		c := rpc.Code(i)
		if c.String() == "" {
			t.Fatalf("code %d has no name", i)
		}
		if back, ok := rpc.ParseCode(c.String()); !ok || back != c {
			t.Errorf("ParseCode(%v) = %v, %v", c, back, ok)
		}
	}
	if _, ok := rpc.ParseCode("Code(99)"); ok || rpc.Code(99).String() != "Code(99)" {
		t.Error("an undefined code has a name")
	}
}

func TestCodeOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want rpc.Code
	}{
		{nil, rpc.OK},
		{rpc.NotFound, rpc.NotFound},
		{fmt.Errorf("reading: %w", rpc.Errorf(rpc.Aborted, "x")), rpc.Aborted},
		{context.Canceled, rpc.Canceled},
		{fmt.Errorf("w: %w", context.DeadlineExceeded), rpc.DeadlineExceeded},
		{errors.New("plain"), rpc.Unknown},
	} {
		if got := rpc.CodeOf(tt.err); got != tt.want {
			t.Errorf("CodeOf(%v) = %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestErrorIs(t *testing.T) {
	cause := errors.New("disk")
	err := fmt.Errorf("outer: %w", &rpc.Error{Code: rpc.DeadlineExceeded, Op: "call", Peer: "10.0.0.1:1", Err: cause})
	for _, target := range []error{rpc.DeadlineExceeded, context.DeadlineExceeded, cause} {
		if !errors.Is(err, target) {
			t.Errorf("%v is not %v", err, target)
		}
	}
	if errors.Is(err, rpc.NotFound) || errors.Is(err, context.Canceled) {
		t.Errorf("%v is what it is not", err)
	}
	if got, want := err.Error(), "outer: DeadlineExceeded: 10.0.0.1:1: disk"; got != want {
		t.Errorf("text %q, want %q", got, want)
	}
}

func TestOnlyMeantTextIsPublic(t *testing.T) {
	for _, tt := range []struct {
		err  error
		code rpc.Code
		msg  string
		ok   bool
	}{
		{rpc.Errorf(rpc.NotFound, "user %d", 7), rpc.NotFound, "user 7", true},
		{fmt.Errorf("secret: %w", rpc.Errorf(rpc.NotFound, "user 7")), rpc.NotFound, "user 7", true},
		{rpc.Unauthenticated, rpc.Unauthenticated, "", true},
		{context.DeadlineExceeded, rpc.DeadlineExceeded, "", true},
		{errors.New("password is 1234"), 0, "", false},
		{&rpc.Error{Code: rpc.NotFound, Msg: "from the next hop", Remote: true}, 0, "", false},
		{&rpc.Error{Code: rpc.Unavailable, Op: "dial", Peer: "10.1.2.3:1", Msg: "refused", Sent: rpc.NotSent}, 0, "", false},
	} {
		e, ok := rpc.Public(tt.err)
		if ok != tt.ok || ok && (e.Code != tt.code || e.Msg != tt.msg) {
			t.Errorf("Public(%v) = %v, %v", tt.err, e, ok)
		}
	}
}

func TestSent(t *testing.T) {
	if rpc.SentOf(nil) != rpc.Processed || rpc.SentOf(errors.New("x")) != rpc.Maybe {
		t.Error("SentOf guesses wrong")
	}
	for s, want := range map[rpc.Sent]bool{rpc.Maybe: false, rpc.NotSent: true, rpc.Refused: true, rpc.Processed: false} {
		if s.Retryable() != want {
			t.Errorf("%v.Retryable() = %v", s, !want)
		}
	}
}

func TestMetadata(t *testing.T) {
	var m rpc.Metadata
	if m.Get("a") != "" || m.Has("a") || m != nil {
		t.Fatal("empty metadata is not empty")
	}
	m.Add("Trace", "1")
	m.Add("trace", "2")
	m.SetPersistent("tenant", "t1")
	if got := slices.Collect(m.Values("TRACE")); !slices.Equal(got, []string{"1", "2"}) || m.Get("trace") != "2" {
		t.Errorf("values %v", got)
	}
	shared := m.Clone()
	m.Set("trace", "3")
	if got := slices.Collect(m.Values("trace")); !slices.Equal(got, []string{"3"}) {
		t.Errorf("after Set: %v", got)
	}
	if got := slices.Collect(shared.Values("trace")); len(got) != 2 {
		t.Errorf("the copy changed too: %v", got)
	}
	lim := rpc.Limits{HeaderEntries: 3, HeaderBytes: 40}.WithDefaults()
	for _, tt := range []struct {
		m    rpc.Metadata
		want rpc.Code
	}{
		{nil, rpc.OK},
		{rpc.Metadata{{Key: "a", Value: "b"}}, rpc.OK},
		{rpc.Metadata{{Key: ""}}, rpc.InvalidArgument},
		{rpc.Metadata{{Key: "a b"}}, rpc.InvalidArgument},
		{rpc.Metadata{{Key: "ä"}}, rpc.InvalidArgument},
		{rpc.Metadata{{Key: "Limosa-x"}}, rpc.InvalidArgument},
		{rpc.Metadata{{Key: "grpc-timeout"}}, rpc.InvalidArgument},
		{rpc.Metadata{{Key: strings.Repeat("k", 257)}}, rpc.InvalidArgument},
		{rpc.Metadata{{Key: "a"}, {Key: "b"}, {Key: "c"}, {Key: "d"}}, rpc.ResourceExhausted},
		{rpc.Metadata{{Key: "a", Value: strings.Repeat("v", 40)}}, rpc.ResourceExhausted},
	} {
		if got := rpc.CodeOf(tt.m.Check(lim)); got != tt.want {
			t.Errorf("Check(%.60v) = %v, want %v", tt.m, got, tt.want)
		}
	}
}

func TestLimitsDefaults(t *testing.T) {
	l := rpc.Limits{Depth: 3}.WithDefaults()
	if l.Depth != 3 || l.MessageBytes != 16<<20 || l.Idle != 5*time.Minute || l.CallsPerServer != 0 {
		t.Errorf("%+v", l)
	}
	if got := l.DecodeBudget(1 << 20); got != 16<<20+64<<10 {
		t.Errorf("budget %d", got)
	}
}

func TestChainRunsOutsideIn(t *testing.T) {
	var trace []string
	mark := func(name string, again int) rpc.Interceptor {
		return func(ctx context.Context, c *rpc.Call, next rpc.Next) (err error) {
			for range again {
				trace = append(trace, name+"(")
				err = next(ctx, c)
				trace = append(trace, ")")
			}
			return err
		}
	}
	chain := rpc.Chain(func(context.Context, *rpc.Call) error { trace = append(trace, "m"); return nil }, mark("a", 1), mark("b", 2))
	if err := chain(t.Context(), nil); err != nil || strings.Join(trace, "") != "a(b(m)b(m))" {
		t.Errorf("%v, %v", trace, err)
	}
	pass := func(ctx context.Context, c *rpc.Call, next rpc.Next) error { return next(ctx, c) }
	ctx, quiet := t.Context(), rpc.Chain(func(context.Context, *rpc.Call) error { return nil }, pass, pass, pass)
	if n := testing.AllocsPerRun(100, func() { quiet(ctx, nil) }); n != 0 {
		t.Errorf("a call of a chain allocates %v times", n)
	}
}

// text is a codec for the tests: a message is a *string.
type text struct{}

func (text) Append(out *buf.Out, msg any) error { out.AppendString(*msg.(*string)); return nil }

func (text) Decode(body buf.View, msg any, _ *rpc.Limits) error {
	if string(body.Bytes()) == "bad" {
		return errors.New("offset 0: bad")
	}
	*msg.(*string) = string(body.Bytes())
	return nil
}

var echo = rpc.Method{Service: "S", Name: "echo", Codec: text{}, New: stub.New[string, string]}

func serverCall(body string) *rpc.Call {
	c := echo.New()
	c.Method = &echo
	rpc.EngineOf(c).SetBody(buf.ViewOf([]byte(body)), rpc.Limits{}.WithDefaults())
	return c
}

func TestRequestIsDecodedOnce(t *testing.T) {
	c := serverCall("hi")
	for range 2 {
		if args, err := stub.Args[string](c); err != nil || *args != "hi" {
			t.Fatalf("Args = %v, %v", args, err)
		}
	}
	rpc.EngineOf(c).Release()
	if args, err := stub.Args[string](c); err != nil || *args != "hi" {
		t.Errorf("a decoded request is gone: %v, %v", args, err)
	}
	if _, err := stub.Args[int](c); rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("Args of another type: %v", err)
	}
}

func TestRequestFailsForEver(t *testing.T) {
	c := serverCall("bad")
	for range 2 {
		_, err := c.Request()
		if e, ok := rpc.Public(err); !ok || e.Code != rpc.InvalidArgument || !strings.Contains(e.Msg, "offset 0") {
			t.Errorf("Request = %v", err)
		}
	}
}

func TestRequestIsGoneAfterTheHandler(t *testing.T) {
	c := serverCall("hi")
	rpc.EngineOf(c).Release()
	if _, err := c.Request(); rpc.CodeOf(err) != rpc.FailedPrecondition {
		t.Errorf("Request = %v", err)
	}
}

func TestForkKeepsTheCallApart(t *testing.T) {
	x := stub.NewCall[string, string](&echo, "S")
	x.Args = "q"
	f := rpc.EngineOf(&x.Call).Fork()
	if _, err := rpc.EngineOf(f).DecodeResponse(buf.ViewOf([]byte("forked")), nil); err != nil || x.Result != "" {
		t.Fatalf("the fork wrote %q into the call, %v", x.Result, err)
	}
	rpc.EngineOf(&x.Call).Adopt(f)
	if x.Result != "forked" {
		t.Errorf("adopted %q", x.Result)
	}
	if _, err := rpc.EngineOf(&x.Call).DecodeResponse(buf.ViewOf(nil), nil); err != nil || x.Result != "" {
		t.Errorf("an earlier answer shines through: %q", x.Result)
	}
}

func TestContextOfACall(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		parent := context.WithValue(t.Context(), key{}, "v")
		c := serverCall("")
		ctx := rpc.EngineOf(c).Begin(parent, time.Now().Add(time.Second))
		child, cancel := context.WithTimeout(context.WithValue(ctx, key{}, "w"), time.Hour)
		defer cancel()
		if ctx.Value(key{}) != "v" || rpc.FromContext(child) != c || rpc.FromContext(parent) != nil {
			t.Error("values are lost")
		}
		start := time.Now()
		<-child.Done()
		if got := time.Since(start); got != time.Second || child.Err() != context.DeadlineExceeded || context.Cause(ctx) != context.DeadlineExceeded {
			t.Errorf("ended after %v with %v", got, child.Err())
		}
		rpc.EngineOf(c).End(context.Canceled)
		if ctx.Err() != context.DeadlineExceeded {
			t.Errorf("the second end counts: %v", ctx.Err())
		}
	})
}

func TestContextWithoutAWaiterExpires(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serverCall("")
		ctx := rpc.EngineOf(c).Begin(t.Context(), time.Now().Add(time.Second))
		if ctx.Err() != nil {
			t.Fatal(ctx.Err())
		}
		time.Sleep(time.Second) // virtual
		if ctx.Err() != context.DeadlineExceeded {
			t.Errorf("Err = %v", ctx.Err())
		}
		<-ctx.Done()
	})
}

func TestEndRunsAndStops(t *testing.T) {
	c := serverCall("")
	ctx := rpc.EngineOf(c).Begin(t.Context(), time.Time{})
	ran := make(chan string, 4)
	context.AfterFunc(ctx, func() { ran <- "a" })
	stop := context.AfterFunc(ctx, func() { ran <- "b" })
	if !stop() || stop() {
		t.Error("stop lies")
	}
	child, cancel := context.WithCancel(ctx)
	defer cancel()
	rpc.EngineOf(c).End(context.Canceled)
	<-child.Done()
	if got := <-ran; got != "a" || ctx.Err() != context.Canceled {
		t.Errorf("ran %q, %v", got, ctx.Err())
	}
	context.AfterFunc(ctx, func() { ran <- "late" })
	if got := <-ran; got != "late" {
		t.Errorf("ran %q", got)
	}
}

func TestOneAllocationPerCall(t *testing.T) {
	var keep *stub.Typed[string, string]
	if n := testing.AllocsPerRun(100, func() { keep = stub.NewCall[string, string](&echo, "S") }); n != 1 {
		t.Errorf("a client's call costs %v allocations", n)
	}
	_ = keep
	var ctx context.Context
	parent := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		c := echo.New()
		ctx = rpc.EngineOf(c).Begin(parent, time.Time{})
		rpc.EngineOf(c).End(context.Canceled)
	}); n != 1 {
		t.Errorf("a server's call with its context costs %v allocations", n)
	}
	_ = ctx
}

// TestGiveUp: who gives a call up at its deadline does it because of that.
func TestGiveUp(t *testing.T) {
	for name, tt := range map[string]struct {
		timeout, after time.Duration // 0: no deadline
		want           error
	}{
		"no deadline": {0, time.Hour, context.Canceled},
		"at once":     {time.Second, 0, context.Canceled},
		"early":       {time.Second, 990 * time.Millisecond, context.Canceled},
		"just before": {time.Second, 999 * time.Millisecond, context.DeadlineExceeded},
		"at":          {time.Second, time.Second, context.DeadlineExceeded},
		"late":        {time.Second, time.Minute, context.DeadlineExceeded},
	} {
		synctest.Test(t, func(t *testing.T) {
			c, deadline := serverCall(""), time.Time{}
			if tt.timeout > 0 {
				deadline = time.Now().Add(tt.timeout)
			}
			ctx := rpc.EngineOf(c).Begin(t.Context(), deadline)
			time.Sleep(tt.after) // virtual
			rpc.EngineOf(c).GiveUp(deadline)
			if <-ctx.Done(); ctx.Err() != tt.want {
				t.Errorf("%s: %v, want %v", name, ctx.Err(), tt.want)
			}
			rpc.EngineOf(c).End(context.Canceled)
			if ctx.Err() != tt.want {
				t.Errorf("%s: a later end counts: %v", name, ctx.Err())
			}
		})
	}
}

// A call that is made with nil is its caller's fault, whatever the codec says of nil.
func TestCallWithNil(t *testing.T) {
	m := &rpc.Method{Service: "S", Name: "m", Codec: refusing{}}
	none := rpc.EngineOf(stub.Make(m, "S", (*string)(nil), nil)).AppendRequest(new(buf.Out))
	if rpc.CodeOf(none) != rpc.InvalidArgument || rpc.SentOf(none) != rpc.NotSent || !strings.Contains(none.Error(), "the message of S/m is nil") {
		t.Errorf("with nil: %v, %v", none, rpc.SentOf(none))
	}
	if err := rpc.EngineOf(stub.Make(m, "S", new("x"), nil)).AppendRequest(new(buf.Out)); rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("with what cannot be encoded: %v", err)
	}
}

// refusing is a codec that encodes nothing.
type refusing struct{ text }

func (refusing) Append(*buf.Out, any) error {
	return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent}
}
