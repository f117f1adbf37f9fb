package http2

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// account holds what a session counts to what it has.
func account(t testing.TB, s *Session) {
	t.Helper()
	n, untold := 0, 0
	for id, g := range s.in.gathers {
		n += cap(g.body) + g.ev.Fields.size
		untold += g.took
		for _, f := range g.ev.Rest {
			n += f.size()
		}
		if g.id != id {
			t.Errorf("gather %d is stream %d's", id, g.id)
		}
	}
	if untold != s.in.untold {
		t.Errorf("%d bytes were not told, %d counted", untold, s.in.untold)
	}
	awaited := 0
	for _, st := range s.out.streams.direct {
		if st != nil && st.awaited {
			awaited++
		}
	}
	for _, st := range s.out.streams.over {
		if st.awaited {
			awaited++
		}
	}
	if awaited != s.out.awaited || s.blocked.Load() != (s.in.block.id != 0) {
		t.Errorf("%d bodies are awaited, %d counted; a block: %t", awaited, s.out.awaited, s.blocked.Load())
	}
	if !s.Awaited() && s.in.err == nil && !s.out.dead {
		for id := range s.in.gathers {
			if !slices.Contains(s.out.ended, id) { // else the next Apply drops it
				t.Errorf("the body of stream %d is gathered for nobody", id)
			}
		}
	}
	if n != s.in.gathered {
		t.Errorf("%d bytes are gathered, %d counted", n, s.in.gathered)
	}
	n = 0
	if c := s.in.dec.cached; c != nil {
		for _, b := range c {
			if b != nil {
				n += b.cost()
			}
		}
	}
	if n != s.in.dec.bytes {
		t.Errorf("%d bytes are cached, %d counted", n, s.in.dec.bytes)
	}
	n = 0
	for i, st := range s.out.waiting {
		if st.kept == nil || st.kept.at != i || !st.live {
			t.Errorf("stream %d waits in place %d: %+v", st.id, i, st)
			continue
		}
		n += st.kept.body.Len()
	}
	if n != s.out.kept {
		t.Errorf("%d bytes are kept, %d counted", n, s.out.kept)
	}
	for _, tab := range []*table{&s.out.streams, &s.out.calls} {
		n = len(tab.over)
		for _, st := range tab.direct {
			if st != nil && st.live {
				n++
			}
		}
		if n != tab.live {
			t.Errorf("%d streams are live, %d counted", n, tab.live)
		}
	}
	if s.side == Client && s.out.calls.live != s.out.streams.live {
		t.Errorf("%d calls of %d streams", s.out.calls.live, s.out.streams.live)
	}
}

// sane holds what a session has sent to what any peer takes: whole frames, header
// blocks in the order in which they were encoded.
func sane(t testing.TB, p []byte, dec *hpack.Decoder) {
	t.Helper()
	p = bytes.TrimPrefix(p, []byte(Preface))
	for len(p) > 0 {
		if len(p) < frameHead || len(p) < frameHead+parseFrame(p).size {
			t.Fatalf("%d bytes behind the last frame", len(p))
		}
		f := parseFrame(p)
		if e := f.fault(); e != nil {
			t.Fatalf("%+v: %v", f, e)
		}
		if f.typ == typeHeaders || f.typ == typeContinuation {
			if _, err := dec.Write(p[frameHead : frameHead+f.size]); err != nil {
				t.Fatalf("header block of stream %d: %v", f.id, err)
			}
			if f.endHeaders() {
				if err := dec.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		p = p[frameHead+f.size:]
	}
}

// FuzzServer feeds a server with anything. It answers half of the requests.
func FuzzServer(f *testing.F) {
	for _, c := range append(append(specGeneric(), specFrames()...), specMessages()...) {
		r := newRaw().hello()
		c.send(r)
		f.Add(r.Bytes(), uint16(13), false)
	}
	f.Fuzz(func(t *testing.T, p []byte, piece uint16, streams bool) {
		cfg := Config{MessageBytes: 10_000, HeldBytes: 20_000, HeaderBytes: 400, Streams: 20, StreamWindow: 1}
		if streams {
			cfg.Gather = streaming
		}
		s := newEnd(t, Server, cfg)
		dec := hpack.NewDecoder(1<<16, nil)
		dec.SetEmitEnabled(false)
		tail := NewHead(Field{"grpc-status", "0"}, Field{"x-tail", "t"})
		s.on = func(ev *Event) {
			if ev.Flags&Data != 0 {
				s.send(Send{Flags: Credit, ID: ev.ID, Credit: ev.Body.Len()}, "")
			}
			switch {
			case ev.Flags&Open == 0 || ev.ID%4 == 3:
			case ev.ID%8 == 5:
				s.send(Send{Flags: Answer | Data, ID: ev.ID, Head: answerHead}, text(int(ev.ID%200)*100))
				s.send(Send{Flags: Data | End, ID: ev.ID, Tail: tail}, "last")
			default:
				s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}, string(ev.Body.Bytes()))
			}
		}
		for n := max(1, int(piece)); len(p) > 0 && s.err == nil; {
			n = min(n, len(p))
			s.give(p[:n], n)
			p = p[n:]
			account(t, s.s)
			sane(t, s.moved(), dec)
			if h := s.s.Held(); h > 20_000+25*gatherCost+4*400+frameMax+64<<10 {
				t.Fatalf("%d bytes are held", h)
			}
		}
	})
}

