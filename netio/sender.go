package netio

import (
	"time"
)

// A Sender is what an Output sends through. Only the flusher calls Send and
// CloseSend, so neither runs twice at a time.
type Sender interface {
	// Send sends from the start of b as much as goes, and returns how many
	// bytes that were: for each try it takes the pieces from b, and tells b what
	// went. If nothing goes it waits up to wait for room, and then returns
	// os.ErrDeadlineExceeded; with wait 0 it never waits and returns 0, nil. It
	// also returns 0, nil after Wake.
	Send(b *Batch, wait time.Duration) (n int, err error)
	// CloseSend tells the peer that nothing follows.
	CloseSend() error
	// Wake makes a Send that waits return soon.
	Wake()
	// Stalled aborts the connection: its peer took nothing for too long.
	Stalled(cause error)
}

// sends is the part of a Sender that flush needs.
type sends interface {
	Send(b *Batch, wait time.Duration) (n int, err error)
}

// A Batch is what an Output has on its way. It belongs to the flusher.
type Batch Output

// Pieces appends to dst, up to its capacity, what is to be sent first. The
// pieces are borrowed until Sent. From here on they count as handed on: whoever
// sees what follows from the send, a reset for example, must not find that
// nothing was. None: the connection has failed, and nothing may be sent.
func (b *Batch) Pieces(dst [][]byte) [][]byte {
	iov := b.sending.Iov(dst)
	if b.seal != nil {
		return iov // counted when it was taken, under the lock
	}
	n := b.sent
	for _, p := range iov {
		n += uint64(len(p))
	}
	b.handed.Store(n)
	// Look after the claim: whoever failed the connection before it may have
	// read HandedToKernel already; whoever does so from here on finds the claim.
	if b.err.Load() != nil {
		b.handed.Store(b.sent)
		return dst
	}
	return iov
}

// Sent tells that the first n bytes of the last Pieces have gone, 0 if none.
func (b *Batch) Sent(n int) {
	if b.seal == nil {
		b.sent += uint64(n)
		b.handed.Store(b.sent)
	}
	if n > 0 {
		b.sending.Sent(n)
		(*Output)(b).count(-n)
	}
}
