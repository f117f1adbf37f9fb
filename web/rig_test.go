package web_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/route"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
	"github.com/limosa-rpc/limosa/wire"
)

// texts is a codec of strings, for tests that are not about codecs.
type texts struct{}

func (texts) Append(out *buf.Out, msg any) error {
	out.AppendString(*msg.(*string))
	return nil
}

func (texts) Decode(body buf.View, msg any, _ *rpc.Limits) error {
	*msg.(*string) = string(body.Bytes())
	return nil
}

// wrapped is a codec as Thrift's are.
type wrapped struct{ texts }

func (wrapped) Args(any) iter.Seq2[string, any] { return func(func(string, any) bool) {} }
func (wrapped) Answer(any) any                  { return nil }

// method makes a description; each test has its own, since they learn.
func method(name string, kind rpc.Kind) *rpc.Method {
	return &rpc.Method{Service: "test.Words", Name: name, Kind: kind, Codec: texts{}, New: stub.New[string, string]}
}

// A service of methods that say what they got.
func service() rpc.Service {
	return rpc.Service{Name: "test.Words", Methods: []rpc.Handler{
		{Method: method("Say", rpc.Unary), Serve: serveSay},
		{Method: method("Down", rpc.ServerStream), Serve: func(_ context.Context, c *rpc.Call) error {
			req, err := stub.First[string](c)
			if err != nil {
				return err
			}
			sendBack(c)
			return stub.SendAll(c, words(*req))
		}},
		{Method: method("Up", rpc.ClientStream), Serve: func(_ context.Context, c *rpc.Call) error {
			n, sum := 0, 0
			for m, err := range stub.Arriving[string](c) {
				if err != nil {
					return err
				}
				n, sum = n+1, sum+len(*m)
			}
			return stub.SendLast(c, new(fmt.Sprintf("%d messages, %d bytes", n, sum)), nil)
		}},
		{Method: method("Both", rpc.Bidi), Serve: func(_ context.Context, c *rpc.Call) error {
			return stub.SendAll(c, stub.Arriving[string](c))
		}},
		{Method: &rpc.Method{Service: "test.Words", Name: "Wrapped", Codec: wrapped{}, New: stub.New[string, string]}, Serve: serveSay},
	}}
}

// serveSay repeats its text, or fails as that says, or waits.
func serveSay(ctx context.Context, c *rpc.Call) error {
	req, err := stub.Args[string](c)
	if err != nil {
		return err
	}
	sendBack(c)
	switch *req {
	case "fail":
		return &rpc.Error{Code: rpc.NotFound, Msg: "no such word: 100%", Details: rpc.Metadata{{Key: "word", Value: "fail"}, {Key: "a.Type", Value: "\x00"}}}
	case "long":
		return &rpc.Error{Code: rpc.NotFound, Msg: "no such word: " + strings.Repeat("\n", 1<<20), Details: rpc.Metadata{{Key: "word", Value: strings.Repeat("x", 1<<20)}}}
	case "wait":
		<-ctx.Done()
		return ctx.Err()
	case "panic":
		panic("on purpose")
	}
	return stub.Fill(c, req, nil)
}

// sendBack has the metadata of a call come back, before its answer or behind it.
func sendBack(c *rpc.Call) {
	for _, p := range c.Header {
		if strings.HasPrefix(p.Key, "lead") {
			c.Trailer.AddLeading(p.Key, p.Value)
		} else {
			c.Trailer.Add(p.Key, p.Value)
		}
	}
}

// words yields those of a text.
func words(text string) iter.Seq2[*string, error] {
	return func(yield func(*string, error) bool) {
		for _, w := range strings.Fields(text) {
			if w == "fail" {
				yield(nil, rpc.Errorf(rpc.DataLoss, "on purpose"))
				return
			}
			if !yield(&w, nil) {
				return
			}
		}
	}
}

// A rig is a client and a server of gRPC, or one of them and an end that the test plays.
type rig struct {
	client *mux.Conn
	server *mux.ServerConn
	peer   *pipe.Conn
	sess   wire.Session
	find   func(service, method string) *rpc.Method
	done   chan error
}

