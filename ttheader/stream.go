package ttheader

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/wire"
)

// Types of stream frames, as text.
const (
	frameMeta    = "1"
	frameHeader  = "2"
	frameData    = "3"
	frameTrailer = "4"
	frameReset   = "5"
)

// protocolStruct is the protocol id of a payload without an envelope.
const protocolStruct = 0x10

const (
	// StreamWindow is what a stream's sender may send before the receiver has
	// granted anything, in bytes. A message may begin with any of it left.
	StreamWindow = 64 << 10
	// StreamMessage is what a message counts besides its bytes: many empty
	// ones are not free either. Both are docs/wire/streams.md's.
	StreamMessage = 64
)

// kitexStreams keeps the ids that peers of another kind choose for streams
// apart from those of their calls.
const kitexStreams = 2 << 32

// stream reads what a stream's frame has besides its header, which was parsed:
// p ends with the frame, or is the head of one that is too large.
func (f *frame) stream(p []byte, h *header, large bool, lim *rpc.Limits) {
	f.seq, f.body = int32(h.seq), f.message
	switch typ := string(h.frameType); {
	case large:
		f.fault = sizeErr(f.end-4, lim)
	case h.checksum != nil:
		f.fault = checksum(h.checksum, p[f.message:])
	case (typ == frameTrailer || typ == frameReset) && f.message < f.end:
		if f.envelope(p) != nil || f.typ != thrift.Exception {
			f.fault = &rpc.Error{Code: rpc.DataLoss, Msg: "unreadable end of a stream"}
		}
	}
}

// streamed makes the event of a stream's frame.
func (s *Session) streamed(ev *wire.Event, f *frame) error {
	h := &s.in.head
	ev.ID = uint64(h.seq)
	if s.side == wire.Server && !s.in.streams {
		ev.ID |= kitexStreams
	}
	if s.side == wire.Client {
		s.settle(ev)
	}
	switch string(h.frameType) {
	case frameMeta:
		if n, err := strconv.ParseUint(string(h.credit), 10, 31); s.in.streams && err == nil && n > 0 {
			ev.Flags |= wire.Credit | wire.Stream
			ev.Credit = int(n)
		}
	case frameHeader:
		if s.side == wire.Server {
			s.openedStream(ev, f)
		} else if len(h.pairs) > 0 {
			ev.Flags |= wire.Stream
			ev.Header = h.pairs
		}
	case frameData:
		ev.Flags |= wire.Message | wire.Stream
		if f.fault != nil {
			ev.Flags &^= wire.Message // there is no body to be taken
			ev.Err = s.faultOf(f)
		}
	case frameTrailer:
		ev.Flags |= wire.End | wire.Stream
		ev.Trailer = h.pairs
		switch {
		case f.fault != nil:
			ev.Err = s.faultOf(f)
		case len(h.bizStatus) > 0 && string(h.bizStatus) != "0":
			ev.Err = bizError(h)
		case f.message < f.end:
			ev.Flags |= wire.Message // exception takes it
		}
	case frameReset:
		ev.Flags |= wire.Reset | wire.Stream
		if f.fault == nil && f.message < f.end {
			ev.Flags |= wire.Message
		} else {
			ev.Err = &rpc.Error{Code: rpc.Unknown, Msg: "the peer ended the stream", Sent: rpc.Processed, Remote: true}
		}
	default:
		return &FrameError{Offset: fixedHead, Why: "stream frame of type " + strconv.Quote(string(h.frameType))}
	}
	if ev.Flags&wire.Settings != 0 && ev.Flags&wire.Stream == 0 {
		ev.ID = 0
	}
	return nil
}

// openedStream makes the event of a HEADER that a client sent.
func (s *Session) openedStream(ev *wire.Event, f *frame) {
	h := &s.in.head
	ev.Flags |= wire.Open | wire.Unordered | wire.Stream
	ev.Service, ev.Method = s.in.names.intern(0, h.service), s.in.names.intern(1, h.method)
	ev.Header, ev.Timeout = h.pairs, h.timeout
	ev.Tag[0] |= uint64(shapeStream) | uint64(h.seq)<<32
	ev.Tag[1] = uint64(h.seq)
	if f.fault != nil {
		ev.Err = s.faultOf(f)
		ev.Err.Sent = rpc.Refused
	}
}

