package inproc_test

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/stats"
)

// A brittle codec panics when it meets certain texts.
type brittle struct{ rig.Text }

func (b brittle) Append(out *buf.Out, msg any) error {
	if strings.HasPrefix(*msg.(*string), "append") {
		panic("append")
	}
	return b.Text.Append(out, msg)
}

func (b brittle) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	if err := b.Text.Decode(body, msg, lim); err != nil || !strings.HasPrefix(*msg.(*string), "decode") {
		return err
	}
	panic("decode")
}

// What user code does in this process is what it does to calls from afar: panics of
// codecs and of errors fail the call, trailers have limits, reserved names do not
// arrive.
func TestLocalIsAsAfar(t *testing.T) {
	m := &rpc.Method{Service: "Test", Name: "turn", Codec: brittle{}, New: stub.New[string, string]}
	s := &limosa.Server{Logger: slog.New(slog.DiscardHandler), Services: []rpc.Service{{Name: "Test", Methods: []rpc.Handler{{Method: m,
		Serve: func(_ context.Context, c *rpc.Call) error {
			arg, err := stub.Args[string](c)
			if err != nil {
				return err
			}
			switch *arg {
			case "nil":
				return (*net.OpError)(nil)
			case "many":
				for i := range 1000 {
					c.Trailer.Add(fmt.Sprint("key", i), "value")
				}
			}
			c.Trailer.Add("limosa-code", "0")
			c.Trailer.Add("mine", "yes")
			*stub.Result[string](c) = *arg
			if after, ok := strings.CutPrefix(*arg, "answer "); ok {
				*stub.Result[string](c) = after
			}
			return nil
		}}}}}}
	target, _ := rig.Start(t, s, "127.0.0.1:0")
	afar := &limosa.Client{Target: target}
	defer afar.Close()
	for _, arg := range []string{"ok", "nil", "many", "append", "decode", "answer append", "answer decode"} {
		type outcome struct {
			code    rpc.Code
			sent    rpc.Sent
			trailer string
		}
		do := func(c rpc.Caller) (o outcome) {
			x := stub.NewCall[string, string](m, "Test")
			x.Args = arg
			err := c.Do(t.Context(), &x.Call)
			return outcome{rpc.CodeOf(err), rpc.SentOf(err), fmt.Sprint(x.Trailer)}
		}
		if near, far := do(s.Caller()), do(afar); near != far || (arg == "ok") != (near.code == rpc.OK) {
			t.Errorf("%s: %v in this process, %v from afar", arg, near, far)
		}
	}
}

// CallsPerServer bounds the calls of all ways to a server together, and what it
// refuses is counted.
func TestCallsPerServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := stats.NewSet()
		s := &limosa.Server{Services: []rpc.Service{rig.Service(nil)}, Limits: rpc.Limits{CallsPerServer: 1}, Stats: set}
		one, two := s.Caller(), s.Caller()
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { _, err := rig.Call(ctx, one, rig.Wait, ""); done <- err }()
		synctest.Wait()
		if _, err := rig.Call(ctx, two, rig.Echo, ""); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.Refused {
			t.Errorf("a second call: %v, %v", err, rpc.SentOf(err))
		}
		cancel()
		<-done
		if _, err := rig.Call(t.Context(), two, rig.Echo, ""); err != nil {
			t.Errorf("afterwards: %v", err)
		}
		if n := set.Counter("rpc_server_refused_calls", "").Value(); n != 1 {
			t.Errorf("%d refusals were counted", n)
		}
	})
}
