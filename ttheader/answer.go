package ttheader

import (
	"bytes"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// goodbyeName is the method in the last message of a Kitex mux server.
const goodbyeName = "none"

// answer makes the event of a frame that a server sent. The body of an
// exception is read here, that of an ordinary reply is left to the codec.
//
// Which call it answers is said twice behind a TTHeader, by the header's sequence id
// and the envelope's. The header's is believed: servers that fail early know no other.
// Where the two differ and the answer is no exception, the call fails: either could be
// another's.
func (s *Session) answer(ev *wire.Event, f *frame) error {
	h := &s.in.head
	if h.reset || h.drain != nil {
		s.goodbye(ev, f)
	}
	if f.shape == shapeStream {
		return s.streamed(ev, f)
	}
	if !f.hasMessage() {
		return s.told(ev, f)
	}
	if h.reset && h.seq == 0 && string(f.name) == goodbyeName {
		return nil // only GoAway
	}
	s.settle(ev)
	if h.total == nil {
		s.in.unfinished.forget(h.seq) // the server has given its pieces up
	}
	ev.Flags |= wire.End
	ev.Method = s.in.names.intern(1, s.answered(f.name))
	ev.Trailer = h.pairs
	ev.ID = uint64(uint32(f.seq))
	if f.compact {
		ev.Encoding = rpc.Compact
	}
	matched := true
	if f.shape <= shapeTTFramed {
		ev.ID, matched = uint64(h.seq), h.seq == uint32(f.seq)
	}
	return s.result(ev, f, matched)
}

// goodbye notes that the server wants to be left.
func (s *Session) goodbye(ev *wire.Event, f *frame) {
	h := &s.in.head
	ev.Flags |= wire.GoAway
	if s.in.agreed.has(ours) && h.seq == 0 && f.shape == shapeTTHeader && !f.hasMessage() && string(h.drain) == drainLast {
		ev.Flags |= wire.HasLast // ID 0
	}
}

// told makes the event of a server's frame without a message.
func (s *Session) told(ev *wire.Event, f *frame) error {
	h := &s.in.head
	switch {
	case s.creditOf(ev, h):
	case h.hello != nil:
		s.welcomed(ev, h)
	case !h.ours && !h.reset:
		return &FrameError{Offset: f.end, Why: "no message after a TTHeader"}
	}
	return nil
}

// result adds to ev what the answer says. matched: its sequence ids do not
// contradict each other.
func (s *Session) result(ev *wire.Event, f *frame, matched bool) error {
	h := &s.in.head
	switch {
	case f.fault != nil:
		ev.Err = s.faultOf(f)
	case len(h.bizStatus) > 0 && string(h.bizStatus) != "0":
		ev.Err = bizError(h)
	case f.typ == raw.Exception:
		// Neither its name nor its sequence id is looked at: Kitex does not,
		// and a server that failed early may know neither. The body is read by
		// exception, once it is taken.
		ev.Flags |= wire.Message
	case f.typ != raw.Reply:
		return &FrameError{Offset: f.message + 3, Why: f.typ.String() + " from a server"}
	case !matched:
		ev.Err = &rpc.Error{Code: rpc.DataLoss, Op: "receive", Msg: "sequence ids of header and message differ", Sent: rpc.Processed}
	default:
		ev.Flags |= wire.Message
		if f.packed {
			ev.Flags |= wire.Packed
		}
	}
	return nil
}

// answered gives the method that an answer's name stands for.
func (s *Session) answered(name []byte) []byte {
	if i := bytes.IndexByte(name, ':'); i >= 0 && s.p.Multiplexed {
		return name[i+1:]
	}
	return name
}

// settle notes that the peer answers without a hello, which would have come
// first: it has none to say.
func (s *Session) settle(ev *wire.Event) {
	if s.offers && !s.in.settled {
		s.in.settled = true
		ev.Flags |= wire.Settings
	}
}

// exception turns the body of an exception behind the header h into the event's
// error.
func exception(ev *wire.Event, h *header) {
	parse := raw.ParseException
	if ev.Encoding == rpc.Compact {
		parse = raw.Compact{}.ParseException
	}
	text, typ, _, err := parse(ev.Body.Bytes())
	ev.Body.Release()
	ev.Body, ev.Flags = buf.View{}, ev.Flags&^wire.Message
	if err != nil {
		ev.Err = &rpc.Error{Code: rpc.DataLoss, Op: "receive", Msg: "unreadable exception", Sent: rpc.Processed, Err: err}
		return
	}
	e := &rpc.Error{Code: streamCode(typ), Msg: text, Details: h.details, Sent: rpc.Processed, Remote: true}
	if c, ok := codeOf(h.code); ok {
		e.Code = c
	}
	if h.refused {
		e.Sent = rpc.Refused
	}
	ev.Err = e
}

// bizError is Kitex's business error: beside the result, which is empty then.
func bizError(h *header) *rpc.Error {
	e := &rpc.Error{Code: rpc.Unknown, Msg: string(h.bizMessage), Sent: rpc.Processed, Remote: true}
	for _, d := range [...]struct {
		key   string
		value []byte
	}{{keyBizStatus, h.bizStatus}, {keyBizMessage, h.bizMessage}, {keyBizExtra, h.bizExtra}} {
		if d.value != nil {
			e.Details.Add(d.key, string(d.value))
		}
	}
	return e
}
