package web

import (
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/http1"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// plainAnswers is what answers of HTTP/1.1 are made of. It is constant, and shared by all
// connections of a server.
type plainAnswers struct {
	ok, gzip map[rpc.Encoding]*http1.Head
	failed   map[int]*http1.Head // by status
	getToo   *http1.Head         // 405 where GET is taken
}

func newPlainAnswers() *plainAnswers {
	a := &plainAnswers{ok: map[rpc.Encoding]*http1.Head{}, gzip: map[rpc.Encoding]*http1.Head{}, failed: map[int]*http1.Head{}}
	for _, e := range []rpc.Encoding{rpc.Native, rpc.JSON} {
		kind, accepts := http1.Field{Name: "content-type", Value: connect.Kind(e)}, http1.Field{Name: "accept-encoding", Value: "gzip"}
		a.ok[e] = http1.NewHead(plainStatus(200), kind, accepts)
		a.gzip[e] = http1.NewHead(plainStatus(200), kind, accepts, http1.Field{Name: "content-encoding", Value: "gzip"})
	}
	text := http1.Field{Name: "content-type", Value: connect.Kind(rpc.JSON)}
	for c := range rpc.Code(rpc.Codes) {
		a.failed[connect.StatusOf(c)] = http1.NewHead(plainStatus(connect.StatusOf(c)), text)
	}
	a.failed[405] = http1.NewHead(plainStatus(405), text, http1.Field{Name: "allow", Value: "POST"})
	a.getToo = http1.NewHead(plainStatus(405), text, http1.Field{Name: "allow", Value: "GET, POST"})
	a.failed[415] = http1.NewHead(plainStatus(415), text, http1.Field{Name: "accept-post", Value: connect.Kinds})
	return a
}

func plainStatus(n int) http1.Field { return http1.Field{Name: ":status", Value: strconv.Itoa(n)} }

// Begin implements [wire.Session].
func (s *plain) Begin(out *buf.Out, ev *wire.Event) buf.Mark {
	o := &s.out
	o.send = http1.Send{ID: ev.ID}
	o.fields = o.fields[:0]
	o.skip = false
	switch f := ev.Flags; {
	case f&(wire.GoAway|wire.HasLast) == wire.GoAway:
		o.send.Flags = http1.GoAway
	case f&(wire.Message|wire.End) == 0 || f&wire.GoAway != 0:
		o.skip = true
		return out.Mark()
	default:
		s.answer(ev)
	}
	m := s.h.Begin(out, &o.send)
	if ev.Err != nil && o.send.Flags&http1.Answer != 0 {
		out.Commit(connect.AppendError(out.Block(), ev.Err))
	}
	return m
}

// answer makes what is to be sent of an answer.
func (s *plain) answer(ev *wire.Event) {
	o := &s.out
	o.fields = connect.AppendMetadata(o.fields, ev.Trailer)
	o.send.Flags, o.send.Fields = http1.Answer|http1.Data|http1.End, o.fields
	if ev.Err != nil {
		o.send.Head = s.refusal(ev)
		return
	}
	heads := s.p.answers.ok
	if ev.Flags&wire.Packed != 0 {
		heads = s.p.answers.gzip
	}
	o.send.Head = heads[ev.Encoding]
}

// refusal is the head of an answer that is an error.
func (s *plain) refusal(ev *wire.Event) *http1.Head {
	status := int(ev.Tag[0] >> tagShift)
	if ev.Err.Code != rpc.Unimplemented { // what the request was refused with; interceptors have said otherwise
		status = 0
	}
	switch {
	case status == 405 && ev.Tag[0]&tagMethod != 0:
		return s.p.answers.getToo
	case s.p.answers.failed[status] == nil:
		status = connect.StatusOf(ev.Err.Code)
	}
	return s.p.answers.failed[status]
}

// End implements [wire.Session].
func (s *plain) End(out *buf.Out, m buf.Mark, ev *wire.Event) error {
	o := &s.out
	if o.skip {
		return nil
	}
	if err := s.h.End(out, m, &o.send); err != nil {
		e, ok := err.(*http1.Error) //nolint:errorlint // as it came from End
		switch {
		case !ok:
			return err
		case e.Limit:
			return &rpc.Error{Code: rpc.ResourceExhausted, Op: "encode", Sent: rpc.NotSent, Msg: e.Why}
		}
		return &rpc.Error{Code: rpc.Internal, Op: "send", Sent: rpc.NotSent, Err: e}
	}
	return nil
}
