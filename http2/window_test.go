package http2

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
)

// text is n bytes that differ.
func text(n int) string { return pattern[:n] }

var pattern = func() string {
	b := make([]byte, 16<<20)
	for i := range b {
		b[i] = byte('a' + (i*7+i>>8)%26)
	}
	return string(b)
}()

// bodies has an end note the whole bodies it gets.
func (e *end) bodies() *[]string {
	got := new([]string)
	was := e.on
	e.on = func(ev *Event) {
		if ev.Flags&End != 0 {
			*got = append(*got, string(ev.Body.Bytes()))
		}
		if was != nil {
			was(ev)
		}
	}
	return got
}

func TestLargeBodies(t *testing.T) {
	for _, piece := range []int{1 << 20, 5000} {
		for _, size := range []int{frameMax - 1, frameMax, frameMax + 1, 65535, 65536, 300_000, 1 << 20} {
			c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
			s.echo()
			got := c.bodies()
			body := text(size)
			if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: 7, Head: requestHead}, body); err != nil {
				t.Fatal(err)
			}
			exchange(c, s, piece)
			if len(*got) != 1 || (*got)[0] != body {
				t.Fatalf("%d bytes in pieces of %d: %d answers", size, piece, len(*got))
			}
			if n, _ := c.s.Kept(); n != 0 || c.s.in.gathered != 0 || s.s.in.gathered != 0 || len(c.s.out.waiting)+len(s.s.out.waiting) != 0 {
				t.Error("something is left")
			}
		}
	}
}

// TestLargeBodyByReference: a body that was encoded elsewhere is moved.
func TestLargeBodyByReference(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	got := s.bodies()
	var body buf.Out
	body.AppendString(text(200_000))
	sd := Send{Flags: Open | Data | End | Gathered, ID: 7, Head: requestHead, Body: &body}
	m := c.s.Begin(&c.out, &sd)
	c.out.AppendString("12345")
	if err := c.s.End(&c.out, m, &sd); err != nil {
		t.Fatal(err)
	}
	exchange(c, s, 1<<20)
	if len(*got) != 1 || (*got)[0] != "12345"+text(200_000) {
		t.Errorf("%d bodies", len(*got))
	}
	if body.Len() != 0 {
		t.Errorf("%d bytes are left", body.Len())
	}
}

// TestTrailersBehindWindow: what waits behind a window is encoded when it leaves,
// although other blocks left meanwhile.
func TestTrailersBehindWindow(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	c.seen = nil
	big := text(100_000)
	s.on = func(ev *Event) {
		if ev.Flags&Open == 0 {
			return
		}
		sd := Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail, Last: []Field{{"x-n", "first"}}}
		body := big
		if ev.ID > 1 {
			sd.Head, sd.Tail = NewHead(Field{":status", "200"}, Field{"x-new", "in the table"}), NewHead(Field{"grpc-status", "5"})
			body = "small"
		}
		if err := s.send(sd, body); err != nil {
			t.Error(err)
		}
		if len(sd.Last) > 0 {
			sd.Last[0].Value = "changed"
		}
	}
	for i := range 2 {
		if err := c.send(Send{Flags: Open | End | Gathered, ID: uint64(i + 1), Head: requestHead}, ""); err != nil {
			t.Fatal(err)
		}
	}
	exchange(c, s, 1<<20)
	c.expect(`answer|data|end 2 200  x-new=in the table "small" trailer grpc-status=5 x-n=first`,
		"answer|data|end 1 200  [100000] trailer grpc-status=0 x-n=first")
}

