package ttheader

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What this side sends on a stream; docs/wire/streams.md has the bytes.
//
//	client   HEADER  DATA*  TRAILER          a server-streaming call has one DATA
//	server   DATA*  TRAILER                  toward Kitex a HEADER comes first
//	either   RESET                           instead of the rest: the call is given up
//	either   META                            credit, between peers of our kind
//
// A message is sent if the stream has any credit left, whatever its size: room may
// fall below 0 once, and rises again with what the peer grants.

// A sending is the sending side of a stream, from its first frame to its last.
type sending struct {
	room int // bytes that the peer has granted and that were not sent
}

// fewStreams may have been open at once without the map of them being given up.
const fewStreams = 16

// granted adds what the peer takes, of pieces or of a stream, to what it took
// before. Credit for a stream
// on which nothing was sent is for nothing.
func (s *Session) granted(ev *wire.Event) {
	if ev.Flags&wire.Stream == 0 {
		s.out.room += min(ev.Credit, math.MaxInt32-max(s.out.room, 0))
		return
	}
	if st := s.out.streams[uint32(ev.ID)]; st != nil {
		st.room += min(ev.Credit, math.MaxInt32-max(st.room, 0))
	}
}

// Credit is what the peer takes of a stream now, or with id 0 of pieces. While it
// is not known whether the peer grants credit, a stream has the first window.
func (s *Session) Credit(id uint64) int {
	if id == 0 {
		if s.out.agreed.has(pieceCredit) {
			return s.out.room
		}
		return math.MaxInt
	}
	if !s.out.agreed.has(withStreams) && (!s.offers || s.out.known) {
		return math.MaxInt // a peer without credit
	}
	if st := s.out.streams[uint32(id)]; st != nil {
		return st.room
	}
	return StreamWindow
}

// beginStream appends what precedes the body of ev's message: a HEADER, if the
// stream's first frame is due, and the head of a DATA frame. Frames without a
// body are endStream's.
//
// Nothing of it counts before endStream has succeeded: until then the engine
// may take everything back.
func (s *Session) beginStream(out *buf.Out, ev *wire.Event) {
	o := &s.out
	o.shape, o.data = shapeStream, false
	o.sending = o.streams[uint32(ev.ID)]
	if ev.Flags&(wire.Credit|wire.Reset) != 0 {
		return
	}
	if o.sending == nil && (ev.Flags&wire.Open != 0 || s.side == wire.Server && !o.agreed.has(ours)) {
		s.streamFrame(out, ev, frameHeader)
	}
	if ev.Flags&wire.Message == 0 || o.err != nil {
		return
	}
	o.data = true
	o.inner = out.Reserve(4)
	if o.agreed.has(ours) {
		b := be32(append(out.Block(), dataFront...), s.streamID(ev))
		out.Commit(append(b, dataBack...))
	} else {
		w := writer{b: out.Block()}
		s.streamHead(&w, ev, frameData)
		o.err = w.err
		out.Commit(w.b)
	}
	o.body = out.Mark()
}

// endStream finishes the frame of a message and appends those that have none;
// then what was said takes effect.
func (s *Session) endStream(out *buf.Out, ev *wire.Event) error {
	o := &s.out
	spent := 0
	switch {
	case ev.Flags&wire.Credit != 0:
		if o.agreed.has(withStreams) {
			s.streamFrame(out, ev, frameMeta)
		}
		return o.err
	case ev.Flags&wire.Reset != 0:
		s.streamFrame(out, ev, frameReset)
		if s.side == wire.Client && !o.agreed.has(ours) && o.sending != nil {
			s.streamFrame(out, &wire.Event{ID: ev.ID, Method: ev.Method}, frameTrailer) // as Kitex does
		}
	default:
		if o.data {
			spent = out.Since(o.body) + StreamMessage
			s.endFrame(out, o.inner)
		}
		if ev.Flags&wire.End != 0 && o.err == nil {
			s.streamFrame(out, ev, frameTrailer)
		}
	}
	if o.err != nil {
		return o.err
	}
	o.offered = o.offered || o.offer
	// A server that gives a stream up still says its end once the handler has
	// returned, which is when the client may forget it.
	if ev.Flags&wire.End != 0 || ev.Flags&wire.Reset != 0 && s.side == wire.Client {
		if delete(o.streams, uint32(ev.ID)); len(o.streams) == 0 && o.most > fewStreams {
			o.streams, o.most = nil, 0 // a map keeps what it grew to
		}
		return nil
	}
	if o.sending == nil {
		o.sending = &sending{room: StreamWindow}
		if o.streams == nil {
			o.streams = make(map[uint32]*sending)
		}
		o.streams[uint32(ev.ID)] = o.sending
		o.most = max(o.most, len(o.streams))
	}
	o.sending.room -= spent
	return nil
}

// endFrame patches the length of the frame that began at m.
func (s *Session) endFrame(out *buf.Out, m buf.Mark) {
	n := out.Since(m) - 4
	if n > min(s.lim.MessageBytes, maxFrame) && s.out.err == nil {
		e := sizeErr(n, s.lim)
		e.Op, e.Sent = "encode", rpc.NotSent
		s.out.err = e
	}
	var size [4]byte
	binary.BigEndian.PutUint32(size[:], uint32(n))
	out.Patch(m, size[:])
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
		t := raw.ExceptionOf(ev.Err.Code)
		if typ == frameReset {
			t = resetType(ev.Err.Code)
		}
		w.b = raw.AppendMessageBegin(w.b, ev.Method, raw.Exception, int32(s.streamID(ev)))
		w.b = raw.AppendException(w.b, s.text(ev.Err), t)
	}
	out.Commit(w.b)
	s.endFrame(out, m)
}

// streamBiz reports whether an error came as a business error of Kitex, which
// has no exception.
func (s *Session) streamBiz(ev *wire.Event) bool {
	return !s.out.agreed.has(ours) && ev.Err.Details.Has(keyBizStatus)
}

// streamID is the id in the frames of ev's stream: a server says it as the client did,
// whose it is, and knows it from the Tag.
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
	if !s.out.agreed.has(ours) || typ == frameHeader {
		w.integer(intMethod, ev.Method) // Kitex has it in each frame
	}
	w.integer(intFrameType, typ)
	w.close()
}

// streamRequest writes what a server is told when a stream is opened.
func (s *Session) streamRequest(w *writer, ev *wire.Event) {
	if len(ev.Method) > raw.MaxName {
		s.out.err = longName(len(ev.Method)) // an exception could not repeat it
	}
	unknown := s.offers && !s.out.known
	w.tokens(ev.Header)
	if s.offers && !s.out.offered {
		s.out.offer = true
		w.str("", keyOffer, s.offerText())
	}
	if ev.Service != "" {
		w.str("", keyService, ev.Service)
	}
	if ev.Timeout > 0 && (s.out.agreed.has(ours) || unknown) {
		w.number("", keyTimeout, units(ev.Timeout, time.Microsecond)) // Kitex has no deadline in streams
	}
	w.pairs(ev.Header)
}

// streamEnd writes what is said at the end of a stream besides an exception.
func (s *Session) streamEnd(w *writer, ev *wire.Event, typ string) {
	if ev.Err != nil && s.out.agreed.has(ours) {
		s.errorKeys(w, ev)
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
