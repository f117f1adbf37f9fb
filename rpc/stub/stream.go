package stub

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/limosa-rpc/limosa/rpc"
)

// Incoming makes a server-streaming call when it is iterated: the arguments of
// c are the one message that is sent. Leaving the loop cancels the call. An
// error comes once, last. The sequence can be iterated once.
//
// Messages are the loop's to keep: each is a new one.
func Incoming[R any](ctx context.Context, to rpc.Caller, c *rpc.Call) iter.Seq2[*R, error] {
	return func(yield func(*R, error) bool) {
		run(ctx, to, c, yield, func(_ context.Context, s rpc.Stream) error {
			args, err := rpc.EngineOf(c).Args()
			if err != nil {
				return err
			}
			if err := s.Send(args); err != nil && err != io.EOF {
				return cmp.Or(rpc.EngineOf(c).NilMessage("send"), err)
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
//
// Nobody waits for that goroutine when the loop is left: it is the caller's code, which
// may wait for something that never comes, and a loop that cannot be left would be worse.
// It ends with its next message or its own end.
func Exchange[A, R any](ctx context.Context, to rpc.Caller, c *rpc.Call, in iter.Seq2[*A, error]) iter.Seq2[*R, error] {
	if in == nil {
		return Failed[R](errNil(c))
	}
	return func(yield func(*R, error) bool) {
		outer := ctx // its Err is set before in can see that it is done
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		var failed failing
		run(ctx, to, c, yield, func(_ context.Context, s rpc.Stream) error {
			go func() { // ends when in yields next: then Send says that the call is over
				failed.run(cancel, func() error { return sendAll(outer, s, in) })
			}()
			err := receiveAll(s, yield)
			return failed.or(err)
		})
	}
}

// errNil is the error of a call that is given no sequence of messages. An empty one
// is a function that yields nothing.
func errNil(c *rpc.Call) error {
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "send", Method: c.Method.String(), Sent: rpc.NotSent, Msg: "the sequence of messages is nil"}
}

// failing tells one goroutine what another has failed with.
//
// One swap decides who comes first, the failure or the end of the loop over the answers;
// whoever comes second knows what the other one has done with it.
type failing struct{ first atomic.Pointer[failure] }

// A failure is an error or a panic; the zero value stands for nobody who listens.
type failure struct {
	err      error
	panicked any
}

// run runs f, and cancels if it fails, panics or ends its goroutine. A panic that
// comes when the loop over the answers was left has no caller any more to be carried
// to: it is logged, for one goroutine's panic would end the process.
func (x *failing) run(cancel func(), f func() error) {
	ended := failure{err: rpc.Errorf(rpc.Internal, "the sequence of messages has ended its goroutine")}
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
			slog.Error("rpc: panic in a sequence of messages whose call is over", "panic", fmt.Sprint(ended.panicked), "stack", string(debug.Stack()))
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
//
// A server that answers early ends the sending: what was answered counts, as with every
// stream. Two answers, or none, are errors of the server's.
func Gather[A, R any](ctx context.Context, to rpc.Caller, c *rpc.Call, in iter.Seq2[*A, error]) (*R, error) {
	if in == nil {
		return nil, errNil(c)
	}
	res := new(R)
	rpc.EngineOf(c).SetDrive(func(ctx context.Context, s rpc.Stream) error {
		if err := sendAll(ctx, s, in); err != nil {
			return err
		}
		if err := s.Receive(res); err == io.EOF {
			return rpc.Errorf(rpc.Internal, "answered without a message")
		} else if err != nil {
			return err
		}
		if err := s.Receive(new(R)); err == nil {
			return rpc.Errorf(rpc.Internal, "answered with several messages")
		} else if err != io.EOF {
			return err
		}
		return nil
	})
	if err := to.Do(ctx, c); err != nil {
		return nil, err
	}
	return res, nil
}

// Converse makes a call of several messages and lets f send and receive as it
// likes. The call ends when f returns: in order if the server has ended it by
// then, else it is cancelled; an error of f is the result.
func Converse(ctx context.Context, to rpc.Caller, c *rpc.Call, f func(ctx context.Context, s rpc.Stream) error) error {
	rpc.EngineOf(c).SetDrive(f)
	return to.Do(ctx, c)
}

// run makes the call and yields its error, if there is one and the loop was
// not left.
//
// A call cannot be made twice: its trailers, its peer and its metadata are those of one.
func run[R any](ctx context.Context, to rpc.Caller, c *rpc.Call, yield func(*R, error) bool, drive func(context.Context, rpc.Stream) error) {
	if rpc.EngineOf(c).Driven() {
		yield(nil, rpc.Errorf(rpc.FailedPrecondition, "the messages were iterated before: a call is made once"))
		return
	}
	stopped := false
	rpc.EngineOf(c).SetDrive(func(ctx context.Context, s rpc.Stream) error {
		err := drive(ctx, s)
		stopped = err == rpc.ErrStopped
		return err
	})
	if err := to.Do(ctx, c); err != nil && !stopped {
		yield(nil, err)
	}
}

// receiveAll yields messages until the peer has ended its side, which is nil, the call
// has failed, or the loop is left, which is rpc.ErrStopped.
func receiveAll[R any](s rpc.Stream, yield func(*R, error) bool) error {
	for {
		m := new(R)
		switch err := s.Receive(m); {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case !yield(m, nil):
			return rpc.ErrStopped
		}
	}
}

// sendAll sends in until it ends, or until the peer has ended the call.
//
// An end of the context in between is no orderly end of the stream: the peer would take a
// part for the whole. So the side stays open, and the call ends with the context's error.
func sendAll[A any](ctx context.Context, s rpc.Stream, in iter.Seq2[*A, error]) error {
	sent := false
	for m, err := range in {
		if err != nil {
			return err
		}
		if m == nil {
			return partly(&rpc.Error{Code: rpc.InvalidArgument, Op: "send", Sent: rpc.NotSent, Msg: "a message of the sequence is nil"}, sent)
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
	e, ok := errors.AsType[*rpc.Error](err)
	if !ok || !sent || e.Sent != rpc.NotSent {
		return err
	}
	x := *e
	x.Sent = rpc.Maybe
	return &x
}

// First gives the one message of a server-streaming call, on the server.
//
// A client that sends more is not refused: who serves one message does not look for a
// second.
func First[A any](c *rpc.Call) (*A, error) {
	m, err := Args[A](c)
	if err != nil {
		return nil, err
	}
	if err := rpc.EngineOf(c).Stream().Receive(m); err == io.EOF {
		return nil, rpc.Errorf(rpc.InvalidArgument, "%v needs a message", c.Method)
	} else if err != nil {
		return nil, err
	}
	return m, nil
}

// Arriving gives the client's messages on the server. It can be iterated once,
// and is over when the handler has returned.
func Arriving[A any](c *rpc.Call) iter.Seq2[*A, error] {
	s := rpc.EngineOf(c).Stream()
	return func(yield func(*A, error) bool) {
		if err := receiveAll(s, yield); err != nil && err != rpc.ErrStopped {
			yield(nil, err)
		}
	}
}

// SendAll sends the handler's messages. It stops at the first error of out, which it
// returns, and when the client has gone. If the call is over by the end of out, that is
// the error: a client must not take a part for the whole.
func SendAll[R any](c *rpc.Call, out iter.Seq2[*R, error]) error {
	if out == nil {
		return fmt.Errorf("%v: the handler gave a nil sequence", c.Method)
	}
	s := rpc.EngineOf(c).Stream()
	for m, err := range out {
		if err != nil {
			return err
		}
		if err := s.Send(m); err != nil {
			return err
		}
	}
	return rpc.EngineOf(c).Context().Err() // a handler that stops because of it need not say so
}

// SendLast sends the one answer of a client-streaming call, unless there is an
// error.
func SendLast[R any](c *rpc.Call, res *R, err error) error {
	switch {
	case err != nil:
		return err
	case res == nil:
		return fmt.Errorf("%v: the handler gave neither a message nor an error", c.Method)
	}
	return rpc.EngineOf(c).Stream().Send(res)
}