// TestRoundRobin: streams that wait for the connection's window take turns.
func TestRoundRobin(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{StreamWindow: 1 << 20})
	exchangeHello(c, s)
	c.s.out.window = 0
	for i := range 3 {
		if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(i + 1), Head: requestHead}, text(100_000)); err != nil {
			t.Fatal(err)
		}
	}
	c.moved()
	ev := Event{Flags: Credit, Credit: 6*frameMax + 100}
	c.s.Apply(&c.out, &ev)
	if got, want := told(c.moved()), "data 1 16384, data 3 16384, data 5 16384, data 1 16384, data 3 16384, data 5 16384, data 1 100"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	ev = Event{Flags: Credit, Credit: 2 * frameMax}
	c.s.Apply(&c.out, &ev)
	if got, want := told(c.moved()), "data 3 16384, data 5 16384"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if n, moved := c.s.Kept(); n != 300_000-8*frameMax-100 || moved != 9 {
		t.Errorf("%d bytes are kept, %d frames have left", n, moved)
	}
	// One that was given up waits no more.
	if err := c.send(Send{Flags: Reset, ID: 2, Code: Cancel}, ""); err != nil {
		t.Fatal(err)
	}
	c.moved()
	ev = Event{Flags: Credit, Credit: 1 << 20}
	c.s.Apply(&c.out, &ev)
	if got := told(c.moved()); strings.Contains(got, "data 3") || !strings.HasSuffix(got, "end") {
		t.Errorf("got %s", got)
	}
	if n, _ := c.s.Kept(); n != 0 {
		t.Errorf("%d bytes are kept", n)
	}
}

// exchangeHello has both ends say what they say first.
func exchangeHello(c, s *end) {
	c.send(Send{Flags: Ping}, "")
	exchange(c, s, 1<<20)
	c.seen, s.seen = nil, nil
}

func TestKeptIsBounded(t *testing.T) {
	c, s := newEnd(t, Client, Config{MessageBytes: 200_000}), newEnd(t, Server, Config{})
	exchangeHello(c, s)
	body := text(200_000)
	var err error
	n := uint64(0)
	for err == nil && n < 10 {
		n++
		err = c.send(Send{Flags: Open | Data | End | Gathered, ID: n, Head: requestHead}, body)
	}
	var e *Error
	if !errors.As(err, &e) || !e.Limit || n < 5 || n > 8 {
		t.Errorf("after %d calls %v", n, err)
	}
	if kept, _ := c.s.Kept(); kept > keptFactor*200_000 {
		t.Errorf("%d bytes are kept", kept)
	}
	if err = c.send(Send{Flags: Open | Data | End | Gathered, ID: 77, Head: requestHead}, body+"x"); !errors.As(err, &e) || !e.Limit {
		t.Errorf("a body beyond the limit: %v", err)
	}
	got := s.bodies()
	exchange(c, s, 1<<20)
	if len(*got) != int(n-1) {
		t.Errorf("%d of %d bodies arrived", len(*got), n-1)
	}
}

// TestReceiveWindowGrows: a consumer that keeps up gets a larger window.
func TestReceiveWindowGrows(t *testing.T) {
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{Gather: func(*Fields) bool { return false }})
	exchangeHello(c, s)
	got, slow := 0, false
	s.on = func(ev *Event) {
		got += ev.Body.Len()
		if n := ev.Body.Len(); n > 0 && !slow {
			s.send(Send{Flags: Credit, ID: ev.ID, Credit: n}, "")
		}
	}
	body := text(4 << 20)
	if err := c.send(Send{Flags: Open | Data | End, ID: 1, Head: requestHead}, body); err != nil {
		t.Fatal(err)
	}
	for c.out.Len() > 0 {
		s.give(c.moved(), 1<<20)
		c.give(s.moved(), 1<<20)
	}
	st := s.s.out.streams.find(1)
	if got != len(body) || st.window != 1<<20 {
		t.Errorf("%d bytes of %d, a window of %d", got, len(body), st.window)
	}
	// Who does not consume gets what was granted and no more.
	got, slow = 0, true
	if err := c.send(Send{Flags: Open | Data | End, ID: 2, Head: requestHead}, body); err != nil {
		t.Fatal(err)
	}
	exchange(c, s, 1<<20)
	if got != defaultWindow {
		t.Errorf("%d bytes without being consumed", got)
	}
	// Others are not held up.
	for i := range 100 {
		if err := c.send(Send{Flags: Open | Data | End, ID: uint64(10 + i), Head: requestHead}, text(60_000)); err != nil {
			t.Fatal(err)
		}
		exchange(c, s, 1<<20)
	}
	if got != defaultWindow+100*60_000 {
		t.Errorf("%d bytes", got)
	}
}

