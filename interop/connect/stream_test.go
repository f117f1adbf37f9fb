package connect_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/protobuf/known"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// streams is a service whose methods have streams: Down says its message three times, Up joins
// what it gets, Both repeats each; "fail" has them fail there.
func streams() rpc.Service {
	handler := func(name string, kind rpc.Kind, serve func(ctx context.Context, c *rpc.Call) error) rpc.Handler {
		m := &rpc.Method{Service: "test.Streams", Name: name, Kind: kind, Codec: protobuf.Codec{}, New: stub.New[known.StringValue, known.StringValue]}
		return rpc.Handler{Method: m, Serve: func(ctx context.Context, c *rpc.Call) error {
			c.Trailer.AddLeading("lead", c.Header.Get("lead"))
			c.Trailer.Add("tail-bin", c.Header.Get("bytes-bin"))
			return serve(ctx, c)
		}}
	}
	bad := func(text string) error {
		if text != "fail" {
			return nil
		}
		return &rpc.Error{Code: rpc.DataLoss, Msg: "on purpose", Details: rpc.Metadata{{Key: "google.protobuf.StringValue", Value: "\x0a\x02hi"}}}
	}
	return rpc.Service{Name: "test.Streams", Methods: []rpc.Handler{
		handler("Down", rpc.ServerStream, func(_ context.Context, c *rpc.Call) error {
			m, err := stub.First[known.StringValue](c)
			if err != nil {
				return err
			}
			return stub.SendAll(c, func(yield func(*known.StringValue, error) bool) {
				for range 3 {
					if !yield(m, nil) {
						return
					}
				}
				if err := bad(m.Value); err != nil {
					yield(nil, err)
				}
			})
		}),
		handler("Up", rpc.ClientStream, func(_ context.Context, c *rpc.Call) error {
			var all []string
			for m, err := range stub.Arriving[known.StringValue](c) {
				if err == nil {
					err = bad(m.Value)
				}
				if err != nil {
					return err
				}
				all = append(all, m.Value)
			}
			return stub.SendLast(c, &known.StringValue{Value: strings.Join(all, " ")}, nil)
		}),
		handler("Both", rpc.Bidi, func(_ context.Context, c *rpc.Call) error {
			return stub.SendAll(c, func(yield func(*known.StringValue, error) bool) {
				for m, err := range stub.Arriving[known.StringValue](c) {
					if err == nil {
						err = bad(m.Value)
					}
					if !yield(m, err) || err != nil {
						return
					}
				}
			})
		}),
	}}
}

// serveStreams starts a server of them, and gives clients for a method by what they speak.
func serveStreams(t *testing.T) func(method string) map[string]*client {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := limosa.Server{Services: []rpc.Service{streams()}, Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}}, Drain: 5 * time.Second}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	by := over2(t)
	return func(method string) map[string]*client {
		all := map[string]*client{}
		for name, opts := range map[string][]connect.ClientOption{
			"proto": nil, "JSON": {connect.WithProtoJSON()}, "gzip": {connect.WithSendGzip()}, "JSON, gzip": {connect.WithProtoJSON(), connect.WithSendGzip()},
			"gRPC": {connect.WithGRPC()},
		} {
			all[name] = connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](by, "http://"+l.Addr().String()+"/test.Streams/"+method, opts...)
		}
		return all
	}
}

// mark gives a request's metadata, and marked sees that all of it has come back.
func mark(h http.Header) {
	h.Set("lead", "first")
	h.Set("bytes-bin", connect.EncodeBinaryHeader([]byte("\x00\xff")))
}

func marked(t *testing.T, name string, head, tail http.Header) {
	t.Helper()
	if p, err := connect.DecodeBinaryHeader(tail.Get("tail-bin")); err != nil || string(p) != "\x00\xff" || head.Get("lead") != "first" {
		t.Errorf("%s: header %v, trailer %v", name, head, tail)
	}
}

// failed sees that a call has failed as it was to.
func failed(t *testing.T, name string, err error) {
	t.Helper()
	e, ok := errors.AsType[*connect.Error](err)
	if !ok || e.Code() != connect.CodeDataLoss || e.Message() != "on purpose" || len(e.Details()) != 1 {
		t.Errorf("%s: %v", name, err)
	}
}

// A server's stream, small and large, whole and failing.
func TestDown(t *testing.T) {
	for name, c := range serveStreams(t)("Down") {
		for _, text := range []string{"", "hi", "fail", noise(300_000)} {
			req := connect.NewRequest(wrapperspb.String(text))
			mark(req.Header())
			s, err := c.CallServerStream(t.Context(), req)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			n := 0
			for s.Receive() {
				if n++; s.Msg().Value != text {
					t.Errorf("%s: %.40q comes back", name, s.Msg().Value)
				}
			}
			if n != 3 {
				t.Errorf("%s: %d messages, %v", name, n, s.Err())
			}
			if text == "fail" {
				failed(t, name, s.Err())
			} else if s.Err() != nil {
				t.Errorf("%s: %v", name, s.Err())
			}
			marked(t, name, s.ResponseHeader(), s.ResponseTrailer())
			s.Close()
		}
	}
}

// A client's stream.
func TestUp(t *testing.T) {
	for name, c := range serveStreams(t)("Up") {
		for _, texts := range [][]string{nil, {"a"}, {"a", "", noise(100_000), "z"}, {"a", "fail"}} {
			s := c.CallClientStream(t.Context())
			mark(s.RequestHeader())
			for _, text := range texts {
				if err := s.Send(wrapperspb.String(text)); err != nil && !errors.Is(err, io.EOF) {
					t.Fatalf("%s: %v", name, err)
				}
			}
			res, err := s.CloseAndReceive()
			switch {
			case len(texts) == 2:
				failed(t, name, err)
			case err != nil:
				t.Errorf("%s: %v", name, err)
			default:
				if want := strings.Join(texts, " "); res.Msg.Value != want {
					t.Errorf("%s: %.40q, want %.40q", name, res.Msg.Value, want)
				}
				marked(t, name, res.Header(), res.Trailer())
			}
		}
	}
}

// Both directions in turn, and a caller that goes.
func TestBoth(t *testing.T) {
	for name, c := range serveStreams(t)("Both") {
		ctx, cancel := context.WithCancel(t.Context())
		s := c.CallBidiStream(ctx)
		mark(s.RequestHeader())
		for _, text := range []string{"a", "", noise(100_000)} {
			if err := s.Send(wrapperspb.String(text)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			m, err := s.Receive()
			if err != nil || m.Value != text {
				t.Fatalf("%s: %.40q, %v", name, m.GetValue(), err)
			}
		}
		s.CloseRequest()
		if _, err := s.Receive(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: its end is %v", name, err)
		}
		marked(t, name, s.ResponseHeader(), s.ResponseTrailer())
		s.CloseResponse()
		s = c.CallBidiStream(ctx)
		if err := s.Send(wrapperspb.String("a")); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		s.Receive()
		cancel()
		if _, err := s.Receive(); connect.CodeOf(err) != connect.CodeCanceled {
			t.Errorf("%s: after it was given up: %v", name, err)
		}
	}
}
