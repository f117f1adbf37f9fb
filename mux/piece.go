package mux

import (
	"context"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/wire"
)

const (
	// pieceFrom is the size of a body from which it goes in pieces of
	// pieceBytes, if the peer can gather them and small messages are beside it: a
	// small one then waits for one piece at most, not for a whole message.
	pieceFrom  = 256 << 10
	pieceBytes = 128 << 10
	// wholeBytes is the size up to which a message that is alone goes whole, by
	// reference: pieces cost it a third of its time. What is larger goes in
	// pieces of that size, so that small messages find a gap in the end.
	wholeBytes = 2 << 20
	// besideFor is how many large messages a small one is taken to be beside:
	// there will be more like it.
	besideFor = 64
	// pieceQueued is what may still be queued when the next piece is: enough for
	// the socket never to run dry.
	pieceQueued = pieceBytes / 2
)

// describe makes ev that of the next piece, of n bytes or what is left, of body, of
// which what was sent has been taken off; ev's Total is 0 before the first. It
// returns the size.
func describe(ev *wire.Event, body *buf.Out, n int) int {
	ev.Flags |= wire.Message | wire.Piece
	ev.Flags &^= wire.End
	if ev.Total == 0 {
		ev.Total = body.Len()
	}
	ev.Offset = ev.Total - body.Len()
	n = min(body.Len(), n)
	if n == body.Len() {
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

// pieces is how a large message goes on.
type pieces struct {
	size   int  // of the next one; 0: the message goes whole
	beside bool // it has small messages beside it: what is on its way is bounded by the peer's credit
}

// begin decides over a large message of n bytes.
func (m *mix) begin(n int) pieces {
	if m.left == 0 && n <= wholeBytes {
		return pieces{}
	}
	p := m.goOn()
	m.left = max(0, m.left-1)
	return p
}

// goOn decides over what is left of one that has begun.
func (m *mix) goOn() pieces {
	if m.left > 0 {
		return pieces{size: pieceBytes, beside: true}
	}
	return pieces{size: wholeBytes}
}

// awaitCredit waits until may says that the next piece may be sent; granted is
// raised when it may say otherwise than before. A peer that grants nothing
// for stall is one that takes nothing.
func awaitCredit(ctx context.Context, granted signal, stall time.Duration, may func() bool) error {
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
