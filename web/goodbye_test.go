package web_test

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
)

// A server that goes names the last call that it has begun. Those beyond it are refused,
// and may be made elsewhere; those before it are still answered.
func TestClientHearsGoodbye(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newClientRig(t)
		e := newEnd(t, r.peer, http2.Server)
		got := [2]chan error{make(chan error, 1), make(chan error, 1)}
		call := func(i int) {
			_, _, err := say(t.Context(), r.client, "question")
			got[i] <- err
		}
		go call(0)
		e.hears() // the first call is known to the server
		e.send(http2.Send{Flags: http2.GoAway | http2.HasLast}, "")
		// The second one crosses the goodbye.
		go call(1)
		synctest.Wait()
		if err := <-got[1]; !rpc.SentOf(err).Retryable() {
			t.Errorf("the call beyond the last one: %v", err)
		}
		e.send(http2.Send{Flags: http2.Answer | http2.Data | http2.End, ID: 1,
			// An answer as any other.
			Head: http2.NewHead(http2.Field{Name: ":status", Value: "200"}, http2.Field{Name: "content-type", Value: "application/grpc"}),
			Tail: http2.NewHead(http2.Field{Name: "grpc-status", Value: "0"})}, message("answer"))
		if err := <-got[0]; err != nil {
			t.Errorf("the call before: %v", err)
		}
		// Nothing more is begun on this connection.
		if _, usable := r.client.Status(); usable {
			t.Error("the connection takes calls still")
		}
	})
}

// A server that breaks the rules of HTTP/2 is told which before the connection ends: what a
// client finds wrong as it applies a frame leaves as what it finds wrong as it cuts one.
func TestClientSaysGoodbye(t *testing.T) {
	for name, frame := range map[string]string{
		"more than the connection's window": "\x00\x00\x04\x08\x00\x00\x00\x00\x00\x7f\xff\xff\xff",
		"no credit for the connection":      "\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00",
		"an answer to nothing":              "\x00\x00\x01\x00\x00\x00\x00\x00\x07x",
	} {
		synctest.Test(t, func(t *testing.T) {
			r := newClientRig(t)
			e := newEnd(t, r.peer, http2.Server)
			got := make(chan error, 1)
			go func() {
				_, _, err := say(t.Context(), r.client, "question")
				got <- err
			}()
			e.hears()
			o := e.nc.Output()
			o.Lock()
			o.Out().AppendString(frame)
			if o.Unlock() {
				o.Flush() //nolint:errcheck // what does not come is missed
			}
			said := e.hears()
			if err := <-got; rpc.CodeOf(err) != rpc.Unavailable && rpc.CodeOf(err) != rpc.Internal {
				t.Errorf("%s: the call: %v", name, err)
			}
			if !strings.HasPrefix(said, "goaway:") || strings.HasPrefix(said, "goaway:NO_ERROR") {
				t.Errorf("%s: the server hears %q", name, said)
			}
		})
	}
}
