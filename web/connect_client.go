package web

import (
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/grpc"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What a client makes of answers of Connect. Their heads say whether they are one message or
// a stream; whether that is what was called, Apply knows.

// shape is the kind of call that an answer is for.
type shape uint8

const (
	anyShape shape = iota // it is not said, or makes no difference
	ofOne
	ofMany
)

// connectHead is what requests of Connect have in their heads besides what all have.
func connectHead(stream bool) []http2.Field {
	kind, accepts := connect.Kind(rpc.Native), "accept-encoding"
	if stream {
		kind, accepts = connect.StreamKind(rpc.Native), "connect-accept-encoding"
	}
	return []http2.Field{{Name: "content-type", Value: kind}, {Name: "connect-protocol-version", Value: "1"}, {Name: accepts, Value: grpc.Gzip}}
}

// A connectAnswer is what the head of an answer says.
type connectAnswer struct {
	shape  shape
	packed bool // the body is compressed, where it is one message or an error
	text   bool // it is the text of an error
	md     rpc.Metadata
	err    *rpc.Error // why there is no message
}

// cutConnectAnswer makes the events of a part of an answer.
func (s *Session) cutConnectAnswer(st *step, ev *wire.Event) {
	hev := &st.ev
	ended := hev.Flags&http2.End != 0
	var a connectAnswer
	if hev.Flags&http2.Answer != 0 {
		a = s.connectAnswer(hev)
		st.shape = a.shape
	}
	switch sp := s.in.streams[hev.ID]; {
	case a.err != nil && ended:
		s.in.forget(hev.ID)
		ev.Flags |= wire.End
		ev.Err, ev.Trailer = s.connectError(hev, &a), a.md
	case a.shape == ofOne && ended:
		s.in.forget(hev.ID)
		ev.Flags |= wire.Message | wire.End
		ev.Body, ev.Trailer = hev.Body.Slice(0, hev.Body.Len()), a.md // Apply counts what there is
		if st.count = 1; a.packed && ev.Body.Len() > 0 {
			ev.Flags |= wire.Packed
		}
	case a.err != nil || a.shape == ofOne: // of a gathered one all will be seen again
		if ev.Err = a.err; ev.Err == nil {
			ev.Err = connectFault(rpc.Internal, "the answer is one message, and not a stream")
		}
		s.in.readPast(hev.ID)
	case ended:
		s.begin(st, sp, ev, true, tail{end: true, trailer: a.md})
	default:
		ev.Trailer = a.md
		s.begin(st, sp, ev, false, tail{})
	}
}

func connectFault(code rpc.Code, why string) *rpc.Error {
	return &rpc.Error{Code: code, Op: "receive", Msg: why, Sent: rpc.Processed, Remote: true}
}

// connectAnswer reads the head of an answer.
func (s *Session) connectAnswer(hev *http2.Event) (a connectAnswer) {
	if hev.Fields == s.in.usual.head && len(hev.Rest) == 0 {
		return connectAnswer{shape: s.in.usual.shape}
	}
	kind, one, many := "", "", ""
	lists := [][]http2.Field{hev.Fields.List, hev.Rest}
	code := rpc.OK
	for _, list := range lists {
		for _, f := range list {
			switch f.Name {
			case "content-type":
				kind, _, _ = strings.Cut(f.Value, ";")
			case "content-encoding":
				one = f.Value
			case "connect-content-encoding":
				many = f.Value
			}
		}
		if code == rpc.OK {
			a.md, code = connect.ReadMetadata(a.md, list, 2*s.lim.HeaderEntries)
		}
	}
	by := one
	switch status := hev.Fields.Status; {
	case status != 200:
		a.text = kind == connect.Kind(rpc.JSON)
		a.err = connectFault(grpc.OfHTTP(status), "the peer has answered with HTTP status "+strconv.Itoa(status))
	case kind == connect.Kind(rpc.Native):
		a.shape = ofOne
	case kind == connect.StreamKind(rpc.Native):
		a.shape, by = ofMany, many
	default:
		a.err = connectFault(rpc.Unknown, "the answer is none of Connect: its content type is "+strconv.Quote(kind[:min(len(kind), 64)]))
	}
	switch a.packed = by == grpc.Gzip; {
	case a.err != nil:
	case !a.packed && by != "" && by != "identity":
		a.err = connectFault(rpc.Internal, "the answer is compressed by "+strconv.Quote(by[:min(len(by), 32)]))
	case code != rpc.OK:
		a.err = connectFault(rpc.Internal, "metadata that is not base64, or beyond the limits")
	case a.md == nil && !a.packed && len(hev.Rest) == 0:
		s.in.usual.head, s.in.usual.shape = hev.Fields, a.shape
	}
	return a
}

// connectError is what an answer without a message says, whose body has come whole.
func (s *Session) connectError(hev *http2.Event, a *connectAnswer) *rpc.Error {
	if !a.text {
		return a.err
	}
	text, packed := hev.Body, a.packed
	if packed {
		v, fault := s.inflateText(text)
		if fault != nil {
			return a.err
		}
		defer v.Release()
		text = v
	}
	e, ok := connect.ReadError(text.Bytes(), s.lim)
	if !ok {
		return a.err
	}
	if e.Code == rpc.OK {
		e.Code = a.err.Code
	}
	return e
}

// inflateText inflates what a peer says about a call, to what metadata may be at the most.
func (s *Session) inflateText(v buf.View) (buf.View, *rpc.Error) {
	return grpc.Inflate(v.Bytes(), min(textMost, s.lim.InflateBudget(v.Len())))
}

// textMost is how large an error, or the end of a stream, may become, in bytes.
const textMost = 1 << 20

// takeLast takes the last envelope of a stream's answer, which is no message.
func (s *Session) takeLast(b *body) {
	m := b.next
	b.next, b.has = grpc.Message{}, false
	b.grant += m.Took // nobody else grants it
	t := &tail{err: connectFault(rpc.Internal, "the end of the stream makes no sense")}
	text := m.Body
	if m.Packed && text.Len() > 0 {
		v, fault := s.inflateText(text)
		if text.Release(); fault != nil {
			b.split.last = t
			return
		}
		text = v
	}
	if md, e, ok := connect.ReadEnd(text.Bytes(), s.lim); ok {
		t.trailer, t.err = md, e
	}
	text.Release()
	b.split.last = t
}

// endConnect has the end of a stream's answer be as its last envelope says.
func (b *body) endConnect() {
	last := b.split.last
	switch {
	case last != nil:
		b.tail.err = last.err
		b.tail.trailer = append(b.tail.trailer, last.trailer...)
	case b.tail.err == nil:
		b.tail.err = connectFault(rpc.Internal, "the answer ends without its last envelope")
	}
}
