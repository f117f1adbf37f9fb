package mux

import (
	"context"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

const (
	// chunkFrom is the size of a body from which it goes in pieces of
	// chunkBytes, if the peer can gather them and small messages are beside it: a
	// small one then waits for one piece at most, not for a whole message.
	chunkFrom  = 256 << 10
	chunkBytes = 128 << 10
	// wholeBytes is the size up to which a message that is alone goes whole, by
	// reference: pieces cost it a third of its time. What is larger goes in
	// pieces of that size, so that small messages find a gap in the end.
	wholeBytes = 2 << 20
	// besideFor is how many large messages a small one is taken to be beside:
	// there will be more like it.
	besideFor = 64
	// chunkRoom is what may still be queued when the next piece is: enough for
	// the socket never to run dry.
	chunkRoom = chunkBytes / 2
)

// piece describes the next piece, of n bytes or what is left, of a body of which
// rest is left, and ev's Offset and Total the state before it. It returns the
// size.
func piece(ev *wire.Event, rest *buf.Out, n int) int {
	ev.Flags |= wire.Message | wire.Part
	ev.Flags &^= wire.End
	if ev.Total == 0 {
		ev.Total = rest.Len()
	}
	ev.Offset = ev.Total - rest.Len()
	n = min(rest.Len(), n)
	if n == rest.Len() {
		ev.Flags |= wire.End
	}
	return n
}

// A mix tells whether large messages have small ones beside them: then they go
// in pieces, and what is on its way is bounded by the peer's credit, so that the
// small ones overtake it. Guarded by the output lock.
type mix struct{ left int }

// small notes a small message.
func (m *mix) small() { m.left = besideFor }

// next decides over a large message, or what is left of one: rest bytes, of
// which some are sent already if it is begun. n is the size of the next piece,
// or 0: all of it is to go at once. beside: it has small messages beside it.
func (m *mix) next(rest int, begun bool) (n int, beside bool) {
	if m.left > 0 {
		if !begun {
			m.left--
		}
		return chunkBytes, true
	}
	if rest <= wholeBytes && !begun {
		return 0, false
	}
	return wholeBytes, false
}

// awaitRoom waits until may says that the next piece may be sent; granted is
// signalled when it may say otherwise than before. A peer that grants nothing
// for stall is one that takes nothing.
func awaitRoom(ctx context.Context, granted <-chan struct{}, stall time.Duration, may func() bool) error {
	if may() {
		return nil
	}
	timer := time.NewTimer(stall)
	defer timer.Stop()
	for {
		select {
		case <-granted:
			timer.Reset(stall)
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-timer.C:
			return netio.ErrStalled
		}
		if may() {
			return nil
		}
	}
}

// signal signals c, of capacity 1.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
