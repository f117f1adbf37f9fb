package web

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What Connect is on HTTP/2, and what it has in common with that on HTTP/1.1.

// cutConnect makes the event of a request of Connect, of which shared was read, and fields of its
// own are behind that.
func (s *Session) cutConnect(st *step, ev *wire.Event, shared *connect.Request, own []http2.Field) {
	r := *shared
	r.Header = r.Header.Clone()
	for _, f := range own {
		r.Take(f.Name, f.Value)
	}
	if r.Done(); st.ev.Err != nil {
		r.Status, r.Err = 0, tooMuch(&st.ev)
	}
	takeHead(ev, &r)
	if ev.Flags |= wire.Unordered; r.Stream {
		s.in.plain = !r.Packed
		s.openStream(st, ev)
		return
	}
	ev.Flags |= wire.Message | wire.End
	ev.Body = st.ev.Body.Slice(0, st.ev.Body.Len()) // Apply counts what there is
	takeOne(ev, &r)
}

// takeHead makes ev the event of a request of Connect, without its message.
func takeHead(ev *wire.Event, r *connect.Request) {
	ev.Flags |= wire.Open
	ev.Service, ev.Method, ev.Header, ev.Timeout, ev.Encoding, ev.Tag[0] = r.Service, r.Method, r.Header, r.Timeout, r.Encoding, tagOf(r)
	if r.Err != nil {
		e := *r.Err // requests share their heads, and interceptors may change what they are given
		ev.Err = &e
	}
}

// sayRefused has interceptors see a request that is refused, if it names a method.
func sayRefused(ev *wire.Event) {
	if ev.Err != nil && ev.Method != "" {
		ev.Flags |= wire.Refused
	}
}

// takeOne makes ev's body the one message of a request of Connect; it is the request's body.
func takeOne(ev *wire.Event, r *connect.Request) {
	if r.Get && ev.Body.Len() > 0 && ev.Err == nil {
		ev.Err = &rpc.Error{Code: rpc.InvalidArgument, Msg: "a GET with a body"}
	}
	switch {
	case ev.Err != nil:
		ev.Body.Release()
		ev.Body = buf.View{}
		return
	case r.Get:
		ev.Body = buf.ViewOf(r.Message)
	}
	if r.Packed {
		ev.Flags |= wire.Packed
	}
}

// unpackConnect inflates a message of Connect. One of no bytes is empty, and nothing has
// compressed it.
func unpackConnect(ev *wire.Event, most int, lim *rpc.Limits) *rpc.Error {
	if ev.Flags &^= wire.Packed; ev.Body.Len() == 0 {
		return nil
	}
	v, e := grpc.Inflate(ev.Body.Bytes(), min(most, lim.InflateBudget(ev.Body.Len())))
	ev.Body.Release()
	ev.Body = v
	if e == nil {
		return nil
	}
	if e.Code == rpc.Internal {
		e.Code = rpc.InvalidArgument
	}
	e.Sent = rpc.Maybe // as of an error that a handler has made: its caller may read it
	ev.Err = e
	return e
}

// encodings is how many there are of messages: an index by rpc.Encoding.
const encodings = rpc.JSON + 1

// connectAnswers are the heads of answers of Connect on a version of HTTP, whose heads are H. It
// is constant.
type connectAnswers[H any] struct {
	one, packed, many [encodings]*H
	failed            map[int]*H // by status
	getToo            *H         // 405 where GET is taken
}

// newConnectAnswers makes them with what makes a head; kinds are the content types that are taken.
func newConnectAnswers[F connect.Field, H any](head func(...F) *H, kinds string) *connectAnswers[H] {
	field := func(name, value string) F { return F(struct{ Name, Value string }{name, value}) }
	status := func(n int) F { return field(":status", strconv.Itoa(n)) }
	a := &connectAnswers[H]{failed: map[int]*H{}}
	for _, e := range []rpc.Encoding{rpc.Native, rpc.JSON} {
		kind, accepts := field("content-type", connect.Kind(e)), field("accept-encoding", grpc.Gzip)
		a.one[e] = head(status(200), kind, accepts)
		a.packed[e] = head(status(200), kind, accepts, field("content-encoding", grpc.Gzip))
		a.many[e] = head(status(200), field("content-type", connect.StreamKind(e)), field("connect-accept-encoding", grpc.Gzip))
	}
	text := field("content-type", connect.Kind(rpc.JSON))
	for c := range rpc.Code(rpc.Codes) {
		a.failed[connect.StatusOf(c)] = head(status(connect.StatusOf(c)), text)
	}
	a.failed[405] = head(status(405), text, field("allow", "POST"))
	a.getToo = head(status(405), text, field("allow", "GET, POST"))
	a.failed[415] = head(status(415), text, field("accept-post", kinds))
	return a
}

// of is the head of the answer to a call of one message.
func (a *connectAnswers[H]) of(ev *wire.Event) *H {
	status := int(ev.Tag[0] >> tagShift)
	if ev.Err != nil && ev.Err.Code != rpc.Unimplemented { // what the request was refused with; interceptors have said otherwise
		status = 0
	}
	switch {
	case ev.Err == nil && ev.Flags&wire.Packed != 0:
		return a.packed[ev.Encoding]
	case ev.Err == nil:
		return a.one[ev.Encoding]
	case status == 405 && ev.Tag[0]&tagMethod != 0:
		return a.getToo
	case a.failed[status] == nil:
		status = connect.StatusOf(ev.Err.Code)
	}
	return a.failed[status]
}

// answerOne makes what is to be sent of the answer to a call of one message.
func (s *Session) answerOne(ev *wire.Event) {
	o := &s.out
	o.send.Flags, o.send.Head = http2.Answer|http2.Data|http2.End, s.p.answers.connect.of(ev)
	o.list = connect.AppendMetadata(o.list, ev.Trailer)
	o.framing = asBody
}

// answerMany makes what is to be sent of a stream's answer, of which nothing was sent yet
// unless headed.
func (s *Session) answerMany(ev *wire.Event, headed, message, ends bool) {
	o := &s.out
	if !headed {
		o.send.Flags, o.send.Head = http2.Answer, s.p.answers.connect.many[ev.Encoding]
		o.list = connect.AppendLeading(o.list, ev.Trailer)
	}
	if message {
		o.send.Flags |= http2.Data
		o.framing = inEnvelope
	}
	if ends {
		o.send.Flags |= http2.Data | http2.End
	}
}

// endConnect appends what is behind the message in the answer to a request of Connect, if there
// is one: the text of an error, or the last envelope.
func (s *Session) endConnect(out *buf.Out, ev *wire.Event) {
	switch {
	case s.out.send.Flags&http2.Data == 0:
	case ev.Tag[0]&tagOne != 0 && ev.Err != nil:
		out.Commit(connect.AppendError(out.Block(), ev.Err))
	case ev.Tag[0]&tagMany != 0 && s.out.send.Flags&http2.End != 0:
		m := out.Reserve(grpc.Head)
		out.Commit(connect.AppendEnd(out.Block(), ev.Err, ev.Trailer))
		var head [grpc.Head]byte
		out.Patch(m, grpc.AppendFlags(head[:0], connect.EndFlag, out.Since(m)-grpc.Head))
	}
}
