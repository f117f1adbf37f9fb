package http2

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// An end is a Session with its input and output, driven as an engine would.
type end struct {
	t    testing.TB
	s    *Session
	in   buf.In
	out  buf.Out
	err  error
	evs  []Event // of the batch at hand
	seen []string
	now  time.Time
	// on is called for each event that Apply has left flags of.
	on func(ev *Event)
}

func newEnd(t testing.TB, side Side, cfg Config) *end {
	e := &end{t: t, s: New(side, cfg), now: time.Unix(1e9, 0)}
	t.Cleanup(func() { e.in.Close(); e.out.Reset() })
	return e
}

// give receives bytes, piece by piece.
func (e *end) give(p []byte, piece int) {
	for len(p) > 0 && e.err == nil {
		n := min(len(p), piece)
		room := e.in.Space()
		n = copy(room, p[:n])
		e.in.Filled(n)
		p = p[n:]
		e.read()
	}
}

// read cuts all that is there, and applies it.
func (e *end) read() {
	if e.err != nil {
		return
	}
	e.s.Clock(e.now)
	e.evs = e.evs[:0]
	for {
		e.evs = append(e.evs, Event{})
		ev := &e.evs[len(e.evs)-1]
		need, err := e.s.Cut(&e.in, ev)
		if err != nil || need > 0 {
			e.err = err
			e.evs = e.evs[:len(e.evs)-1]
			break
		}
	}
	for i := range e.evs {
		ev := &e.evs[i]
		e.s.Apply(&e.out, ev)
		if ev.Flags&Close != 0 {
			e.err = ev.Err
		}
		if ev.Flags == 0 {
			if ev.Body.Len() > 0 {
				e.t.Errorf("an event without flags holds %d bytes", ev.Body.Len())
			}
			continue
		}
		if e.on != nil {
			e.on(ev)
		} else {
			e.seen = append(e.seen, show(ev))
		}
		ev.Body.Release()
	}
}

// send appends a frame or a message with a body.
func (e *end) send(sd Send, body string) error {
	m := e.s.Begin(&e.out, &sd)
	if sd.Flags&Data != 0 {
		e.out.AppendString(body)
	}
	err := e.s.End(&e.out, m, &sd)
	if err != nil {
		e.out.Truncate(m)
	}
	return err
}

// moved takes what is to be sent.
func (e *end) moved() []byte {
	p := e.out.Bytes()
	e.out.Reset()
	return p
}

// exchange moves bytes until both ends are silent.
func exchange(a, b *end, piece int) {
	for a.out.Len() > 0 || b.out.Len() > 0 {
		b.give(a.moved(), piece)
		a.give(b.moved(), piece)
	}
}

var flagNames = []string{"open", "answer", "data", "end", "reset", "credit", "ping", "pong", "settings", "goaway", "last", "close", "gathered", "begins", "faulty"}

// show gives an event in one line.
func show(ev *Event) string {
	var w []string
	for i, n := range flagNames {
		if ev.Flags&(1<<i) != 0 {
			w = append(w, n)
		}
	}
	s := strings.Join(w, "|")
	if ev.ID != 0 {
		s += fmt.Sprintf(" %d", ev.ID)
	}
	if ev.Fields != nil {
		if ev.Fields.Status != 0 {
			s += fmt.Sprintf(" %d", ev.Fields.Status)
		}
		s += " " + ev.Fields.Path
		for _, f := range append(ev.Fields.List[:len(ev.Fields.List):len(ev.Fields.List)], ev.Rest...) {
			if strings.HasPrefix(f.Name, "grpc-") || strings.HasPrefix(f.Name, "x-") {
				s += fmt.Sprintf(" %s=%s", f.Name, f.Value)
			}
		}
	}
	if n := ev.Body.Len(); n > 40 {
		s += fmt.Sprintf(" [%d]", n)
	} else if n > 0 {
		s += fmt.Sprintf(" %q", ev.Body.Bytes())
	}
	if ev.Trailer != nil {
		s += " trailer"
		for _, f := range append(ev.Trailer.List[:len(ev.Trailer.List):len(ev.Trailer.List)], ev.Tail...) {
			s += fmt.Sprintf(" %s=%s", f.Name, f.Value)
		}
	}
	if ev.Flags&(Reset|GoAway) != 0 {
		s += " " + ev.Code.String()
	}
	if ev.Flags&Credit != 0 && ev.Credit > 0 {
		s += fmt.Sprintf(" +%d", ev.Credit)
	}
	if ev.Err != nil {
		s += fmt.Sprintf(" (%v %s)", ev.Err.Code, ev.Err.Why)
	}
	return s
}

