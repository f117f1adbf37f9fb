package grpc_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/endpoint"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// goWords is the service of grpc-go's side.
type goWords struct {
	say func(ctx context.Context, text string) (string, error)
}

func (w *goWords) serveSay(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
	in := new(wrapperspb.StringValue)
	if err := dec(in); err != nil {
		return nil, err
	}
	text, err := w.say(ctx, in.Value)
	if err != nil {
		return nil, err
	}
	return wrapperspb.String(text), nil
}

func goDown(_ any, st grpc.ServerStream) error {
	in := new(wrapperspb.StringValue)
	if err := st.RecvMsg(in); err != nil {
		return err
	}
	for _, w := range strings.Fields(in.Value) {
		if w == "fail" {
			return status.Error(codes.DataLoss, "it was to fail")
		}
		if err := st.SendMsg(wrapperspb.String(w)); err != nil {
			return err
		}
	}
	return nil
}

func goUp(_ any, st grpc.ServerStream) error {
	var all []string
	for {
		in := new(wrapperspb.StringValue)
		switch err := st.RecvMsg(in); {
		case errors.Is(err, io.EOF):
			return st.SendMsg(wrapperspb.String(strings.Join(all, " ")))
		case err != nil:
			return err
		}
		all = append(all, in.Value)
	}
}

func goBoth(_ any, st grpc.ServerStream) error {
	for {
		in := new(wrapperspb.StringValue)
		if err := st.RecvMsg(in); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := st.SendMsg(in); err != nil {
			return err
		}
	}
}

// serveGo starts grpc-go's side, and gives its address.
func serveGo(t *testing.T, w *goWords, opts ...grpc.ServerOption) (addr string, s *grpc.Server) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = grpc.NewServer(opts...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: "test.Words", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: w.serveSay}},
		Streams: []grpc.StreamDesc{
			{StreamName: "Down", Handler: goDown, ServerStreams: true},
			{StreamName: "Up", Handler: goUp, ClientStreams: true},
			{StreamName: "Both", Handler: goBoth, ServerStreams: true, ClientStreams: true},
		},
	}, w)
	var run sync.WaitGroup
	run.Go(func() { s.Serve(l) }) //nolint:errcheck // Stop ends it
	t.Cleanup(func() { s.Stop(); run.Wait() })
	return l.Addr().String(), s
}

