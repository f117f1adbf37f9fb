package web

import (
	"fmt"
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// answers is what answers are made of: the fields that they have in common. It is constant,
// and shared by all connections of a server.
type answers struct {
	ok, gzip  *http2.Head
	connect   *connectAnswers[http2.Head]
	bare      [rpc.Codes]*http2.Head // of those that have no message
	tails     [rpc.Codes]*http2.Head
	type415   *http2.Head // to what is none of gRPC and Connect
	method405 *http2.Head
}

// connectKinds are the content types of Connect that are taken on HTTP/2.
const connectKinds = connect.Kinds + ", " + connect.StreamKinds

func newAnswers() *answers {
	kind, accepts := http2.Field{Name: "content-type", Value: contentType}, http2.Field{Name: "grpc-accept-encoding", Value: grpc.Gzip}
	text := http2.Field{Name: "content-type", Value: "text/plain; charset=utf-8"}
	a := &answers{
		connect:   newConnectAnswers(http2.NewHead, connectKinds),
		ok:        http2.NewHead(statusField(200), kind, accepts),
		gzip:      http2.NewHead(statusField(200), kind, accepts, http2.Field{Name: "grpc-encoding", Value: grpc.Gzip}),
		type415:   http2.NewHead(statusField(415), text, http2.Field{Name: "accept-post", Value: contentType + ", " + connectKinds}),
		method405: http2.NewHead(statusField(405), text, http2.Field{Name: "allow", Value: "POST"}),
	}
	for i := range a.tails {
		code := http2.Field{Name: "grpc-status", Value: strconv.Itoa(i)}
		a.bare[i], a.tails[i] = http2.NewHead(statusField(200), kind, code), http2.NewHead(code)
	}
	return a
}

func statusField(n int) http2.Field { return http2.Field{Name: ":status", Value: strconv.Itoa(n)} }

// other is an answer to what is none of gRPC and Connect.
func (a *answers) other(status int) (head *http2.Head, text string) {
	if status == 405 {
		return a.method405, "Methods are called by POST.\n"
	}
	return a.type415, "Methods are called by gRPC, whose content type is " + contentType + ", and Connect: " + connectKinds + ".\n"
}

// codeOf is the place of e's code among those that gRPC has.
func codeOf(e *rpc.Error) rpc.Code {
	switch {
	case e == nil:
		return rpc.OK
	case e.Code == rpc.OK || int(e.Code) >= rpc.Codes:
		return rpc.Unknown
	}
	return e.Code
}

// Begin implements [wire.Session].
func (s *Session) Begin(out *buf.Out, ev *wire.Event) buf.Mark {
	o := &s.out
	o.send = http2.Send{ID: ev.ID}
	o.list, o.last = o.list[:0], o.last[:0]
	o.skip, o.framing = false, noMessage
	if s.side == wire.Client && ev.Flags&wire.Stream != 0 {
		o.send.ID |= streamBit
	}
	switch f := ev.Flags; {
	case f&wire.GoAway != 0:
		o.send.Flags = http2.GoAway
		if f&wire.HasLast != 0 {
			o.send.Flags |= http2.HasLast
		}
	case f&wire.Ping != 0:
		o.send.Flags = http2.Ping
	case f&wire.Credit != 0:
		o.send.Flags, o.send.Credit = http2.Credit, ev.Credit
	case f == wire.Settings: // http2 says first what it has to
	case s.side == wire.Client && f&wire.Reset != 0:
		o.send.Flags, o.send.Code = http2.Reset, http2.Cancel
	case s.side == wire.Client:
		s.request(ev)
	case f&(wire.Stream|wire.Message|wire.End|wire.Reset) == 0:
		o.skip = true
	default:
		s.answer(ev)
	}
	if o.skip {
		return out.Mark()
	}
	o.send.Fields, o.send.Last = o.list, o.last
	m := s.h.Begin(out, &o.send)
	switch o.framing {
	case inEnvelope:
		o.head = out.Reserve(grpc.Head)
	case asBody:
		o.head = out.Mark()
	}
	return m
}

// request makes what is to be sent of a request.
func (s *Session) request(ev *wire.Event) {
	o := &s.out
	sd := &o.send
	if ev.Flags&wire.Open != 0 {
		sd.Flags = http2.Open
		if ev.Flags&wire.Stream == 0 {
			sd.Flags |= http2.Gathered
		}
		sd.Head = o.paths.head(s, path{ev.Service, ev.Method, s.p.Connect && ev.Flags&wire.Stream != 0})
		for _, p := range ev.Header {
			o.list = grpc.AppendPair(o.list, p)
		}
		switch {
		case ev.Timeout <= 0:
		case s.p.Connect:
			sd.Brief = http2.BriefOf("connect-timeout-ms", connect.AppendTimeout(o.timeout[:0], ev.Timeout))
		default:
			sd.Brief = http2.BriefOf("grpc-timeout", grpc.AppendTimeout(o.timeout[:0], ev.Timeout))
		}
	}
	if ev.Flags&wire.Message != 0 {
		sd.Flags |= http2.Data
		o.framing = inEnvelope
		if s.p.Connect && ev.Flags&wire.Stream == 0 {
			o.framing = asBody
		}
	}
	if ev.Flags&wire.End != 0 {
		sd.Flags |= http2.End
	}
	o.skip = sd.Flags == 0
}

// answer makes what is to be sent of an answer.
func (s *Session) answer(ev *wire.Event) {
	o := &s.out
	sd := &o.send
	headed := false
	if ev.Flags&wire.Stream != 0 {
		st := o.stream(ev.ID)
		if st == nil {
			o.skip = true
			return
		}
		headed = st.headed
	}
	ends := ev.Flags&(wire.End|wire.Reset) != 0
	message := ev.Flags&wire.Message != 0 && ev.Err == nil
	switch {
	case !headed && !message && ev.Err != nil && ev.Err.Sent == rpc.Refused && ev.Err.Code == rpc.Unavailable:
		sd.Flags, sd.Code = http2.Reset, http2.RefusedStream // a client makes it elsewhere
	case ev.Tag[0]&tagOne != 0:
		s.answerOne(ev)
	case ev.Tag[0]&tagMany != 0:
		s.answerMany(ev, headed, message, ends)
	case !headed && !message && ends:
		sd.Flags, sd.Head = http2.Answer|http2.End, s.p.answers.bare[codeOf(ev.Err)]
		o.list = s.appendEnd(o.list, ev)
	default:
		if !headed {
			sd.Flags, sd.Head = http2.Answer, s.p.answers.ok
			if ev.Flags&wire.Packed != 0 {
				sd.Head = s.p.answers.gzip
			}
			for _, p := range ev.Trailer {
				if p.Scope == rpc.Leading {
					o.list = grpc.AppendPair(o.list, p)
				}
			}
		}
		if message {
			sd.Flags |= http2.Data
			o.framing = inEnvelope
		}
		if ends {
			sd.Flags |= http2.End
			sd.Tail = s.p.answers.tails[codeOf(ev.Err)]
			o.last = s.appendEnd(o.last, ev)
		}
	}
}

// appendEnd appends what trailers hold besides the status. Pairs that led a stream's answer
// are not sent again.
func (s *Session) appendEnd(fields []http2.Field, ev *wire.Event) []http2.Field {
	if ev.Err != nil {
		fields = grpc.AppendStatus(fields, ev.Err)
	}
	bare := s.out.send.Tail == nil
	for _, p := range ev.Trailer {
		if p.Scope != rpc.Leading || bare {
			fields = grpc.AppendPair(fields, p)
		}
	}
	return fields
}

// End implements [wire.Session].
func (s *Session) End(out *buf.Out, m buf.Mark, ev *wire.Event) error {
	o := &s.out
	if o.skip {
		return nil
	}
	sd := &o.send
	if o.framing != noMessage {
		if e := s.endMessage(out, ev); e != nil {
			return e
		}
	}
	if ev.Tag[0]&tagConnect != 0 {
		s.endConnect(out, ev)
	}
	if s.side == wire.Client && sd.Flags&http2.Reset != 0 {
		o.over = append(o.over, s.h.Number(sd.ID))
	}
	if err := s.h.End(out, m, sd); err != nil {
		if err = s.unsent(err); err != nil {
			return err
		}
		out.Truncate(m)
	}
	s.ended(ev)
	return nil
}

// endMessage ends what is around the message that was appended since Begin.
func (s *Session) endMessage(out *buf.Out, ev *wire.Event) error {
	n := out.Since(s.out.head)
	if s.out.framing == inEnvelope {
		n -= grpc.Head
	}
	if n > s.lim.MessageBytes {
		return tooLarge(n, s.lim.MessageBytes)
	}
	if s.out.framing == inEnvelope {
		var head [grpc.Head]byte
		out.Patch(s.out.head, grpc.AppendHead(head[:0], ev.Flags&wire.Packed != 0, n))
	}
	return nil
}

// tooLarge is the error of a message beyond the limit.
func tooLarge(n, most int) error {
	return &rpc.Error{Code: rpc.ResourceExhausted, Op: "encode", Sent: rpc.NotSent, Msg: fmt.Sprintf("message of %d bytes, Limits.MessageBytes is %d", n, most)}
}

// unsent is what an error of http2's End means; nil: there is nobody to be told.
func (s *Session) unsent(err error) error {
	e, ok := err.(*http2.Error) //nolint:errorlint // as it came from End
	switch {
	case !ok:
		return err
	case e.Code == http2.StreamClosed:
		return nil
	case s.h.Caps().Spent:
		return wire.ErrSpent
	case e.Limit:
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "send", Sent: rpc.NotSent, Msg: e.Why}
	case e.Code == http2.RefusedStream:
		return &rpc.Error{Code: rpc.Unavailable, Op: "send", Sent: rpc.NotSent, Msg: e.Why}
	}
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "send", Sent: rpc.NotSent, Msg: e.Why}
}

