package ttheader

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A trip is one call from Begin on the client to the cut answer, over bytes.
type trip struct {
	c, s     wire.Session
	out      buf.Out
	toS, toC buf.In
	body     []byte
	req, ev  wire.Event // here, so that the test's own events cost nothing
}

func newTrip(p Protocol, body int) *trip {
	r := &trip{
		c: p.Open(wire.Client, testLimits), s: Protocol{}.Open(wire.Server, testLimits),
		body: append([]byte(strings.Repeat("\x02\x00\x01\x01", body/4)), 0),
		req:  wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 65537, Service: "Echo", Method: "Ping"},
	}
	r.run()
	return r
}

// pass moves what is queued to the other side.
func (r *trip) pass(in *buf.In) {
	var room [8][]byte
	for _, p := range r.out.Iov(room[:0]) {
		feed(in, p)
	}
	r.out.Sent(r.out.Len())
}

func (r *trip) frame(s wire.Session, ev *wire.Event) {
	m := s.Begin(&r.out, ev)
	r.out.Append(r.body)
	if err := s.End(&r.out, m, ev); err != nil {
		panic(err)
	}
}

// cut takes the next event with a call off in, into r.ev.
func (r *trip) cut(s wire.Session, in *buf.In) {
	for {
		var err error
		if r.ev, _, err = s.Cut(in); err != nil || r.ev.Flags == 0 {
			panic("no event")
		}
		if r.ev.Flags&wire.Settings != 0 {
			s.Apply(&r.out, &r.ev)
		}
		if r.ev.Flags&wire.End != 0 {
			return
		}
	}
}

func (r *trip) run() {
	r.frame(r.c, &r.req)
	r.pass(&r.toS)
	r.cut(r.s, &r.toS)
	r.ev.Body.Release()
	r.ev.Flags, r.ev.Body = wire.Message|wire.End, buf.View{}
	r.frame(r.s, &r.ev)
	r.pass(&r.toC)
	r.cut(r.c, &r.toC)
	if r.ev.ID != r.req.ID || r.ev.Err != nil {
		panic("wrong answer")
	}
	r.ev.Body.Release()
}

// TestNoAllocations: a call to a known method costs none, on no form, with or
// without a deadline. Metadata costs its slice and one copy of its text.
func TestNoAllocations(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("this build allocates blocks anew")
	}
	for _, p := range []Protocol{{}, {NoOffer: true}, {Form: Framed}, {Form: Buffered}} {
		r := newTrip(p, 1024)
		r.req.Timeout = 1500e6
		if n := testing.AllocsPerRun(200, r.run); n != 0 {
			t.Errorf("%s, offer %v: %v allocations", p.Form, !p.NoOffer, n)
		}
	}
	r := newTrip(Protocol{}, 1024)
	r.req.Header = rpc.Metadata{{Key: "tenant", Value: "t1"}}
	if n := testing.AllocsPerRun(200, r.run); n > 2 {
		t.Errorf("one pair of metadata: %v allocations", n)
	}
}

// TestNamesAreBounded: a peer that makes names up fills no memory.
func TestNamesAreBounded(t *testing.T) {
	var n names
	for i := range 100_000 {
		n.intern(1, []byte(strings.Repeat("x", i%300)+string(rune(i))))
	}
	if len(n.all) > maxNames {
		t.Errorf("%d names are held", len(n.all))
	}
}

func BenchmarkTrip(b *testing.B) {
	for _, p := range []Protocol{{}, {NoOffer: true}, {Form: Framed}, {Form: Buffered}} {
		name := p.Form.String()
		if p.NoOffer {
			name += "-nooffer"
		}
		b.Run(name, func(b *testing.B) {
			r := newTrip(p, 1024)
			b.ReportAllocs()
			for b.Loop() {
				r.run()
			}
		})
	}
}
