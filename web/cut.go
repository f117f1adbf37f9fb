package web

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A body is what is being given out of a step's: a message is taken ahead, so that the
// last one is known to be that.
type body struct {
	data  buf.View  // the step's
	at    int       // in data
	split *arriving // nil: nothing is left
	own   arriving  // of a stream of which nothing was remembered
	id    uint64    // http2's of the stream
	whole bool      // nothing of the stream's body comes behind
	next  grpc.Message
	has   bool       // next is there
	err   *rpc.Error // behind it
	grant int        // bytes of the stream's window, to be granted at once
	tail  tail
}

// An arriving body is one that comes in parts.
type arriving struct {
	grpc.Splitter

	last *tail // what its last envelope has said; nil: that has not come
}

// A tail is what comes with the last event of a body.
type tail struct {
	end     bool // the peer's side ends
	err     *rpc.Error
	trailer rpc.Metadata
}

// follows, in the Tag of an event, says that it is of the step of the one before.
const follows = 1

// Cut implements [wire.Session].
func (s *Session) Cut(in *buf.In) (ev wire.Event, need int, err error) {
	if s.in.body.split != nil {
		ev.Flags, ev.Tag[1] = wire.Note, follows
		s.give(&ev)
		ev.Tag[0] = uint64(s.in.takeGrant())
		return ev, s.in.more(), nil
	}
	st := s.in.push()
	if need, err = s.h.Cut(in, &st.ev); need > 0 || err != nil {
		s.in.pop()
		return ev, need, err
	}
	ev.Flags = wire.Note
	hev := &st.ev
	switch f := hev.Flags; {
	case f&http2.Settings != 0:
		ev.Flags |= wire.Settings
	case f&http2.GoAway != 0:
		ev.Flags |= wire.GoAway | wire.HasLast
	case f&http2.Close != 0:
		ev.Flags |= wire.Close
	case f&http2.Credit != 0:
		ev.Flags |= wire.Credit
		if hev.ID != 0 {
			ev.Flags |= wire.Stream
		}
	case f&http2.Open != 0:
		s.cutRequest(st, &ev)
	case f&(http2.Answer|http2.Data|http2.End) == 0:
	case s.side == wire.Client:
		s.cutAnswer(st, &ev)
	default:
		if sp := s.in.streams[hev.ID]; sp != nil {
			ended := f&http2.End != 0
			s.begin(st, sp, &ev, ended, tail{end: ended})
		}
	}
	return ev, s.in.more(), nil
}

// more is what Cut returns with an event: below zero there are more already.
func (r *receiving) more() int {
	if r.body.split != nil {
		return -1
	}
	return 0
}

// takeGrant gives what is to be granted with the event at hand.
func (r *receiving) takeGrant() (n int) {
	n, r.body.grant = r.body.grant, 0
	return n
}

// cutRequest makes the event of a request's head, and of what of its body came with it.
func (s *Session) cutRequest(st *step, ev *wire.Event) {
	hev := &st.ev
	h, own := s.headOf(hev.Fields), hev.Rest
	if h.form == formUnknown && h.kind == "" && len(own) > 0 { // which fields are shared is as the peer's table has it
		h, own = s.newHead(hev.Fields, own), nil
	}
	switch h.form {
	case formGRPC:
		s.cutGRPC(st, ev, h.with(own, s.lim.HeaderEntries))
	case formConnect:
		s.cutConnect(st, ev, h.connect, own)
	default:
		if st.status = h.status; st.status == 0 {
			st.status = 415
		}
	}
	sayRefused(ev)
}

// cutGRPC makes the event of a request of gRPC.
func (s *Session) cutGRPC(st *step, ev *wire.Event, h head) {
	hev := &st.ev
	if st.status = h.status; st.status != 0 {
		return
	}
	ev.Flags |= wire.Open | wire.Unordered
	ev.Service, ev.Method, ev.Header, ev.Timeout, ev.Tag[0] = h.service, h.method, h.md, h.timeout, h.tag
	s.in.plain = !h.gzip
	switch {
	case hev.Err != nil:
		ev.Err = tooMuch(hev)
	case h.err != nil:
		e := *h.err // requests share their heads, and interceptors may change what they are given
		ev.Err = &e
	case h.md.Fits(s.lim) != nil:
		ev.Err = &rpc.Error{Code: rpc.ResourceExhausted, Msg: "metadata beyond the limits", Sent: rpc.Refused}
	}
	switch {
	case !h.stream && ev.Err == nil:
		s.begin(st, nil, ev, true, tail{})
		if st.count != 1 && ev.Err == nil {
			ev.Err = &rpc.Error{Code: rpc.Unimplemented, Msg: "a call of one message came with another number of them", Sent: rpc.Refused}
		}
		if ev.Err != nil {
			s.in.drop(ev)
		}
		ev.Flags |= wire.Message | wire.End
	case !h.stream:
		ev.Flags |= wire.Message | wire.End
	default:
		s.openStream(st, ev)
	}
}

// tooMuch is the error of a request that http2 has not received.
func tooMuch(hev *http2.Event) *rpc.Error {
	return &rpc.Error{Code: rpc.ResourceExhausted, Msg: hev.Err.Why, Sent: rpc.Refused}
}

// openStream makes the event of a request that opens a stream, with what of its messages is
// there.
func (s *Session) openStream(st *step, ev *wire.Event) {
	ev.Flags |= wire.Stream
	switch {
	case ev.Err != nil:
	case st.ev.Flags&http2.End != 0:
		s.begin(st, nil, ev, true, tail{end: true})
	default:
		sp := &arriving{Splitter: grpc.Splitter{Plain: s.in.plain}}
		s.in.keep(st.ev.ID, sp)
		s.begin(st, sp, ev, false, tail{})
	}
}

