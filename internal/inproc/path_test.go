package inproc_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/inproc"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/internal/route"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// path runs services with at most so many calls at a time; 0: any number.
func path(t *testing.T, most int, services ...rpc.Service) *inproc.Path {
	t.Helper()
	table, err := route.New(services, nil, false)
	if err != nil {
		t.Fatal(err)
	}
	return &inproc.Path{Route: table.Find, Limits: rpc.Limits{}.WithDefaults(), Gate: mux.NewGate(most, nil), Logger: slog.New(slog.DiscardHandler)}
}

// What does not get as far as a handler says so: it can be made elsewhere.
func TestCallsThatAreNotBegun(t *testing.T) {
	ran := 0
	svc, m := rig.One("run", func(context.Context, *rpc.Call) error { ran++; return nil })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	stream := &rpc.Method{Service: "One", Name: "run", Kind: rpc.ServerStream, Codec: rig.Text{}, New: stub.New[string, string]}
	unknown := &rpc.Method{Service: "One", Name: "unknown", Codec: rig.Text{}, New: stub.New[string, string]}
	full := path(t, 1, svc)
	full.Gate.Enter()
	for name, tt := range map[string]struct {
		p      *inproc.Path
		ctx    context.Context
		method *rpc.Method
		key    string
		code   rpc.Code
		sent   rpc.Sent
	}{
		"over":      {path(t, 0, svc), over, m, "key", rpc.Canceled, rpc.NotSent},
		"unknown":   {path(t, 0, svc), t.Context(), unknown, "key", rpc.Unimplemented, rpc.Refused},
		"full":      {full, t.Context(), m, "key", rpc.ResourceExhausted, rpc.Refused},
		"no stream": {path(t, 0, svc), t.Context(), stream, "key", rpc.Unimplemented, rpc.Refused},
		"metadata":  {path(t, 0, svc), t.Context(), m, "limosa-code", rpc.InvalidArgument, rpc.NotSent},
	} {
		x := stub.NewCall[string, string](tt.method, "One")
		x.Header.Add(tt.key, "value")
		if err := tt.p.Do(tt.ctx, &x.Call); rpc.CodeOf(err) != tt.code || rpc.SentOf(err) != tt.sent {
			t.Errorf("%s: %v, %v; want %v, %v", name, err, rpc.SentOf(err), tt.code, tt.sent)
		}
	}
	if ran != 0 {
		t.Errorf("the handler has run %d times", ran)
	}
}

// A oneway call has run when it returns, whatever its handler says; and the place
// that a call has is free again behind it.
func TestOnewayRuns(t *testing.T) {
	ran := 0
	svc, m := rig.One("note", func(context.Context, *rpc.Call) error { ran++; return rpc.Errorf(rpc.NotFound, "nothing") })
	m.Kind = rpc.Oneway
	p := path(t, 1, svc)
	for range 3 {
		if _, err := rig.Call(t.Context(), p, m, "x"); err != nil {
			t.Error(err)
		}
	}
	if ran != 3 {
		t.Errorf("%d of 3 calls have run", ran)
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// Neither side gets what the other one holds, and no memory is left behind.
func TestNothingIsShared(t *testing.T) {
	before := buf.Live()
	var held *rpc.Call
	svc, m := rig.One("keep", func(_ context.Context, c *rpc.Call) error {
		held = c
		arg, err := stub.Args[string](c)
		if err != nil {
			return err
		}
		c.Header.Add("mine", "yes")
		*stub.Result[string](c) = strings.ToUpper(*arg)
		return nil
	})
	x := stub.NewCall[string, string](m, "One")
	x.Args = "hello"
	if err := path(t, 0, svc).Do(t.Context(), &x.Call); err != nil || x.Result != "HELLO" {
		t.Fatalf("%q, %v", x.Result, err)
	}
	if held == &x.Call || x.Header.Has("mine") {
		t.Error("the caller sees what the handler did to its call")
	}
	if n := buf.Live(); n != before {
		t.Errorf("%d blocks are left: %s", n-before, buf.Unreleased())
	}
}

// The answer of a handler that has outlived its call is dropped, as one that comes over a
// connection is: the caller is told what the call has ended with. What a handler says that
// has noticed is passed on.
func TestLateAnswersAreDropped(t *testing.T) {
	for name, tt := range map[string]struct {
		runs time.Duration // the handler, with half a second to do it in
		says func(ctx context.Context) error
		code rpc.Code
		sent rpc.Sent
	}{
		"deadline, ignored":  {time.Second, func(context.Context) error { return nil }, rpc.DeadlineExceeded, rpc.Maybe},
		"deadline, an error": {time.Second, func(context.Context) error { return rpc.NotFound }, rpc.DeadlineExceeded, rpc.Maybe},
		"deadline, noticed":  {time.Second, context.Context.Err, rpc.DeadlineExceeded, rpc.Processed},
		"cancel, ignored":    {0, func(context.Context) error { return nil }, rpc.Canceled, rpc.Maybe},
		"in time":            {time.Second / 4, func(context.Context) error { return nil }, rpc.OK, rpc.Processed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second/2)
				defer cancel()
				svc, m := rig.One("late", func(ctx context.Context, c *rpc.Call) error {
					c.Trailer.Add("mine", "yes")
					*stub.Result[string](c) = "done"
					if tt.runs == 0 {
						cancel()
					}
					time.Sleep(tt.runs)
					synctest.Wait() // the end has got to ctx
					return tt.says(ctx)
				})
				x := stub.NewCall[string, string](m, "One")
				err := path(t, 0, svc).Do(ctx, &x.Call)
				if rpc.CodeOf(err) != tt.code || err != nil && rpc.SentOf(err) != tt.sent {
					t.Errorf("%v, %v; want %v, %v", err, rpc.SentOf(err), tt.code, tt.sent)
				}
				if (x.Result == "done") != (tt.code == rpc.OK) {
					t.Errorf("the answer is %q", x.Result)
				}
			})
		})
	}
}
