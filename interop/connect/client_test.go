package connect_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
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

// A saying does with a text what its method is for.
type saying func(ctx context.Context, c *rpc.Call, text string) (string, error)

// serve starts Limosa's side, and gives its URL.
func serve(t *testing.T, f saying) (url string) {
	t.Helper()
	say := &rpc.Method{Service: "test.Words", Name: "Say", ReadOnly: true, Codec: protobuf.Codec{}, New: stub.New[known.StringValue, known.StringValue]}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := limosa.Server{
		Services: []rpc.Service{{Name: "test.Words", Methods: []rpc.Handler{{Method: say, Serve: func(ctx context.Context, c *rpc.Call) error {
			req, err := stub.Args[known.StringValue](c)
			if err != nil {
				return err
			}
			text, err := f(ctx, c, req.Value)
			return stub.Fill(c, &known.StringValue{Value: text}, err)
		}}}}},
		Protocols: []wire.Protocol{ttheader.Protocol{}, web.Protocol{}, web.HTTP1{}},
		Drain:     5 * time.Second,
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, l) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return "http://" + l.Addr().String()
}

type client = connect.Client[wrapperspb.StringValue, wrapperspb.StringValue]

// over1 and over2 are transports of HTTP/1.1 and of HTTP/2 without TLS.
func over1(t *testing.T) *http.Client { return over(t, func(p *http.Protocols) { p.SetHTTP1(true) }) }
func over2(t *testing.T) *http.Client {
	return over(t, func(p *http.Protocols) { p.SetUnencryptedHTTP2(true) })
}

func over(t *testing.T, set func(*http.Protocols)) *http.Client {
	transport := &http.Transport{Protocols: new(http.Protocols)}
	set(transport.Protocols)
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// clients gives one for each way to ask.
func clients(t *testing.T, url string) map[string]*client {
	get := connect.WithIdempotency(connect.IdempotencyNoSideEffects)
	all, h1, h2 := map[string]*client{}, over1(t), over2(t)
	for name, opts := range map[string][]connect.ClientOption{
		"proto": nil, "JSON": {connect.WithProtoJSON()}, "gzip": {connect.WithSendGzip()}, "JSON, gzip": {connect.WithProtoJSON(), connect.WithSendGzip()},
		"GET": {connect.WithHTTPGet(), get}, "GET, JSON": {connect.WithHTTPGet(), get, connect.WithProtoJSON()}, "GET, gzip": {connect.WithHTTPGet(), get, connect.WithSendGzip()},
	} {
		for version, by := range map[string]*http.Client{"HTTP/1.1, ": h1, "HTTP/2, ": h2} {
			all[version+name] = connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](by, url+"/test.Words/Say", opts...)
		}
	}
	return all
}

// noise is a text of n bytes that does not become much smaller when it is compressed.
func noise(n int) string {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = "abcdefghijklmnopqrstuvwxyz\"\\<&>\n ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"[r.IntN(67)]
	}
	return string(b)
}

// A call of one message, in every form, small and large.
func TestSay(t *testing.T) {
	url := serve(t, func(_ context.Context, _ *rpc.Call, text string) (string, error) { return text, nil })
	for name, c := range clients(t, url) {
		for _, n := range []int{0, 1, 1000, 100_000, 700_000} {
			if n > 1000 && strings.Contains(name, "GET") {
				continue // no server takes a target so long
			}
			text := noise(n)
			res, err := c.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String(text)))
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", name, n, err)
			}
			if res.Msg.Value != text {
				t.Errorf("%s: of %d bytes %d came back", name, n, len(res.Msg.Value))
			}
		}
	}
}

