package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"sync/atomic"
)

// A Stream is one side of a call of several messages, while the call lasts.
// Send and CloseSend are for one goroutine, Receive for one, which may be
// another.
type Stream interface {
	// Send sends a message, which it has encoded when it returns. It waits
	// while the peer takes no more. io.EOF: the peer has ended the call, and
	// Receive tells how.
	Send(msg any) error
	// CloseSend says that nothing more is sent. On a server returning from
	// the handler says it.
	CloseSend() error
	// Receive waits for the next message and fills msg, which is a new one.
	// After the last it returns io.EOF, or what the call has failed with.
	Receive(msg any) error
}

// streaming is what only calls of several messages have.
type streaming struct {
	drive     func(ctx context.Context, s Stream) error // client: what is done with the stream
	stream    Stream                                    // server
	onSend    func(msg any) error
	onReceive func(msg any) error
	driven    bool
}

func (c *Call) streaming() *streaming {
	if c.several == nil {
		c.several = new(streaming)
	}
	return c.several
}

// OnSend has f see each message of a stream before it is sent; the latest f is
// called first. An error ends the call with it. It is for interceptors, before
// next.
func (c *Call) OnSend(f func(msg any) error) {
	s := c.streaming()
	s.onSend = both(f, s.onSend)
}

// OnReceive has f see each message of a stream after it was received; the
// latest f is called last. An error ends the call with it. It is for
// interceptors, before next.
func (c *Call) OnReceive(f func(msg any) error) {
	s := c.streaming()
	s.onReceive = both(s.onReceive, f)
}

func both(first, second func(any) error) func(any) error {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	return func(msg any) error {
		if err := first(msg); err != nil {
			return err
		}
		return second(msg)
	}
}

// SetStream gives a server's call its stream; for engines, before the handler
// runs.
func (c *Call) SetStream(s Stream) { c.streaming().stream = s }

// Stream is the server's side of a call of several messages, hooks included.
// It is valid until the handler returns.
func (c *Call) Stream() Stream { return c.hooked(c.streaming().stream) }

// Drive does with the open stream of a client's call what the call was made
// for; for engines. It returns when that is done: nil after the last message,
// ErrStopped if the caller has seen enough. A call is driven once: what its
// caller had to send is used up then.
func (c *Call) Drive(ctx context.Context, s Stream) error {
	switch {
	case c.several == nil || c.several.drive == nil:
		return Errorf(Internal, "%v is a call of several messages", c.Method)
	case c.several.driven:
		return Errorf(FailedPrecondition, "an earlier attempt at %v has used its messages up", c.Method)
	}
	c.several.driven = true
	return c.several.drive(ctx, c.hooked(s))
}

// Driven reports whether Drive was called: messages of the caller's may have
// been used up then, so that an engine does not try the call again.
func (c *Call) Driven() bool { return c.several != nil && c.several.driven }

func (c *Call) hooked(s Stream) Stream {
	if x := c.several; s != nil && (x.onSend != nil || x.onReceive != nil) {
		return &hooks{s, x.onSend, x.onReceive}
	}
	return s
}

// hooks calls those of interceptors.
type hooks struct {
	Stream
	onSend, onReceive func(msg any) error
}

func (h *hooks) Send(msg any) error {
	if h.onSend != nil {
		if err := h.onSend(msg); err != nil {
			return err
		}
	}
	return h.Stream.Send(msg)
}

func (h *hooks) Receive(msg any) error {
	if err := h.Stream.Receive(msg); err != nil || h.onReceive == nil {
		return err
	}
	return h.onReceive(msg)
}

// ErrStopped is what Drive returns when the caller wants no more messages: the
// call is given up, and that is no failure.
var ErrStopped = errors.New("rpc: the caller has seen enough")

// Incoming makes a server-streaming call when it is iterated: the arguments of
// c are the one message that is sent. Leaving the loop cancels the call. An
// error comes once, last. The sequence can be iterated once. For generated
// code, as is all that follows.
func Incoming[R any](ctx context.Context, to Caller, c *Call) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		run(ctx, to, c, yield, func(_ context.Context, s Stream) error {
			if err := s.Send(c.args); err != nil && err != io.EOF {
				return err
			}
			if err := s.CloseSend(); err != nil {
				return err
			}
			return receiveAll(s, yield)
		})
	}
}

// Exchange makes a call with messages both ways when it is iterated. in runs on
// a goroutine of its own, which can be stopped only when in yields: when the
// loop over the answers is left, in is told at its next message. An error of in
// cancels the call, and ends it with that error; a panic of in cancels it too, and
// goes on in the loop over the answers.
func Exchange[A, R any](ctx context.Context, to Caller, c *Call, in iter.Seq2[*A, error]) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		outer := ctx // its Err is set before in can see that it is done
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var failed failing
		run(ctx, to, c, yield, func(_ context.Context, s Stream) error {
			go func() { // ends when in yields next: then Send says that the call is over
				failed.run(cancel, func() error { return sendAll(outer, s, in) })
			}()
			err := receiveAll(s, yield)
			return failed.or(err)
		})
	}
}

// failing tells one goroutine what another has failed with.
type failing struct{ first atomic.Pointer[failure] }

// A failure is an error or a panic; the zero value stands for nobody who listens.
type failure struct {
	err      error
	panicked any
}