// eachSpeech runs a test for each protocol that a client may speak.
func eachSpeech(t *testing.T, f func(t *testing.T, p web.Protocol)) {
	for _, p := range []web.Protocol{{Authority: "words:80"}, {Authority: "words:80", Connect: true}} {
		t.Run(p.Name(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { f(t, p) })
		})
	}
}

// newRig joins a client and a server over a pipe.
func newRig(t *testing.T, lim rpc.Limits, cfg pipe.Config) *rig {
	return newRigOf(t, lim, cfg, web.Protocol{Authority: "words:80"})
}

// newRigOf is newRig with what the client speaks.
func newRigOf(t *testing.T, lim rpc.Limits, cfg pipe.Config, p web.Protocol) *rig {
	r := &rig{}
	cend, send := pipe.New(cfg)
	r.serve(t, send, lim)
	limits := lim.WithDefaults()
	r.client = mux.NewConn(cend, p.Open(wire.Client, limits), mux.Config{Limits: limits})
	t.Cleanup(func() { r.client.Close(); <-r.done })
	return r
}

// serve serves one end.
func (r *rig) serve(t *testing.T, nc *pipe.Conn, lim rpc.Limits) {
	table, err := route.New([]rpc.Service{service(), quotes()}, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	r.find = table.Exact
	limits := lim.WithDefaults()
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	r.done = make(chan error, 1)
	r.sess = web.Protocol{}.Serving(table.Exact).Open(wire.Server, limits)
	r.server = mux.NewServerConn(nc, r.sess, &mux.ServerConfig{Config: mux.Config{Limits: limits, Logger: log}, Route: table.Find, Base: t.Context()})
	go r.server.Run(func(err error) { r.done <- err })
}

// newServerRig serves a pipe whose other end is the test's.
func newServerRig(t *testing.T, lim rpc.Limits) *rig {
	r := &rig{}
	var send *pipe.Conn
	r.peer, send = pipe.New(pipe.Config{})
	r.serve(t, send, lim)
	t.Cleanup(func() { hangUp(r.peer); <-r.done })
	return r
}

// newClientRig is a client of a pipe whose other end is the test's.
func newClientRig(t *testing.T) *rig { return newClientRigOf(t, web.Protocol{Authority: "words:80"}) }

func newClientRigOf(t *testing.T, p web.Protocol) *rig {
	r := &rig{}
	var cend *pipe.Conn
	cend, r.peer = pipe.New(pipe.Config{})
	limits := rpc.Limits{}.WithDefaults()
	r.sess = p.Open(wire.Client, limits)
	r.client = mux.NewConn(cend, r.sess, mux.Config{Limits: limits})
	t.Cleanup(func() { hangUp(r.peer); r.client.Close() })
	return r
}

func hangUp(nc netio.Conn) {
	nc.Abort()
	nc.Receive(false, func(*buf.In) (bool, error) { return false, nil }) //nolint:errcheck // lost
}

// say calls Say.
func say(ctx context.Context, c rpc.Caller, text string, md ...rpc.Pair) (answer string, trailer rpc.Metadata, err error) {
	call := stub.Make(method("Say", rpc.Unary), "test.Words", &text, &answer)
	call.Header = md
	err = c.Do(ctx, call)
	return answer, call.Trailer, err
}

// both exchanges messages, and counts what comes back, in order.
func both(ctx context.Context, c rpc.Caller, n int, text func(i int) string) (got int, err error) {
	in := func(yield func(*string, error) bool) {
		for i := range n {
			if m := text(i); !yield(&m, nil) {
				return
			}
		}
	}
	for m, err := range stub.Exchange[string, string](ctx, c, stub.Make(method("Both", rpc.Bidi), "test.Words", nil, nil), in) {
		switch {
		case err != nil:
			return got, err
		case *m != text(got):
			return got, errors.New("message " + *m + " came for " + text(got))
		}
		got++
	}
	return got, nil
}
