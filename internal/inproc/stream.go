package inproc

import (
	"context"
	"errors"
	"io"
	"sync"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
)

// laneBytes is what one side of a stream in this process may send before the
// other receives.
//
// It is as much as a connection grants a stream (ttheader.StreamWindow): what waits here
// would wait from afar.
const laneBytes = 64 << 10

// stream makes a call of several messages: the caller drives its side, the
// handler runs on a goroutine, and Do returns when both are done.
func (l *Path) stream(ctx context.Context, c *rpc.Call, h rpc.Handler) error {
	call := h.Method.New()
	call.Method, call.Service, call.Asked, call.Peer, call.Header = h.Method, h.Service, c.Service, localPeer, c.Header.Clone()
	deadline, _ := ctx.Deadline()
	serverCtx := rpc.EngineOf(call).Begin(context.Background(), deadline)
	up, down := newLane(), newLane()
	rpc.EngineOf(call).SetStream(&localStream{ctx: serverCtx, codec: h.Method.Codec, in: up, out: down, lim: l.Limits})
	if ctx.Done() != nil {
		defer context.AfterFunc(ctx, func() { rpc.EngineOf(call).End(ctx.Err()) })()
	}
	var handler sync.WaitGroup
	handler.Go(func() {
		var public *rpc.Error
		exits := true
		defer func() {
			if exits {
				public = mux.Exited(call, l.Logger)
			}
			rpc.EngineOf(call).End(context.Canceled)
			if public != nil {
				down.close(told(public))
			}
			down.close(nil)
			up.abandon()
		}()
		if public = mux.Handle(serverCtx, call, h.Serve, l.Logger); public == nil {
			public = mux.Public(nil, call.Trailer.Fits(l.Limits), l.Logger)
		}
		exits = false
	})
	// The handler is joined whatever becomes of the caller's side: after Do nothing
	// touches the call any more, and no message is left in a lane.
	over := false
	defer func() { // also when the caller's own code panics
		rpc.EngineOf(call).End(context.Canceled)
		up.close(rpc.Canceled)
		down.abandon()
		handler.Wait()
		if over && call.Trailer.Fits(l.Limits) == nil {
			c.Trailer = trailer(call)
		}
	}()
	err := rpc.EngineOf(c).Drive(ctx, &localStream{ctx: ctx, codec: c.Method.Codec, in: down, out: up, lim: l.Limits, client: true})
	over = true
	if end := down.failure(); err == nil {
		err = end
	} else if end == nil || !errors.Is(err, end) {
		err = mux.Begun(localPeer, err)
	}
	if errors.Is(err, rpc.ErrStopped) {
		return nil
	}
	return err
}

// A localStream is one side of a stream in this process.
type localStream struct {
	ctx     context.Context
	codec   rpc.Codec
	in, out *lane
	lim     *rpc.Limits
	client  bool
}

// Send is rpc.Stream's method.
func (s *localStream) Send(msg any) error {
	body, err := copyBytes(func(out *buf.Out) error { return s.codec.Append(out, msg) }, s.lim)
	if err != nil {
		return mux.Begun(localPeer, err) // its handler runs from the beginning
	}
	if err = s.out.push(s.ctx, body); err != nil {
		body.Release()
	}
	return s.told(err)
}

// CloseSend is rpc.Stream's method.
func (s *localStream) CloseSend() error {
	s.out.close(nil)
	return nil
}

// Receive is rpc.Stream's method.
func (s *localStream) Receive(msg any) error {
	body, err := s.in.pop(s.ctx)
	if err != nil {
		return s.told(err)
	}
	defer body.Release()
	return recovered("decode", func() error { return s.codec.Decode(body, msg, s.lim) })
}

// told makes the end of a context what each side is told of it.
func (s *localStream) told(err error) error {
	if err == nil || err == io.EOF || s.ctx.Err() == nil || !errors.Is(err, s.ctx.Err()) {
		return err
	}
	if !s.client {
		return rpc.Errorf(rpc.CodeOf(err), "the call has ended")
	}
	return &rpc.Error{Code: rpc.CodeOf(err), Op: "call", Peer: localPeer, Sent: rpc.Maybe, Err: context.Cause(s.ctx)}
}

// A lane is one direction of a stream: for one goroutine that sends and one
// that receives. It holds encoded messages, at most laneBytes and one message more: a
// bound by number would let large ones pile up, one by bytes alone stop at a message
// that is larger. Its ends are two: the sender closes it, with an error or without, and
// the receiver still gets what is queued; the receiver abandons it, and the sender is
// told with its next message. A context ends the wait of its own side only.
type lane struct {
	more, room chan struct{} // capacity 1: there may be something to look at

	mu struct {
		sync.Mutex
		queue  []buf.View
		bytes  int
		closed bool // nothing more is sent
		err    error
		gone   bool // nothing more is received
	}
}

func newLane() *lane {
	return &lane{more: make(chan struct{}, 1), room: make(chan struct{}, 1)}
}

// hint says that there may be something to look at; one that is not taken yet says it
// for all.
func hint(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

// push queues v once there is room. io.EOF: nobody receives any more.
func (l *lane) push(ctx context.Context, v buf.View) error {
	for {
		l.mu.Lock()
		gone, closed, room := l.mu.gone, l.mu.closed, l.mu.bytes < laneBytes
		if !gone && !closed && room {
			l.mu.queue = append(l.mu.queue, v)
			l.mu.bytes += v.Len()
		}
		l.mu.Unlock()
		switch {
		case gone:
			return io.EOF
		case closed:
			return &rpc.Error{Code: rpc.FailedPrecondition, Op: "send", Msg: "this side of the stream has ended"}
		case room:
			hint(l.more)
			return nil
		}
		select {
		case <-l.room:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pop takes the next message, waiting for it.
func (l *lane) pop(ctx context.Context) (v buf.View, err error) {
	for {
		l.mu.Lock()
		if len(l.mu.queue) > 0 {
			v = l.mu.queue[0]
			l.mu.queue[0] = buf.View{}
			l.mu.queue = l.mu.queue[1:]
			l.mu.bytes -= v.Len()
			l.mu.Unlock()
			hint(l.room)
			return v, nil
		}
		closed, err := l.mu.closed, l.mu.err
		l.mu.Unlock()
		if closed {
			if err == nil {
				err = io.EOF
			}
			return v, err
		}
		select {
		case <-l.more:
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// close ends the sending side; the first call counts.
func (l *lane) close(err error) {
	l.mu.Lock()
	if !l.mu.closed {
		l.mu.closed, l.mu.err = true, err
	}
	l.mu.Unlock()
	hint(l.more)
	hint(l.room)
}

// abandon ends the receiving side and gives back what it has not taken.
func (l *lane) abandon() {
	l.mu.Lock()
	l.mu.gone = true
	for _, v := range l.mu.queue {
		v.Release()
	}
	l.mu.queue, l.mu.bytes = nil, 0
	l.mu.Unlock()
	hint(l.room)
	hint(l.more)
}

// failure is what the sending side has ended with, if it has.
func (l *lane) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.mu.err
}