// faultOf is why what a frame carried was not received.
func (s *Session) faultOf(f *frame) *rpc.Error {
	e := *f.fault
	e.Op, e.Sent = "receive", rpc.Processed
	return &e
}

// kitexCodes are the ends of streams of Kitex that mean a code.
var kitexCodes = [...]struct {
	typ  thrift.ExceptionType
	code rpc.Code
}{
	{12007, rpc.Canceled}, {12015, rpc.DeadlineExceeded}, {12013, rpc.Unavailable}, {12011, rpc.Internal},
	{12008, rpc.Canceled}, {12014, rpc.DeadlineExceeded}, {12006, rpc.Unavailable},
	{12002, rpc.Internal}, {12003, rpc.Internal}, {12004, rpc.Internal}, {12005, rpc.Internal},
}

// streamCode gives the code of an exception's type at the end of a stream.
func streamCode(typ thrift.ExceptionType) rpc.Code {
	for _, c := range kitexCodes {
		if c.typ == typ {
			return c.code
		}
	}
	return typ.Code()
}

// resetType is the reverse; what has no type of its own goes out as 12001.
func resetType(code rpc.Code) thrift.ExceptionType {
	for _, c := range kitexCodes {
		if c.code == code {
			return c.typ
		}
	}
	return 12001
}

// A sending is the sending side of a stream.
type sending struct {
	room  int  // bytes that the peer has granted and that were not sent
	begun bool // server: something was sent
}

// granted adds what the peer takes to what it took before.
func (s *Session) granted(ev *wire.Event) {
	if st := s.out.streams[uint32(ev.ID)]; st != nil {
		st.room = min(st.room+ev.Credit, math.MaxInt32)
	}
}

// Room is what the peer takes of a stream now.
func (s *Session) Room(id uint64) int {
	if !s.out.credit && (s.side == wire.Server || s.out.known) {
		return math.MaxInt // a peer without credit
	}
	if st := s.out.streams[uint32(id)]; st != nil {
		return st.room
	}
	return StreamWindow
}

// sendingSide finds, or begins, the sending side of the event's stream.
func (s *Session) sendingSide(ev *wire.Event) *sending {
	st := s.out.streams[uint32(ev.ID)]
	if st == nil {
		st = &sending{room: StreamWindow}
		if s.out.streams == nil {
			s.out.streams = make(map[uint32]*sending)
		}
		s.out.streams[uint32(ev.ID)] = st
	}
	return st
}

// beginStream appends the frames of ev up to the body of its message.
func (s *Session) beginStream(out *buf.Out, ev *wire.Event) {
	s.out.shape = shapeNone
	switch {
	case ev.Flags&wire.Credit != 0:
		if s.out.credit {
			s.streamFrame(out, ev, frameMeta)
		}
		return
	case ev.Flags&wire.Reset != 0:
		s.streamFrame(out, ev, frameReset)
		if !s.out.kin && s.side == wire.Client && s.out.streams[uint32(ev.ID)] != nil {
			s.streamFrame(out, &wire.Event{ID: ev.ID, Method: ev.Method}, frameTrailer) // as Kitex does
		}
		delete(s.out.streams, uint32(ev.ID))
		return
	}
	st := s.sendingSide(ev)
	if !st.begun && (ev.Flags&wire.Open != 0 || s.side == wire.Server && !s.out.kin) {
		s.streamFrame(out, ev, frameHeader)
	}
	st.begun = true
	switch {
	case ev.Flags&wire.Message != 0 && s.out.err == nil:
		s.out.shape = shapeStream
		s.out.frame = out.Reserve(4)
		w := writer{b: out.Block()}
		s.streamHead(&w, ev, frameData)
		out.Commit(w.b)
		s.out.body = out.Mark()
	case ev.Flags&wire.End != 0:
		s.endSending(out, ev)
	}
}

