package http2

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func streaming(*Fields) bool { return false }

// TestStream: both halves of a stream, message by message.
func TestStream(t *testing.T) {
	for _, piece := range []int{1 << 20, 1} {
		c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{Gather: streaming})
		exchangeHello(c, s)
		must := func(e *end, sd Send, body string) {
			t.Helper()
			if err := e.send(sd, body); err != nil {
				t.Fatal(err)
			}
			exchange(c, s, piece)
		}
		must(c, Send{Flags: Open, ID: 9, Head: requestHead}, "")
		s.expect("open 1 /hello.Hello/Echo")
		must(c, Send{Flags: Data, ID: 9}, "one")
		must(c, Send{Flags: Data, ID: 9}, "")
		s.expect(`data 1 "one"`)
		must(s, Send{Flags: Answer, ID: 1, Head: answerHead}, "")
		must(s, Send{Flags: Data, ID: 1}, "uno")
		c.expect("answer 9 200 ", `data 9 "uno"`)
		must(c, Send{Flags: End, ID: 9}, "")
		s.expect("end 1")
		if err := c.send(Send{Flags: Data, ID: 9}, "behind the end"); err == nil {
			t.Error("DATA behind the end")
		}
		must(s, Send{Flags: Data, ID: 1}, "due")
		must(s, Send{Flags: End, ID: 1, Tail: answerTail}, "")
		c.expect(`data 9 "due"`, "end 9 trailer grpc-status=0")
		if c.s.out.streams.live+s.s.out.streams.live != 0 {
			t.Error("a stream is left")
		}
		// The other order, with a reset in the end.
		must(c, Send{Flags: Open | Data, ID: 10, Head: requestHead}, "three")
		must(s, Send{Flags: Answer | Data | End, ID: 3, Head: answerHead}, "tre")
		if piece > 1 {
			c.expect(`answer|data|end 10 200  "tre"`, "reset 10 NO_ERROR")
		} else {
			c.expect("answer 10 200 ", `data|end 10 "tre"`, "reset 10 NO_ERROR")
		}
		must(c, Send{Flags: Reset, ID: 10, Code: Cancel}, "") // too late
		if piece > 1 {
			s.expect(`open 3 /hello.Hello/Echo`, `data 3 "three"`)
		}
	}
}

// TestEarlyAnswer: what is left of a request is not sent once it was answered.
func TestEarlyAnswer(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{Gather: streaming})
	exchangeHello(c, s)
	if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: 1, Head: requestHead}, text(300_000)); err != nil {
		t.Fatal(err)
	}
	s.on = func(ev *Event) {
		if ev.Flags&Open != 0 {
			s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}, "no")
		}
	}
	exchange(c, s, 1<<20)
	c.expect(`answer|data|end 1 200  "no" trailer grpc-status=0`)
	if n, _ := c.s.Kept(); n != 0 || c.s.out.streams.live != 0 {
		t.Errorf("%d bytes are kept", n)
	}
	if c.err != nil || s.err != nil {
		t.Error(c.err, s.err)
	}
}

// TestCancel: a client leaves a call; the answer that was on its way means nothing.
func TestCancel(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	exchangeHello(c, s)
	c.send(Send{Flags: Open | Data | End | Gathered, ID: 1, Head: requestHead}, "x")
	s.give(c.moved(), 1<<20)
	c.send(Send{Flags: Reset, ID: 1, Code: Cancel}, "")
	s.send(Send{Flags: Answer | Data | End, ID: 1, Head: answerHead, Tail: answerTail}, "x")
	exchange(c, s, 1<<20)
	c.expect()
	s.expect(`open|data|end 1 /hello.Hello/Echo "x"`)
	// In time.
	c.send(Send{Flags: Open | Data | End | Gathered, ID: 2, Head: requestHead}, "x")
	exchange(c, s, 1<<20)
	c.send(Send{Flags: Reset, ID: 2, Code: Cancel}, "")
	exchange(c, s, 1<<20)
	s.expect(`open|data|end 3 /hello.Hello/Echo "x"`, "reset 3 CANCEL")
	if err := s.send(Send{Flags: Answer | End, ID: 3, Head: answerHead}, ""); err == nil {
		t.Error("an answer to a stream that is over")
	}
	if s.out.Truncate(s.out.Mark()); s.out.Len() != 0 {
		t.Errorf("%d bytes are left", s.out.Len())
	}
}