// ours is a client of Limosa.
func ours(t *testing.T, addr string, limits ...rpc.Limits) *limosa.Client {
	t.Helper()
	limits = append(limits, rpc.Limits{})
	speaks := web.Protocol{Authority: addr}
	e := endpoint.New(endpoint.Config{Network: "tcp", Addr: addr, Protocol: speaks, WithoutOffer: speaks, Limits: limits[0].WithDefaults()})
	c := &limosa.Client{Target: addr, Interceptors: []rpc.Interceptor{func(ctx context.Context, call *rpc.Call, _ rpc.Next) error { return e.Do(ctx, call) }}}
	t.Cleanup(func() {
		if err := errors.Join(c.Close(), e.Close()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return c
}

// tell makes Limosa's client call Say.
func tell(ctx context.Context, c rpc.Caller, text string) (string, error) {
	out := new(Text)
	err := c.Do(ctx, stub.Make(&unary, "test.Words", &Text{Value: text}, out))
	return out.Value, err
}

// stream makes Limosa's client call a stream with words, and gives what comes back.
func stream(ctx context.Context, c rpc.Caller, m *rpc.Method, words ...string) (got []string, err error) {
	in := func(yield func(*Text, error) bool) {
		for _, w := range words {
			if !yield(&Text{Value: w}, nil) {
				return
			}
		}
	}
	call := stub.Make(m, "test.Words", nil, nil)
	var out iter.Seq2[*Text, error]
	switch m.Kind {
	case rpc.ClientStream:
		res, err := stub.Gather[Text, Text](ctx, c, call, in)
		if err != nil {
			return nil, err
		}
		return []string{res.Value}, nil
	case rpc.ServerStream:
		out = stub.Incoming[Text](ctx, c, stub.Make(m, "test.Words", &Text{Value: strings.Join(words, " ")}, nil))
	default:
		out = stub.Exchange[Text, Text](ctx, c, call, in)
	}
	for v, err := range out {
		if err != nil {
			return got, err
		}
		got = append(got, v.Value)
	}
	return got, nil
}

// eachServer runs a test against grpc-go's server and against Limosa's.
func eachServer(t *testing.T, say func(ctx context.Context, text string) (string, error), test func(t *testing.T, c *limosa.Client)) {
	t.Run("grpc-go", func(t *testing.T) {
		addr, _ := serveGo(t, &goWords{say}, grpc.MaxRecvMsgSize(16<<20))
		test(t, ours(t, addr))
	})
	t.Run("limosa", func(t *testing.T) {
		test(t, ours(t, serve(t, &limosa.Server{Services: []rpc.Service{words(func(ctx context.Context, _ *rpc.Call, text string) (string, error) { return say(ctx, text) })}})))
	})
}

func repeat(_ context.Context, text string) (string, error) { return text, nil }

// Limosa's client calls a method of one message: small, empty and large ones.
func TestClientSay(t *testing.T) {
	eachServer(t, repeat, func(t *testing.T, c *limosa.Client) {
		for _, n := range []int{0, 1, 100, 20_000, 70_000, 3_000_000} {
			if got, err := tell(t.Context(), c, noise(n)); err != nil || got != noise(n) {
				t.Fatalf("%d bytes: %d came back, %v", n, len(got), err)
			}
		}
	})
}

// The three shapes of streams.
func TestClientShapes(t *testing.T) {
	long := noise(300_000)
	eachServer(t, repeat, func(t *testing.T, c *limosa.Client) {
		for _, x := range []struct {
			m          *rpc.Method
			send, want []string
			code       rpc.Code
		}{
			{&down, []string{"a b c"}, []string{"a", "b", "c"}, rpc.OK},
			{&down, []string{""}, nil, rpc.OK},
			{&down, []string{"a fail"}, []string{"a"}, rpc.DataLoss},
			{&down, []string{"fail"}, nil, rpc.DataLoss},
			{&up, []string{"a", "b", "c"}, []string{"a b c"}, rpc.OK},
			{&up, nil, []string{""}, rpc.OK},
			{&both, []string{"a", "", long, "c", long}, []string{"a", "", long, "c", long}, rpc.OK},
			{&both, nil, nil, rpc.OK},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			got, err := stream(ctx, c, x.m, x.send...)
			if rpc.CodeOf(err) != x.code || !slices.Equal(got, x.want) {
				t.Errorf("%s(%d messages) = %d messages, %v", x.m.Name, len(x.send), len(got), err)
			}
			cancel()
		}
	})
}

// Errors come with code, text and details.
func TestClientErrors(t *testing.T) {
	addr, _ := serveGo(t, &goWords{func(ctx context.Context, text string) (string, error) {
		md, _ := metadata.FromIncomingContext(ctx)
		grpc.SetHeader(ctx, metadata.Pairs("lead", "first"))                                 //nolint:errcheck // seen below
		grpc.SetTrailer(ctx, metadata.Pairs("trail-bin", md["bytes-bin"][0]))                //nolint:errcheck // seen below
		st, _ := status.New(codes.NotFound, "nö\n100%").WithDetails(wrapperspb.String("hi")) //nolint:errcheck // it is no OK
		if text == "fail" {
			return "", st.Err()
		}
		return text, nil
	}})
	c := ours(t, addr)
	for _, text := range []string{"ok", "fail"} {
		var trailer rpc.Metadata
		ctx := limosa.With(t.Context(), limosa.Header("Bytes-Bin", "\x00\xff\n"), limosa.Trailer(&trailer))
		_, err := tell(ctx, c, text)
		if trailer.Get("trail-bin") != "\x00\xff\n" || trailer.Get("lead") != "first" {
			t.Errorf("%s: metadata %q", text, trailer)
		}
		e, failed := errors.AsType[*rpc.Error](err)
		switch {
		case text == "ok" && err != nil:
			t.Error(err)
		case text == "fail" && (!failed || e.Code != rpc.NotFound || e.Msg != "nö\n100%" || e.Details.Get("google.protobuf.StringValue") != "\x0a\x02hi"):
			t.Errorf("error %#v", e)
		}
	}
}

// A caller that leaves, or whose time is over, ends the handler.
func TestClientCancel(t *testing.T) {
	ended := make(chan error, 2)
	begun := make(chan bool, 2)
	eachServer(t, func(ctx context.Context, text string) (string, error) {
		_, has := ctx.Deadline()
		begun <- has
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	}, func(t *testing.T, c *limosa.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-begun; cancel() }()
		if _, err := tell(ctx, c, ""); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		<-ended
		ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := tell(ctx, c, ""); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("too late: %v", err)
		}
		<-ended
		if !<-begun {
			t.Error("the handler had no deadline")
		}
	})
}

// Calls beyond what the server takes at once wait for the others; none is refused.
func TestClientWaitsForStreams(t *testing.T) {
	var now, most atomic.Int32
	var once sync.Once
	three := make(chan struct{})
	addr, _ := serveGo(t, &goWords{func(ctx context.Context, text string) (string, error) {
		n := now.Add(1)
		for {
			had := most.Load()
			if n <= had || most.CompareAndSwap(had, n) {
				break
			}
		}
		defer now.Add(-1)
		if n == 3 {
			once.Do(func() { close(three) })
		}
		select {
		case <-three: // the first wait for each other
		case <-ctx.Done():
		}
		return text, nil
	}}, grpc.MaxConcurrentStreams(3))
	nc, err := netio.Dial(t.Context(), "tcp", addr, nil)
	if err != nil {
		t.Fatal(err)
	}
	limits := rpc.Limits{}.WithDefaults()
	c := mux.NewConn(nc, web.Protocol{Authority: addr}.Open(wire.Client, limits), mux.Config{Limits: limits}) // which makes no call twice
	defer c.Close()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if _, err := tell(t.Context(), c, "x"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := most.Load(); n != 3 {
		t.Errorf("%d at once, the server takes 3", n)
	}
}

// grpc-go's server ends connections that ping too often while it says nothing. A call that
// takes long, and is silent all the while, is not pinged to death.
func TestClientPingsSeldom(t *testing.T) {
	addr, _ := serveGo(t, &goWords{func(_ context.Context, text string) (string, error) {
		time.Sleep(7 * time.Second) // Real time: as long as it takes the server to lose its patience.
		return text, nil
	}})
	c := ours(t, addr, rpc.Limits{Silence: 200 * time.Millisecond})
	if got, err := tell(t.Context(), c, "x"); err != nil || got != "x" {
		t.Errorf("%q, %v", got, err)
	}
}

// A server that goes loses no call that it has not answered: those are made elsewhere.
func TestClientSurvivesDrains(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	desc := func() *grpc.Server {
		w := &goWords{repeat}
		s := grpc.NewServer()
		s.RegisterService(&grpc.ServiceDesc{ServiceName: "test.Words", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Say", Handler: w.serveSay}}}, w)
		return s
	}
	listen := func() net.Listener {
		for {
			if l, err := net.Listen("tcp", addr); err == nil {
				return l
			}
			time.Sleep(time.Millisecond) // Real time: the kernel's port.
		}
	}
	s := desc()
	progress := make(chan struct{})
	var run sync.WaitGroup
	first := listen()
	run.Go(func() { s.Serve(first) }) //nolint:errcheck // it is stopped
	c := ours(t, addr)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	var made atomic.Int32
	for range 8 {
		calls.Go(func() {
			for ctx.Err() == nil {
				if _, err := tell(t.Context(), c, "x"); err != nil && rpc.CodeOf(err) != rpc.Unavailable {
					t.Errorf("call: %v", err)
					return
				} else if err != nil && !rpc.SentOf(err).Retryable() {
					t.Errorf("a call was lost: %v", err)
					return
				}
				made.Add(1)
				select {
				case progress <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 3 {
		for range 20 { // calls go on between two restarts
			select {
			case <-progress:
			case <-time.After(20 * time.Second):
				t.Error("no call gets through")
			}
		}
		s.GracefulStop()
		s = desc()
		again, next := listen(), s
		run.Go(func() { next.Serve(again) }) //nolint:errcheck // it is stopped
	}
	cancel()
	calls.Wait()
	s.Stop()
	run.Wait()
	if made.Load() == 0 {
		t.Error("no call was made")
	}
}
