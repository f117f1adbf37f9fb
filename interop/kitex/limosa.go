package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/interop/kitex/limosa_gen/peer"
	"github.com/limosa-rpc/limosa/rpc"
)

// startLimosa serves b. stop drains and says how the server ended.
func startLimosa(b *backend) (addr string, stop func() error, err error) {
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	h := limosaHandler{b: b}
	srv := limosa.Server{
		Services: []rpc.Service{known(peer.CallsService(h)), known(peer.StreamsService(h))},
		Logger:   slog.New(slog.DiscardHandler), // rows have handlers panic
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- srv.Serve(ctx, l) }()
	return l.Addr().String(), func() error { cancel(); return <-ended }, nil
}

// known leaves the methods out that are to be unknown.
func known(s rpc.Service) rpc.Service {
	s.Methods = slices.DeleteFunc(s.Methods, func(h rpc.Handler) bool { return strings.HasPrefix(h.Method.Name, "missing") })
	return s
}

// limosaHandler is the backend behind Limosa's interfaces.
type limosaHandler struct {
	peer.UnimplementedCalls
	peer.UnimplementedStreams
	b *backend
}

func aboutLimosa(ctx context.Context) about {
	c := rpc.FromContext(ctx)
	a := about{transient: c.Header.Get(keyTransient), reply: func(v string) { c.Trailer.Add(keyBack, v) }}
	for _, p := range c.Header {
		if p.Key == keyPersistent && p.Scope == rpc.Persistent {
			a.persistent = p.Value
		}
	}
	return a
}

// toLimosa makes Limosa's error of a handler's.
func toLimosa(err error) error {
	switch {
	case errors.Is(err, errBoom):
		return rpc.Errorf(rpc.NotFound, "%w", err)
	case errors.Is(err, errBusiness):
		return &rpc.Error{Code: rpc.Unknown, Msg: businessMessage, Details: rpc.Metadata{
			{Key: "biz-status", Value: strconv.Itoa(businessStatus)}, {Key: "biz-message", Value: businessMessage},
			{Key: "biz-extra", Value: fmt.Sprintf("{%q:%q}", businessKey, businessValue)}}}
	}
	return err
}

func (h limosaHandler) Echo(ctx context.Context, it *Item) (*Item, error) {
	res, err := h.b.echo(ctx, aboutLimosa(ctx), it)
	return res, toLimosa(err)
}

func (h limosaHandler) Deny(context.Context, *Item) (*Item, error) {
	return nil, &peer.Denied{Code: deniedCode, Reason: deniedReason}
}

func (h limosaHandler) Nothing(context.Context, *Item) error { return nil }

func (h limosaHandler) Note(_ context.Context, it *Item) error {
	h.b.note(it)
	return nil
}

// errStopped is what a handler's send gives when the caller takes no more.
var errStopped = errors.New("the caller takes no more")

// sending makes an iterator of a function that sends.
func sending(f func(send func(*Item) error) error) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		stopped := false
		err := f(func(it *Item) error {
			if !yield(it, nil) {
				stopped = true
				return errStopped
			}
			return nil
		})
		if err != nil && !stopped {
			yield(nil, toLimosa(err))
		}
	}
}

// receiving makes a function that receives of an iterator; stop ends it.
func receiving(in iter.Seq2[*Item, error]) (recv func() (*Item, error), stop func()) {
	next, stop := iter.Pull2(in)
	return func() (*Item, error) {
		it, err, ok := next()
		if !ok {
			return nil, io.EOF
		}
		return it, err
	}, stop
}

func (h limosaHandler) Produce(ctx context.Context, it *Item) iter.Seq2[*Item, error] {
	return sending(func(send func(*Item) error) error { return h.b.produce(ctx, aboutLimosa(ctx), it, send) })
}

func (h limosaHandler) Collect(ctx context.Context, in iter.Seq2[*Item, error]) (*Item, error) {
	recv, stop := receiving(in)
	defer stop()
	res, err := h.b.collect(ctx, aboutLimosa(ctx), recv)
	return res, toLimosa(err)
}

