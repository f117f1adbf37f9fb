package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// benchCalls makes the calls of a load.
//
// Callers share all but their place in room, which they use again for each call: what is
// measured is to be the library, not the tool.
type benchCalls struct {
	// Set when made, then constant.
	target *target
	method *rpc.Method // takes *rawBody both ways
	bodies [][]byte    // requests, encoded, or messages of a client's stream; at least one

	room []rawBody // by caller, for methods without streams

	sent, received atomic.Int64 // messages of streams
}

// benchCalls reads the requests and encodes them, once and before the load: to
// encode each anew would measure this tool. All are held in memory, up to
// maxBody together.
func (a *app) benchCalls(t *target, arg string, callers int) (*benchCalls, error) {
	x := &benchCalls{target: t, method: t.rawMethod(), room: make([]rawBody, callers)}
	from, err := a.source(arg, true)
	if err != nil {
		return nil, err
	}
	// The same reader as that of call's streams, so that errors have the message's number.
	in := newMessages(from, maxBody)
	defer in.close()
	for total := 0; ; {
		text, _, err := in.next()
		if err == io.EOF && len(x.bodies) > 0 {
			return x, nil
		}
		if err == io.EOF {
			text, err = []byte("{}"), nil
		}
		if err != nil {
			return nil, err
		}
		_, body, err := t.arguments(text)
		if err != nil {
			return nil, err
		}
		if total += len(body); total > maxBody {
			return nil, usagef("the requests are longer than %d bytes", maxBody)
		}
		// arguments gives a part of a buffer that is used again.
		x.bodies = append(x.bodies, bytes.Clone(body))
		if !t.method.ClientStream && t.method.ServerStream {
			return x, nil // it takes one message
		}
	}
}

// call makes one call; it is load.Config's.
//
// An exception counts as a failure: a load is meant to succeed, and a method that throws
// at once would look fast.
func (x *benchCalls) call(ctx context.Context, worker int, seq uint64) error {
	if x.target.streams() {
		return x.stream(ctx)
	}
	raw := &x.room[worker]
	// By the number of the call and not of the caller: all requests come in turn, however
	// many callers there are.
	raw.sent = x.bodies[seq%uint64(len(x.bodies))]
	c := stub.Make(x.method, x.method.Service, raw, raw)
	c.Header = x.target.header.Clone()
	if err := x.target.client.Do(ctx, c); err != nil {
		return err
	}
	return x.target.outcome(raw.got)
}

// stream makes one call with streams: it sends all that there is and receives
// until the server has ended. Several messages are sent by a goroutine of their
// own, since a server that answers each of them may take no further ones until
// its answers are received.
//
// If the call fails that goroutine is not waited for: its Send fails too, and the channel
// has room for what it says.
func (x *benchCalls) stream(ctx context.Context) error {
	c := stub.Make(x.method, x.method.Service, nil, nil)
	c.Header = x.target.header.Clone()
	return stub.Converse(ctx, x.target.client, c, func(_ context.Context, s rpc.Stream) error {
		sent := make(chan error, 1)
		if len(x.bodies) == 1 {
			sent <- x.send(s)
		} else {
			go func() { sent <- x.send(s) }()
		}
		// One for all messages: what was received is counted, and not kept.
		var raw rawBody
		for {
			if err := s.Receive(&raw); err == io.EOF {
				return <-sent
			} else if err != nil {
				return err
			}
			x.received.Add(1)
		}
	})
}

// send sends all messages. A server that has ended the call before is no
// failure here: what it said of it is what Receive gives.
func (x *benchCalls) send(s rpc.Stream) error {
	for _, body := range x.bodies {
		if err := s.Send(&rawBody{sent: body}); err == io.EOF {
			return nil // the server has ended the call
		} else if err != nil {
			return err
		}
		x.sent.Add(1)
	}
	return s.CloseSend()
}

// deadAfter is how long a load goes on while nothing succeeds.
const deadAfter = 5 * time.Second

// A deadServer ends a load at which nothing succeeds.
type deadServer struct{ last error }

// Error says how long nothing has worked, and why not.
func (e *deadServer) Error() string {
	return fmt.Sprintf("no call has succeeded for %v; the last error: %v", deadAfter, e.last)
}

// patient lets a caller whose call was not even begun wait before it tries
// again, longer each time, up to 100 ms, and calls stop if none succeeds.
// A closed loop would otherwise spin at a dead server: hundreds of thousands of
// failures a second, which keep it from starting again and say nothing. Behind a
// call that a handler may have seen there is no pause: it has cost a round trip.
//
// pauses needs no lock: each caller has a place of its own in it.
func patient(callers int, call func(context.Context, int, uint64) error, stop context.CancelCauseFunc) func(context.Context, int, uint64) error {
	var good atomic.Int64 // when a call has succeeded last, ns after the start
	start := time.Now()
	pauses := make([]time.Duration, callers)
	return func(ctx context.Context, worker int, seq uint64) error {
		err := call(ctx, worker, seq)
		now := time.Since(start)
		if err == nil {
			good.Store(int64(now))
			pauses[worker] = 0
			return nil
		}
		if ctx.Err() == nil && now-time.Duration(good.Load()) > deadAfter {
			stop(&deadServer{err})
		}
		if rpc.SentOf(err).Retryable() {
			pauses[worker] = min(max(2*pauses[worker], time.Millisecond), 100*time.Millisecond)
			pause(ctx, pauses[worker])
		}
		return err
	}
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
