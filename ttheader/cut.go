package ttheader

import (
	"errors"
	"math"
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A frame is one that was found at the start of the input: a message with what
// precedes it, or the head of one that is too large.
type frame struct {
	shape   shape
	old     bool // the message has no version
	compact bool // it is in the Compact protocol
	head    bool // s.in.head is this frame's
	counts  bool // a piece that takes credit
	packed  bool // the message is compressed: what its envelope says is not known
	message int  // offset of the envelope
	body    int  // offset of the struct behind it
	end     int  // offset of the end; of a frame that is too large it may lie beyond the input
	name    []byte
	typ     raw.MessageType
	seq     int32

	fault *rpc.Error // why this call cannot be made although the frame is whole or can be skipped
	fatal error      // with fault: the connection's place in the input is lost
}

// hasMessage is false for the signals of negotiation.
func (f *frame) hasMessage() bool { return f.message < f.end }

// skipStep bounds how much of a frame that is too large is received at a time.
const skipStep = 64 << 10

// maxFrame keeps offsets within an int of 32 bits.
const maxFrame = math.MaxInt32 - 1<<20

// Cut takes the next event off in. The caller holds the read role.
//
//	for {
//		skip what is left of a frame that was too large
//		a DATA frame of a stream?  -> its event        (cutData: most frequent, and known by 30 bytes)
//		find the frame             -> need more, or the connection is broken
//		a piece                    -> gather it; an event once its message is whole
//		a request, or an answer    -> its event, with a View of the body
//		a signal                   -> its event, or nothing: go on
//	}
//
// find looks, and takes nothing: a frame of which a part is missing is looked at anew
// when more has come. What find keeps is in s.in.head, and for bare messages, whose
// end is expensive to find, in s.in.skipper.
func (s *Session) Cut(in *buf.In) (ev wire.Event, need int, err error) {
	for {
		if s.in.err != nil {
			return ev, 0, s.in.err
		}
		if s.in.skip > 0 {
			s.in.skip -= in.Skip(s.in.skip)
			if s.in.skip > 0 {
				return ev, min(s.in.skip, skipStep), nil
			}
		}
		p := in.Peek(in.Len())
		if s.cutData(in, p, &ev) {
			return ev, 0, nil
		}
		f, need, err := s.find(p)
		if err != nil {
			s.in.err = err
			return ev, 0, err
		}
		if need > 0 {
			return ev, need, nil
		}
		if f.shape == shapePiece {
			if ev, err = s.piece(in, &f); err != nil {
				s.in.err = err
				return wire.Event{}, 0, err
			}
			if s.says(&ev, &f) {
				return ev, 0, nil
			}
			continue
		}
		if s.side == wire.Server {
			err = s.request(&ev, &f)
		} else {
			err = s.answer(&ev, &f)
		}
		s.in.theader = s.in.theader || s.in.first && f.shape == shapeTHeader
		s.in.first = false
		if err == nil {
			err = s.take(in, &ev, &f)
		}
		if f.head {
			s.in.head = header{}
		}
		if err != nil {
			s.in.err = err
			return wire.Event{}, 0, err
		}
		if s.says(&ev, &f) {
			return ev, 0, nil
		}
		ev = wire.Event{} // the frame meant nothing, or is the first of several
	}
}

const (
	// dullMost is how many frames that give no event are as much work as one that does.
	dullMost = 16
	// dullPiece is the size below which a piece of a message counts as such a frame, bytes.
	dullPiece = 64
)

// says reports whether there is an event for the engine: that of f, or, on a server, one
// that means nothing, of some frames that gave none. The engine counts by events what it
// has to do for a connection, and lets others go first; a client that sends nothing but
// such frames, or tiny pieces of messages, would have it read on for ever.
func (s *Session) says(ev *wire.Event, f *frame) bool {
	dull := !f.hasMessage() || f.shape == shapeStream || f.shape == shapePiece && f.end-f.body < dullPiece
	if ev.Flags != 0 || !dull || s.side != wire.Server {
		return ev.Flags != 0
	}
	if s.in.dull++; s.in.dull < dullMost {
		return false
	}
	s.in.dull, *ev = 0, wire.Event{Flags: wire.Note}
	return true
}

// take takes the frame off in, and its body as a View if the event wants it.
func (s *Session) take(in *buf.In, ev *wire.Event, f *frame) error {
	switch {
	case f.fatal != nil:
		in.Skip(in.Len())
		s.in.err = f.fatal
		ev.Flags |= wire.Close
	case s.in.head.total != nil && s.in.agreed.has(inPieces) && f.hasMessage() && f.shape != shapeStream:
		return s.first(in, ev, f)
	case ev.Flags&wire.Message != 0:
		in.Skip(f.body)
		ev.Body = in.View(f.end - f.body)
		if f.typ == raw.Exception {
			exception(ev, &s.in.head)
		}
	default:
		s.in.skip = f.end - in.Skip(f.end)
	}
	return nil
}

// tooLarge reads the envelope of a message that is not taken: its caller is
// to be told, and the rest is skipped.
func (s *Session) tooLarge(f frame, p []byte, size int) (frame, int, error) {
	end := min(f.end, len(p))
	name, typ, seq, n, err := f.begin(p[f.message:end])
	switch {
	case errors.Is(err, raw.ErrShort) && f.message+n <= f.end:
		return f, f.message + n - end, nil
	case err != nil:
		return f, 0, envelopeErr(f.message, err)
	}
	f.name, f.typ, f.seq, f.body = name, typ, seq, f.message+n
	f.fault = sizeErr(size, s.lim)
	return f, 0, nil
}

// Allow implements [wire.Session].
func (s *Session) Allow(bytes int) {
	if s.side == wire.Server {
		s.in.allowed = bytes
	}
}

// tooMuch reports whether a message of n bytes is not taken.
func (s *Session) tooMuch(n int) bool { return n > s.lim.MessageBytes || n > s.in.allowed }

// sizeErr is what the caller of a message of n bytes is told: that it is above the limit,
// or, if it is not, that less is allowed now.
func sizeErr(n int, lim *rpc.Limits) *rpc.Error {
	if n <= lim.MessageBytes {
		return &rpc.Error{Code: rpc.ResourceExhausted, Msg: "no room for a message of " + strconv.Itoa(n) + " bytes now"}
	}
	return &rpc.Error{Code: rpc.ResourceExhausted, Msg: "message of " + strconv.Itoa(n) + " bytes, Limits.MessageBytes is " + strconv.Itoa(lim.MessageBytes)}
}

// headerTooLarge ends a connection: nothing is kept of such a header, not even what it
// takes to answer.
func headerTooLarge(n int) error {
	return &rpc.Error{Code: rpc.ResourceExhausted, Op: "header", Msg: "header of " + strconv.Itoa(n) + " bytes"}
}

// headerErr keeps what a header's parser found. Too much metadata still lets
// the call be answered, before the connection is closed; of a stream's frame
// it is not even known what it is.
func (f *frame) headerErr(err error) error {
	if err != errHeaderLimit || !f.hasMessage() || f.shape == shapeStream {
		return err
	}
	f.fault, f.fatal = errHeaderLimit, errHeaderLimit
	return nil
}
