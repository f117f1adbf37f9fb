package stub_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A script is a stream whose other side is written down.
type script struct {
	arrive []string // what Receive gives
	end    error    // and then; nil: io.EOF
	refuse error    // what Send fails with after take messages; nil: it does not
	take   int

	mu     sync.Mutex
	sent   []string
	closed bool
}

func (s *script) Send(msg any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refuse != nil && len(s.sent) == s.take {
		return s.refuse
	}
	s.sent = append(s.sent, *msg.(*string))
	return nil
}

func (s *script) CloseSend() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

func (s *script) Receive(msg any) error {
	if len(s.arrive) == 0 {
		if s.end != nil {
			return s.end
		}
		return io.EOF
	}
	*msg.(*string), s.arrive = s.arrive[0], s.arrive[1:]
	return nil
}

// seen is what has become of it: messages sent, and | if the end was said.
func (s *script) seen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := fmt.Sprint(s.sent)
	if s.closed {
		out += "|"
	}
	return out
}

// Do makes a script an rpc.Caller.
func (s *script) Do(ctx context.Context, c *rpc.Call) error { return rpc.EngineOf(c).Drive(ctx, s) }
func (s *script) Close() error                              { return nil }

var errBroken = errors.New("broken")

func method(kind rpc.Kind) *rpc.Method { return &rpc.Method{Service: "S", Name: "m", Kind: kind} }

// gather is what a loop over seq sees: its messages, and the error that ends it.
func gather(seq func(func(*string, error) bool), most int) (got []string, err error) {
	for m, e := range seq {
		if e != nil {
			if err != nil {
				panic("a second error")
			}
			err = e
			continue
		}
		if got = append(got, *m); len(got) == most {
			break
		}
	}
	return got, err
}

// TestIncoming: the one message is sent, the answers come in order, an error comes
// once and last, and a loop that is left hears of nothing more.
func TestIncoming(t *testing.T) {
	for name, tt := range map[string]struct {
		s    *script
		most int
		got  string
		err  error
		seen string
	}{
		"in order":            {&script{arrive: []string{"a", "b"}}, 9, "[a b]", nil, "[q]|"},
		"none":                {&script{}, 9, "[]", nil, "[q]|"},
		"fails later":         {&script{arrive: []string{"a"}, end: errBroken}, 9, "[a]", errBroken, "[q]|"},
		"is left":             {&script{arrive: []string{"a", "b"}, end: errBroken}, 1, "[a]", nil, "[q]|"},
		"left at the last":    {&script{arrive: []string{"a"}, end: errBroken}, 1, "[a]", nil, "[q]|"},
		"ended by the server": {&script{refuse: io.EOF, end: rpc.NotFound}, 9, "[]", rpc.NotFound, "[]|"},
		"cannot be sent":      {&script{refuse: errBroken}, 9, "[]", errBroken, "[]"},
	} {
		seq := stub.Incoming[string](t.Context(), tt.s, stub.Make(method(rpc.ServerStream), "S", new("q"), nil))
		got, err := gather(seq, tt.most)
		if fmt.Sprint(got) != tt.got || !errors.Is(err, tt.err) || tt.s.seen() != tt.seen {
			t.Errorf("%s: %v, %v, %s", name, got, err, tt.s.seen())
		}
		tt.s.arrive = []string{"again"}
		if got, err := gather(seq, 9); got != nil || rpc.CodeOf(err) != rpc.FailedPrecondition {
			t.Errorf("%s: iterated again: %v, %v", name, got, err)
		}
	}
}

// TestGather: one answer, not none and not two; what the sequence fails with is the
// call's error, and then the end of the messages is not said.
func TestGather(t *testing.T) {
	failing := func(yield func(*string, error) bool) {
		if yield(new("a"), nil) {
			yield(nil, errBroken)
		}
	}
	for name, tt := range map[string]struct {
		s    *script
		in   func(func(*string, error) bool)
		code rpc.Code
		is   error
		seen string
	}{
		"one answer":         {&script{arrive: []string{"r"}}, several("a", "b"), rpc.OK, nil, "[a b]|"},
		"of nothing":         {&script{arrive: []string{"r"}}, several(), rpc.OK, nil, "[]|"},
		"no answer":          {&script{}, several("a"), rpc.Internal, nil, "[a]|"},
		"two answers":        {&script{arrive: []string{"r", "s"}}, several("a"), rpc.Internal, nil, "[a]|"},
		"fails":              {&script{end: rpc.Aborted}, several("a"), rpc.Aborted, nil, "[a]|"},
		"fails behind one":   {&script{arrive: []string{"r"}, end: rpc.Aborted}, several("a"), rpc.Aborted, nil, "[a]|"},
		"answered early":     {&script{arrive: []string{"r"}, refuse: io.EOF, take: 1}, several("a", "b", "c"), rpc.OK, nil, "[a]"},
		"the sequence fails": {&script{arrive: []string{"r"}}, failing, rpc.Unknown, errBroken, "[a]"},
		"one cannot be sent": {&script{refuse: errBroken, take: 1}, several("a", "b"), rpc.Unknown, errBroken, "[a]"},
		"there is none":      {&script{}, nil, rpc.InvalidArgument, nil, "[]"},
		"a message is nil": {&script{arrive: []string{"r"}}, func(yield func(*string, error) bool) {
			if yield(new("a"), nil) {
				yield(nil, nil)
			}
		}, rpc.InvalidArgument, nil, "[a]"},
	} {
		res, err := stub.Gather[string, string](t.Context(), tt.s, stub.Make(method(rpc.ClientStream), "S", nil, nil), tt.in)
		if rpc.CodeOf(err) != tt.code || tt.is != nil && !errors.Is(err, tt.is) || (err == nil) != (res != nil && *res == "r") || tt.s.seen() != tt.seen {
			t.Errorf("%s: %v, %v, %s", name, res, err, tt.s.seen())
		}
	}
}