// TestGoAway: nobody loses a call when a server leaves.
func TestGoAway(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	exchangeHello(c, s)
	c.send(Send{Flags: Open | Data | End | Gathered, ID: 1, Head: requestHead}, "x")
	s.give(c.moved(), 1<<20)
	s.send(Send{Flags: GoAway}, "")
	c.send(Send{Flags: Open | Data | End | Gathered, ID: 2, Head: requestHead}, "x")
	p := s.moved()
	s.give(c.moved(), 1<<20)
	c.give(p, 1<<20)
	c.expect("goaway NO_ERROR")
	if c.s.Unstarted(2) || !c.s.Caps().Leaving {
		t.Error("the first word was taken for the last")
	}
	var e *Error
	if err := c.send(Send{Flags: Open | End, ID: 3, Head: requestHead}, ""); !errors.As(err, &e) || e.Code != RefusedStream {
		t.Errorf("a call on a connection that is being left: %v", err)
	}
	// The last word, while a call is on its way: one that ignores the first.
	c.s.out.goneAway = false
	s.send(Send{Flags: GoAway | HasLast, Why: "drained"}, "")
	c.send(Send{Flags: Open | Data | End | Gathered, ID: 4, Head: requestHead}, "x")
	p = s.moved()
	s.give(c.moved(), 1<<20)
	said := ""
	c.on = func(ev *Event) { said = ev.Why }
	c.give(p, 1<<20)
	if c.on = nil; said != "drained" {
		t.Errorf("the peer says %q", said)
	}
	s.expect(`open|data|end 1 /hello.Hello/Echo "x"`, `open|data|end 3 /hello.Hello/Echo "x"`)
	if c.s.Unstarted(2) || !c.s.Unstarted(4) {
		t.Errorf("unstarted: %v, %v", c.s.Unstarted(2), c.s.Unstarted(4))
	}
	if c.send(Send{Flags: Reset, ID: 4, Code: Cancel}, ""); c.out.Len() != 0 {
		t.Errorf("told %s of a stream that was not started", told(append(settingsFrame(), c.moved()...)))
	}
	for _, id := range []uint64{1, 3} {
		if err := s.send(Send{Flags: Answer | End, ID: id, Head: refusedHead}, ""); err != nil {
			t.Error(err)
		}
	}
	c.seen = nil
	exchange(c, s, 1<<20)
	c.expect("answer|end 1 200  grpc-status=12", "answer|end 2 200  grpc-status=12")
}

// TestLimitOfStreams: at the client's end, and at the server's.
func TestLimitOfStreams(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{Streams: 3})
	for i := range 5 { // before it has heard of the limit
		if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(i + 1), Head: requestHead}, "x"); err != nil {
			t.Fatal(err)
		}
	}
	if c.s.Caps().Streams != maxID || !c.s.Caps().Pending {
		t.Errorf("%+v", c.s.Caps())
	}
	exchange(c, s, 1<<20)
	c.expect("reset 4 REFUSED_STREAM", "reset 5 REFUSED_STREAM")
	if c.s.Caps().Streams != 3 || c.s.Caps().Pending {
		t.Errorf("%+v", c.s.Caps())
	}
	err := c.send(Send{Flags: Open | End, ID: 9, Head: requestHead}, "")
	var e *Error
	if !errors.As(err, &e) || e.Code != RefusedStream {
		t.Errorf("%v", err)
	}
	s.send(Send{Flags: Answer | End, ID: 1, Head: refusedHead}, "")
	exchange(c, s, 1<<20)
	if err := c.send(Send{Flags: Open | End, ID: 9, Head: requestHead}, ""); err != nil {
		t.Error(err)
	}
	if c.s.out.streams.live != 3 || c.s.out.calls.live != 3 {
		t.Errorf("%d and %d are open", c.s.out.streams.live, c.s.out.calls.live)
	}
}

