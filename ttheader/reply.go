package ttheader

import (
	"strings"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// beginAnswer appends the head of an answer in the form of its request, and
// with an error all of it. By shape:
//
//	shapeTTHeader   length, TTHeader, envelope
//	shapeTTFramed   length, TTHeader, length, envelope
//	shapeFramed     length, envelope
//	shapeBuffered   envelope
//	shapeTHeader    length, THeader, envelope; compressed: the body begins with it
//
// Only a TTHeader has a place for an error's code, its details and the trailer; what
// other clients learn of an error is the type and the text of Thrift's exception.
func (s *Session) beginAnswer(out *buf.Out, ev *wire.Event) {
	o := &s.out
	o.shape = shape(ev.Tag[0])
	typ, biz := raw.Reply, false
	if ev.Err != nil {
		typ = raw.Exception
		if biz = s.kitexBiz(ev); biz {
			typ = raw.Reply
		}
	}
	if o.shape != shapeBuffered {
		s.reserve(out)
	}
	if o.shape <= shapeTTFramed {
		w := writer{b: out.Block()}
		s.answerHeader(&w, ev, typ, biz)
		o.err = w.err
		out.Commit(w.b)
	}
	switch o.shape {
	case shapeTTFramed:
		s.reserve(out)
	case shapeTHeader:
		packed := ev.Flags&wire.Packed != 0
		w := theaderWriter{b: out.Block(), zlib: packed}
		if o.err = ev.Trailer.Fits(s.lim); o.err == nil {
			o.err = w.header(uint16(ev.Tag[1]>>32), uint32(ev.Tag[1]), ev.Tag[0]&tagCompact != 0, ev.Trailer, 0)
		}
		out.Commit(w.b)
		if packed {
			return // the envelope is in the body
		}
	}
	b := s.appendEnvelope(out.Block(), ev, typ)
	switch {
	case biz:
		b = append(b, byte(raw.TypeStop)) // Kitex's business error: an empty result, in either protocol
	case ev.Err != nil && ev.Tag[0]&tagCompact != 0:
		b = raw.Compact{}.AppendException(b, s.text(ev.Err), raw.ExceptionOf(ev.Err.Code))
	case ev.Err != nil:
		b = raw.AppendException(b, s.text(ev.Err), raw.ExceptionOf(ev.Err.Code))
	}
	out.Commit(b)
}

// kitexBiz reports whether the error came as a business error of Kitex and the
// client can read it as one. Our kind is told more in an exception.
func (s *Session) kitexBiz(ev *wire.Event) bool {
	return shape(ev.Tag[0]) <= shapeTTFramed && ev.Tag[0]&tagKitex != 0 && !s.out.agreed.has(ours) && ev.Err.Details.Has(keyBizStatus)
}

// appendEnvelope appends the envelope of an answer, as its request had it: in the same
// protocol, with a version or without.
func (s *Session) appendEnvelope(b []byte, ev *wire.Event, typ raw.MessageType) []byte {
	if ev.Tag[0]&tagOld == 0 {
		return appendEnvelope(b, ev.Tag[0]&tagCompact != 0, ev.Method, typ, seqOf(ev.Tag))
	}
	b = be32(b, uint32(len(ev.Method)))
	b = append(append(b, ev.Method...), byte(typ))
	return be32(b, uint32(seqOf(ev.Tag)))
}

// text is what a peer reads of an error. Peers that are not told the code see
// its name rather than nothing.
func (s *Session) text(e *rpc.Error) string {
	if e.Msg == "" && !s.out.agreed.has(ours) {
		return e.Code.String()
	}
	return e.Msg
}

// answerHeader writes what a client is told besides the message.
func (s *Session) answerHeader(w *writer, ev *wire.Event, typ raw.MessageType, biz bool) {
	compact := ev.Tag[0]&tagCompact != 0
	w.open(0, uint32(seqOf(ev.Tag)), protocolID(compact))
	if ev.Flags&wire.Piece != 0 {
		w.number("", keyTotal, int64(ev.Total+envelopeLen(compact, ev.Method, seqOf(ev.Tag))))
	}
	if ev.Err != nil && s.out.agreed.has(ours) {
		s.errorKeys(w, ev)
	}
	if biz {
		for _, d := range ev.Err.Details {
			switch d.Key {
			case keyBizStatus, keyBizMessage, keyBizExtra:
				w.str("", d.Key, d.Value)
			}
		}
	}
	kitex := ev.Tag[0]&tagKitex != 0
	if s.out.leaving && kitex && !s.out.agreed.has(ours) {
		w.str("", keyReset, "1")
	}
	s.trailerPairs(w, ev.Trailer)
	if kitex && !s.out.agreed.has(ours) {
		w.integerNumber(intMessageType, int64(typ))
	}
	w.close()
}

// trailerPairs writes the metadata of an answer. What is beyond the limits would
// end the connection at a client of our kind, with all other calls.
func (s *Session) trailerPairs(w *writer, trailer rpc.Metadata) {
	if err := trailer.Fits(s.lim); err != nil && w.err == nil {
		w.err = err
	}
	for _, p := range trailer {
		plain := !internal(p.Key)
		switch {
		case s.out.agreed.has(ours) && !rpc.Reserved(p.Key) && (!plain || strings.HasPrefix(p.Key, prefixTransient)):
			// A name that Kitex gives a meaning to. Its clients cannot be told
			// it; ours unwrap it.
			w.str(prefixTransient, p.Key, p.Value)
		case plain:
			w.str("", p.Key, p.Value)
		}
	}
}

// maxDetail is the largest pair of details, in bytes; more would not fit a
// string of the header for sure.
const maxDetail = 32 << 10

// errorKeys tells a peer of our kind what Thrift's exception cannot say. The
// text is in the exception. Details are left out when they do not fit beside the
// trailer: the call must get its error in any case.
func (s *Session) errorKeys(w *writer, ev *wire.Event) {
	e := ev.Err
	w.number("", keyCode, int64(e.Code))
	if e.Sent == rpc.Refused {
		w.str("", keyRefused, "1")
	}
	room, entries := s.lim.HeaderBytes, s.lim.HeaderEntries-len(ev.Trailer)
	for _, p := range ev.Trailer {
		room -= len(p.Key) + len(p.Value)
	}
	for i, d := range e.Details {
		room -= len(d.Key) + len(d.Value)
		if i >= entries || room < 0 || len(d.Key)+len(d.Value) > maxDetail {
			return
		}
		w.str(prefixDetail, d.Key, d.Value)
	}
}
