package web

import (
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/http1"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

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
	o.send.Head = s.p.answers.of(ev)
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