// TestBeginWithoutEnd: what was taken back leaves no trace.
func TestBeginWithoutEnd(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	for i := range 4 {
		sd := Send{Flags: Open | Data | End | Gathered, ID: 1, Head: NewHead(append(requestHead.Fields(), Field{"x-try", fmt.Sprint(i)})...)}
		m := c.s.Begin(&c.out, &sd)
		c.out.AppendString("half of a body")
		c.out.Truncate(m)
	}
	if c.out.Len() != 0 {
		t.Fatalf("%d bytes are left", c.out.Len())
	}
	var e *Error
	if err := c.send(Send{Flags: Open | End, ID: 1, Head: requestHead, Fields: []Field{{"x", "a\r\nb"}}}, ""); !errors.As(err, &e) || !strings.Contains(e.Why, "control") {
		t.Errorf("a value with a line's end: %v", err)
	}
	s.echo()
	for i := range 3 {
		if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(i + 1), Head: requestHead}, "x"); err != nil {
			t.Fatal(err)
		}
		// An answer that is given up after its head is encoded.
		sd := Send{Flags: Open | Data | End | Gathered, ID: 77, Head: NewHead(Field{"x-never", "sent"})}
		m := c.s.Begin(&c.out, &sd)
		c.out.Truncate(m)
		exchange(c, s, 1<<20)
		c.expect(fmt.Sprintf(`answer|data|end %d 200  "x" trailer grpc-status=0`, i+1))
	}
	if c.s.out.next != 7 {
		t.Errorf("the next stream is %d", c.s.out.next)
	}
}

// TestHeaderLimits: too much fails the call, far too much the connection.
func TestHeaderLimits(t *testing.T) {
	serve := func(e *end) {
		e.on = func(ev *Event) {
			e.seen = append(e.seen, show(ev))
			if ev.Flags&Open != 0 {
				e.send(Send{Flags: Answer | End, ID: ev.ID, Head: refusedHead}, "")
			}
		}
	}
	for _, flags := range []Flags{Open | End, Open | Data | End} {
		c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{HeaderBytes: 1000})
		serve(s)
		if err := c.send(Send{Flags: flags | Gathered, ID: 1, Head: requestHead, Fields: []Field{{"x-a", strings.Repeat("y", 2000)}}}, "body"); err != nil {
			t.Fatal(err)
		}
		exchange(c, s, 1<<20)
		c.expect("answer|end 1 200  grpc-status=12")
		if len(s.seen) == 0 || !strings.Contains(s.seen[len(s.seen)-1], "header list beyond the limits") {
			t.Errorf("saw %q", s.seen)
		}
		// Now the client knows.
		var e *Error
		if err := c.send(Send{Flags: flags, ID: 2, Head: requestHead, Fields: []Field{{"x-a", strings.Repeat("y", 2000)}}}, ""); !errors.As(err, &e) || !e.Limit {
			t.Errorf("%v", err)
		}
	}
	r := newRaw().hello()
	r.head(1, flagEnd, with(get, "x-a", strings.Repeat("\x01", 2500))...)
	s := newEnd(t, Server, Config{HeaderBytes: 500})
	s.give(r.Bytes(), 1<<20)
	if got := told(s.moved()); got != "ack, goaway ENHANCE_YOUR_CALM" {
		t.Errorf("told %s", got)
	}
	// An answer's.
	c, s := newEnd(t, Client, Config{HeaderBytes: 500}), newEnd(t, Server, Config{})
	s.on = func(ev *Event) {
		s.s.out.headerList = maxWindow // it does not care what the client takes
		if ev.Flags&Open != 0 {
			s.send(Send{Flags: Answer | End, ID: ev.ID, Head: answerHead, Fields: []Field{{"x-a", strings.Repeat("y", 600)}}}, "")
		}
	}
	c.send(Send{Flags: Open | End | Gathered, ID: 5, Head: requestHead}, "")
	exchange(c, s, 1<<20)
	c.expect("reset 5 CANCEL (CANCEL header list beyond the limits)")
}

