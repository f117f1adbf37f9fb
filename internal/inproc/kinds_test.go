package inproc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// kinds are all shapes of methods.
var kinds = map[rpc.Kind]string{rpc.Unary: "unary", rpc.Oneway: "oneway", rpc.ServerStream: "server stream", rpc.ClientStream: "client stream", rpc.Bidi: "bidi"}

// ofKind is a method that answers with all that it was sent.
func ofKind(k rpc.Kind) rpc.Handler {
	m := &rpc.Method{Service: "Kinds", Name: kinds[k], Kind: k, Codec: rig.Text{}, New: stub.New[string, string]}
	return rpc.Handler{Method: m, Serve: func(_ context.Context, c *rpc.Call) error {
		if k <= rpc.Oneway {
			arg, err := stub.Args[string](c)
			if err == nil {
				*stub.Result[string](c) = *arg
			}
			return err
		}
		s, all := rpc.EngineOf(c).Stream(), ""
		for {
			var msg string
			if err := s.Receive(&msg); err == io.EOF {
				return s.Send(&all)
			} else if err != nil {
				return err
			}
			all += msg
		}
	}}
}

// as calls the method name as one of kind k.
func as(ctx context.Context, c rpc.Caller, k rpc.Kind, name string) (string, error) {
	m := &rpc.Method{Service: "Kinds", Name: name, Kind: k, Codec: rig.Text{}}
	x := stub.NewCall[string, string](m, "Kinds")
	x.Args = "ab"
	in := limosa.Values(slices.Values([]*string{new("a"), new("b")}))
	all := ""
	switch k {
	case rpc.ServerStream:
		for msg, err := range stub.Incoming[string](ctx, c, &x.Call) {
			if err != nil {
				return all, err
			}
			all += *msg
		}
	case rpc.ClientStream:
		msg, err := stub.Gather[string, string](ctx, c, &x.Call, in)
		if err == nil {
			all = *msg
		}
		return all, err
	case rpc.Bidi:
		for msg, err := range stub.Exchange[string, string](ctx, c, &x.Call, in) {
			if err != nil {
				return all, err
			}
			all += *msg
		}
	default:
		err := c.Do(ctx, &x.Call)
		return x.Result, err
	}
	return all, nil
}

// A method that is called as one of another kind is served or refused alike in this
// process and from afar, and in the same words.
func TestKindsOfBothSides(t *testing.T) {
	svc := rpc.Service{Name: "Kinds"}
	for k := range kinds {
		svc.Methods = append(svc.Methods, ofKind(k))
	}
	s := &limosa.Server{Services: []rpc.Service{svc}}
	target, _ := rig.Start(t, s, "127.0.0.1:0")
	for served, name := range kinds {
		for called, how := range kinds {
			if called != served && (called == rpc.Oneway || served == rpc.Oneway && called == rpc.Unary) {
				continue // from afar there is no answer
			}
			afar := &limosa.Client{Target: target}
			do := func(c rpc.Caller) string {
				got, err := as(t.Context(), c, called, name)
				e, _ := errors.AsType[*rpc.Error](err)
				if e == nil {
					return fmt.Sprintf("%q, %v", got, err)
				}
				return fmt.Sprintf("%q, %v %v %q", got, e.Code, e.Sent, e.Msg)
			}
			if near, far := do(s.Caller()), do(afar); near != far {
				t.Errorf("%s, called as %s: in this process %s, from afar %s", name, how, near, far)
			}
			afar.Close()
		}
	}
}
