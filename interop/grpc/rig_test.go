package grpc_test

import (
	"context"
	"errors"
	"io"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// Text is google.protobuf.StringValue, as Limosa has it.
type Text struct {
	Value string `proto:"1,string"`
}

// The methods that both sides serve: each does with a text what its first word says.
var (
	unary = rpc.Method{Service: "test.Words", Name: "Say", Codec: protobuf.Codec{}, New: stub.New[Text, Text]}
	down  = rpc.Method{Service: "test.Words", Name: "Down", Kind: rpc.ServerStream, Codec: protobuf.Codec{}, New: stub.New[Text, Text]}
	up    = rpc.Method{Service: "test.Words", Name: "Up", Kind: rpc.ClientStream, Codec: protobuf.Codec{}, New: stub.New[Text, Text]}
	both  = rpc.Method{Service: "test.Words", Name: "Both", Kind: rpc.Bidi, Codec: protobuf.Codec{}, New: stub.New[Text, Text]}
)

// words is the service of Limosa's side. Say calls say, the others repeat.
func words(say func(ctx context.Context, c *rpc.Call, text string) (string, error)) rpc.Service {
	return rpc.Service{Name: "test.Words", Methods: []rpc.Handler{
		{Method: &unary, Serve: func(ctx context.Context, c *rpc.Call) error {
			req, err := stub.Args[Text](c)
			if err != nil {
				return err
			}
			text, err := say(ctx, c, req.Value)
			return stub.Fill(c, &Text{Value: text}, err)
		}},
		{Method: &down, Serve: func(ctx context.Context, c *rpc.Call) error {
			req, err := stub.First[Text](c)
			if err != nil {
				return err
			}
			return stub.SendAll(c, each(req.Value))
		}},
		{Method: &up, Serve: func(ctx context.Context, c *rpc.Call) error {
			var all []string
			for m, err := range stub.Arriving[Text](c) {
				if err != nil {
					return err
				}
				all = append(all, m.Value)
			}
			return stub.SendLast(c, &Text{Value: strings.Join(all, " ")}, nil)
		}},
		{Method: &both, Serve: func(ctx context.Context, c *rpc.Call) error {
			return stub.SendAll(c, stub.Arriving[Text](c))
		}},
	}}
}

// each yields the words of a text; the word "fail" is an error.
func each(text string) iter.Seq2[*Text, error] {
	return func(yield func(*Text, error) bool) {
		for _, w := range strings.Fields(text) {
			if w == "fail" {
				yield(nil, rpc.Errorf(rpc.DataLoss, "it was to fail"))
				return
			}
			if !yield(&Text{Value: w}, nil) {
				return
			}
		}
	}
}

// echo repeats what it is told.
func echo(_ context.Context, _ *rpc.Call, text string) (string, error) { return text, nil }

// serve starts Limosa's side, and gives its address.
func serve(t *testing.T, s *limosa.Server) (addr string) {
	t.Helper()
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.Drain, s.Protocols = 5*time.Second, []wire.Protocol{ttheader.Protocol{}, web.Protocol{}}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return l.Addr().String()
}

// dial is a client of grpc-go.
func dial(t *testing.T, addr string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	if len(opts) == 0 {
		opts = []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	}
	c, err := grpc.NewClient(addr, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// say makes grpc-go's client call Say.
func say(ctx context.Context, c *grpc.ClientConn, text string, opts ...grpc.CallOption) (string, error) {
	out := new(wrapperspb.StringValue)
	err := c.Invoke(ctx, "/test.Words/Say", wrapperspb.String(text), out, opts...)
	return out.Value, err
}

// exchange has grpc-go's client send words, and gives what comes back.
func exchange(ctx context.Context, c *grpc.ClientConn, method string, words ...string) (got []string, err error) {
	st, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, "/test.Words/"+method)
	if err != nil {
		return nil, err
	}
	for _, w := range words {
		if err := st.SendMsg(wrapperspb.String(w)); err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
	}
	if err := st.CloseSend(); err != nil {
		return nil, err
	}
	for {
		m := new(wrapperspb.StringValue)
		if err := st.RecvMsg(m); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return got, err
		}
		got = append(got, m.Value)
	}
}

// noise is a text that compresses, but not much.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(20))
	}
	return string(b)
}
