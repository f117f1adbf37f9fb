package http1

import (
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/invariant"
)

func bufOf(s string) buf.View { return buf.ViewOf([]byte(s)) }

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
	t := &trip{c: New(Client, Config{}), s: New(Server, Config{}), body: strings.Repeat("x", n)}
	t.s.Clock(noon)
	return t
}

func (t *trip) cut(s *Session, in *buf.In, out *buf.Out) *Event {
	if need, err := s.Cut(in, &t.ev); need > 0 || err != nil {
		return nil
	}
	s.Apply(out, &t.ev)
	return &t.ev
}

func (t *trip) run() bool {
	t.call++
	sd := Send{Flags: Open | Data | End | Gathered, ID: t.call, Head: postHead, Brief: t.brief}
	m := t.c.Begin(&t.cout, &sd)
	t.cout.AppendString(t.body)
	if t.c.End(&t.cout, m, &sd) != nil {
		return false
	}
	pump(&t.cout, &t.sin)
	ev := t.cut(t.s, &t.sin, &t.sout)
	if ev == nil || ev.Flags != Open|Data|End || ev.Fields.Path != "/hello.Hello/Echo" {
		return false
	}
	sd = Send{Flags: Answer | Data | End, ID: ev.ID, Head: okHead}
	m = t.s.Begin(&t.sout, &sd)
	t.sout.Append(ev.Body.Bytes())
	ev.Body.Release()
	if t.s.End(&t.sout, m, &sd) != nil {
		return false
	}
	pump(&t.sout, &t.cin)
	if ev = t.cut(t.c, &t.cin, &t.cout); ev == nil || ev.Flags != Answer|Data|End || ev.ID != t.call || ev.Body.Len() != len(t.body) {
		return false
	}
	ev.Body.Release()
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
	}{{"16B", 16, Brief{}}, {"1KB", 1024, Brief{}}, {"timeout", 16, BriefOf("connect-timeout-ms", []byte("999"))}} {
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

// BenchmarkCut is a server's Cut and Apply of a small request, whose head it has seen,
// whose head differs in its last line each time, or whose head it has not seen.
func BenchmarkCut(b *testing.B) {
	const lines = " HTTP/1.1\r\nHost: localhost:8888\r\nUser-Agent: connect-go/1.18.1 (go1.26)\r\nContent-Length: 16\r\nAccept-Encoding: gzip\r\nConnect-Protocol-Version: 1\r\nContent-Type: application/json\r\n"
	for _, bench := range []struct{ name, one, two string }{
		{"cached", "POST /hello.Hello/Echo" + lines + "\r\n", "POST /hello.Hello/Echo" + lines + "\r\n"},
		{"two", "POST /hello.Hello/Echo" + lines + "\r\n", "POST /hello.Hello/Other" + lines + "\r\n"},
		{"timeout", "POST /hello.Hello/Echo" + lines + "Timeout: 1\r\n\r\n", "POST /hello.Hello/Echo" + lines + "Timeout: 2\r\n\r\n"},
		{"new", "POST /" + strings.Repeat("a", 600) + lines + "\r\n", "POST /" + strings.Repeat("b", 600) + lines + "\r\n"},
	} {
		b.Run(bench.name, func(b *testing.B) {
			s := New(Server, Config{})
			var in buf.In
			var out buf.Out
			var ev Event
			one, two := bench.one+`{"message":"hi"}`, bench.two+`{"message":"hi"}`
			b.ReportAllocs()
			for b.Loop() {
				in.Filled(copy(in.Space(), one))
				if need, err := s.Cut(&in, &ev); need > 0 || err != nil || ev.Flags != Open|Data|End {
					b.Fatal(need, err)
				}
				s.Apply(&out, &ev)
				ev.Body.Release()
				s.out.asked.pop()
				one, two = two, one
			}
		})
	}
}

// TestIdleMemory: a connection on which nothing was said is small.
func TestIdleMemory(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("skipped: this build allocates for its checks")
	}
	const n = 1000
	all := make([]*Session, n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range all {
		all[i] = New(Server, Config{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	size := int(after.HeapAlloc-before.HeapAlloc) / n
	t.Logf("%d bytes", size)
	if size > 2048 {
		t.Errorf("%d bytes for a connection on which nothing was said", size)
	}
	runtime.KeepAlive(all)
}
