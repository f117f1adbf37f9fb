package ttheader

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// Large messages in pieces, so that small ones need not wait for them:
//
//	first piece   a frame as of any call, with keyTotal; it ends within the body
//	later pieces  a TTHeader with flagPiece and the call's sequence id, then bytes
//	the last      is known by the total: there is no mark
//
// Frames of other calls may stand between them. The receiver gathers the body in one
// piece of memory (kept.body), so that the codec sees what it would have seen of a
// whole frame.
//
// A message may be dropped while it comes: the limit, no room, or its call was given
// up. Then its caller is told at once, and the rest is read past; the sender need not
// know. What takes credit (flagCredit) is granted anew as it is received, whatever
// becomes of it: the sender has counted it.

// PieceWindow is what either side may send in later pieces before the other has
// granted anything, bytes; docs/wire/negotiation.md's.
const PieceWindow = 384 << 10

const (
	// unfinishedShare of Limits.HeldPerConn is what messages of a connection that
	// arrive in pieces may take together; it is never less than a message.
	unfinishedShare = 2
	// unfinishedBytes is about what a message in pieces takes besides its body and
	// its metadata, pairBytes what a pair takes besides its text.
	unfinishedBytes = 512
	pairBytes       = 56
)

// unfinished gathers messages that arrive in pieces, by sequence id. All of it is
// bounded by what has arrived, not by what is announced: a message for which there
// is no more room is given up, and what follows of it is read past.
type unfinished struct {
	all    map[uint32]*partial
	bytes  int    // of memory that they take
	pieces uint64 // that have come
}

// A partial is a message of which the first piece has arrived.
type partial struct {
	*kept     // nil: its caller was told already: the rest is read past
	total int // of the body
	seen  int
}

// kept is what has come of a message.
type kept struct {
	ev        wire.Event
	exception *header // not nil: it is one, and this is what its header says
	body      buf.Gather
	bytes     int // of memory that it takes
}

// first begins a message in pieces with the frame at hand, which holds the
// envelope and the first of the body.
func (s *Session) first(in *buf.In, ev *wire.Event, f *frame) error {
	g := &partial{}
	total, err := strconv.ParseUint(string(s.in.head.total), 10, 31)
	g.total = int(total) - (f.body - f.message)
	g.seen = f.end - f.body
	if err != nil || g.total <= g.seen {
		return &FrameError{Offset: f.message, Why: fmt.Sprintf("first piece of a message of %.20q bytes", s.in.head.total)}
	}
	p := &s.in.unfinished
	seq := uint32(f.seq)
	if _, twice := p.all[seq]; twice || len(p.all) >= s.maxUnfinished() || droppedBytes*len(p.all) > s.in.allowed {
		return &FrameError{Offset: f.message, Why: "one piece too many"}
	}
	in.Skip(f.body)
	if ev.Flags&wire.Message != 0 {
		if int(total) > s.lim.MessageBytes {
			s.refuse(ev, sizeErr(int(total), s.lim))
		} else if !s.keep(g, ev, f, in.Peek(g.seen)) {
			s.refuse(ev, s.unfinishedErr())
		}
	}
	s.in.skip = g.seen - in.Skip(g.seen) // of a piece that is too large the rest is still to come
	if p.all == nil {
		p.all = make(map[uint32]*partial)
	}
	p.all[seq] = g
	p.pieces++
	if g.kept == nil {
		return nil // the event goes on to the engine: it tells the caller
	}
	settings := wire.Event{Flags: ev.Flags & (wire.Settings | wire.GoAway), Tag: ev.Tag}
	g.ev.Flags &^= settings.Flags
	*ev = settings // what the frame says besides is not to wait
	return nil
}

// maxUnfinished bounds the messages of a connection that are unfinished, those that
// are read past included: each call may have one. While little is allowed there
// are fewer: to know what is read past takes memory as well, on each connection.
func (s *Session) maxUnfinished() int { return 2 * s.lim.CallsPerConn }

// keep keeps the first piece of g, if there is room for it and its metadata.
func (s *Session) keep(g *partial, ev *wire.Event, f *frame, piece []byte) bool {
	p, h := &s.in.unfinished, &s.in.head
	k := &kept{ev: *ev, bytes: unfinishedBytes + f.body + pairBytes*len(h.pairs)}
	p.bytes += k.bytes
	if s.free() < 0 || !s.grow(k, g, len(piece)) {
		p.bytes -= k.bytes
		return false
	}
	if f.typ == raw.Exception {
		k.exception = &header{code: bytes.Clone(h.code), refused: h.refused, details: h.details}
	}
	k.body.Add(piece)
	g.kept = k
	return true
}

// grow makes room for n more bytes of k, if there is any.
func (s *Session) grow(k *kept, g *partial, n int) bool {
	taken, ok := k.body.Grow(n, g.total, s.free())
	k.bytes += taken
	s.in.unfinished.bytes += taken
	return ok
}

// refuse makes ev that of a message which is not taken.
func (s *Session) refuse(ev *wire.Event, why *rpc.Error) {
	ev.Flags &^= wire.Message
	if ev.Err = why; s.side == wire.Server {
		ev.Err.Sent = rpc.Refused
	} else {
		ev.Err.Op, ev.Err.Sent = "receive", rpc.Processed
	}
}