// TestGatherIsCancelled: a sequence that ends because the context has is no whole one.
func TestGatherIsCancelled(t *testing.T) {
	for _, more := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		s := &script{end: context.Canceled}
		_, err := stub.Gather[string, string](ctx, s, stub.Make(method(rpc.ClientStream), "S", nil, nil), func(yield func(*string, error) bool) {
			if !more {
				cancel() // and ends, having seen it
				return
			}
			yield(new("a"), nil)
			cancel()
			if yield(new("b"), nil) {
				t.Error("a sequence goes on after its context has ended")
			}
		})
		if rpc.CodeOf(err) != rpc.Canceled || s.closed {
			t.Errorf("%v, end said: %v", err, s.closed)
		}
		cancel()
	}
}

// TestConverse: what the function returns is the result, and the call is made once.
func TestConverse(t *testing.T) {
	c := stub.Make(method(rpc.Bidi), "S", nil, nil)
	s := &script{arrive: []string{"a"}}
	talk := func(_ context.Context, s rpc.Stream) error {
		var got string
		if err := s.Receive(&got); err != nil || got != "a" {
			return fmt.Errorf("received %q, %w", got, err)
		}
		return s.Send(new(got + "!"))
	}
	if err := stub.Converse(t.Context(), s, c, talk); err != nil || s.seen() != "[a!]" {
		t.Errorf("%v, %s", err, s.seen())
	}
	if err := stub.Converse(t.Context(), s, c, talk); rpc.CodeOf(err) != rpc.FailedPrecondition {
		t.Errorf("a second time: %v", err)
	}
}

// TestHandlersStreams: what a generated method body makes of its stream.
func TestHandlersStreams(t *testing.T) {
	serve := func(s *script) *rpc.Call {
		c := stub.New[string, string]()
		c.Method = method(rpc.Bidi)
		rpc.EngineOf(c).SetStream(s)
		rpc.EngineOf(c).Begin(t.Context(), time.Time{})
		return c
	}
	if m, err := stub.First[string](serve(&script{arrive: []string{"a", "b"}})); err != nil || *m != "a" {
		t.Errorf("First = %v, %v", m, err)
	}
	if _, err := stub.First[string](serve(&script{})); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("First of no message: %v", err)
	}
	if _, err := stub.First[string](serve(&script{end: errBroken})); !errors.Is(err, errBroken) {
		t.Errorf("First of a broken stream: %v", err)
	}
	if _, err := stub.First[int](serve(&script{arrive: []string{"a"}})); rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("First of another type: %v", err)
	}
	if got, err := gather(stub.Arriving[string](serve(&script{arrive: []string{"a", "b"}, end: errBroken})), 9); !slices.Equal(got, []string{"a", "b"}) || !errors.Is(err, errBroken) {
		t.Errorf("Arriving = %v, %v", got, err)
	}
	if got, err := gather(stub.Arriving[string](serve(&script{arrive: []string{"a", "b"}, end: errBroken})), 1); len(got) != 1 || err != nil {
		t.Errorf("Arriving that is left = %v, %v", got, err)
	}
	s := &script{}
	failing := func(yield func(*string, error) bool) {
		_ = yield(new("a"), nil) && yield(nil, errBroken) && yield(new("b"), nil)
	}
	if err := stub.SendAll(serve(s), failing); err != errBroken || s.seen() != "[a]" {
		t.Errorf("SendAll = %v, %s", err, s.seen())
	}
	if err := stub.SendAll(serve(&script{refuse: io.EOF}), several("a")); err != io.EOF {
		t.Errorf("SendAll to a client that has gone = %v", err)
	}
	for name, tt := range map[string]struct {
		res  *string
		err  error
		want error
		sent string
	}{
		"an answer": {new("r"), nil, nil, "[r]"},
		"an error":  {new("r"), errBroken, errBroken, "[]"},
	} {
		s := &script{}
		if err := stub.SendLast(serve(s), tt.res, tt.err); !errors.Is(err, tt.want) || s.seen() != tt.sent {
			t.Errorf("SendLast of %s = %v, %s", name, err, s.seen())
		}
	}
	if err := stub.SendLast[string](serve(&script{}), nil, nil); err == nil {
		t.Error("SendLast of nothing is well")
	}
}
