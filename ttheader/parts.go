package ttheader

import (
	"fmt"
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// PieceWindow is what either side may send in later pieces before the other has
// granted anything, bytes; docs/wire/negotiation.md's.
const PieceWindow = 384 << 10

const (
	// maxParts bounds the messages of one connection that arrive in pieces at
	// the same time; together they take at most partsFactor whole messages.
	maxParts    = 1024
	partsFactor = 4
	// firstPart is the memory that a message in pieces gets at first. More
	// comes as its bytes do: a peer that announces much and sends little costs
	// little.
	firstPart = 2 << 20
)

// parts gathers messages that arrive in pieces, by sequence id.
type parts struct {
	all   map[uint32]*gathering
	bytes int // announced by all of them
}

// A gathering is a message of which the first piece has arrived.
type gathering struct {
	ev    wire.Event
	body  []byte
	total int  // of the body
	drop  bool // its caller was told already: the rest is read past
	seen  int
}

// first begins a message in pieces with the frame at hand, which holds the
// envelope and the first of the body.
func (s *Session) first(in *buf.In, ev *wire.Event, f *frame) error {
	g := &gathering{ev: *ev, drop: ev.Flags&wire.Message == 0}
	total, err := strconv.ParseUint(string(s.in.head.total), 10, 31)
	g.total = int(total) - (f.body - f.message)
	g.seen = f.end - f.body
	if err != nil || g.total <= g.seen {
		return &FrameError{Offset: f.message, Why: fmt.Sprintf("first piece of a message of %.20q bytes", s.in.head.total)}
	}
	p := &s.in.parts
	seq := uint32(f.seq)
	if _, twice := p.all[seq]; twice || len(p.all) >= maxParts {
		return &FrameError{Offset: f.message, Why: "one piece too many"}
	}
	if !g.drop && (int(total) > s.lim.MessageBytes || p.bytes+g.total > partsFactor*s.lim.MessageBytes) {
		g.drop = true
		ev.Flags &^= wire.Message
		ev.Err = sizeErr(int(total), s.lim)
		if s.side == wire.Server {
			ev.Err.Sent = rpc.Refused
		} else {
			ev.Err.Op, ev.Err.Sent = "receive", rpc.Processed
		}
	}
	if p.all == nil {
		p.all = make(map[uint32]*gathering)
	}
	p.all[seq] = g
	p.bytes += g.total
	in.Skip(f.body)
	if g.drop {
		in.Skip(g.seen) // the event goes on to the engine: it tells the caller
		return nil
	}
	g.body = append(codec.Uncleared(max(g.seen, min(g.total, firstPart)))[:0], in.Next(g.seen)...)
	settings := wire.Event{Flags: ev.Flags & (wire.Settings | wire.GoAway), Tag: ev.Tag}
	g.ev.Flags &^= settings.Flags
	*ev = settings // what the frame says besides is not to wait
	return nil
}

// part takes a later piece. The event has flags once the message is whole, or
// when credit is due.
func (s *Session) part(in *buf.In, f *frame) (ev wire.Event, err error) {
	seq, p := uint32(f.seq), &s.in.parts
	g := p.all[seq]
	n := f.end - f.body
	if g == nil || n == 0 || g.seen+n > g.total {
		return ev, &FrameError{Offset: f.body, Why: fmt.Sprintf("a piece of %d bytes that does not fit", n)}
	}
	in.Skip(f.body)
	g.seen += n
	if g.drop {
		in.Skip(n)
	} else {
		if need := len(g.body) + n; need > cap(g.body) {
			grown := codec.Uncleared(min(g.total, max(need, 2*cap(g.body))))[:len(g.body)]
			copy(grown, g.body)
			g.body = grown
		}
		g.body = append(g.body, in.Next(n)...)
	}
	if g.seen == g.total {
		p.forget(seq)
		if !g.drop {
			ev = g.ev
			ev.Body = buf.ViewOf(g.body)
		}
	}
	if f.counts && s.in.paced {
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
	if !s.in.paced || h.seq != 0 || err != nil || n == 0 {
		return false
	}
	ev.Flags |= wire.Credit
	ev.Credit = int(n)
	return true
}

// forget ends a gathering: it is whole, or its call was given up.
func (p *parts) forget(seq uint32) {
	if g := p.all[seq]; g != nil {
		p.bytes -= g.total
		delete(p.all, seq)
	}
}

// beginPart appends the head of a later piece.
func (s *Session) beginPart(out *buf.Out, ev *wire.Event) {
	s.out.shape = shapePart
	s.reserve(out)
	seq := uint32(ev.ID)
	if s.side == wire.Server {
		seq = uint32(seqOf(ev.Tag))
	}
	w := writer{b: out.Block()}
	flags := uint16(flagPart)
	if ev.Flags&wire.Credit != 0 {
		flags |= flagCredit
	}
	w.open(flags, seq, 0)
	w.close()
	out.Commit(w.b)
	s.out.body = out.Mark()
}