// ended notes what the frame at hand has changed for its stream.
func (s *Session) ended(ev *wire.Event) {
	o := &s.out
	switch {
	case ev.Flags&wire.Stream == 0:
	case s.side == wire.Client && ev.Flags&wire.Open != 0:
		o.remember(ev.ID)
	case s.side == wire.Client:
		if ev.Flags&wire.Reset != 0 {
			s.dropStream(ev.ID)
		}
	case ev.Flags&(wire.End|wire.Reset) != 0:
		s.dropStream(ev.ID)
		o.over = append(o.over, ev.ID)
	case o.send.Flags&http2.Answer != 0:
		o.stream(ev.ID).headed = true
	}
}

// A path is what the head of a request is for.
type path struct {
	service, method string
	stream          bool // of Connect: its messages are in envelopes
}

// paths are the heads of requests, by their methods.
type paths struct {
	of   path // last
	last *http2.Head
	all  map[path]*http2.Head
}

// pathsMost is how many methods a connection remembers; the heads of others are made anew.
const pathsMost = 512

// head gives the head of requests to a method.
func (p *paths) head(s *Session, to path) *http2.Head {
	if p.last != nil && p.of == to {
		return p.last
	}
	h := p.all[to]
	if h == nil {
		h = s.newPath(to)
		if p.all == nil {
			p.all = map[path]*http2.Head{}
		}
		if len(p.all) < pathsMost {
			p.all[to] = h
		}
	}
	p.of, p.last = to, h
	return h
}

func (s *Session) newPath(to path) *http2.Head {
	scheme := "http"
	if s.p.Secure {
		scheme = "https"
	}
	fields := []http2.Field{
		{Name: ":method", Value: "POST"}, {Name: ":scheme", Value: scheme},
		{Name: ":path", Value: "/" + to.service + "/" + to.method}, {Name: ":authority", Value: s.p.Authority},
		{Name: "user-agent", Value: "limosa"},
	}
	if s.p.Connect {
		return http2.NewHead(append(fields, connectHead(to.stream)...)...)
	}
	return http2.NewHead(append(fields, http2.Field{Name: "content-type", Value: contentType},
		http2.Field{Name: "te", Value: "trailers"}, http2.Field{Name: "grpc-accept-encoding", Value: grpc.Gzip})...)
}
