package ttheader

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A pair is a client's and a server's session with nothing but bytes between
// them, which arrive in random pieces.
type pair struct {
	t      *testing.T
	rng    *rand.Rand
	c, s   wire.Session
	toS    pipe
	toC    pipe
	calls  map[uint64]*pairCall // in flight, by the client's id
	served []wire.Event         // requests that wait for an answer
	next   uint64
	hello  bool
	kin    bool // the form negotiates
	form   Form
	enc    rpc.Encoding
	done   int
	cancel int
}

type pairCall struct {
	req    wire.Event
	body   []byte
	answer string // what the server said, as a trace
}

// A pipe is one direction: bytes in flight, and what has arrived.
type pipe struct {
	flight []byte
	in     buf.In
}

func (p *pair) write(q *pipe, s wire.Session, ev *wire.Event, body []byte) bool {
	b, err := frameBytes(s, ev, body)
	if err != nil {
		p.t.Fatal(err)
	}
	q.flight = append(q.flight, b...)
	return len(b) > 0
}

// arrive lets some bytes through and gives the events that come of them.
func (p *pair) arrive(q *pipe, s wire.Session) []wire.Event {
	n := min(len(q.flight), 1+p.rng.IntN(400))
	feed(&q.in, q.flight[:n])
	q.flight = q.flight[n:]
	evs, _, err := cutAll(s, &q.in)
	if err != nil {
		p.t.Fatal(err)
	}
	return evs
}

func (p *pair) pairs(max int) (m rpc.Metadata) {
	for range p.rng.IntN(max + 1) {
		key := []string{"a", "b", "trace-id", "crrst", "isn", "gdpr-token", "RPC_TRANSIT_x"}[p.rng.IntN(7)]
		m = append(m, rpc.Pair{Key: key, Value: strings.Repeat("v", p.rng.IntN(5))})
	}
	return m
}

func (p *pair) body() []byte {
	text := strings.Repeat("x", p.rng.IntN(300)*p.rng.IntN(2)+p.rng.IntN(10))
	if p.enc == rpc.Compact {
		return raw.Compact{}.AppendException(nil, text, 7)
	}
	return raw.AppendException(nil, text, 7)
}

// call sends a request. Header and timeout are only for forms that carry them.
func (p *pair) call(header bool) {
	p.next++
	c := &pairCall{body: p.body()}
	c.req = wire.Event{
		Flags: wire.Open | wire.Message | wire.End, ID: p.next | 1<<16,
		Method: fmt.Sprint("m", p.rng.IntN(5)), Encoding: p.enc,
	}
	if p.rng.IntN(5) == 0 {
		c.req.Flags |= wire.Oneway
	}
	if header {
		if p.form == TTHeader {
			c.req.Service = "Echo"
		}
		c.req.Header = p.pairs(3)
		for i := range c.req.Header {
			if c.req.Header[i].Value == "" && c.req.Header[i].Key == tokenKey {
				c.req.Header[i].Value = "t" // an empty token is none
			}
			if c.req.Header[i].Key != tokenKey && (p.form == TTHeader || i == 0) {
				c.req.Header[i].Scope = rpc.Scope(p.rng.IntN(2))
			}
		}
		c.req.Timeout = time.Duration(p.rng.IntN(3)) * 1000 * time.Millisecond
	}
	p.calls[c.req.ID] = c
	p.write(&p.toS, p.c, &c.req, c.body)
}