// TestWindowsArePoliced: who sends more than it was granted loses stream or connection.
func TestWindowsArePoliced(t *testing.T) {
	r := newRaw().hello().post(1)
	for range 5 {
		r.data(1, 0, text(frameMax))
	}
	s := newEnd(t, Server, Config{Gather: func(*Fields) bool { return false }})
	s.give(r.Bytes(), 1<<20)
	if got := told(s.moved()); !strings.Contains(got, "rst 1 FLOW_CONTROL_ERROR") {
		t.Errorf("told %s", got)
	}
	r = newRaw().hello()
	for i := range 40 { // closed streams' bytes count as well
		r.post(uint32(2*i + 3))
		for range 4 {
			r.data(uint32(2*i+3), 0, text(frameMax-1))
		}
	}
	s = newEnd(t, Server, Config{ConnWindow: 1 << 20, Gather: func(*Fields) bool { return false }})
	s.s.cfg.ConnWindow = math.MaxInt // nothing is granted anew
	s.give(r.Bytes(), 1<<20)
	if got := told(s.moved()); !strings.HasSuffix(got, "goaway FLOW_CONTROL_ERROR") {
		t.Errorf("told %s", got)
	}
}

// TestPaddingIsGranted: padding takes windows, and nobody consumes it.
func TestPaddingIsGranted(t *testing.T) {
	s := newEnd(t, Server, Config{Gather: func(*Fields) bool { return false }})
	r := newRaw().hello().post(1)
	for range 2000 {
		r.data(1, flagPadded, "\xf9x"+strings.Repeat("\x00", 249))
	}
	s.give(r.Bytes(), 1<<20)
	if s.err != nil || s.s.out.streams.find(1) == nil || !s.s.out.streams.find(1).live {
		t.Errorf("%v, told %s", s.err, told(s.moved()))
	}
}

// TestSettingsChangeWindows: the initial window is one number for all streams.
func TestSettingsChangeWindows(t *testing.T) {
	s := newEnd(t, Server, Config{})
	s.on = func(ev *Event) {
		if ev.Flags&Open != 0 {
			s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead, Tail: answerTail}, text(50))
		}
	}
	r := newRaw().hello().setting(settingWindow, 20).get(1).get(3).setting(settingWindow, 5).update(1, 20).update(3, 15).setting(settingWindow, 10)
	s.give(r.Bytes(), 1<<20)
	want := "ack, ack, headers 1, data 1 20, headers 3, data 3 20, ack, data 1 5, ack, data 1 5, data 3 5"
	if got := told(s.moved()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if n := s.s.Credit(1); n != 0 {
		t.Errorf("credit of %d", n)
	}
	s.give((&raw{}).setting(settingWindow, 1<<31-1).Bytes(), 1<<20)
	if got := told(append(settingsFrame(), s.moved()...)); got != "ack, data 1 20, headers 1 end, data 3 25, headers 3 end" {
		t.Errorf("got %s", got)
	}
	// A stream whose window is above the initial one bounds that.
	s = newEnd(t, Server, Config{})
	s.give(newRaw().hello().post(1).update(1, 1<<31-1-defaultWindow).setting(settingWindow, defaultWindow+1).Bytes(), 1<<20)
	if got := told(s.moved()); got != "ack, goaway FLOW_CONTROL_ERROR" {
		t.Errorf("got %s", got)
	}
	s = newEnd(t, Server, Config{})
	s.give(newRaw().hello().post(1).update(1, 1<<31-1-defaultWindow).rst(1).post(3).setting(settingWindow, defaultWindow+1).Bytes(), 1<<20)
	if got := told(s.moved()); got != "ack, ack" {
		t.Errorf("got %s", got)
	}
}

func settingsFrame() []byte { return appendHead(nil, frame{typ: typeSettings}) }