// run runs f, and cancels if it fails, panics or ends its goroutine. A panic
// that nobody would be told of is none of its business.
func (x *failing) run(cancel func(), f func() error) {
	ended := failure{err: Errorf(Internal, "the sequence of messages has ended its goroutine")}
	defer func() {
		if p := recover(); p != nil {
			ended = failure{panicked: p}
		}
		if ended == (failure{}) {
			return
		}
		told := x.first.CompareAndSwap(nil, &ended)
		cancel()
		if !told && ended.panicked != nil {
			panic(ended.panicked)
		}
	}()
	ended = failure{err: f()}
}

// or gives what run has failed with, else err, and panics as it has.
func (x *failing) or(err error) error {
	own := x.first.Swap(new(failure))
	switch {
	case own == nil:
		return err
	case own.panicked != nil:
		panic(own.panicked)
	}
	return own.err
}

// Gather makes a client-streaming call: it sends all of in, on the caller's
// goroutine, and gives the one answer. An error of in cancels the call.
func Gather[A, R any](ctx context.Context, to Caller, c *Call, in iter.Seq2[*A, error]) (*R, error) {
	res := new(R)
	c.streaming().drive = func(ctx context.Context, s Stream) error {
		if err := sendAll(ctx, s, in); err != nil {
			return err
		}
		if err := s.Receive(res); err == io.EOF {
			return Errorf(Internal, "%v was answered without a message", c.Method)
		} else if err != nil {
			return err
		}
		if err := s.Receive(new(R)); err == nil {
			return Errorf(Internal, "%v was answered with several messages", c.Method)
		} else if err != io.EOF {
			return err
		}
		return nil
	}
	if err := to.Do(ctx, c); err != nil {
		return nil, err
	}
	return res, nil
}

// Converse makes a call of several messages and lets f send and receive as it
// likes. The call ends when f returns: in order if the server has ended it by
// then, else it is cancelled; an error of f is the result.
func Converse(ctx context.Context, to Caller, c *Call, f func(ctx context.Context, s Stream) error) error {
	c.streaming().drive = f
	return to.Do(ctx, c)
}

// run makes the call and yields its error, if there is one and the loop was
// not left.
func run[R any](ctx context.Context, to Caller, c *Call, yield func(*R, error) bool, drive func(context.Context, Stream) error) {
	if c.Driven() {
		yield(nil, Errorf(FailedPrecondition, "the messages of %v were iterated before: a call is made once", c.Method))
		return
	}
	stopped := false
	c.streaming().drive = func(ctx context.Context, s Stream) error {
		err := drive(ctx, s)
		stopped = err == ErrStopped
		return err
	}
	if err := to.Do(ctx, c); err != nil && !stopped {
		yield(nil, err)
	}
}

func receiveAll[R any](s Stream, yield func(*R, error) bool) error {
	for {
		m := new(R)
		switch err := s.Receive(m); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !yield(m, nil):
			return ErrStopped
		}
	}
}

// sendAll sends in until it ends, or until the peer has ended the call.
func sendAll[A any](ctx context.Context, s Stream, in iter.Seq2[*A, error]) error {
	sent := false
	for m, err := range in {
		if err != nil {
			return err
		}
		if err := s.Send(m); err == io.EOF {
			return nil
		} else if err != nil {
			return partly(err, sent)
		}
		sent = true
		if ctx.Err() != nil {
			return nil
		}
	}
	if ctx.Err() != nil {
		return nil // in ended because of it: that is no orderly end
	}
	return s.CloseSend()
}

// partly gives the error of a message before which others may have been sent: the
// call was begun, whatever became of this one.
func partly(err error, sent bool) error {
	e, ok := errors.AsType[*Error](err)
	if !ok || !sent || e.Sent != NotSent {
		return err
	}
	x := *e
	x.Sent = Maybe
	return &x
}

// First gives the one message of a server-streaming call, on the server.
func First[A any](c *Call) (*A, error) {
	m, ok := c.args.(*A)
	if !ok {
		return nil, &Error{Code: Internal, Op: "arguments", Err: fmt.Errorf("call of %v holds %T", c.Method, c.args)}
	}
	if err := c.Stream().Receive(m); err == io.EOF {
		return nil, Errorf(InvalidArgument, "%v needs a message", c.Method)
	} else if err != nil {
		return nil, err
	}
	return m, nil
}

// Arriving gives the client's messages on the server. It can be iterated once,
// and is over when the handler has returned.
func Arriving[A any](c *Call) iter.Seq2[*A, error] {
	s := c.Stream()
	return func(yield func(*A, error) bool) {
		if err := receiveAll(s, yield); err != nil && err != ErrStopped {
			yield(nil, err)
		}
	}
}

// SendAll sends the handler's messages. It stops at the first error of out, which it
// returns, and when the client has gone. If the call is over by the end of out, that is
// the error: a client must not take a part for the whole.
func SendAll[R any](c *Call, out iter.Seq2[*R, error]) error {
	s := c.Stream()
	for m, err := range out {
		if err != nil {
			return err
		}
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return (*callContext)(c).Err() // a handler that stops because of it need not say so
}

// SendLast sends the one answer of a client-streaming call, unless there is an
// error.
func SendLast[R any](c *Call, res *R, err error) error {
	switch {
	case err != nil:
		return err
	case res == nil:
		return fmt.Errorf("%v: the handler gave neither a message nor an error", c.Method)
	}
	return c.Stream().Send(res)
}

// Failed is a sequence that consists of err.
func Failed[R any](err error) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) { yield(nil, err) }
}
