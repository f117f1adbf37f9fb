package connect_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/protobuf/known"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

type text = wrapperspb.StringValue

// onPurpose is the error of a text that says fail.
func onPurpose(s string) error {
	if s != "fail" {
		return nil
	}
	e := connect.NewError(connect.CodeDataLoss, errors.New("on purpose"))
	d, err := connect.NewErrorDetail(wrapperspb.String("hi"))
	if err != nil {
		return err
	}
	e.AddDetail(d)
	e.Meta().Set("tail", "1")
	return e
}

// serveConnectGo starts connect-go's side over HTTP/2, with the methods that streams has, and Say,
// and gives a client of ours.
func serveConnectGo(t *testing.T) *limosa.Client {
	mux := http.NewServeMux()
	const service = "/test.Streams/"
	mux.Handle(service+"Say", connect.NewUnaryHandler(service+"Say", func(ctx context.Context, r *connect.Request[text]) (*connect.Response[text], error) {
		if r.Msg.Value == "wait" {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		if err := onPurpose(r.Msg.Value); err != nil {
			return nil, err
		}
		res := connect.NewResponse(r.Msg)
		res.Header().Set("lead", r.Header().Get("lead"))
		res.Trailer().Set("tail-bin", r.Header().Get("bytes-bin"))
		return res, nil
	}))
	mux.Handle(service+"Down", connect.NewServerStreamHandler(service+"Down", func(_ context.Context, r *connect.Request[text], s *connect.ServerStream[text]) error {
		s.ResponseHeader().Set("lead", r.Header().Get("lead"))
		s.ResponseTrailer().Set("tail-bin", r.Header().Get("bytes-bin"))
		for range 3 {
			if err := s.Send(r.Msg); err != nil {
				return err
			}
		}
		return onPurpose(r.Msg.Value)
	}))
	mux.Handle(service+"Up", connect.NewClientStreamHandler(service+"Up", func(_ context.Context, s *connect.ClientStream[text]) (*connect.Response[text], error) {
		var all []string
		for s.Receive() {
			if err := onPurpose(s.Msg().Value); err != nil {
				return nil, err
			}
			all = append(all, s.Msg().Value)
		}
		return connect.NewResponse(wrapperspb.String(strings.Join(all, " "))), s.Err()
	}))
	mux.Handle(service+"Both", connect.NewBidiStreamHandler(service+"Both", func(_ context.Context, s *connect.BidiStream[text, text]) error {
		for {
			m, err := s.Receive()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err == nil {
				err = onPurpose(m.Value)
			}
			if err == nil {
				err = s.Send(m)
			}
			if err != nil {
				return err
			}
		}
	}))
	server := httptest.NewUnstartedServer(mux)
	server.Config.Protocols = new(http.Protocols)
	server.Config.Protocols.SetUnencryptedHTTP2(true)
	server.Start()
	t.Cleanup(server.Close)
	c, err := limosa.Dial(strings.TrimPrefix(server.URL, "http://")+"?protocol=connect", func(c *limosa.Client) {
		c.Protocols = []wire.Protocol{web.Protocol{}, web.Protocol{Connect: true}}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// to makes a call of one of its methods.
func to(name string, kind rpc.Kind, args, result any) *rpc.Call {
	m := &rpc.Method{Service: "test.Streams", Name: name, Kind: kind, Codec: protobuf.Codec{}, New: stub.New[known.StringValue, known.StringValue]}
	c := stub.Make(m, m.Service, args, result)
	c.Header.Add("lead", "first")
	c.Header.Add("bytes-bin", "\x00\xff")
	return c
}

// failedThere sees that a call has failed as it was to, with its metadata.
func failedThere(t *testing.T, name string, c *rpc.Call, err error) {
	t.Helper()
	e, ok := errors.AsType[*rpc.Error](err)
	if !ok || e.Code != rpc.DataLoss || e.Msg != "on purpose" || !e.Remote || len(e.Details) != 1 || e.Details[0] != (rpc.Pair{Key: "google.protobuf.StringValue", Value: "\x0a\x02hi"}) {
		t.Errorf("%s: %v", name, err)
	}
	if c.Trailer.Get("tail") != "1" {
		t.Errorf("%s: metadata %v", name, c.Trailer)
	}
}

// Calls of one message to connect-go, which compresses what is worth it.
func TestCallsToConnectGo(t *testing.T) {
	c := serveConnectGo(t)
	for _, n := range []int{0, 1, 1000, 100_000, 700_000} {
		in, out := &known.StringValue{Value: noise(n)}, new(known.StringValue)
		call := to("Say", rpc.Unary, in, out)
		if err := c.Do(t.Context(), call); err != nil || out.Value != in.Value {
			t.Errorf("%d bytes: %d came back, %v", n, len(out.Value), err)
		}
		if call.Trailer.Get("lead") != "first" || call.Trailer.Get("tail-bin") != "\x00\xff" {
			t.Errorf("%d bytes: metadata %v", n, call.Trailer)
		}
	}
	call := to("Say", rpc.Unary, &known.StringValue{Value: "fail"}, new(known.StringValue))
	failedThere(t, "Say", call, c.Do(t.Context(), call))
	if err := c.Do(t.Context(), to("Nothing", rpc.Unary, new(known.StringValue), new(known.StringValue))); rpc.CodeOf(err) != rpc.Unimplemented {
		t.Errorf("a method that is not there: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100_000_000)
	defer cancel()
	if err := c.Do(ctx, to("Say", rpc.Unary, &known.StringValue{Value: "wait"}, new(known.StringValue))); rpc.CodeOf(err) != rpc.DeadlineExceeded {
		t.Errorf("one that waits: %v", err)
	}
}

// sequence yields texts.
func sequence(texts []string) func(yield func(*known.StringValue, error) bool) {
	return func(yield func(*known.StringValue, error) bool) {
		for _, s := range texts {
			if !yield(&known.StringValue{Value: s}, nil) {
				return
			}
		}
	}
}

// Streams to connect-go, of all shapes.
func TestStreamsToConnectGo(t *testing.T) {
	c := serveConnectGo(t)
	for _, s := range []string{"", "hi", "fail", noise(300_000)} {
		call := to("Down", rpc.ServerStream, &known.StringValue{Value: s}, nil)
		n := 0
		for m, err := range stub.Incoming[known.StringValue](t.Context(), c, call) {
			switch {
			case err != nil && s == "fail" && n == 3:
				failedThere(t, "Down", call, err)
			case err != nil:
				t.Fatalf("Down, %d bytes: %v", len(s), err)
			case m.Value != s:
				t.Errorf("Down: %.40q comes back", m.Value)
			}
			n++
		}
		if want := 3; n != want && !(s == "fail" && n == 4) {
			t.Errorf("Down: %d messages", n)
		}
		if call.Trailer.Get("lead") != "first" || call.Trailer.Get("tail-bin") != "\x00\xff" {
			t.Errorf("Down: metadata %v", call.Trailer)
		}
	}
	texts := []string{"a", "", noise(100_000), "z"}
	n := 0
	for m, err := range stub.Exchange[known.StringValue, known.StringValue](t.Context(), c, to("Both", rpc.Bidi, nil, nil), sequence(texts)) {
		if err != nil || m.Value != texts[n] {
			t.Fatalf("Both, message %d: %v", n, err)
		}
		n++
	}
	if n != len(texts) {
		t.Errorf("Both: %d messages", n)
	}
	call := to("Both", rpc.Bidi, nil, nil)
	said := ""
	for m, err := range stub.Exchange[known.StringValue, known.StringValue](t.Context(), c, call, sequence([]string{"a", "fail"})) {
		if err != nil {
			failedThere(t, "Both", call, err)
			break
		}
		said += fmt.Sprint(m.Value, ";")
	}
	if said != "a;" {
		t.Errorf("Both says %q before it fails", said)
	}
}
