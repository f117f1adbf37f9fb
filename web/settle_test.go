package web_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// answered is what a server sends to a call of Say.
func answered(id uint64) http2.Send {
	return http2.Send{Flags: http2.Answer | http2.Data | http2.End, ID: id,
		Head: http2.NewHead(http2.Field{Name: ":status", Value: "200"}, http2.Field{Name: "content-type", Value: "application/grpc"}),
		Tail: http2.NewHead(http2.Field{Name: "grpc-status", Value: "0"})}
}

// Until a server has said how many calls it takes there is one, since any takes one. Then
// there are as many as it takes, and the others wait.
func TestClientWaitsForSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newClientRig(t)
		e := newEnd(t, r.peer, http2.Server)
		e.h = http2.New(http2.Server, http2.Config{Streams: 2, Gather: func(*http2.Fields) bool { return false }})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if _, _, err := say(t.Context(), r.client, "x"); err != nil {
					t.Error(err)
				}
			})
		}
		at := 0
		for i, want := range []int{1, 1, 1, 1} {
			if got := strings.Count(e.hears(), "POST "); got != want { // the first time it says what it takes
				t.Fatalf("step %d: %d calls have come, want %d", i, got, want)
			}
			if i > 0 {
				at++
				e.send(answered(uint64(2*at-1)), message("x"))
			}
		}
		e.send(answered(7), message("x"))
		all.Wait()
	})
}

// A stream that was opened and sends nothing does not keep the server from saying it.
func TestClientAsksForSettings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newClientRig(t)
		e := newEnd(t, r.peer, http2.Server)
		ctx, leave := context.WithCancel(t.Context())
		var all sync.WaitGroup
		defer all.Wait()
		defer leave()
		all.Go(func() {
			stub.Gather[string, string](ctx, r.client, stub.Make(method("Up", rpc.ClientStream), "test.Words", nil, nil), func(func(*string, error) bool) { <-ctx.Done() }) //nolint:errcheck // it is given up
		})
		synctest.Wait()
		all.Go(func() {
			if _, _, err := say(t.Context(), r.client, "x"); err != nil {
				t.Error(err)
			}
		})
		if got := e.hears(); got != "" {
			t.Errorf("before the server's settings: %s", got)
		}
		if got := e.hears(); !strings.HasPrefix(got, "POST /test.Words/Say") {
			t.Errorf("behind them: %s", got)
		}
		e.send(answered(1), message("x"))
	})
}
