package ttheader

import (
	"encoding/binary"
	"math"
	"strconv"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A frame is appended in three steps, of which the second is the engine's:
//
//	m := s.Begin(out, ev)     the length, to be patched, the header, the envelope
//	codec.Append(out, msg)    the body
//	s.End(out, m, ev)         the lengths; a frame that is too large is an error
//
// After an error the engine truncates the output to where it was before Begin. So
// nothing takes effect, neither the offer nor spent credit, before End has succeeded.

// Begin appends the head of a frame for ev. What is wrong with ev is kept for
// End. Signals that the peer would not understand append nothing.
func (s *Session) Begin(out *buf.Out, ev *wire.Event) buf.Mark {
	m := out.Mark()
	o := &s.out
	o.err, o.offer, o.shape = nil, false, shapeBuffered
	switch {
	case ev.Flags&wire.Stream != 0:
		s.beginStream(out, ev)
	case ev.Flags&wire.GoAway != 0:
		s.beginGoAway(out, ev.Flags&wire.HasLast != 0)
	case ev.Flags&wire.Ping != 0:
		if s.side == wire.Client && s.out.agreed.has(ours) {
			s.appendSignal(out, 0, keyPing, "1")
		}
	case ev.Flags&wire.Piece != 0 && ev.Offset > 0:
		s.beginPiece(out, ev)
	case ev.Flags&wire.Reset != 0 && s.side == wire.Client:
		s.beginCancel(out, ev)
	case s.side == wire.Client:
		s.beginRequest(out, ev)
	default:
		s.beginAnswer(out, ev)
	}
	return m
}

// End patches the lengths of the frame begun at m.
func (s *Session) End(out *buf.Out, m buf.Mark, ev *wire.Event) error {
	o := &s.out
	if o.err != nil {
		return o.err
	}
	if o.shape == shapeStream {
		return s.endStream(out, ev)
	}
	if err := s.fits(out, m, ev); err != nil {
		return err
	}
	var size [4]byte
	if o.shape == shapeTTFramed {
		binary.BigEndian.PutUint32(size[:], uint32(out.Since(o.inner)-4))
		out.Patch(o.inner, size[:])
	}
	if o.shape != shapeBuffered {
		binary.BigEndian.PutUint32(size[:], uint32(out.Since(m)-4))
		out.Patch(m, size[:])
	}
	o.offered = o.offered || o.offer
	if o.shape == shapePiece && ev.Flags&wire.Credit != 0 {
		o.room -= out.Since(o.body)
	}
	return nil
}

// fits says that the frame begun at m is not longer than a message may be.
func (s *Session) fits(out *buf.Out, m buf.Mark, ev *wire.Event) error {
	n := out.Since(m)
	if s.out.shape != shapeBuffered {
		n -= 4
	}
	if ev.Flags&wire.Piece != 0 {
		n = max(n, ev.Total)
	}
	if n > s.lim.MessageBytes || n > math.MaxInt32 {
		e := sizeErr(n, s.lim)
		e.Op, e.Sent = "encode", rpc.NotSent
		return e
	}
	return nil
}

// beginGoAway tells a peer of our kind to go; last: nothing follows, see wire.HasLast.
func (s *Session) beginGoAway(out *buf.Out, last bool) {
	if s.side == wire.Client {
		return
	}
	s.out.leaving = true
	switch {
	case !s.out.agreed.has(ours):
	case last:
		s.appendSignal(out, 0, keyDrain, drainLast)
	default:
		s.appendSignal(out, 0, keyDrain, drainSoon)
	}
}

// beginCancel tells a peer of our kind that a call was given up. Others cannot be told:
// Thrift knows no way to take a call back.
func (s *Session) beginCancel(out *buf.Out, ev *wire.Event) {
	if !s.out.agreed.has(multiplexed) {
		return
	}
	code := rpc.Canceled
	if ev.Err != nil {
		code = ev.Err.Code
	}
	s.appendSignal(out, uint32(ev.ID), keyCancel, strconv.Itoa(int(code)))
}

// beginRequest appends the head of a request in the form of this connection.
func (s *Session) beginRequest(out *buf.Out, ev *wire.Event) {
	s.out.called = true
	typ := raw.Call
	if ev.Flags&wire.Oneway != 0 {
		typ = raw.Oneway
	}
	switch s.p.Form {
	case TTHeader:
		s.out.shape = shapeTTHeader
		s.reserve(out)
		w := writer{b: out.Block()}
		s.requestHeader(&w, ev)
		s.out.err = w.err
		out.Commit(w.b)
	case THeader:
		s.out.shape = shapeTHeader
		s.reserve(out)
		w := theaderWriter{b: out.Block()}
		s.out.err = w.header(0, uint32(ev.ID), s.p.Compact, ev.Header, ev.Timeout)
		out.Commit(w.b)
	case Framed:
		s.out.shape = shapeFramed
		s.reserve(out)
	}
	b := out.Block()
	name := s.name(ev)
	if len(name) > raw.MaxName {
		s.out.err = longName(len(name))
	}
	out.Commit(appendEnvelope(b, s.p.Compact, name, typ, int32(uint32(ev.ID))))
}

// longName refuses a method's name that is longer than the codecs of Thrift take in an
// envelope (raw.MaxName): the answer could not repeat it.
func longName(n int) *rpc.Error {
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "encode", Msg: "method name of " + strconv.Itoa(n) + " bytes", Sent: rpc.NotSent}
}

