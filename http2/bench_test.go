package http2

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
)

// pump moves what is in out to in as a transport would.
func pump(out *buf.Out, in *buf.In) {
	var iov [4][]byte
	for out.Len() > 0 {
		n := 0
		for _, p := range out.Iov(iov[:0]) {
			room := in.Space()
			k := copy(room, p)
			in.Filled(k)
			if n += k; k < len(p) {
				break
			}
		}
		out.Sent(n)
	}
}

// A trip is one call at a time between two sessions.
type trip struct {
	c, s       *Session
	cin, sin   buf.In
	cout, sout buf.Out
	ev         Event
	call       uint64
	body       string
	brief      Brief
}

func newTrip(n int) *trip {
	return &trip{c: New(Client, Config{}), s: New(Server, Config{}), body: strings.Repeat("x", n+5)}
}

func (t *trip) cut(s *Session, in *buf.In, out *buf.Out) *Event {
	for {
		if need, err := s.Cut(in, &t.ev); need > 0 || err != nil {
			return nil
		}
		if s.Apply(out, &t.ev); t.ev.Flags&(Open|Answer) != 0 {
			return &t.ev
		}
	}
}

func (t *trip) run() bool {
	t.call++
	sd := Send{Flags: Open | Data | End | Gathered, ID: t.call & 1023, Head: requestHead, Brief: t.brief}
	m := t.c.Begin(&t.cout, &sd)
	t.cout.AppendString(t.body)
	if t.c.End(&t.cout, m, &sd) != nil {
		return false
	}
	pump(&t.cout, &t.sin)
	ev := t.cut(t.s, &t.sin, &t.sout)
	if ev == nil {
		return false
	}
	sd = Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}
	m = t.s.Begin(&t.sout, &sd)
	t.sout.Append(ev.Body.Bytes())
	ev.Body.Release()
	if t.s.End(&t.sout, m, &sd) != nil {
		return false
	}
	pump(&t.sout, &t.cin)
	if ev = t.cut(t.c, &t.cin, &t.cout); ev == nil || ev.ID != t.call&1023 || ev.Body.Len() != len(t.body) {
		return false
	}
	ev.Body.Release()
	// Nothing else is there.
	for t.cut(t.s, &t.sin, &t.sout) != nil || t.cut(t.c, &t.cin, &t.cout) != nil {
	}
	return true
}

func TestUnaryAllocs(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("skipped: this build allocates for its checks")
	}
	tr := newTrip(100)
	for range 100 {
		if !tr.run() {
			t.Fatal("the call failed")
		}
	}
	if n := testing.AllocsPerRun(1000, func() { tr.run() }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// BenchmarkUnary is one call over memory, both sides: Begin, End, copy, Cut, Apply.
func BenchmarkUnary(b *testing.B) {
	for _, bench := range []struct {
		name  string
		n     int
		brief Brief
	}{{"empty", 0, Brief{}}, {"1KB", 1024, Brief{}}, {"timeout", 0, BriefOf("grpc-timeout", []byte("999m"))}} {
		b.Run(bench.name, func(b *testing.B) {
			tr := newTrip(bench.n)
			tr.brief = bench.brief
			for range 100 {
				tr.run()
			}
			b.ReportAllocs()
			for b.Loop() {
				if !tr.run() {
					b.Fatal("the call failed")
				}
			}
		})
	}
}

// BenchmarkStream is one message of an open stream, one way, consumed and granted.
func BenchmarkStream(b *testing.B) {
	c, s := New(Client, Config{}), New(Server, Config{Gather: func(*Fields) bool { return false }})
	var cin, sin buf.In
	var cout, sout buf.Out
	body := strings.Repeat("x", 1024)
	sd := Send{Flags: Open, ID: 1, Head: requestHead}
	var ev Event
	b.ReportAllocs()
	for b.Loop() {
		m := c.Begin(&cout, &sd)
		if sd.Flags == Data {
			cout.AppendString(body)
		}
		if err := c.End(&cout, m, &sd); err != nil {
			b.Fatal(err)
		}
		sd = Send{Flags: Data, ID: 1}
		pump(&cout, &sin)
		for {
			if need, err := s.Cut(&sin, &ev); need > 0 || err != nil {
				break
			}
			s.Apply(&sout, &ev)
			if n := ev.Body.Len(); n > 0 {
				ev.Body.Release()
				credit := Send{Flags: Credit, ID: 1, Credit: n}
				m := s.Begin(&sout, &credit)
				s.End(&sout, m, &credit)
			}
		}
		for pump(&sout, &cin); ; {
			if need, err := c.Cut(&cin, &ev); need > 0 || err != nil {
				break
			}
			c.Apply(&cout, &ev)
		}
	}
	if n, _ := c.Kept(); n > defaultWindow {
		b.Errorf("%d bytes wait", n)
	}
}

// BenchmarkLarge is a megabyte each way in one call.
func BenchmarkLarge(b *testing.B) {
	tr := newTrip(1 << 20)
	b.SetBytes(2 << 20)
	b.ReportAllocs()
	for b.Loop() {
		tr.runLarge(b)
	}
}

// runLarge is run for a call that takes several turns of both sides.
func (t *trip) runLarge(b *testing.B) {
	t.call++
	sd := Send{Flags: Open | Data | End | Gathered, ID: t.call & 1023, Head: requestHead}
	m := t.c.Begin(&t.cout, &sd)
	t.cout.RefString(t.body)
	if err := t.c.End(&t.cout, m, &sd); err != nil {
		b.Fatal(err)
	}
	for {
		pump(&t.cout, &t.sin)
		if ev := t.cut(t.s, &t.sin, &t.sout); ev != nil {
			sd = Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}
			m = t.s.Begin(&t.sout, &sd)
			t.sout.Move(ev.Body)
			if err := t.s.End(&t.sout, m, &sd); err != nil {
				b.Fatal(err)
			}
		}
		pump(&t.sout, &t.cin)
		if ev := t.cut(t.c, &t.cin, &t.cout); ev != nil {
			ev.Body.Release()
			return
		}
	}
}