// What a gRPC call would be.
var (
	requestHead = NewHead(Field{":method", "POST"}, Field{":scheme", "http"}, Field{":path", "/hello.Hello/Echo"}, Field{":authority", "127.0.0.1:8888"},
		Field{"te", "trailers"}, Field{"content-type", "application/grpc"}, Field{"user-agent", "limosa"})
	answerHead  = NewHead(Field{":status", "200"}, Field{"content-type", "application/grpc"})
	answerTail  = NewHead(Field{"grpc-status", "0"})
	refusedHead = NewHead(Field{":status", "200"}, Field{"content-type", "application/grpc"}, Field{"grpc-status", "12"})
)

// echo answers each request with its body.
func (e *end) echo() {
	e.on = func(ev *Event) {
		e.seen = append(e.seen, show(ev))
		if ev.Flags&(Open|End) == Open|End {
			if err := e.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}, string(ev.Body.Bytes())); err != nil {
				e.t.Errorf("answer: %v", err)
			}
		}
	}
}

func (e *end) expect(want ...string) {
	e.t.Helper()
	var got []string
	for _, s := range e.seen {
		if s != "settings" && s != "settings|credit" && !strings.HasPrefix(s, "credit +") {
			got = append(got, s)
		}
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		e.t.Errorf("saw\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
	e.seen = nil
}

func TestUnaryCall(t *testing.T) {
	for _, piece := range []int{1 << 20, 1, 7, 100} {
		c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
		s.echo()
		for i := range 5 {
			body := strings.Repeat("x", i)
			if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(100 + i), Head: requestHead, Brief: BriefOf("grpc-timeout", []byte("9m"))}, body); err != nil {
				t.Fatal(err)
			}
			exchange(c, s, piece)
			data, shown := "|data", fmt.Sprintf(" %q", body)
			if i == 0 {
				data, shown = "", ""
			}
			s.expect(fmt.Sprintf("open%s|end %d /hello.Hello/Echo grpc-timeout=9m%s", data, 2*i+1, shown))
			c.expect(fmt.Sprintf("answer%s|end %d 200 %s trailer grpc-status=0", data, 100+i, shown))
		}
		if c.s.out.streams.live+s.s.out.streams.live+c.s.out.calls.live != 0 || c.s.in.gathers != nil || s.s.in.gathers != nil {
			t.Error("something is left")
		}
	}
}

// TestUnaryBytes holds what a call costs on the wire, once tables are filled.
func TestUnaryBytes(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	s.echo()
	const n = 100
	body := strings.Repeat("x", 5+n) // gRPC's five bytes before a message
	for i := range 4 {
		if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(i + 1), Head: requestHead}, body); err != nil {
			t.Fatal(err)
		}
		if i < 3 {
			exchange(c, s, 1<<20)
			continue
		}
		p := c.moved()
		if len(p) != 30+n || countFrames(p) != 2 {
			t.Errorf("a request of %d bytes in %d frames", len(p), countFrames(p))
		}
		s.give(p, 1<<20)
		if p = s.moved(); len(p) != 35+n || countFrames(p) != 3 {
			t.Errorf("an answer of %d bytes in %d frames", len(p), countFrames(p))
		}
	}
}

func countFrames(p []byte) (n int) {
	for len(p) >= frameHead {
		p = p[frameHead+parseFrame(p).size:]
		n++
	}
	return n
}
