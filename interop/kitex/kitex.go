package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"strings"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	kitexclient "github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/client/callopt"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/pkg/serviceinfo"
	"github.com/cloudwego/kitex/pkg/streaming"
	"github.com/cloudwego/kitex/server"

	kpeer "github.com/limosa-rpc/limosa/interop/kitex/kitex_gen/peer"
	"github.com/limosa-rpc/limosa/interop/kitex/kitex_gen/peer/calls"
	"github.com/limosa-rpc/limosa/interop/kitex/kitex_gen/peer/streams"
)

// startKitex serves b. stop ends the server.
func startKitex(b *backend, opts ...server.Option) (addr string, stop func() error, err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	addr = l.Addr().String()
	opts = append(opts, server.WithListener(l), server.WithExitWaitTime(50*time.Millisecond))
	srv := server.NewServer(opts...)
	h := &kitexHandler{b}
	for _, info := range []*serviceinfo.ServiceInfo{calls.NewServiceInfo(), streams.NewServiceInfo()} {
		// The map is the generated package's own, and its client looks there too.
		info.Methods = maps.Clone(info.Methods)
		maps.DeleteFunc(info.Methods, func(name string, _ serviceinfo.MethodInfo) bool { return strings.HasPrefix(name, "missing") })
		if err := srv.RegisterService(info, h); err != nil {
			return "", nil, err
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- srv.Run() }()
	// The listener is open already: who dials now is accepted once Run is there.
	return addr, func() error {
		if err := srv.Stop(); err != nil {
			return err
		}
		return <-ended
	}, nil
}

// kitexHandler is the backend behind Kitex's interfaces.
type kitexHandler struct{ b *backend }

// metadata is where a stream's handler puts what goes back besides messages.
type metadata interface {
	SetHeader(streaming.Header) error
	SetTrailer(streaming.Trailer) error
}

func aboutKitex(ctx context.Context, s metadata) about {
	var a about
	a.transient, _ = metainfo.GetValue(ctx, keyTransient)
	a.persistent, _ = metainfo.GetPersistentValue(ctx, keyPersistent)
	a.reply = func(v string) { metainfo.SendBackwardValue(ctx, keyBack, v) }
	if s != nil {
		a.reply = func(v string) { s.SetTrailer(streaming.Trailer{keyBack: v}) }
	}
	return a
}

// toKitex makes Kitex's error of a handler's.
func toKitex(err error) error {
	if errors.Is(err, errBusiness) {
		return kerrors.NewBizStatusErrorWithExtra(businessStatus, businessMessage, map[string]string{businessKey: businessValue})
	}
	return err
}

func (h *kitexHandler) Echo(ctx context.Context, it *kpeer.Item) (*kpeer.Item, error) {
	res, err := h.b.echo(ctx, aboutKitex(ctx, nil), (*Item)(it))
	return (*kpeer.Item)(res), toKitex(err)
}

func (h *kitexHandler) Deny(context.Context, *kpeer.Item) (*kpeer.Item, error) {
	return nil, &kpeer.Denied{Code: deniedCode, Reason: deniedReason}
}

func (h *kitexHandler) Nothing(context.Context, *kpeer.Item) error { return nil }

func (h *kitexHandler) Note(_ context.Context, it *kpeer.Item) error {
	h.b.note((*Item)(it))
	return nil
}

func (h *kitexHandler) Produce(ctx context.Context, it *kpeer.Item, s kpeer.Streams_produceServer) error {
	// A header that is set before the first message travels with the stream's HEADER.
	s.SetHeader(streaming.Header{keyHead: "head"})
	return toKitex(h.b.produce(ctx, aboutKitex(ctx, s), (*Item)(it), func(it *Item) error {
		return s.Send(ctx, (*kpeer.Item)(it))
	}))
}

func (h *kitexHandler) Collect(ctx context.Context, s kpeer.Streams_collectServer) error {
	s.SetHeader(streaming.Header{keyHead: "head"})
	res, err := h.b.collect(ctx, aboutKitex(ctx, s), func() (*Item, error) {
		it, err := s.Recv(ctx)
		return (*Item)(it), err
	})
	if err != nil {
		return toKitex(err)
	}
	return s.SendAndClose(ctx, (*kpeer.Item)(res))
}

func (h *kitexHandler) Talk(ctx context.Context, s kpeer.Streams_talkServer) error {
	s.SetHeader(streaming.Header{keyHead: "head"})
	return toKitex(h.b.talk(ctx, aboutKitex(ctx, s), func() (*Item, error) {
		it, err := s.Recv(ctx)
		return (*Item)(it), err
	}, func(it *Item) error {
		return s.Send(ctx, (*kpeer.Item)(it))
	}))
}

// The methods that servers are started without.
func (h *kitexHandler) Missing(context.Context, *kpeer.Item) (*kpeer.Item, error) {
	return nil, errStopped
}
func (h *kitexHandler) MissingProduce(context.Context, *kpeer.Item, kpeer.Streams_missingProduceServer) error {
	return errStopped
}
func (h *kitexHandler) MissingCollect(context.Context, kpeer.Streams_missingCollectServer) error {
	return errStopped
}
func (h *kitexHandler) MissingTalk(context.Context, kpeer.Streams_missingTalkServer) error {
	return errStopped
}

// A kitexClient is Kitex's clients behind the interface of rows.
type kitexClient struct {
	calls   calls.Client
	streams streams.Client
}

func newKitexClient(addr string, opts ...kitexclient.Option) (client, error) {
	c, err := calls.NewClient("peer", append(opts, kitexclient.WithHostPorts(addr))...)
	if err != nil {
		return nil, err
	}
	s, err := streams.NewClient("peer", kitexclient.WithHostPorts(addr))
	if err != nil {
		return nil, err
	}
	return kitexClient{c, s}, nil
}

// with puts what a call has besides its message where Kitex looks for it; back
// reads what came.
func (kitexClient) with(ctx context.Context) (_ context.Context, opts []callopt.Option, back func()) {
	x := extrasOf(ctx)
	if x.timeout > 0 {
		opts = append(opts, callopt.WithRPCTimeout(x.timeout))
	}
	if !x.meta {
		return ctx, opts, func() {}
	}
	ctx = metainfo.WithPersistentValue(metainfo.WithValue(ctx, keyTransient, x.transient), keyPersistent, x.persistent)
	ctx = metainfo.WithBackwardValues(ctx)
	return ctx, opts, func() { x.back, _ = metainfo.RecvBackwardValue(ctx, keyBack) }
}

func (c kitexClient) echo(ctx context.Context, it *Item) (*Item, error) {
	ctx, opts, back := c.with(ctx)
	defer back()
	res, err := c.calls.Echo(ctx, (*kpeer.Item)(it), opts...)
	return (*Item)(res), err
}

func (c kitexClient) deny(ctx context.Context, it *Item) (*Item, error) {
	res, err := c.calls.Deny(ctx, (*kpeer.Item)(it))
	return (*Item)(res), err
}

func (c kitexClient) nothing(ctx context.Context, it *Item) error {
	return c.calls.Nothing(ctx, (*kpeer.Item)(it))
}

func (c kitexClient) note(ctx context.Context, it *Item) error {
	return c.calls.Note(ctx, (*kpeer.Item)(it))
}

func (c kitexClient) missing(ctx context.Context, it *Item) (*Item, error) {
	res, err := c.calls.Missing(ctx, (*kpeer.Item)(it))
	return (*Item)(res), err
}

// opening is with for streams. Kitex has no call to give a stream up: its
// context does it, so that whoever leaves has to cancel.
func (c kitexClient) opening(ctx context.Context) (context.Context, context.CancelFunc) {
	x := extrasOf(ctx)
	cancel := context.CancelFunc(nil)
	if x.timeout > 0 {
		ctx, cancel = context.WithTimeout(ctx, x.timeout)
	} else {
		ctx, cancel = context.WithCancel(ctx)
	}
	if x.meta {
		ctx = metainfo.WithPersistentValue(metainfo.WithValue(ctx, keyTransient, x.transient), keyPersistent, x.persistent)
	}
	return ctx, cancel
}

// closing reads what came with the end of a stream.
func closing(ctx context.Context, s streaming.ClientStream) {
	if x := extrasOf(ctx); x.meta {
		t, _ := s.Trailer()
		x.back = t[keyBack]
	}
}

// incoming is a stream that items are received from.
type incoming interface {
	streaming.ClientStream
	Recv(context.Context) (*kpeer.Item, error)
}

// drainKitex yields what a stream receives.
func drainKitex(ctx context.Context, s incoming, yield func(*Item, error) bool) {
	for {
		it, err := s.Recv(ctx)
		if err == io.EOF {
			closing(ctx, s)
			return
		}
		if err != nil {
			yield(nil, err)
			return
		}
		if !yield((*Item)(it), nil) {
			return
		}
	}
}

// outgoing is a stream that items are sent on.
type outgoing interface {
	streaming.ClientStream
	Send(context.Context, *kpeer.Item) error
}

// sendKitex sends all of in, until the stream takes no more: what is received
// then says why.
func sendKitex(ctx context.Context, in iter.Seq[*Item], s outgoing) {
	for it := range in {
		if s.Send(ctx, (*kpeer.Item)(it)) != nil {
			return
		}
	}
}

func (c kitexClient) produce(ctx context.Context, known bool, it *Item) iter.Seq2[*Item, error] {
	open := func(ctx context.Context) (incoming, error) {
		if known {
			return c.streams.Produce(ctx, (*kpeer.Item)(it))
		}
		return c.streams.MissingProduce(ctx, (*kpeer.Item)(it))
	}
	return func(yield func(*Item, error) bool) {
		ctx, cancel := c.opening(ctx)
		defer cancel()
		s, err := open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		drainKitex(ctx, s, yield)
	}
}

func (c kitexClient) collect(ctx context.Context, known bool, in iter.Seq[*Item]) (*Item, error) {
	type gathering interface {
		outgoing
		CloseAndRecv(context.Context) (*kpeer.Item, error)
	}
	open := func(ctx context.Context) (gathering, error) {
		if known {
			return c.streams.Collect(ctx)
		}
		return c.streams.MissingCollect(ctx)
	}
	ctx, cancel := c.opening(ctx)
	defer cancel()
	s, err := open(ctx)
	if err != nil {
		return nil, err
	}
	sendKitex(ctx, in, s)
	res, err := s.CloseAndRecv(ctx)
	if err != nil {
		return nil, err
	}
	// The trailer comes behind the message.
	if err := s.RecvMsg(ctx, new(kpeer.Item)); err != io.EOF {
		return nil, fmt.Errorf("after the answer: %w", err)
	}
	closing(ctx, s)
	return (*Item)(res), nil
}

func (c kitexClient) talk(ctx context.Context, known bool, in iter.Seq[*Item]) iter.Seq2[*Item, error] {
	type talking interface {
		outgoing
		incoming
	}
	open := func(ctx context.Context) (talking, error) {
		if known {
			return c.streams.Talk(ctx)
		}
		return c.streams.MissingTalk(ctx)
	}
	return func(yield func(*Item, error) bool) {
		ctx, cancel := c.opening(ctx)
		defer cancel()
		s, err := open(ctx)
		if err != nil {
			yield(nil, err)
			return
		}
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			sendKitex(ctx, in, s)
			s.CloseSend(ctx)
		}()
		drainKitex(ctx, s, yield)
		cancel()
		<-sent
	}
}