// serve takes what arrived at the server.
func (p *pair) serve() {
	for _, ev := range p.arrive(&p.toS, p.s) {
		if ev.Flags&wire.Settings != 0 {
			var out buf.Out
			p.s.Apply(&out, &ev)
			p.toC.flight = append(p.toC.flight, out.Bytes()...)
			out.Reset()
		}
		if ev.Flags&wire.Reset != 0 {
			if ev.Err.Code != rpc.Canceled || ev.ID == 0 {
				p.t.Fatalf("cancel: %s", trace(ev))
			}
			p.cancel++
			continue
		}
		if ev.Flags&wire.Open == 0 {
			continue
		}
		id := uint64(uint32(seqOf(ev.Tag)))
		c := p.calls[id]
		if c == nil {
			p.t.Fatalf("request that was not sent: %s", trace(ev))
		}
		want := c.req
		want.Body = buf.ViewOf(c.body)
		want.Tag, want.ID = ev.Tag, ev.ID
		want.Flags |= ev.Flags & (wire.Settings | wire.Unordered)
		// The token has a block of its own, which comes first.
		slices.SortStableFunc(want.Header, func(a, b rpc.Pair) int {
			return btoi(p.form == TTHeader) * (btoi(b.Key == tokenKey) - btoi(a.Key == tokenKey))
		})
		if got, want := trace(ev), trace(want); got != want {
			p.t.Fatalf("request\ngot  %s\nwant %s", got, want)
		}
		ev.Body.Release()
		ev.Body = buf.View{}
		if ev.Flags&wire.Oneway != 0 {
			delete(p.calls, id)
			p.done++
		} else {
			p.served = append(p.served, ev)
		}
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// reply answers one of the requests that wait: any, if they may overtake.
func (p *pair) reply(header bool) {
	if len(p.served) == 0 {
		return
	}
	i := 0
	if p.served[0].Flags&wire.Unordered != 0 {
		i = p.rng.IntN(len(p.served))
	}
	ev := p.served[i]
	p.served = slices.Delete(p.served, i, i+1)
	id := uint64(uint32(seqOf(ev.Tag)))
	ans := wire.Event{Flags: wire.Message | wire.End, ID: ev.ID, Method: ev.Method, Tag: ev.Tag, Encoding: ev.Encoding}
	want := wire.Event{Flags: ans.Flags, ID: id, Method: ev.Method, Encoding: p.enc}
	var body []byte
	if p.rng.IntN(3) == 0 {
		ans.Flags &^= wire.Message
		ans.Err = &rpc.Error{Code: rpc.Code(1 + p.rng.IntN(rpc.Codes-1)), Msg: "no luck", Details: p.pairs(2)}
		e := *ans.Err
		e.Sent, e.Remote = rpc.Processed, true
		if p.rng.IntN(3) == 0 {
			ans.Err.Sent = rpc.Refused
		}
		if p.kin {
			if ans.Err.Sent == rpc.Refused {
				e.Sent = rpc.Refused
			}
		} else {
			e.Code, e.Details = raw.ExceptionOf(e.Code).Code(), nil
		}
		want.Flags, want.Err = ans.Flags, &e
	} else {
		body = p.body()
		if header {
			ans.Trailer = p.pairs(3)
			want.Trailer = ans.Trailer
			if !p.kin && p.form == TTHeader {
				want.Trailer = slices.DeleteFunc(ans.Trailer.Clone(), func(p rpc.Pair) bool { return internal(p.Key) })
			}
		}
		want.Body = buf.ViewOf(body)
	}
	p.calls[id].answer = trace(want)
	p.write(&p.toC, p.s, &ans, body)
}

// receive takes what arrived at the client.
func (p *pair) receive() {
	for _, ev := range p.arrive(&p.toC, p.c) {
		if ev.Flags&wire.Settings != 0 {
			var out buf.Out
			p.c.Apply(&out, &ev)
			if out.Len() > 0 {
				p.t.Fatal("a client answered a hello")
			}
			p.hello = true
			continue
		}
		c := p.calls[ev.ID]
		if c == nil {
			p.t.Fatalf("answer to nothing: %s", trace(ev))
		}
		if got := trace(ev); got != c.answer {
			p.t.Fatalf("answer\ngot  %s\nwant %s", got, c.answer)
		}
		ev.Body.Release()
		delete(p.calls, ev.ID)
		p.done++
	}
}

// TestPair drives random calls over every form.
func TestPair(t *testing.T) {
	for _, proto := range []Protocol{
		{}, {NoOffer: true}, {Form: Framed}, {Form: Buffered}, {Form: THeader},
		{Compact: true}, {Compact: true, NoOffer: true}, {Compact: true, Form: Framed}, {Compact: true, Form: Buffered}, {Compact: true, Form: THeader},
	} {
		t.Run(fmt.Sprintf("%s offer=%v compact=%v", proto.Form, !proto.NoOffer, proto.Compact), func(t *testing.T) {
			for seed := range uint64(20) {
				p := &pair{
					t: t, rng: rand.New(rand.NewPCG(seed, 1)), calls: map[uint64]*pairCall{},
					c: proto.Open(wire.Client, testLimits), s: Protocol{}.Open(wire.Server, testLimits),
					kin: proto.Form == TTHeader && !proto.NoOffer, form: proto.Form,
				}
				if proto.Compact {
					p.enc = rpc.Compact
				}
				p.drive(proto.Form == TTHeader || proto.Form == THeader)
				p.toS.in.Close()
				p.toC.in.Close()
				if p.kin != p.c.Caps().Mux || p.kin != p.s.Caps().Mux || p.c.Caps().Pending {
					t.Fatalf("client %+v, server %+v", p.c.Caps(), p.s.Caps())
				}
			}
		})
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// drive makes 200 calls: one at a time until the peer is known to take more.
func (p *pair) drive(header bool) {
	for p.done < 200 {
		most := 1
		if p.kin && p.hello {
			most = 30
		}
		switch p.rng.IntN(5) {
		case 0:
			switch {
			case most > 1 && len(p.served) > 0 && p.rng.IntN(4) == 0:
				id := uint64(uint32(seqOf(p.served[0].Tag)))
				if !p.write(&p.toS, p.c, &wire.Event{Flags: wire.Reset, ID: id}, nil) {
					p.t.Fatal("a cancel was not written")
				}
			case len(p.calls) < most:
				p.call(header)
			}
		case 1, 2:
			p.serve()
		case 3:
			p.reply(header)
		case 4:
			p.receive()
		}
	}
	for len(p.calls) > 0 || len(p.toS.flight)+len(p.toC.flight) > 0 {
		p.serve()
		p.reply(header)
		p.receive()
	}
	if p.kin && p.cancel == 0 {
		p.t.Error("no cancel arrived")
	}
}
