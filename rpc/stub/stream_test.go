package stub_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// sink is a stream that takes all messages but those that are empty.
type sink struct{}

func (sink) Send(msg any) error {
	if *msg.(*string) == "" {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent}
	}
	return nil
}
func (sink) CloseSend() error  { return nil }
func (sink) Receive(any) error { return io.EOF }

// driver is a caller whose calls are driven over a sink.
type driver struct{}

func (driver) Do(ctx context.Context, c *rpc.Call) error { return rpc.EngineOf(c).Drive(ctx, sink{}) }
func (driver) Close() error                              { return nil }

func several(texts ...string) func(func(*string, error) bool) {
	return func(yield func(*string, error) bool) {
		for _, s := range texts {
			if !yield(&s, nil) {
				return
			}
		}
	}
}

var streamed = &rpc.Method{Service: "S", Name: "m", Kind: rpc.Bidi, New: stub.New[string, string]}

// TestMessageThatIsNotSent: the call is NotSent only if its first message is.
func TestMessageThatIsNotSent(t *testing.T) {
	for _, tt := range []struct {
		texts []string
		want  rpc.Sent
	}{{[]string{""}, rpc.NotSent}, {[]string{"a", ""}, rpc.Maybe}} {
		_, err := stub.Gather[string, string](t.Context(), driver{}, &stub.NewCall[string, string](streamed, "S").Call, several(tt.texts...))
		if rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != tt.want {
			t.Errorf("%q: %v, %v", tt.texts, err, rpc.SentOf(err))
		}
	}
}

// TestSendAllOfACallThatIsOver: a handler whose sequence stops when its context
// ends has not sent all, though it gives no error.
func TestSendAllOfACallThatIsOver(t *testing.T) {
	c := streamed.New()
	c.Method = streamed
	rpc.EngineOf(c).Begin(t.Context(), time.Time{})
	rpc.EngineOf(c).SetStream(sink{})
	if err := stub.SendAll(c, several("a", "b")); err != nil {
		t.Error(err)
	}
	rpc.EngineOf(c).End(context.DeadlineExceeded)
	if err := stub.SendAll(c, several("a")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("after the deadline: %v", err)
	}
}

// TestNilSequences: they are refused, and end neither a goroutine nor the process.
func TestNilSequences(t *testing.T) {
	for m, err := range stub.Exchange[string, string](t.Context(), driver{}, stub.Make(streamed, "S", nil, nil), nil) {
		if m != nil || rpc.CodeOf(err) != rpc.InvalidArgument || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("Exchange of nil: %v, %v", m, err)
		}
	}
	if _, err := stub.Gather[string, string](t.Context(), driver{}, stub.Make(streamed, "S", nil, nil), nil); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("Gather of nil: %v", err)
	}
	c := streamed.New()
	c.Method = streamed
	rpc.EngineOf(c).SetStream(sink{})
	if err := stub.SendAll[string](c, nil); err == nil {
		t.Error("a handler's nil sequence is an orderly end")
	}
}
