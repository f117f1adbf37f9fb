package inproc_test

import (
	"context"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A message that is too large for a connection is too large in this process: of a
// request, an answer, and each message of a stream either way.
func TestMessagesHaveTheSameLimit(t *testing.T) {
	lim := rpc.Limits{MessageBytes: 1 << 10}
	grow, m := rig.One("grow", func(_ context.Context, c *rpc.Call) error {
		arg, err := stub.Args[string](c)
		if err != nil {
			return err
		}
		c.Trailer.Add("ran", "yes")
		*stub.Result[string](c) = *arg
		if *arg == "more" {
			*stub.Result[string](c) = strings.Repeat("x", 2<<10)
		}
		return nil
	})
	talk := &rpc.Method{Service: "One", Name: "talk", Kind: rpc.Bidi, Codec: rig.Text{}, New: stub.New[string, string]}
	grow.Methods = append(grow.Methods, rpc.Handler{Method: talk, Serve: func(_ context.Context, c *rpc.Call) error {
		return stub.SendAll(c, func(yield func(*string, error) bool) {
			for s, err := range stub.Arriving[string](c) {
				if err == nil && *s == "more" {
					*s = strings.Repeat("x", 2<<10)
				}
				if !yield(s, err) {
					return
				}
			}
		})
	}})
	s := &limosa.Server{Services: []rpc.Service{grow}, Limits: lim, Logger: slog.New(slog.DiscardHandler)}
	target, _ := rig.Start(t, s, "127.0.0.1:0")
	afar := &limosa.Client{Target: target, Limits: lim}
	defer afar.Close()
	type outcome struct {
		code    rpc.Code
		sent    rpc.Sent
		remote  bool
		trailer string
	}
	end := func(err error, c *rpc.Call) outcome {
		e, _ := err.(*rpc.Error) //nolint:errorlint // a Caller's errors are not wrapped
		return outcome{rpc.CodeOf(err), rpc.SentOf(err), e != nil && e.Remote, c.Trailer.Get("ran")}
	}
	for name, tt := range map[string]struct {
		arg  string
		code rpc.Code
	}{
		"small":          {"x", rpc.OK},
		"fits":           {strings.Repeat("x", 900), rpc.OK},
		"large request":  {strings.Repeat("x", 2<<10), rpc.ResourceExhausted},
		"larger request": {strings.Repeat("x", 100<<10), rpc.ResourceExhausted},
		"large answer":   {"more", rpc.ResourceExhausted},
	} {
		one := func(c rpc.Caller) outcome {
			x := stub.NewCall[string, string](m, "One")
			x.Args = tt.arg
			return end(c.Do(t.Context(), &x.Call), &x.Call)
		}
		if near, far := one(s.Caller()), one(afar); near != far || near.code != tt.code {
			t.Errorf("%s: %v in this process, %v from afar; want %v", name, near, far, tt.code)
		}
		several := func(c rpc.Caller) outcome {
			x := stub.NewCall[string, string](talk, "One")
			err := stub.Converse(t.Context(), c, &x.Call, func(_ context.Context, st rpc.Stream) error {
				if err := st.Send(&tt.arg); err != nil {
					return err
				}
				st.CloseSend()
				var got string
				for {
					if err := st.Receive(&got); err != nil {
						return cutEOF(err)
					}
				}
			})
			got := end(err, &x.Call)
			got.sent = 0 // here the handler runs before the first message, from afar with it
			return got
		}
		if near, far := several(s.Caller()), several(afar); near != far || near.code != tt.code {
			t.Errorf("%s in a stream: %v in this process, %v from afar; want %v", name, near, far, tt.code)
		}
	}
}

func cutEOF(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}