// Errors arrive with their code, text and details, metadata goes both ways.
func TestErrorsAndMetadata(t *testing.T) {
	url := serve(t, func(_ context.Context, c *rpc.Call, text string) (string, error) {
		c.Trailer.AddLeading("lead", c.Header.Get("lead"))
		c.Trailer.Add("trail-bin", c.Header.Get("bytes-bin"))
		if text == "fail" {
			return "", &rpc.Error{Code: rpc.NotFound, Msg: "nö\n100%", Details: rpc.Metadata{{Key: "google.protobuf.StringValue", Value: "\x0a\x02hi"}}}
		}
		return text, nil
	})
	ask := func(text string) *connect.Request[wrapperspb.StringValue] {
		req := connect.NewRequest(wrapperspb.String(text))
		req.Header().Set("lead", "first")
		req.Header().Set("bytes-bin", connect.EncodeBinaryHeader([]byte("\x00\xff\n")))
		return req
	}
	for name, c := range clients(t, url) {
		res, err := c.CallUnary(t.Context(), ask("ok"))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		bytes, err := connect.DecodeBinaryHeader(res.Trailer().Get("trail-bin"))
		if err != nil || string(bytes) != "\x00\xff\n" || res.Header().Get("lead") != "first" {
			t.Errorf("%s: header %v, trailer %v", name, res.Header(), res.Trailer())
		}
		_, err = c.CallUnary(t.Context(), ask("fail"))
		e, ok := errors.AsType[*connect.Error](err)
		if !ok || e.Code() != connect.CodeNotFound || e.Message() != "nö\n100%" || len(e.Details()) != 1 {
			t.Fatalf("%s: %v", name, err)
		}
		d, err := e.Details()[0].Value()
		if v, ok := d.(*wrapperspb.StringValue); err != nil || !ok || v.Value != "hi" {
			t.Errorf("%s: detail %v, %v", name, d, err)
		}
		if got := e.Meta().Get("lead"); got != "first" {
			t.Errorf("%s: metadata of the error %v", name, e.Meta())
		}
	}
}

// Every code is read as what was said.
func TestCodes(t *testing.T) {
	var code atomic.Uint32
	url := serve(t, func(context.Context, *rpc.Call, string) (string, error) {
		return "", rpc.Errorf(rpc.Code(code.Load()), "on purpose")
	})
	c := clients(t, url)["HTTP/2, JSON"]
	for want := rpc.Code(1); int(want) < rpc.Codes; want++ {
		code.Store(uint32(want))
		_, err := c.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String("")))
		if got := connect.CodeOf(err); uint32(got) != uint32(want) {
			t.Errorf("%v arrives as %v", want, got)
		}
	}
	other := connect.NewClient[wrapperspb.StringValue, wrapperspb.StringValue](http.DefaultClient, url+"/test.Words/Nothing")
	defer http.DefaultClient.CloseIdleConnections()
	if _, err := other.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String(""))); connect.CodeOf(err) != connect.CodeUnimplemented {
		t.Errorf("a method that is not there: %v", err)
	}
}

// A deadline reaches the handler, and so does a caller that gives up.
func TestDeadlineAndCancel(t *testing.T) {
	begun, ended := make(chan bool, 1), make(chan error, 1)
	url := serve(t, func(ctx context.Context, _ *rpc.Call, _ string) (string, error) {
		_, has := ctx.Deadline()
		begun <- has
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})
	c := clients(t, url)["HTTP/2, proto"]
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := c.CallUnary(ctx, connect.NewRequest(wrapperspb.String("")))
	if connect.CodeOf(err) != connect.CodeDeadlineExceeded || !<-begun {
		t.Errorf("%v", err)
	}
	<-ended
	ctx, cancel = context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() {
		_, err := c.CallUnary(ctx, connect.NewRequest(wrapperspb.String("")))
		gone <- err
	}()
	if <-begun {
		t.Error("a deadline that nobody has set")
	}
	cancel()
	if err := <-gone; connect.CodeOf(err) != connect.CodeCanceled {
		t.Errorf("%v", err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("its handler is told %v", err)
	}
}

// Many callers at once share connections, and each gets its own answer.
func TestManyCallers(t *testing.T) {
	url := serve(t, func(_ context.Context, _ *rpc.Call, text string) (string, error) { return text, nil })
	c := clients(t, url)["HTTP/2, JSON"]
	failed := make(chan error, 50)
	for i := range 50 {
		go func() {
			var bad error
			for j := range 20 {
				text := strings.Repeat(string(rune('a'+i%26)), 1+i*j)
				res, err := c.CallUnary(t.Context(), connect.NewRequest(wrapperspb.String(text)))
				if err == nil && res.Msg.Value != text {
					err = errors.New("another one's answer")
				}
				if bad = err; bad != nil {
					break
				}
			}
			failed <- bad
		}()
	}
	var all []error
	for range 50 {
		all = append(all, <-failed)
	}
	if i := slices.IndexFunc(all, func(err error) bool { return err != nil }); i >= 0 {
		t.Error(all[i])
	}
}