// TestManyHeaders: a header block that takes several frames.
func TestManyHeaders(t *testing.T) {
	c, s := newEnd(t, Client, Config{HeaderBytes: 1 << 20}), newEnd(t, Server, Config{HeaderBytes: 1 << 20})
	s.on = func(ev *Event) {
		if ev.Flags&Open != 0 {
			s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Last: append(ev.Fields.List[:len(ev.Fields.List):len(ev.Fields.List)], ev.Rest...)}, "x")
		}
	}
	value := strings.Repeat("y", 50_000)
	for _, piece := range []int{1 << 20, 1000} {
		if err := c.send(Send{Flags: Open | End | Gathered, ID: 5, Head: requestHead, Fields: []Field{{"x-a", value}}}, ""); err != nil {
			t.Fatal(err)
		}
		exchange(c, s, piece)
		if len(c.seen) == 0 || !strings.Contains(c.seen[len(c.seen)-1], value) {
			t.Errorf("%d events, %.300q", len(c.seen), c.seen)
		}
	}
}

// TestBodyLimits: a body that is too large fails its call.
func TestBodyLimits(t *testing.T) {
	const tooLarge = "body of more than there is room for; at most 100000 bytes"
	for _, piece := range []int{1 << 20, 3000} {
		c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{MessageBytes: 100_000})
		s.on = func(ev *Event) {
			s.seen = append(s.seen, show(ev))
			if ev.Flags&Open != 0 {
				s.send(Send{Flags: Answer | End, ID: ev.ID, Head: refusedHead}, "")
			}
		}
		exchangeHello(c, s)
		c.send(Send{Flags: Open | Data | End | Gathered, ID: 1, Head: requestHead}, text(300_000))
		exchange(c, s, piece)
		s.expect("open 1 /hello.Hello/Echo (CANCEL " + tooLarge + ")")
		c.expect("answer|end 1 200  grpc-status=12")
		if s.s.in.gathered != 0 || s.s.Unfinished() != 0 {
			t.Errorf("%d bytes are held", s.s.in.gathered)
		}
		// An answer's.
		c, s = newEnd(t, Client, Config{MessageBytes: 100_000}), newEnd(t, Server, Config{})
		s.on = func(ev *Event) {
			s.seen = append(s.seen, show(ev))
			if ev.Flags&Open != 0 {
				s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}, text(300_000))
			}
		}
		c.send(Send{Flags: Open | End | Gathered, ID: 1, Head: requestHead}, "")
		exchange(c, s, piece)
		if len(c.seen) < 2 || !strings.HasPrefix(c.seen[len(c.seen)-1], "reset 1 CANCEL (CANCEL body of more") {
			t.Errorf("saw %q", c.seen)
		}
		if n, _ := s.s.Kept(); n != 0 || c.s.in.gathered != 0 || c.s.in.gathers != nil {
			t.Errorf("%d bytes are kept", n)
		}
	}
}

// TestAllow: a server that is full takes little.
func TestAllow(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	exchangeHello(c, s)
	s.s.Allow(10_000)
	c.send(Send{Flags: Open | Data | End | Gathered, ID: 1, Head: requestHead}, text(12_000))
	c.send(Send{Flags: Open | Data | End | Gathered, ID: 2, Head: requestHead}, text(9_000))
	exchange(c, s, 1<<20)
	if len(s.seen) != 2 || !strings.HasPrefix(s.seen[0], "open|end 1 /hello.Hello/Echo (CANCEL body") || !strings.HasPrefix(s.seen[1], "open|data|end 3") {
		t.Errorf("saw %q", s.seen)
	}
}

func TestIdsAreUsedUp(t *testing.T) {
	c := newEnd(t, Client, Config{})
	c.s.out.next = maxID
	if err := c.send(Send{Flags: Open | End, ID: 1, Head: requestHead}, ""); err != nil {
		t.Error(err)
	}
	var e *Error
	if err := c.send(Send{Flags: Open | End, ID: 2, Head: requestHead}, ""); !errors.As(err, &e) || e.Code != RefusedStream || !c.s.Caps().Spent {
		t.Errorf("%v", err)
	}
}