// drop gives up the messages of the body at hand, the first of which is ev's.
func (r *receiving) drop(ev *wire.Event) {
	ev.Body.Release()
	ev.Body = buf.View{}
	ev.Flags &^= wire.Packed | wire.Message
	r.body.next.Body.Release()
	r.body = body{}
}

// cutAnswer makes the events of a part of an answer, whatever kind of call it is for.
func (s *Session) cutAnswer(st *step, ev *wire.Event) {
	if s.p.Connect {
		s.cutConnectAnswer(st, ev)
		return
	}
	hev := &st.ev
	ended := hev.Flags&http2.End != 0
	var lead rpc.Metadata
	var bad *rpc.Error
	if hev.Flags&http2.Answer != 0 {
		lead, bad = s.answerHead(hev)
	}
	switch {
	case ended:
		t := tail{end: true}
		t.trailer, t.err = s.answerEnd(hev, lead, bad)
		if bad != nil { // its body is none of ours
			ev.Flags, ev.Err, ev.Trailer = ev.Flags|wire.End, t.err, t.trailer
			s.in.forget(hev.ID)
			return
		}
		s.begin(st, s.in.streams[hev.ID], ev, true, t)
	case bad != nil:
		ev.Err = bad
		s.in.readPast(hev.ID)
	default:
		ev.Trailer = lead
		s.begin(st, s.in.streams[hev.ID], ev, false, tail{})
	}
}

// begin gives out the first message of a step's body, and what follows with it. sp has
// what came before; nil: nothing did.
func (s *Session) begin(st *step, sp *arriving, ev *wire.Event, whole bool, t tail) {
	b := &s.in.body // empty: finish and drop leave it so
	b.data, b.split, b.id, b.whole, b.tail = st.ev.Body, sp, st.ev.ID, whole, t
	if sp == nil {
		b.split, b.own.Plain = &b.own, s.in.plain
		if s.p.Connect && s.side == wire.Client {
			b.own.Last = connect.EndFlag
		}
	}
	s.ahead()
	if st.count = 0; b.has {
		st.count = 1
	}
	s.give(ev)
	if s.in.body.has {
		st.count++
	}
	st.grant = s.in.takeGrant()
}

// ahead takes the next message of the body at hand.
func (s *Session) ahead() {
	b := &s.in.body
	for again := true; again && b.at < b.data.Len(); {
		held := b.split.Held()
		var n, grant int
		b.next, n, grant, b.has, b.err = b.split.Next(b.data, b.at, s.lim.MessageBytes, s.in.allowed-s.in.held)
		b.at += n
		b.grant += grant
		if b.split != &b.own {
			s.in.held += b.split.Held() - held
		}
		if again = b.has && b.next.Last; again {
			s.takeLast(b)
		}
	}
	if b.whole && !b.has && b.err == nil && b.split.Torn() {
		b.err = &rpc.Error{Code: rpc.Internal, Op: "receive", Msg: "the body ends in the middle of a message"}
		b.split.Close()
	}
}

// give makes ev the next event of the body at hand.
func (s *Session) give(ev *wire.Event) {
	b := &s.in.body
	switch {
	case b.has:
		ev.Flags |= wire.Message
		if b.next.Packed {
			ev.Flags |= wire.Packed
		}
		ev.Body, ev.Took = b.next.Body, int32(b.next.Took)
		b.next, b.has = grpc.Message{}, false
		s.ahead()
	case b.err != nil:
		ev.Err, b.err = b.err, nil
		b.tail = tail{}
		if s.side == wire.Client {
			ev.Err.Sent = rpc.Processed
		}
	}
	if b.has || b.err != nil {
		return
	}
	if b.tail.end {
		if s.p.Connect && s.side == wire.Client {
			b.endConnect()
		}
		ev.Flags |= wire.End
		ev.Err, ev.Trailer = b.tail.err, b.tail.trailer
	}
	s.in.finish()
}

// finish ends the body at hand, and remembers what of it comes with the next step.
func (r *receiving) finish() {
	b := &r.body
	switch {
	case b.whole:
		r.forget(b.id)
	case b.split == &b.own && !(b.own.Empty() && b.own.last == nil):
		sp := new(arriving)
		*sp = b.own
		r.keep(b.id, sp)
	}
	// All but grant is made empty; field by field, since it is for each message, and most fields are.
	b.data, b.at, b.split, b.id, b.whole = buf.View{}, 0, nil, 0, false
	if !b.own.Empty() || b.own.last != nil {
		b.own = arriving{}
	}
	if b.tail.end {
		b.tail = tail{}
	}
}

// keep remembers what has arrived of a message of a stream, or that it is one.
func (r *receiving) keep(id uint64, sp *arriving) {
	if r.streams == nil {
		r.streams = map[uint64]*arriving{}
	}
	r.streams[id] = sp
	r.held += sp.Held()
}

// readPast has what comes of a body be read past.
func (r *receiving) readPast(id uint64) {
	r.forget(id)
	sp := new(arriving)
	sp.Close()
	r.keep(id, sp)
}

// forget is the end of keep.
func (r *receiving) forget(id uint64) {
	sp := r.streams[id]
	if sp == nil {
		return
	}
	r.held -= sp.Held()
	if delete(r.streams, id); len(r.streams) == 0 {
		r.streams = nil
	}
}
