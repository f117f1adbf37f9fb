package web_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/web"
)

// Calls of one message, of every size that takes another way.
func TestUnary(t *testing.T) {
	for _, cfg := range []pipe.Config{{}, {MaxSend: 7000}, {Buffer: 1 << 16, MaxSend: 1 << 14}} {
		eachSpeech(t, func(t *testing.T, p web.Protocol) {
			r := newRigOf(t, rpc.Limits{}, cfg, p)
			for _, n := range []int{0, 1, 4, 5, 1000, 16378, 16379, 16380, 40_000, 65_531, 300_000, 5 << 20} {
				text := strings.Repeat("x", n)
				if got, _, err := say(t.Context(), r.client, text); err != nil || got != text {
					t.Fatalf("%d bytes: %d came back, %v", n, len(got), err)
				}
			}
		})
	}
}

// Many callers share a connection, with small and large messages in between.
func TestCallersShare(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				for j := range 20 {
					text := strings.Repeat(fmt.Sprint(i), 1+(i*j)%7*5000)
					if got, _, err := say(t.Context(), r.client, text); err != nil || got != text {
						t.Errorf("caller %d: %d of %d bytes, %v", i, len(got), len(text), err)
						return
					}
				}
			})
		}
		all.Wait()
	})
}

func TestErrors(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{MessageBytes: 1 << 16}, pipe.Config{}, p)
		_, _, err := say(t.Context(), r.client, "fail")
		e, ok := errors.AsType[*rpc.Error](err)
		want := rpc.Metadata{{Key: "word", Value: "fail"}, {Key: "a.Type", Value: "\x00"}}
		if !ok || e.Code != rpc.NotFound || e.Msg != "no such word: 100%" || !slices.Equal(e.Details, want) || e.Sent != rpc.Processed || !e.Remote {
			t.Errorf("a handler's error: %#v", err)
		}
		if _, _, err := say(t.Context(), r.client, "long"); rpc.CodeOf(err) != rpc.NotFound || !strings.Contains(err.Error(), "no such word: \n\n") {
			t.Errorf("an error whose text does not fit the trailers: %.100v", err)
		}
		if _, _, err := say(t.Context(), r.client, "panic"); rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("a panic: %v", err)
		}
		if _, _, err := say(t.Context(), r.client, strings.Repeat("x", 1<<16+1)); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("too large: %v", err)
		}
		for name, m := range map[string]*rpc.Method{
			"no such method": method("Nothing", rpc.Unary), "a stream, called as one message": method("Both", rpc.Unary), "Thrift's": method("Wrapped", rpc.Unary),
		} {
			text := ""
			err := r.client.Do(t.Context(), stub.Make(m, "test.Words", &text, &text))
			if name != "a stream, called as one message" && rpc.CodeOf(err) != rpc.Unimplemented {
				t.Errorf("%s: %v", name, err)
			}
		}
		text := ""
		if err := r.client.Do(t.Context(), stub.Make(method("Say", rpc.Unary), "test.Nobody", &text, &text)); rpc.CodeOf(err) != rpc.Unimplemented {
			t.Errorf("a service that is not here: %v", err)
		}
		if _, _, err := say(t.Context(), r.client, "x", rpc.Pair{Key: "a", Value: "b\r\nc: d"}); rpc.CodeOf(err) != rpc.InvalidArgument || rpc.SentOf(err) != rpc.NotSent {
			t.Errorf("a header that holds two: %v", err)
		}
		if got, _, err := say(t.Context(), r.client, "still here"); err != nil || got != "still here" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

// Metadata goes both ways, before the answer and behind it, with errors too.
func TestMetadata(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		md := []rpc.Pair{{Key: "Lead", Value: "1"}, {Key: "tail", Value: "2"}, {Key: "tail", Value: "3"}, {Key: "lead-bin", Value: "\x00\n\xff"}, {Key: "tail-bin", Value: ""}}
		for _, text := range []string{"", "fail", strings.Repeat("x", 100_000)} {
			_, trailer, _ := say(t.Context(), r.client, text, md...)
			var got []string
			for _, p := range trailer {
				got = append(got, fmt.Sprintf("%s=%q", p.Key, p.Value))
			}
			slices.Sort(got)
			if want := []string{`lead-bin="\x00\n\xff"`, `lead="1"`, `tail-bin=""`, `tail="2"`, `tail="3"`}; !slices.Equal(got, want) {
				t.Errorf("%d bytes: %q", len(text), got)
			}
		}
	})
}