func (h limosaHandler) Talk(ctx context.Context, in iter.Seq2[*Item, error]) iter.Seq2[*Item, error] {
	return sending(func(send func(*Item) error) error {
		recv, stop := receiving(in)
		defer stop()
		return h.b.talk(ctx, aboutLimosa(ctx), recv, send)
	})
}

// A limosaClient is Limosa's client behind the interface of rows.
type limosaClient struct {
	c       *limosa.Client
	calls   *peer.CallsClient
	streams *peer.StreamsClient
}

func newLimosaClient(addr string, form limosa.Form) client {
	c := &limosa.Client{Target: addr, Thrift: form, Interceptors: []rpc.Interceptor{trailers}}
	return limosaClient{c, peer.NewCallsClient(c), peer.NewStreamsClient(c)}
}

// trailers notes what came back in a call's trailer.
func trailers(ctx context.Context, c *rpc.Call, next rpc.Next) error {
	err := next(ctx, c)
	if x := extrasOf(ctx); x.meta {
		x.back, x.head = c.Trailer.Get(keyBack), c.Trailer.Get(keyHead)
	}
	return err
}

// with puts what a call has besides its message where Limosa looks for it.
func (limosaClient) with(ctx context.Context) (context.Context, context.CancelFunc) {
	x := extrasOf(ctx)
	if x.meta {
		ctx = limosa.With(ctx, limosa.Header(keyTransient, x.transient), limosa.Persistent(keyPersistent, x.persistent))
	}
	if x.timeout > 0 {
		return context.WithTimeout(ctx, x.timeout)
	}
	return ctx, func() {}
}

func (c limosaClient) echo(ctx context.Context, it *Item) (*Item, error) {
	ctx, cancel := c.with(ctx)
	defer cancel()
	return c.calls.Echo(ctx, it)
}

func (c limosaClient) deny(ctx context.Context, it *Item) (*Item, error) {
	return c.calls.Deny(ctx, it)
}
func (c limosaClient) nothing(ctx context.Context, it *Item) error { return c.calls.Nothing(ctx, it) }
func (c limosaClient) note(ctx context.Context, it *Item) error    { return c.calls.Note(ctx, it) }
func (c limosaClient) missing(ctx context.Context, it *Item) (*Item, error) {
	return c.calls.Missing(ctx, it)
}

func (c limosaClient) produce(ctx context.Context, known bool, it *Item) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		ctx, cancel := c.with(ctx)
		defer cancel()
		call := c.streams.Produce
		if !known {
			call = c.streams.MissingProduce
		}
		call(ctx, it)(yield)
	}
}

func (c limosaClient) collect(ctx context.Context, known bool, in iter.Seq[*Item]) (*Item, error) {
	ctx, cancel := c.with(ctx)
	defer cancel()
	if !known {
		return c.streams.MissingCollect(ctx, limosa.Values(in))
	}
	return c.streams.Collect(ctx, limosa.Values(in))
}

func (c limosaClient) talk(ctx context.Context, known bool, in iter.Seq[*Item]) iter.Seq2[*Item, error] {
	return func(yield func(*Item, error) bool) {
		ctx, cancel := c.with(ctx)
		defer cancel()
		call := c.streams.Talk
		if !known {
			call = c.streams.MissingTalk
		}
		call(ctx, limosa.Values(in))(yield)
	}
}

func (c limosaClient) close() error { return c.c.Close() }

func (limosaClient) kind(err error) string {
	if d, ok := errors.AsType[*peer.Denied](err); ok {
		return fmt.Sprintf("denied %d %s", d.Code, d.Reason)
	}
	if e, ok := errors.AsType[*rpc.Error](err); ok && e.Details.Has("biz-status") {
		return fmt.Sprintf("business %s %s %s", e.Details.Get("biz-status"), e.Details.Get("biz-message"), e.Details.Get("biz-extra"))
	}
	if err == nil {
		return "ok"
	}
	return rpc.CodeOf(err).String()
}