// endStream finishes the frame of a message, and appends the end if it is the
// last one.
func (s *Session) endStream(out *buf.Out, ev *wire.Event) error {
	n := out.Since(s.out.frame) - 4
	if n > s.lim.MessageBytes || n > maxFrame {
		e := sizeErr(n, s.lim)
		e.Op, e.Sent = "encode", rpc.NotSent
		return e
	}
	if st := s.out.streams[uint32(ev.ID)]; st != nil {
		st.room -= out.Since(s.out.body) + StreamMessage
	}
	patchLength(out, s.out.frame, n)
	if ev.Flags&wire.End != 0 {
		s.endSending(out, ev)
	}
	return s.out.err
}

func patchLength(out *buf.Out, m buf.Mark, n int) {
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(n))
	out.Patch(m, size[:])
}

func (s *Session) endSending(out *buf.Out, ev *wire.Event) {
	s.streamFrame(out, ev, frameTrailer)
	delete(s.out.streams, uint32(ev.ID))
}

// streamFrame appends a whole frame other than DATA.
func (s *Session) streamFrame(out *buf.Out, ev *wire.Event, typ string) {
	m := out.Reserve(4)
	w := writer{b: out.Block()}
	s.streamHead(&w, ev, typ)
	if s.out.err == nil {
		s.out.err = w.err
	}
	if ev.Err != nil && (typ == frameReset || typ == frameTrailer && !s.streamBiz(ev)) {
		t := thrift.ExceptionOf(ev.Err.Code)
		if typ == frameReset {
			t = resetType(ev.Err.Code)
		}
		w.b = thrift.AppendMessageBegin(w.b, ev.Method, thrift.Exception, int32(s.streamID(ev)))
		w.b = thrift.AppendException(w.b, s.text(ev.Err), t)
	}
	out.Commit(w.b)
	patchLength(out, m, out.Since(m)-4)
	if typ == frameHeader && s.side == wire.Client {
		s.out.offered = s.offers
	}
}

// streamBiz reports whether an error came as a business error of Kitex, which
// has no exception.
func (s *Session) streamBiz(ev *wire.Event) bool {
	return !s.out.kin && ev.Err.Details.Has(keyBizStatus)
}

func (s *Session) streamID(ev *wire.Event) uint32 {
	if s.side == wire.Server {
		return uint32(seqOf(ev.Tag))
	}
	return uint32(ev.ID)
}

// streamHead writes the header of a stream's frame.
func (s *Session) streamHead(w *writer, ev *wire.Event, typ string) {
	w.open(flagStream, s.streamID(ev), protocolStruct)
	switch typ {
	case frameMeta:
		w.number("", keyCredit, int64(ev.Credit))
	case frameHeader:
		if s.side == wire.Client {
			s.streamRequest(w, ev)
		}
	case frameTrailer, frameReset:
		s.streamEnd(w, ev, typ)
	}
	if !s.out.kin || typ == frameHeader {
		w.integer(intMethod, ev.Method) // Kitex has it in each frame
	}
	w.integer(intFrameType, typ)
	w.close()
}

// streamRequest writes what a server is told when a stream is opened.
func (s *Session) streamRequest(w *writer, ev *wire.Event) {
	if s.offers && !s.out.offered {
		w.str("", keyOffer, s.offerText())
	}
	if ev.Service != "" {
		w.str("", keyService, ev.Service)
	}
	if ev.Timeout > 0 && (s.out.kin || !s.out.known) {
		w.number("", keyTimeout, units(ev.Timeout, time.Microsecond))
	}
	for _, p := range ev.Header {
		if p.Scope == rpc.Persistent {
			w.str(prefixPersistent, p.Key, p.Value)
		} else {
			w.str(prefixTransient, p.Key, p.Value)
		}
	}
}

// streamEnd writes what is said at the end of a stream besides an exception.
func (s *Session) streamEnd(w *writer, ev *wire.Event, typ string) {
	if e := ev.Err; e != nil && s.out.kin {
		s.errorKeys(w, e)
	}
	if typ != frameTrailer || s.side == wire.Client {
		return
	}
	if ev.Err != nil && s.streamBiz(ev) {
		for _, d := range ev.Err.Details {
			switch d.Key {
			case keyBizStatus, keyBizMessage, keyBizExtra:
				w.str("", d.Key, d.Value)
			}
		}
	}
	s.trailerPairs(w, ev.Trailer)
}
