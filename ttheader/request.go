package ttheader

import (
	"bytes"

	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// request makes the event of a frame that a client sent. Without flags the
// frame means nothing to this side.
//
// The body is not looked at: it is the codec's, on the goroutine that runs the
// handler. A request that cannot be made (f.fault) becomes an event with Err, so that
// the engine answers it in its turn; only what costs the place in the input is an
// error here, and ends the connection.
func (s *Session) request(ev *wire.Event, f *frame) error {
	h := &s.in.head
	if s.in.first && h.offer != nil {
		s.offered(ev, h.offer)
	}
	if f.shape == shapeStream {
		return s.streamed(ev, f)
	}
	if !f.hasMessage() {
		return s.signalled(ev, f)
	}
	// The fourth byte of an envelope with a version is the type. The engine asks the IDL
	// whether there is an answer, since not all clients write it as they should.
	switch f.typ {
	case raw.Call:
	case raw.Oneway:
		ev.Flags |= wire.Oneway
	default:
		return &FrameError{Offset: f.message + 3, Why: f.typ.String() + " from a client"}
	}
	service, method := called(h.service, f.name)
	ev.Flags |= wire.Open | wire.End
	ev.Service, ev.Method = s.in.names.intern(0, service), s.in.names.intern(1, method)
	ev.Timeout = h.timeout
	unordered := h.flags&flagUnordered != 0
	if s.in.agreed.has(multiplexed) { // other forms have no place for the total of an answer in pieces: it goes whole
		unordered = f.shape <= shapeTTFramed
	}
	if unordered {
		ev.Flags |= wire.Unordered
	}
	// Only a peer of our kind gives each call an id of its own; elsewhere the
	// sequence ids of calls in flight may well be equal.
	if ev.ID = uint64(uint32(f.seq)); !s.in.agreed.has(multiplexed) {
		s.in.calls++
		ev.ID = 1<<32 + s.in.calls
	}
	if f.compact {
		ev.Encoding = rpc.Compact
	}
	tag(ev, f, h)
	if f.fault != nil {
		e := *f.fault
		e.Sent = rpc.Refused // nothing of the call was started
		ev.Err = &e
	} else {
		ev.Flags |= wire.Message
		if f.packed {
			ev.Flags |= wire.Packed
		}
		ev.Header = h.pairs
	}
	return nil
}

// tag notes in a request's event what its answers have to look like.
func tag(ev *wire.Event, f *frame, h *header) {
	ev.Tag[0] |= uint64(f.shape) | uint64(uint32(f.seq))<<32
	ev.Tag[1] = uint64(h.seq)
	if f.shape == shapeTHeader {
		ev.Tag[1] |= uint64(h.flags) << 32
	}
	if f.old {
		ev.Tag[0] |= tagOld
	}
	if f.packed {
		ev.Tag[0] |= tagZlib
	}
	if f.compact {
		ev.Tag[0] |= tagCompact
	}
	if h.kitex {
		ev.Tag[0] |= tagKitex
	}
}

// called gives the service and the method that a message's name stands for, if
// its header names service.
func called(service, name []byte) (_, method []byte) {
	if i := bytes.IndexByte(name, ':'); i >= 0 { // Apache's TMultiplexedProtocol
		return name[:i], name[i+1:]
	}
	return service, name
}

// signalled is what a TTHeader without a message says: that a call is given up, credit
// for pieces, or a ping. Such a frame of a peer of another kind is an error, for a
// frame with a sequence id and no message is a call that nobody would answer.
func (s *Session) signalled(ev *wire.Event, f *frame) error {
	h := &s.in.head
	if h.cancel != nil && s.in.agreed.has(multiplexed) {
		code, ok := codeOf(h.cancel)
		if !ok {
			code = rpc.Canceled
		}
		if g := s.in.unfinished.all[h.seq]; g != nil && g.kept != nil {
			s.in.unfinished.forget(h.seq)
			*ev = g.ev // the client waits for an answer: its id is free then
			s.refuse(ev, &rpc.Error{Code: code, Msg: "the call was given up before its message was whole"})
			return nil
		}
		s.in.unfinished.forget(h.seq)
		ev.Flags |= wire.Reset
		ev.ID = uint64(h.seq)
		ev.Err = &rpc.Error{Code: code, Remote: true}
		return nil
	}
	if s.creditOf(ev, h) {
		return nil
	}
	if h.ping && s.in.agreed.has(multiplexed) {
		ev.Flags |= wire.Ping
	}
	if !h.ours {
		return &FrameError{Offset: f.end, Why: "no message after a TTHeader"}
	}
	return nil // a later version's
}
