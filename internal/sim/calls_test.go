package sim

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// simFiller is what messages are filled with, from an offset that is theirs.
var simFiller = strings.Repeat("abcdefghijklmnopqrstuvwxyz0123456789.", 1<<20/37)

// simText is message i of a call, in one direction.
func simText(c *simCall, dir byte, i, size int) string {
	from := (c.id*31 + i*7 + int(dir)) % 997
	return fmt.Sprintf("%d%c%d|", c.id, dir, i) + simFiller[from:from+min(size, len(simFiller)-from)]
}

// start begins a call on a goroutine of its own.
func (w *simWorld) start(c *simCall) {
	ctx, cancel := context.WithCancel(context.Background())
	if c.timeout > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), c.timeout)
	}
	w.mu.Lock()
	c.begun, c.beganAt, c.cancelContext = true, time.Now(), cancel
	client := w.mu.clients[c.client]
	w.mu.Unlock()
	w.work.Go(func() {
		defer cancel()
		wrong, err := w.do(ctx, client, c)
		w.mu.Lock()
		defer w.mu.Unlock()
		if c.ended {
			w.failLocked("call %d has ended twice", c.id)
		}
		c.ended, c.endedAt, c.err = true, time.Now(), err
		w.eventLocked("call %d ends: %v, %v", c.id, rpc.SentOf(err), err)
		if wrong != "" {
			w.failLocked("call %d: %s", c.id, wrong)
		}
		w.judgeLocked(c)
	})
}

// cancel gives a call up.
func (w *simWorld) cancel(c *simCall) {
	w.mu.Lock()
	if c.begun && !c.ended && c.cancelledAt.IsZero() {
		c.cancelledAt = time.Now()
	}
	w.mu.Unlock()
	c.cancelContext()
}

const simHeader = "sim-call"

// do makes the call, and says what is wrong with an answer that is.
func (w *simWorld) do(ctx context.Context, client *limosa.Client, c *simCall) (wrong string, err error) {
	x := stub.NewCall[string, string](w.methods[c.kind], "Sim")
	if w.plan.clients[c.client].form == limosa.TTHeader {
		x.Header.Add(simHeader, strconv.Itoa(c.id)) // streams are known before their first message comes
	}
	switch c.kind {
	case rpc.Unary, rpc.Oneway:
		x.Args = simText(c, 'q', 0, c.request)
		err = client.Do(ctx, &x.Call)
		if err == nil && c.kind == rpc.Unary && x.Result != simText(c, 'a', 0, c.answer) {
			wrong = fmt.Sprintf("the answer is %.40q of %d bytes", x.Result, len(x.Result))
		}
		return wrong, err
	case rpc.ServerStream:
		x.Args = simText(c, 'q', 0, c.request)
		return w.receive(c, stub.Incoming[string](ctx, client, &x.Call))
	case rpc.ClientStream:
		res, err := stub.Gather[string, string](ctx, client, &x.Call, w.outgoing(ctx, c, 'q', c.request))
		if err == nil && *res != simText(c, 'a', 0, c.answer) {
			wrong = fmt.Sprintf("the answer is %.40q of %d bytes", *res, len(*res))
		}
		return wrong, err
	}
	return w.receive(c, stub.Exchange[string, string](ctx, client, &x.Call, w.outgoing(ctx, c, 'q', c.request)))
}

// outgoing gives the messages of a stream in one direction, some of them after
// a while.
func (w *simWorld) outgoing(ctx context.Context, c *simCall, dir byte, size int) iter.Seq2[*string, error] {
	return func(yield func(*string, error) bool) {
		for i := range c.messages {
			if i%4 == 3 {
				simSleep(ctx, c.takes/8)
			}
			if !yield(new(simText(c, dir, i, size)), nil) {
				return
			}
		}
	}
}

// simSleep sleeps; false: ctx has ended before.
func simSleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// receive takes the answers of a stream.
func (w *simWorld) receive(c *simCall, in iter.Seq2[*string, error]) (wrong string, err error) {
	i := 0
	for s, e := range in {
		switch {
		case err != nil:
			wrong = "a message after the error"
		case e != nil:
			err = e
			continue
		case *s != simText(c, 'a', i, c.answer):
			wrong = fmt.Sprintf("message %d is %.40q of %d bytes", i, *s, len(*s))
		}
		if i == c.leave {
			return wrong, nil
		}
		i++
	}
	if err == nil && i != c.messages && wrong == "" {
		wrong = fmt.Sprintf("%d messages of %d, and no error", i, c.messages)
	}
	return wrong, err
}