// FuzzClient feeds a client that has some calls in flight with anything.
func FuzzClient(f *testing.F) {
	s := newEnd(f, Server, Config{})
	c := newEnd(f, Client, Config{})
	s.echo()
	for i := range 4 {
		c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(i + 1), Head: requestHead}, text(i*5000))
	}
	s.give(c.moved(), 1<<20)
	f.Add(s.moved(), uint16(100))
	f.Add(append(settingsFrame(), newRaw().head(1, 0, ":status", "200").data(1, 0, "abc").head(1, flagEnd, "x", "y").rst(3).update(5, 9).Bytes()...), uint16(7))
	f.Add(append(settingsFrame(), newRaw().head(1, flagEnd, ":status", "103").Bytes()...), uint16(7))
	f.Add(append(settingsFrame(), newRaw().frame(typeGoAway, 0, 0, word(3)+word(0)).head(3, 0, ":status", "200", "content-length", "4").data(3, flagEnd, "abcd").Bytes()...), uint16(7))
	f.Fuzz(func(t *testing.T, p []byte, piece uint16) {
		c := newEnd(t, Client, Config{MessageBytes: 10_000, HeldBytes: 20_000, HeaderBytes: 400})
		for i := range 6 {
			flags := Open | Data | End
			if i%2 == 0 {
				flags |= Gathered
			}
			if i == 5 {
				flags &^= End
			}
			c.send(Send{Flags: flags, ID: uint64(i + 100), Head: requestHead}, text(i*300))
		}
		dec := hpack.NewDecoder(1<<16, nil)
		dec.SetEmitEnabled(false)
		ended := map[uint64]bool{}
		c.on = func(ev *Event) {
			if ev.ID != 0 && ev.Flags&Credit == 0 && (ev.ID < 100 || ev.ID > 105) {
				t.Fatalf("event of call %d: %s", ev.ID, show(ev))
			}
			if ended[ev.ID] && ev.Flags&(Answer|Data|End) != 0 {
				t.Fatalf("behind its end: %s", show(ev))
			}
			ended[ev.ID] = ended[ev.ID] || ev.Flags&(End|Reset) != 0 && ev.ID != 0
		}
		for n := max(1, int(piece)); len(p) > 0 && c.err == nil; {
			n = min(n, len(p))
			c.give(p[:n], n)
			p = p[n:]
			account(t, c.s)
			sane(t, c.moved(), dec)
		}
	})
}

// A fuzzPair is two ends that a script drives; whatever it does, both stay in order.
type fuzzPair struct {
	t      *testing.T
	c, s   *end
	dec    [2]*hpack.Decoder
	calls  uint64
	open   map[uint64]bool   // client: the calls that have not ended
	sent   map[uint64]string // what an answer has to be; "": anything
	answer map[uint64]bool   // server: streams to be answered
}