// A caller that leaves ends its handler, and the connection goes on.
func TestCancel(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		for range 20 {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, _, err := say(ctx, r.client, "wait"); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a call that waits: %v", err)
			}
			cancel()
		}
		synctest.Wait()
		if running := r.server.Running(); len(running) != 0 {
			t.Errorf("%v still run", running)
		}
		if got, _, err := say(t.Context(), r.client, "x"); err != nil || got != "x" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

func TestStreams(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		for text, want := range map[string]string{"a b c": "a b c OK", "": "OK", "a fail": "a DataLoss", "fail": "DataLoss"} {
			var got []string
			var failed error
			for m, err := range stub.Incoming[string](t.Context(), r.client, stub.Make(method("Down", rpc.ServerStream), "test.Words", &text, nil)) {
				if failed = err; err == nil {
					got = append(got, *m)
				}
			}
			if s := strings.Join(append(got, rpc.CodeOf(failed).String()), " "); s != want {
				t.Errorf("Down(%q) = %q, want %q", text, s, want)
			}
		}
		for _, n := range []int{0, 1, 1000} {
			in := func(yield func(*string, error) bool) {
				for range n {
					if !yield(new("0123456789"), nil) {
						return
					}
				}
			}
			got, err := stub.Gather[string, string](t.Context(), r.client, stub.Make(method("Up", rpc.ClientStream), "test.Words", nil, nil), in)
			if want := fmt.Sprintf("%d messages, %d bytes", n, 10*n); err != nil || *got != want {
				t.Errorf("Up(%d) = %v, %v", n, got, err)
			}
		}
		for _, size := range []int{0, 1, 20_000, 100_000, 1 << 20} {
			text := strings.Repeat("x", size)
			if n, err := both(t.Context(), r.client, 20, func(i int) string { return text[:len(text)-len(text)*i/40] }); n != 20 || err != nil {
				t.Errorf("Both, %d bytes: %d of 20, %v", size, n, err)
			}
		}
	})
}

// A hundred thousand messages in one stream, with the windows as the only brake.
func TestLongStream(t *testing.T) {
	n := 100_000
	if testing.Short() {
		n = 5000
	}
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		pad := strings.Repeat("x", 1000)
		if got, err := both(t.Context(), r.client, n, func(i int) string { return pad + fmt.Sprint(i) }); got != n || err != nil {
			t.Errorf("%d of %d, %v", got, n, err)
		}
	})
}

// A client that breaks off a stream ends its handler.
func TestStreamIsBrokenOff(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		text := strings.Repeat("word ", 100_000)
		for range 5 {
			n := 0
			for _, err := range stub.Incoming[string](t.Context(), r.client, stub.Make(method("Down", rpc.ServerStream), "test.Words", &text, nil)) {
				if err != nil {
					t.Fatal(err)
				}
				if n++; n == 3 {
					break
				}
			}
		}
		synctest.Wait()
		if running := r.server.Running(); len(running) != 0 {
			t.Errorf("%v still run", running)
		}
	})
}

// A consumer that does not come back holds up its own stream, and nothing else.
func TestSlowConsumer(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		text := strings.Repeat("word ", 200_000)
		for m, err := range stub.Incoming[string](t.Context(), r.client, stub.Make(method("Down", rpc.ServerStream), "test.Words", &text, nil)) {
			if err != nil || *m != "word" {
				t.Fatalf("%v, %v", m, err)
			}
			synctest.Wait() // the server has sent what it may
			if got, _, err := say(t.Context(), r.client, "beside"); err != nil || got != "beside" {
				t.Errorf("a call beside it: %q, %v", got, err)
			}
			break
		}
	})
}

// A drain loses no call.
func TestDrain(t *testing.T) {
	eachSpeech(t, func(t *testing.T, p web.Protocol) {
		r := newRigOf(t, rpc.Limits{}, pipe.Config{}, p)
		say(t.Context(), r.client, "") //nolint:errcheck // the connection is there
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for {
					_, _, err := say(t.Context(), r.client, "x")
					if err != nil {
						if !rpc.SentOf(err).Retryable() {
							t.Errorf("a call was lost: %v", err)
						}
						return
					}
				}
			})
		}
		r.server.Drain(t.Context())
		all.Wait()
	})
}