// service is what the servers serve.
func (w *simWorld) service() rpc.Service {
	unary := func(ctx context.Context, c *rpc.Call) error {
		arg, err := stub.Args[string](c)
		if err != nil {
			return err
		}
		if *arg == "probe" {
			return nil
		}
		id, _, _ := strings.Cut(*arg, "q0|")
		return w.handle(ctx, id, func(call *simCall) error {
			w.arrives(call, 0, *arg)
			return w.behave(ctx, call, func() error {
				*stub.Result[string](c) = simText(call, 'a', 0, call.answer)
				return nil
			})
		})
	}
	count := func(ctx context.Context, c *rpc.Call, call *simCall) error {
		arg, err := stub.First[string](c)
		if err != nil {
			return err
		}
		w.arrives(call, 0, *arg)
		return w.behave(ctx, call, func() error { return stub.SendAll(c, w.outgoing(ctx, call, 'a', call.answer)) })
	}
	join := func(ctx context.Context, c *rpc.Call, call *simCall) error {
		return w.behave(ctx, call, func() error {
			if err := w.incoming(c, call, func(int) error { return nil }); err != nil {
				return err
			}
			return stub.SendLast(c, new(simText(call, 'a', 0, call.answer)), nil)
		})
	}
	chat := func(ctx context.Context, c *rpc.Call, call *simCall) error {
		return w.behave(ctx, call, func() error {
			return w.incoming(c, call, func(i int) error {
				return rpc.EngineOf(c).Stream().Send(new(simText(call, 'a', i, call.answer)))
			})
		})
	}
	s := rpc.Service{Name: "Sim"}
	for _, kind := range []rpc.Kind{rpc.Unary, rpc.Oneway} {
		s.Methods = append(s.Methods, rpc.Handler{Method: w.methods[kind], Serve: unary})
	}
	for kind, serve := range map[rpc.Kind]func(context.Context, *rpc.Call, *simCall) error{rpc.ServerStream: count, rpc.ClientStream: join, rpc.Bidi: chat} {
		s.Methods = append(s.Methods, rpc.Handler{Method: w.methods[kind], Serve: func(ctx context.Context, c *rpc.Call) error {
			return w.handle(ctx, c.Header.Get(simHeader), func(call *simCall) error { return serve(ctx, c, call) })
		}})
	}
	return s
}

// incoming takes the messages of a call of several, and has each answer them.
func (w *simWorld) incoming(c *rpc.Call, call *simCall, each func(i int) error) error {
	i := 0
	for s, err := range stub.Arriving[string](c) {
		if err != nil {
			return err
		}
		w.arrives(call, i, *s)
		if err := each(i); err != nil {
			return err
		}
		i++
	}
	if i != call.messages {
		w.fail("call %d: %d messages of %d arrive, and an orderly end", call.id, i, call.messages)
	}
	return nil
}

// arrives looks at message i of a call.
func (w *simWorld) arrives(c *simCall, i int, got string) {
	if want := simText(c, 'q', i, c.request); got != want {
		w.fail("call %d: message %d arrives as %.40q of %d bytes", c.id, i, got, len(got))
	}
}

// handle enters a call in the ledger while serve runs.
func (w *simWorld) handle(ctx context.Context, name string, serve func(*simCall) error) (err error) {
	id, e := strconv.Atoi(name)
	if e != nil || id < 0 || id >= len(w.plan.calls) {
		w.fail("a request arrives of call %.40q", name)
		return rpc.InvalidArgument
	}
	c := w.plan.calls[id]
	w.enter(ctx, c)
	defer func() { w.leave(ctx, c, err) }()
	return serve(c)
}

// behave does as planned, and answers.
func (w *simWorld) behave(ctx context.Context, c *simCall, answer func() error) error {
	if c.behaves == waits {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(simPatient):
			w.untold(c)
			return ctx.Err()
		}
	}
	if c.behaves == stubborn {
		// Virtual time: the simulation is a bubble.
		time.Sleep(c.takes)
	} else if !simSleep(ctx, c.takes) {
		return ctx.Err()
	}
	switch c.behaves {
	case fails:
		return rpc.Errorf(rpc.NotFound, "call %d finds nothing", c.id)
	case panics:
		panic(fmt.Sprint("planned for call ", c.id))
	case exits:
		runtime.Goexit()
	}
	return answer()
}