func newFuzzPair(t *testing.T) *fuzzPair {
	p := &fuzzPair{t: t, open: map[uint64]bool{}, sent: map[uint64]string{}, answer: map[uint64]bool{}}
	p.c = newEnd(t, Client, Config{Idle: 1 << 20}) // acknowledgements of settings that it did not send
	p.s = newEnd(t, Server, Config{Idle: 1 << 20, Streams: 40, Gather: func(f *Fields) bool { return f.Path == "/hello.Hello/Echo" }})
	for i := range p.dec {
		p.dec[i] = hpack.NewDecoder(defaultTable, func(hpack.HeaderField) {})
	}
	p.s.on = func(ev *Event) {
		switch {
		case ev.Flags&Reset != 0:
			delete(p.answer, ev.ID)
		case ev.Flags&(Open|End) == Open|End && ev.Fields.Path == "/hello.Hello/Echo":
			p.s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}, string(ev.Body.Bytes()))
		case ev.Flags&Open != 0:
			p.answer[ev.ID] = true
			p.s.send(Send{Flags: Answer, ID: ev.ID, Head: answerHead}, "")
			fallthrough
		case ev.Flags&(Data|End) != 0:
			if n := ev.Body.Len(); n > 0 {
				p.s.send(Send{Flags: Credit, ID: ev.ID, Credit: n}, "")
				p.s.send(Send{Flags: Data, ID: ev.ID}, string(ev.Body.Bytes()))
			}
			if ev.Flags&End != 0 && p.answer[ev.ID] {
				delete(p.answer, ev.ID)
				p.s.send(Send{Flags: End, ID: ev.ID, Tail: answerTail}, "")
			}
		}
	}
	got := map[uint64]string{}
	p.c.on = func(ev *Event) {
		if n := ev.Body.Len(); n > 0 && ev.Flags&End == 0 {
			p.c.send(Send{Flags: Credit, ID: ev.ID, Credit: n}, "")
		}
		got[ev.ID] += string(ev.Body.Bytes())
		if ev.Flags&End != 0 {
			if want := p.sent[ev.ID]; got[ev.ID] != want {
				t.Fatalf("call %d: %d bytes of %d", ev.ID, len(got[ev.ID]), len(want))
			}
		}
		if ev.Flags&(End|Reset) != 0 {
			delete(p.open, ev.ID)
			delete(got, ev.ID)
		}
	}
	return p
}

var streamHead = NewHead(Field{":method", "POST"}, Field{":scheme", "http"}, Field{":path", "/hello.Hello/Talk"}, Field{":authority", "a"})

// step does one thing.
func (p *fuzzPair) step(op, a byte) {
	body := text(int(a) * int(a) * 2)
	switch op % 10 {
	case 0, 1: // a call
		p.calls++
		sd := Send{Flags: Open | Data | End | Gathered, ID: p.calls, Head: requestHead}
		if a%3 == 0 {
			sd.Fields = []Field{{"x-a", fmt.Sprint(a)}}
		}
		if p.c.send(sd, body) == nil {
			p.open[p.calls], p.sent[p.calls] = true, body
		}
	case 2: // a stream
		p.calls++
		if p.c.send(Send{Flags: Open | Data, ID: p.calls, Head: streamHead}, body) == nil {
			p.open[p.calls], p.sent[p.calls] = true, body
		}
	case 3, 4: // goes on, or ends
		for id := range p.calls {
			if id++; p.open[id] && id%8 == uint64(a%8) {
				flags := Data
				if op%10 == 4 {
					flags |= End
				}
				if p.c.send(Send{Flags: flags, ID: id, Last: []Field{{"x-t", "t"}}}, body) == nil {
					p.sent[id] += body
				}
			}
		}
	case 5: // the caller leaves
		for id := range p.calls {
			if id++; p.open[id] && id%8 == uint64(a%8) {
				p.c.send(Send{Flags: Reset, ID: id, Code: Cancel}, "")
				delete(p.open, id)
				p.sent[id] = ""
				break
			}
		}
	case 6: // an encoder fails
		sd := Send{Flags: Open | Data | End, ID: 1 << 40, Head: NewHead(Field{":method", "POST"}, Field{"x-new", string('a' + a%26)})}
		m := p.c.s.Begin(&p.c.out, &sd)
		p.c.out.AppendString(body)
		p.c.out.Truncate(m)
	case 7:
		p.move(p.c, p.s, int(a)*7+1)
	case 8:
		p.move(p.s, p.c, int(a)*7+1)
	case 9: // windows shrink and grow
		q := newRaw().setting(settingWindow, uint32(a)*uint32(a)).Bytes()
		to := p.c
		if a%2 == 0 {
			to = p.s
		}
		if to.s.in.settled && to.in.Len() == 0 {
			to.now = to.now.Add(1e9)
			to.give(q, 1<<20)
		}
	}
	account(p.t, p.c.s)
	account(p.t, p.s.s)
}