func TestPing(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	exchangeHello(c, s)
	c.send(Send{Flags: Ping, Word: 0x1234}, "")
	s.send(Send{Flags: Ping, Word: 0x5678}, "")
	var words []uint64
	for _, e := range []*end{c, s} {
		e.on = func(ev *Event) {
			if ev.Flags&Pong != 0 {
				words = append(words, ev.Word)
			}
		}
	}
	exchange(c, s, 1<<20)
	if len(words) != 2 || words[0]+words[1] != 0x1234+0x5678 {
		t.Errorf("pongs %x", words)
	}
}

// TestTable: streams are found whatever ids they have, and however long they live.
func TestTable(t *testing.T) {
	s := New(Server, Config{})
	old := map[uint32]bool{}
	for id := uint32(1); id < 200_000; id += 2 {
		s.open(id, 0)
		if id%4999 == 1 { // lives on
			old[id] = true
			continue
		}
		s.close(s.out.streams.find(uint64(id)))
	}
	for id := range old {
		if st := s.out.streams.find(uint64(id)); st == nil || !st.live || st.id != id {
			t.Errorf("stream %d: %v", id, st)
		}
	}
	if s.out.streams.live != len(old) {
		t.Errorf("%d of %d are live", s.out.streams.live, len(old))
	}
	for id := range old {
		s.close(s.out.streams.find(uint64(id)))
	}
	if s.out.streams.live != 0 || s.out.streams.over != nil {
		t.Errorf("%d live, %d in the map", s.out.streams.live, len(s.out.streams.over))
	}
	for id := uint32(200_001); id < 200_001+4000; id += 2 {
		s.open(id, 0)
	}
	if len(s.out.streams.direct) < 2000 || len(s.out.streams.over) != 0 {
		t.Errorf("%d places, %d in the map", len(s.out.streams.direct), len(s.out.streams.over))
	}
	for id := uint32(200_001); id < 200_001+4000; id += 2 {
		s.close(s.out.streams.find(uint64(id)))
	}
	if len(s.out.streams.direct) > 4*directMin {
		t.Errorf("%d places are left", len(s.out.streams.direct))
	}
}

// TestErrorOffset: an error names the place of the frame that it is about, whoever
// has found it.
func TestErrorOffset(t *testing.T) {
	for _, c := range []struct {
		name   string
		before func(r *raw)
		bad    func(r *raw)
		stream uint32
		code   Code
	}{
		{"head", func(r *raw) { r.get(1) }, func(r *raw) { r.frame(typePing, 0, 0, "123") }, 0, FrameSizeError},
		{"fields", func(r *raw) { r.post(1) }, func(r *raw) { r.head(1, flagEnd, ":path", "/") }, 1, ProtocolError},
		{"state", func(r *raw) { r.get(1) }, func(r *raw) { r.data(1, 0, "x") }, 1, StreamClosed},
		{"length", func(r *raw) { r.post(1, "content-length", "2").data(1, 0, "a") }, func(r *raw) { r.data(1, flagEnd, "bc") }, 1, ProtocolError},
		{"window", func(r *raw) { r.get(1).update(1, 1) }, func(r *raw) { r.update(1, 1<<31-1) }, 1, FlowControlError},
		{"connection's window", func(r *raw) { r.get(1).update(0, 1) }, func(r *raw) { r.update(0, 1<<31-1) }, 0, FlowControlError},
		{"idle", func(r *raw) { r.get(1) }, func(r *raw) { r.priority(7, 7, 1) }, 0, ProtocolError},
	} {
		r := newRaw().hello()
		c.before(r)
		at := r.Len()
		c.bad(r)
		r.frame(typePing, 0, 0, "12345678")
		s := newEnd(t, Server, Config{Gather: streaming})
		var got *Error
		s.on = func(ev *Event) {
			if ev.Err != nil && got == nil {
				got = ev.Err
			}
		}
		s.give(r.Bytes(), 1<<20)
		if got == nil || got.Offset != int64(at) || got.Stream != c.stream || got.Code != c.code {
			t.Errorf("%s: %v; want %v of stream %d at byte %d", c.name, got, c.code, c.stream, at)
		}
	}
}
