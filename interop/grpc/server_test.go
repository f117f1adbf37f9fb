package grpc_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/rpc"
)

// grpc-go's client calls a method of one message: small, empty and large ones, compressed and not.
func TestSay(t *testing.T) {
	c := dial(t, serve(t, &limosa.Server{Services: []rpc.Service{words(echo)}}))
	for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		for _, n := range []int{0, 1, 100, 20_000, 70_000, 3_000_000} {
			text := noise(n)
			got, err := say(t.Context(), c, text, append(opts, grpc.MaxCallRecvMsgSize(16<<20))...)
			if err != nil || got != text {
				t.Fatalf("%d bytes: %d came back, %v", n, len(got), err)
			}
		}
	}
}

// Errors arrive with their code, text and details, metadata goes both ways.
func TestErrorsAndMetadata(t *testing.T) {
	c := dial(t, serve(t, &limosa.Server{Services: []rpc.Service{words(func(ctx context.Context, c *rpc.Call, text string) (string, error) {
		c.Trailer.AddLeading("lead", c.Header.Get("lead"))
		c.Trailer.Add("trail-bin", c.Header.Get("bytes-bin"))
		if text == "fail" {
			return "", &rpc.Error{Code: rpc.NotFound, Msg: "nö\n100%", Details: rpc.Metadata{{Key: "google.protobuf.StringValue", Value: "\x0a\x02hi"}}}
		}
		return text, nil
	})}}))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "lead", "first", "bytes-bin", "\x00\xff\n", "bytes-bin", "\x01\x02")
	for _, text := range []string{"ok", "fail"} {
		var head, trail metadata.MD
		_, err := say(ctx, c, text, grpc.Header(&head), grpc.Trailer(&trail))
		if text == "ok" && (err != nil || !slices.Equal(head["lead"], []string{"first"})) {
			t.Errorf("%v, header %v", err, head)
		}
		if !slices.Equal(trail["trail-bin"], []string{"\x01\x02"}) {
			t.Errorf("%s: trailer %v", text, trail)
		}
		if text != "fail" {
			continue
		}
		st := status.Convert(err)
		if st.Code() != codes.NotFound || st.Message() != "nö\n100%" || len(st.Details()) != 1 {
			t.Errorf("status %v %q %v", st.Code(), st.Message(), st.Details())
		} else if d, ok := st.Details()[0].(*wrapperspb.StringValue); !ok || d.Value != "hi" {
			t.Errorf("detail %v", st.Details()[0])
		}
	}
}

// A deadline reaches the handler, and so does a caller that gives up.
func TestDeadlineAndCancel(t *testing.T) {
	ended := make(chan error, 1)
	begun := make(chan time.Duration, 1)
	c := dial(t, serve(t, &limosa.Server{Services: []rpc.Service{words(func(ctx context.Context, c *rpc.Call, text string) (string, error) {
		d, _ := ctx.Deadline()
		begun <- time.Until(d)
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})}}))
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	go func() {
		if left := <-begun; left < 20*time.Second || left > 30*time.Second {
			t.Errorf("the handler has %v left", left)
		}
		cancel()
	}()
	if _, err := say(ctx, c, ""); status.Code(err) != codes.Canceled {
		t.Errorf("cancelled: %v", err)
	}
	if err := <-ended; err != context.Canceled {
		t.Errorf("the handler has ended with %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := say(ctx, c, ""); status.Code(err) != codes.DeadlineExceeded {
		t.Errorf("too late: %v", err)
	}
}

// What is not here, and what is too large.
func TestRefusals(t *testing.T) {
	c := dial(t, serve(t, &limosa.Server{Services: []rpc.Service{words(echo)}, Limits: rpc.Limits{MessageBytes: 1 << 16}}))
	for path, want := range map[string]codes.Code{"/test.Words/Nothing": codes.Unimplemented, "/test.Nobody/Say": codes.Unimplemented, "/Say": codes.Unimplemented} {
		err := c.Invoke(t.Context(), path, wrapperspb.String("x"), new(wrapperspb.StringValue))
		if status.Code(err) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
	for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor(gzip.Name)}} {
		if _, err := say(t.Context(), c, strings.Repeat("x", 1<<18), opts...); status.Code(err) != codes.ResourceExhausted {
			t.Errorf("too large a message: %v", err)
		}
	}
	if got, err := say(t.Context(), c, "still here"); err != nil || got != "still here" {
		t.Errorf("afterwards: %q, %v", got, err)
	}
}

// The three shapes of streams.
func TestShapes(t *testing.T) {
	c := dial(t, serve(t, &limosa.Server{Services: []rpc.Service{words(echo)}}))
	long := strings.Repeat("y", 300_000)
	for _, x := range []struct {
		method     string
		send, want []string
		code       codes.Code
	}{
		{"Down", []string{"a b c"}, []string{"a", "b", "c"}, codes.OK},
		{"Down", []string{""}, nil, codes.OK},
		{"Down", []string{"a fail"}, []string{"a"}, codes.DataLoss},
		{"Down", []string{"fail"}, nil, codes.DataLoss},
		{"Up", []string{"a", "b", "c"}, []string{"a b c"}, codes.OK},
		{"Up", nil, []string{""}, codes.OK},
		{"Both", []string{"a", "", long, "c", long}, []string{"a", "", long, "c", long}, codes.OK},
		{"Both", nil, nil, codes.OK},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		got, err := exchange(ctx, c, x.method, x.send...)
		if status.Code(err) != x.code || !slices.Equal(got, x.want) {
			t.Errorf("%s(%d messages) = %d messages, %v", x.method, len(x.send), len(got), err)
		}
		cancel()
	}
}