func (p *fuzzPair) move(from, to *end, piece int) {
	q := from.moved()
	sane(p.t, q, p.dec[from.s.side])
	to.now = to.now.Add(1e8)
	to.give(q, piece)
}

// finish gives windows back and waits for the end of all calls.
func (p *fuzzPair) finish() {
	settle := func() {
		for p.c.out.Len() > 0 || p.s.out.Len() > 0 {
			p.move(p.c, p.s, 1<<20)
			p.move(p.s, p.c, 1<<20)
		}
	}
	settle()
	for _, e := range []*end{p.c, p.s} {
		e.now = e.now.Add(1e9)
		if e.s.in.settled {
			e.give(newRaw().setting(settingWindow, defaultWindow).Bytes(), 1<<20)
		}
	}
	settle()
	for id := range p.open {
		if p.c.send(Send{Flags: Data | End, ID: id}, "end") == nil {
			p.sent[id] += "end"
		}
	}
	settle()
	if p.c.err != nil || p.s.err != nil {
		p.t.Fatalf("%v, %v", p.c.err, p.s.err)
	}
	if len(p.open) > 0 || p.c.s.out.streams.live+p.s.s.out.streams.live != 0 || p.c.s.out.kept+p.s.s.out.kept != 0 || p.c.s.in.gathers != nil || p.s.s.in.gathers != nil {
		p.t.Fatalf("open %v; %d and %d streams, %d and %d bytes are left", p.open, p.c.s.out.streams.live, p.s.s.out.streams.live, p.c.s.out.kept, p.s.s.out.kept)
	}
}

// FuzzPair drives both sides by a script.
func FuzzPair(f *testing.F) {
	f.Add([]byte("\x00\x10\x07\xff\x08\xff"))
	f.Add([]byte("\x00\xc8\x02\xc8\x07\xff\x08\xff\x09\x10\x03\x01\x07\x20\x09\x11\x05\x01\x04\x02\x07\xff\x08\xff"))
	f.Add([]byte(strings.Repeat("\x01\x64\x02\xc8\x06\x11\x07\x40\x08\x50\x09\x20\x03\x03\x09\x21", 6)))
	f.Fuzz(func(t *testing.T, script []byte) {
		p := newFuzzPair(t)
		for i := 0; i+1 < len(script) && i < 400; i += 2 {
			p.step(script[i], script[i+1])
			if p.c.err != nil || p.s.err != nil {
				t.Fatalf("step %d: %v, %v", i/2, p.c.err, p.s.err)
			}
		}
		p.finish()
	})
}

// TestEveryPrefix: a server that got any beginning of a conversation waits for more,
// and goes on from there as if nothing had been.
func TestEveryPrefix(t *testing.T) {
	r := newRaw().hello().setting(settingWindow, 100)
	p := r.fields(post...)
	r.frame(typeHeaders, 0, 1, p[:2]).cont(1, 0, p[2:4]).cont(1, flagEndHeaders, p[4:]).data(1, flagPadded, "\x03abc\x00\x00\x00").update(1, 3).data(1, flagEnd, "def")
	r.get(3).frame(typePing, 0, 0, "12345678").post(5, "content-length", "3").data(5, 0, "abc").head(5, flagEnd, "x-trailer", "y")
	r.post(7).rst(7).frame(0x99, 0, 0, "unknown").priority(9, 1, 1).post(9, "x-new", "z")
	whole := r.Bytes()
	s, want := serve(t, whole, 1<<20)
	events := strings.Join(s.seen, "\n")
	for i := range whole {
		s, first := serve(t, whole[:i], 1<<20)
		if s.err != nil {
			t.Fatalf("after %d bytes: %v", i, s.err)
		}
		account(t, s.s)
		s.give(whole[i:], 1<<20)
		if got := told(s.out.Bytes()); got != want {
			t.Fatalf("cut at %d\n got %s\nwant %s\nfirst %s", i, got, want, first)
		}
		if got := strings.Join(s.seen, "\n"); got != events {
			t.Fatalf("cut at %d, saw\n%s\nwant\n%s", i, got, events)
		}
		account(t, s.s)
	}
}