// name is the method's as a request has it.
func (s *Session) name(ev *wire.Event) string {
	if s.p.Multiplexed && ev.Service != "" {
		return ev.Service + ":" + ev.Method
	}
	return ev.Method
}

// appendEnvelope appends what Thrift puts before the struct of a message: version and
// type, the method's name, the sequence id.
func appendEnvelope(b []byte, compact bool, name string, typ raw.MessageType, seq int32) []byte {
	if compact {
		return raw.Compact{}.AppendMessageBegin(b, name, typ, seq)
	}
	return raw.AppendMessageBegin(b, name, typ, seq)
}

// reserve makes room for a length of four bytes.
func (s *Session) reserve(out *buf.Out) { s.out.inner = out.Reserve(4) }

// requestHeader writes what a server is told besides the message.
func (s *Session) requestHeader(w *writer, ev *wire.Event) {
	w.open(0, uint32(ev.ID), protocolID(s.p.Compact))
	w.tokens(ev.Header)
	if s.offers && !s.out.offered {
		s.out.offer = true
		w.str("", keyOffer, s.offerText())
	}
	if ev.Service != "" {
		w.str("", keyService, ev.Service)
	}
	if ev.Flags&wire.Piece != 0 {
		w.number("", keyTotal, int64(ev.Total+envelopeLen(s.p.Compact, s.name(ev), int32(uint32(ev.ID)))))
	}
	if ev.Timeout > 0 && s.out.agreed.has(ours) {
		w.number("", keyTimeout, units(ev.Timeout, time.Microsecond))
	}
	w.pairs(ev.Header)
	// Our kind takes the method from the message, and the finer timeout.
	if !s.out.agreed.has(ours) {
		w.integer(intMethod, ev.Method)
		if ev.Timeout > 0 {
			w.integerNumber(intTimeout, units(ev.Timeout, time.Millisecond))
		}
	}
	w.close()
}

// tokens and pairs write a request's metadata. The former come first, in a
// block of their own.
func (w *writer) tokens(header rpc.Metadata) {
	for _, p := range header {
		if p.Key == tokenKey && p.Scope == rpc.Transient {
			w.token(p.Value)
		}
	}
}

// pairs appends metadata as string keys, each with the prefix that says how far it travels.
func (w *writer) pairs(header rpc.Metadata) {
	for _, p := range header {
		switch {
		case p.Scope == rpc.Persistent:
			w.str(prefixPersistent, p.Key, p.Value)
		case p.Key != tokenKey:
			w.str(prefixTransient, p.Key, p.Value)
		}
	}
}

// units gives d in whole units, rounded up: a deadline must not come early.
func units(d, unit time.Duration) int64 {
	return int64((d-1)/unit) + 1
}

// envelopeLen is the length of a message's envelope.
func envelopeLen(compact bool, name string, seq int32) int {
	if compact {
		return len(raw.Compact{}.AppendMessageBegin(nil, name, raw.Call, seq))
	}
	return 4 + 4 + len(name) + 4
}