// application is how Kitex's client names a stream's end by the server, whatever
// the type of the exception.
const application = "ended by the application"

func (c kitexClient) close() error { return nil }

func (kitexClient) kind(err error) string {
	if err == nil {
		return "ok"
	}
	if d, ok := errors.AsType[*kpeer.Denied](err); ok {
		return fmt.Sprintf("denied %d %s", d.Code, d.Reason)
	}
	if b, ok := kerrors.FromBizStatusError(err); ok {
		return fmt.Sprintf("business %d %s {%q:%q}", b.BizStatusCode(), b.BizMessage(), businessKey, b.BizExtra()[businessKey])
	}
	if t, ok := errors.AsType[interface {
		error
		TypeId() int32
	}](err); ok {
		switch t.TypeId() {
		case 0:
			return "Unknown"
		case 1:
			return "Unimplemented"
		case 6:
			return "Internal"
		case 12001:
			return application // whatever ends a stream, but cancel, deadline and business errors
		case 12007, 12008:
			return "Canceled"
		case 12014, 12015:
			return "DeadlineExceeded"
		}
		return fmt.Sprintf("type %d", t.TypeId())
	}
	switch {
	case errors.Is(err, kerrors.ErrRPCTimeout), errors.Is(err, context.DeadlineExceeded):
		return "DeadlineExceeded"
	case errors.Is(err, context.Canceled):
		return "Canceled"
	}
	return "unknown"
}