// unfinishedErr is what the caller of a message is told for which there is no room
// beside the others that are unfinished.
func (s *Session) unfinishedErr() *rpc.Error {
	return &rpc.Error{Code: rpc.ResourceExhausted, Msg: "unfinished messages take " + strconv.Itoa(s.in.unfinished.bytes) + " bytes on this connection"}
}

// findPiece finds a later piece at the start of p, with a head of at bytes. Only one
// that is kept is waited for: the others are read past as they come, however large.
func (s *Session) findPiece(f frame, p []byte, at int) (frame, int, error) {
	f.shape, f.body = shapePiece, at
	f.counts = binary.BigEndian.Uint16(p[6:])&flagCredit != 0
	f.seq = int32(binary.BigEndian.Uint32(p[8:]))
	if at > s.maxHeader {
		return f, 0, headerTooLarge(at)
	}
	want := at
	if g, n := s.in.unfinished.all[uint32(f.seq)], f.end-at; g != nil && g.seen+n <= g.total && s.keeps(g, n) {
		want = f.end
	}
	return f, max(0, want-len(p)), nil
}

// keeps reports whether there is room for n more bytes of g, of which all was kept
// so far.
func (s *Session) keeps(g *partial, n int) bool {
	if g.kept == nil || s.in.unfinished.bytes > s.in.allowed && g.body.Len()+n < g.total {
		return false
	}
	return g.body.Len()+n-g.body.Cap() <= max(0, s.free())
}

// free is how many bytes more unfinished messages may take.
func (s *Session) free() int {
	return min(max(s.lim.HeldPerConn/unfinishedShare, s.lim.MessageBytes), s.in.allowed) - s.in.unfinished.bytes
}

// piece takes a later piece. The event has flags once the message is whole or is
// given up, or when credit is due.
func (s *Session) piece(in *buf.In, f *frame) (ev wire.Event, err error) {
	seq, p := uint32(f.seq), &s.in.unfinished
	g := p.all[seq]
	n := f.end - f.body
	if g == nil || n == 0 || g.seen+n > g.total {
		return ev, &FrameError{Offset: f.body, Why: fmt.Sprintf("a piece of %d bytes that does not fit", n)}
	}
	in.Skip(f.body)
	if s.keeps(g, n) {
		s.grow(g.kept, g, n)
		g.body.Add(in.Next(n))
	} else {
		s.in.skip = n - in.Skip(n)
		if g.kept != nil {
			ev = g.ev
			s.refuse(&ev, s.unfinishedErr())
			p.bytes -= g.bytes
			g.kept = nil
		}
	}
	g.seen += n
	p.pieces++
	if g.seen == g.total {
		p.forget(seq)
		if g.kept != nil {
			ev = g.ev
			ev.Body = g.body.View()
			if g.exception != nil {
				exception(&ev, g.exception)
			}
		}
	}
	if f.counts && s.in.agreed.has(pieceCredit) {
		s.give(&ev, n)
	}
	return ev, nil
}

// give notes n bytes that took credit, and has the engine grant as much anew
// once that is worth a frame. It does not matter what becomes of them.
func (s *Session) give(ev *wire.Event, n int) {
	if s.in.gathered += n; s.in.gathered >= PieceWindow/2 {
		ev.Flags |= wire.Credit
		ev.Tag[0] |= tagGive
		ev.Credit = s.in.gathered
		s.in.gathered = 0
	}
}

// creditOf takes the credit that a frame without a message brings, if it does.
func (s *Session) creditOf(ev *wire.Event, h *header) bool {
	n, err := strconv.ParseUint(string(h.credit), 10, 31)
	if !s.in.agreed.has(pieceCredit) || h.seq != 0 || err != nil || n == 0 {
		return false
	}
	ev.Flags |= wire.Credit
	ev.Credit = int(n)
	return true
}

// forget ends a partial: it is whole, or its call has ended otherwise.
func (p *unfinished) forget(seq uint32) {
	if g := p.all[seq]; g != nil {
		if g.kept != nil {
			p.bytes -= g.bytes
		}
		if delete(p.all, seq); len(p.all) == 0 {
			p.all = nil // a map keeps what it grew to
		}
	}
}

// held is the memory of all that is gathered.
func (p *unfinished) held() int { return p.bytes + droppedBytes*len(p.all) }

// droppedBytes is about what a message takes of which nothing is kept.
const droppedBytes = 96

// Unfinished implements [wire.Session].
func (s *Session) Unfinished() uint64 {
	if len(s.in.unfinished.all) == 0 {
		return 0
	}
	return s.in.unfinished.pieces
}

// beginPiece appends the head of a later piece.
func (s *Session) beginPiece(out *buf.Out, ev *wire.Event) {
	s.out.shape = shapePiece
	s.reserve(out)
	seq := uint32(ev.ID)
	if s.side == wire.Server {
		seq = uint32(seqOf(ev.Tag))
	}
	w := writer{b: out.Block()}
	flags := uint16(flagPiece)
	if ev.Flags&wire.Credit != 0 {
		flags |= flagCredit
	}
	w.open(flags, seq, 0)
	w.close()
	out.Commit(w.b)
	s.out.body = out.Mark()
}
