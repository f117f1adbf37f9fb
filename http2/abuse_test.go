package http2

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// TestAbuse: each flood ends the connection after a bounded number of frames, with
// bounded memory; spread over time, the same frames pass.
func TestAbuse(t *testing.T) {
	const calm = "goaway ENHANCE_YOUR_CALM"
	for _, c := range []struct {
		name  string
		cfg   Config
		one   func(r *raw, i int) // one round of the flood
		first func(r *raw)
		most  int // rounds that pass
		slow  time.Duration
	}{
		{name: "rapid reset", one: func(r *raw, i int) { r.post(uint32(2*i + 1)).rst(uint32(2*i + 1)) }, most: 1100, slow: 10 * time.Millisecond},
		{name: "rapid reset of whole requests", one: func(r *raw, i int) { r.get(uint32(2*i + 1)).rst(uint32(2*i + 1)) }, most: 1100, slow: 10 * time.Millisecond},
		{name: "made you reset, windows", one: func(r *raw, i int) { r.get(uint32(2*i+1)).update(uint32(2*i+1), 0) }, most: 1100, slow: 10 * time.Millisecond},
		{name: "made you reset, priority", one: func(r *raw, i int) { r.get(uint32(2*i+1)).priority(uint32(2*i+1), uint32(2*i+1), 1) }, most: 1100, slow: 10 * time.Millisecond},
		{name: "made you reset, DATA behind the end", one: func(r *raw, i int) { r.get(uint32(2*i+1)).data(uint32(2*i+1), 0, "x") }, most: 1100, slow: 10 * time.Millisecond},
		{name: "malformed requests", one: func(r *raw, i int) { r.head(uint32(2*i+1), flagEnd, without(get, ":path")...) }, most: 1100, slow: 10 * time.Millisecond},
		{name: "streams beyond the limit", cfg: Config{Streams: 10}, one: func(r *raw, i int) { r.get(uint32(2*i + 1)) }, most: 1110, slow: 10 * time.Millisecond},
		{name: "resets of closed streams", first: func(r *raw) { r.post(1).rst(1) }, one: func(r *raw, _ int) { r.rst(1) }, most: 1099, slow: 10 * time.Millisecond},
		{name: "PING", one: func(r *raw, _ int) { r.frame(typePing, 0, 0, "12345678") }, most: 10, slow: 100 * time.Millisecond},
		{name: "SETTINGS", one: func(r *raw, _ int) { r.setting(settingStreams, 1) }, most: 9, slow: 100 * time.Millisecond},
		{name: "SETTINGS ACK", one: func(r *raw, _ int) { r.frame(typeSettings, flagAck, 0, "") }, most: 100, slow: 10 * time.Millisecond},
		{name: "WINDOW_UPDATE", one: func(r *raw, _ int) { r.update(0, 1) }, most: 1000, slow: time.Millisecond},
		{name: "WINDOW_UPDATE of a stream", first: func(r *raw) { r.post(1) }, one: func(r *raw, _ int) { r.update(1, 1) }, most: 1000, slow: time.Millisecond},
		{name: "WINDOW_UPDATE of a closed stream", first: func(r *raw) { r.post(1).rst(1) }, one: func(r *raw, _ int) { r.update(1, 1) }, most: 1000, slow: time.Millisecond},
		{name: "empty DATA", first: func(r *raw) { r.post(1) }, one: func(r *raw, _ int) { r.data(1, 0, "") }, most: 100, slow: 10 * time.Millisecond},
		{name: "DATA of padding", first: func(r *raw) { r.post(1) }, one: func(r *raw, _ int) { r.data(1, flagPadded, "\x00") }, most: 100, slow: 10 * time.Millisecond},
		{name: "PRIORITY", one: func(r *raw, _ int) { r.priority(1, 3, 0) }, most: 100, slow: 10 * time.Millisecond},
		{name: "unknown frames", one: func(r *raw, _ int) { r.frame(0xee, 0, 0, "") }, most: 100, slow: 10 * time.Millisecond},
		{name: "empty CONTINUATION", first: func(r *raw) { r.frame(typeHeaders, 0, 1, r.fields(get...)) }, one: func(r *raw, _ int) { r.cont(1, 0, "") }, most: 100},
		{name: "CONTINUATION of a byte", first: func(r *raw) { r.frame(typeHeaders, 0, 1, r.fields(get...)) }, one: func(r *raw, _ int) { r.cont(1, 0, "\x84") }, most: continuations},
		{name: "CONTINUATION", first: func(r *raw) { r.frame(typeHeaders, 0, 1, r.fields(get...)) }, one: func(r *raw, _ int) { r.cont(1, 0, strings.Repeat("\x84", 10000)) }, most: 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			flood := func(rounds int, between time.Duration) (*end, string) {
				s := newEnd(t, Server, c.cfg)
				r := newRaw().hello()
				if c.first != nil {
					c.first(r)
				}
				got := ""
				for i := range rounds {
					c.one(r, i)
					if between > 0 || i == rounds-1 || i%50 == 0 {
						s.now = s.now.Add(between)
						s.give(r.Bytes(), 1<<20)
						r.Reset()
						got = told(s.moved())
					}
					if n := s.s.Held(); n > 200<<10 {
						t.Fatalf("%d bytes are held", n)
					}
				}
				return s, got
			}
			if s, got := flood(c.most, 0); s.err != nil {
				t.Errorf("%d rounds are too many: %v, %s", c.most, s.err, got)
			}
			if s, got := flood(c.most+1, 0); !strings.HasSuffix(got, calm) {
				t.Errorf("%d rounds pass: %v, %.200s", c.most+1, s.err, got)
			}
			if c.slow > 0 {
				if s, _ := flood(3*c.most, c.slow); s.err != nil {
					t.Errorf("spread over time: %v", s.err)
				}
			}
		})
	}
}

