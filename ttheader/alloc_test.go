package ttheader

import (
	"strconv"
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
	for _, p := range []Protocol{
		{}, {NoOffer: true}, {Form: Framed}, {Form: Buffered}, {Form: THeader}, {Form: Framed, Compact: true}, {Form: THeader, Compact: true},
	} {
		r := newTrip(p, 1024)
		r.req.Timeout = 1500e6
		if n := testing.AllocsPerRun(200, r.run); n != 0 {
			t.Errorf("%+v: %v allocations", p, n)
		}
	}
	r := newTrip(Protocol{}, 1024)
	r.req.Header = rpc.Metadata{{Key: "tenant", Value: "t1"}}
	if n := testing.AllocsPerRun(200, r.run); n > 2 {
		t.Errorf("one pair of metadata: %v allocations", n)
	}
}

// A streaming is one message each way of an open stream, over bytes, in any
// number, with what credit they take.
type streaming struct {
	trip
	down, grant wire.Event
}

func newStreaming(p Protocol, body int) *streaming {
	r := &streaming{trip: *newTrip(p, body)}
	if p.NoOffer { // Kitex has other connections for streams
		r.c, r.s = p.Open(wire.Client, testLimits), Protocol{}.Open(wire.Server, testLimits)
	}
	r.req = wire.Event{Flags: wire.Stream | wire.Open, ID: 131073, Service: "Echo", Method: "Chat"}
	open := r.req
	m := r.c.Begin(&r.out, &open)
	if err := r.c.End(&r.out, m, &open); err != nil {
		panic(err)
	}
	r.pass(&r.toS)
	var err error
	if r.ev, _, err = r.s.Cut(&r.toS); err != nil || r.ev.Flags&wire.Open == 0 {
		panic("no stream")
	}
	r.req.Flags = wire.Stream | wire.Message
	r.down = wire.Event{Flags: r.req.Flags, ID: r.ev.ID, Tag: r.ev.Tag, Method: "Chat"}
	r.grant = wire.Event{Flags: wire.Stream | wire.Credit, Credit: len(r.body) + StreamMessage}
	r.run()
	return r
}

// one sends a message from a to b, and lets b take it.
func (r *streaming) one(from, to wire.Session, in *buf.In, ev *wire.Event, id uint64) {
	r.frame(from, ev)
	r.pass(in)
	for {
		var err error
		if r.ev, _, err = to.Cut(in); err != nil || r.ev.Flags == 0 {
			panic("no event")
		}
		if r.ev.Flags&wire.Settings != 0 {
			to.Apply(&r.out, &r.ev)
		}
		if r.ev.Flags&wire.Message != 0 {
			break
		}
	}
	if r.ev.ID != id || r.ev.Body.Len() != len(r.body) {
		panic("another message")
	}
	r.ev.Body.Release()
}

func (r *streaming) run() {
	r.one(r.c, r.s, &r.toS, &r.req, r.down.ID)
	r.one(r.s, r.c, &r.toC, &r.down, r.req.ID)
	r.grant.ID = r.req.ID
	r.c.Apply(&r.out, &r.grant)
	r.grant.ID = r.down.ID
	r.s.Apply(&r.out, &r.grant)
	if r.c.Credit(r.req.ID) <= 0 || r.s.Credit(r.down.ID) <= 0 {
		panic("no room")
	}
}

// TestNoAllocationsOfStreams: a message of an open stream costs none, with our
// kind and with Kitex.
func TestNoAllocationsOfStreams(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("this build allocates blocks anew")
	}
	for _, p := range []Protocol{{}, {NoOffer: true}} {
		r := newStreaming(p, 1024)
		if n := testing.AllocsPerRun(200, r.run); n != 0 {
			t.Errorf("offer %v: %v allocations", !p.NoOffer, n)
		}
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

// BenchmarkStream is two messages, one each way.
func BenchmarkStream(b *testing.B) {
	for _, p := range []Protocol{{}, {NoOffer: true}} {
		for _, size := range []int{16, 1024} {
			name := map[bool]string{false: "ours", true: "kitex"}[p.NoOffer] + "-" + strconv.Itoa(size)
			b.Run(name, func(b *testing.B) {
				r := newStreaming(p, size)
				b.ReportAllocs()
				for b.Loop() {
					r.run()
				}
			})
		}
	}
}
