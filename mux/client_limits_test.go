package mux_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// twisted is a protocol whose sessions of a client are changed.
type twisted struct {
	wire.Protocol
	twist func(wire.Session) wire.Session
}

func (p twisted) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	s := p.Protocol.Open(side, lim)
	if side == wire.Client {
		s = p.twist(s)
	}
	return s
}

// brokenPieces cannot frame a piece from the offset on.
type brokenPieces struct {
	wire.Session
	from int
}

func (s brokenPieces) End(out *buf.Out, m buf.Mark, ev *wire.Event) error {
	if ev.Flags&wire.Piece != 0 && ev.Offset >= s.from {
		return errors.New("no more")
	}
	return s.Session.End(out, m, ev)
}

// A call of which a later piece cannot be framed fails; it does not wait for an
// answer to a request that will never be whole.
func TestLaterPieceThatCannotBeFramed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := twisted{ttheader.Protocol{}, func(s wire.Session) wire.Session { return brokenPieces{s, 3 << 20} }}
		r := newRigOver(t, p, rpc.Limits{}, echo.route, mux.Spare)
		if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := r.large(ctx, "echo", strings.Repeat("x", 8<<20))
		if rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.Maybe || !strings.Contains(err.Error(), "no more") {
			t.Errorf("a request of which the fourth MB cannot be framed: %v, %v", err, rpc.SentOf(err))
		}
		if got, _, err := r.call(ctx, "echo", "still there"); err != nil || got != "still there" {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	})
}

// withHeaders has every message of a stream come with metadata.
type withHeaders struct{ wire.Session }

func (s withHeaders) Cut(in *buf.In) (wire.Event, int, error) {
	ev, need, err := s.Session.Cut(in)
	if ev.Flags&(wire.Stream|wire.Message) == wire.Stream|wire.Message {
		ev.Header = rpc.Metadata{{Key: "k", Value: strings.Repeat("v", 100)}}
	}
	return ev, need, err
}

// A server cannot make a client keep metadata without end.
func TestMetadataOfAStreamIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := twisted{ttheader.Protocol{}, func(s wire.Session) wire.Session { return withHeaders{s} }}
		r := newRigOver(t, p, rpc.Limits{}, simple.route, mux.Spare)
		n := 0
		var last error
		for _, err := range r.count(t.Context(), "1000") {
			if last = err; err == nil {
				n++
			}
		}
		if n != 64 || rpc.CodeOf(last) != rpc.ResourceExhausted {
			t.Errorf("%d messages with a pair each, then %v", n, last)
		}
		n = 0
		for _, err := range r.count(t.Context(), "50") {
			if err == nil {
				n++
			}
		}
		if n != 50 {
			t.Errorf("%d of 50 messages on the next stream", n)
		}
	})
}

// There are as many ids as an id can name slots, and no more: one more would be
// the id of another call, whatever of it waits.
func TestIDsAreNotUsedTwice(t *testing.T) {
	if testing.Short() {
		t.Skip("65,536 streams")
	}
	if raceEnabled {
		t.Skip("65,536 goroutines cost the race detector 2 GB")
	}
	lim := rpc.Limits{StreamsPerConn: 1 << 17, CallsPerConn: 1 << 17}
	r := newRig(t, ttheader.TTHeader, lim, echo)
	if _, _, err := r.call(t.Context(), "echo", "hello"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	const all = 1 << 16
	ended, begun := make(chan error, all), make(chan struct{}, all)
	for range all {
		x := stub.NewCall[string, string](chatMethod, "Test")
		go func() {
			ended <- stub.Converse(ctx, r.client, &x.Call, func(ctx context.Context, _ rpc.Stream) error {
				begun <- struct{}{}
				<-ctx.Done() // nothing is sent: the stream only has its id
				return nil
			})
		}()
	}
	for range all {
		select {
		case <-begun:
		case err := <-ended:
			t.Fatal(err)
		}
	}
	if _, _, err := r.call(ctx, "echo", "one more"); rpc.CodeOf(err) != rpc.ResourceExhausted || rpc.SentOf(err) != rpc.NotSent {
		t.Errorf("a call without a free id: %v", err)
	}
	cancel()
	for range all {
		<-ended
	}
	for i := range 3 {
		if got, _, err := r.call(t.Context(), "echo", fmt.Sprint(i)); err != nil || got != fmt.Sprint(i) {
			t.Errorf("afterwards: %q, %v", got, err)
		}
	}
}