// TestDribble: a peer that grants a byte at a time gets few frames for its updates.
func TestDribble(t *testing.T) {
	s := newEnd(t, Server, Config{})
	s.on = func(ev *Event) {
		if ev.Flags&Open != 0 {
			s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead}, text(100_000))
		}
	}
	r := newRaw().hello().setting(settingWindow, 0).get(1)
	for range 5000 {
		r.update(1, 1)
	}
	s.give(r.Bytes(), 1<<20)
	if got := told(s.moved()); !strings.HasSuffix(got, "goaway ENHANCE_YOUR_CALM") || strings.Count(got, "data") > 1100 {
		t.Errorf("%d frames, %v", strings.Count(got, "data"), s.err)
	}
}

// TestHonestPeers: what peers do that mean well is no abuse.
func TestHonestPeers(t *testing.T) {
	// grpc-go pings whenever data arrives.
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{})
	s.echo()
	for i := range 1000 {
		if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(i%100 + 1), Head: requestHead}, "x"); err != nil {
			t.Fatal(err)
		}
		c.send(Send{Flags: Ping}, "")
		exchange(c, s, 1<<20)
	}
	if c.err != nil || s.err != nil {
		t.Errorf("pings: %v, %v", c.err, s.err)
	}
	// The callers of a busy client time out together.
	for round := range 3 {
		for i := range 1000 {
			c.send(Send{Flags: Open | Data | End | Gathered, ID: uint64(i + 1), Head: requestHead}, "x")
		}
		s.on = func(*Event) {}
		exchange(c, s, 1<<20)
		for i := range 1000 {
			c.send(Send{Flags: Reset, ID: uint64(i + 1), Code: Cancel}, "")
		}
		exchange(c, s, 1<<20)
		if c.err != nil || s.err != nil {
			t.Fatalf("resets, round %d: %v, %v", round, c.err, s.err)
		}
		s.echo()
		for range 1000 {
			c.send(Send{Flags: Open | Data | End | Gathered, ID: 5000, Head: requestHead}, "x")
			exchange(c, s, 1<<20)
		}
	}
	// Updates of windows for each frame, on the stream and on the connection.
	s = newEnd(t, Server, Config{})
	s.on = func(ev *Event) {
		if ev.Flags&Open != 0 {
			s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead}, text(16<<20))
		}
	}
	s.give(newRaw().hello().get(1).Bytes(), 1<<20)
	for s.err == nil && len(s.s.out.waiting) > 0 {
		r := newRaw()
		for f := s.moved(); len(f) > 0; f = f[frameHead+parseFrame(f).size:] {
			if n := parseFrame(f).size; parseFrame(f).typ == typeData {
				r.update(0, uint32(n)).update(1, uint32(n))
			}
		}
		s.give(r.Bytes(), 1<<20)
	}
	if s.err != nil {
		t.Errorf("updates: %v", s.err)
	}
}

// TestUnfinishedIsBounded: bodies that are begun and not ended take what has come of
// them, and no more than there is room for together.
func TestUnfinishedIsBounded(t *testing.T) {
	const held = 1 << 20
	s := newEnd(t, Server, Config{MessageBytes: held, HeldBytes: held, Streams: 1000, ConnWindow: 1 << 30})
	r := rand.New(rand.NewPCG(1, 1))
	w := newRaw().hello()
	sent := map[uint32]int{}
	refused := 0
	s.on = func(ev *Event) {
		if ev.Flags&Open != 0 && ev.Err != nil {
			refused++
			s.send(Send{Flags: Answer | End, ID: ev.ID, Head: refusedHead}, "")
		}
	}
	for i := range 20_000 {
		id := uint32(2*(i%500) + 1)
		if i < 500 {
			w.post(id)
		}
		n := 1 + r.IntN(5000)
		if sent[id]+n > 60_000 {
			continue
		}
		sent[id] += n
		w.data(id, 0, text(n))
		s.give(w.Bytes(), 1<<20)
		w.Reset()
		if h := s.s.Held(); s.err != nil || h > held+500*gatherCost+defaultTable+4096 {
			t.Fatalf("%d bytes are held, %v", h, s.err)
		}
		s.moved()
	}
	if refused < 400 {
		t.Errorf("%d of 500 were refused", refused)
	}
	if s.s.Unfinished() == 0 {
		t.Error("nothing is unfinished")
	}
}

// TestTrickle: where there is hardly room left, a large body that comes by the byte is
// not copied with each.
func TestTrickle(t *testing.T) {
	s := newEnd(t, Server, Config{MessageBytes: 1 << 20, HeldBytes: 1 << 20, ConnWindow: 1 << 30, StreamWindow: 1 << 20})
	w := newRaw().hello().post(1)
	for range 20 {
		w.data(1, 0, text(15_000))
	}
	w.post(3)
	for range 20 {
		w.data(3, 0, text(15_000))
	}
	s.give(w.Bytes(), 1<<20)
	copies, last := 0, 0
	for range 30_000 {
		w.Reset()
		s.give(w.data(1, 0, "x").Bytes(), 1<<20)
		g := s.s.in.gathers[1]
		if g == nil || g.lost {
			break
		}
		if cap(g.body) != last {
			last = cap(g.body)
			copies++
		}
	}
	if copies > 10 {
		t.Errorf("%d copies", copies)
	}
}
