package http2

import (
	"strings"
	"testing"
)

// TestManyGathers: bodies that arrive in small parts, many at a time, use the connection's
// window up without any of them being large. It is granted anew all the same.
func TestManyGathers(t *testing.T) {
	const calls = 8
	c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{ConnWindow: defaultWindow})
	exchangeHello(c, s)
	for id := uint64(1); id <= calls; id++ {
		c.send(Send{Flags: Open | Data | Gathered, ID: id, Head: requestHead}, text(8000))
	}
	exchange(c, s, 1<<20)
	for id := uint64(1); id <= calls; id++ {
		c.send(Send{Flags: Data | End, ID: id}, text(8000))
	}
	exchange(c, s, 1<<20)
	if len(s.seen) != calls {
		t.Errorf("%d of %d requests have arrived: %v", len(s.seen), calls, s.seen)
	}
	if n, _ := c.s.Kept(); n > 0 {
		t.Errorf("%d bytes wait for windows", n)
	}
	if n := s.s.in.untold; n != 0 {
		t.Errorf("%d bytes were not told to Apply", n)
	}
}

// TestHeadsOfGathersAreHeld: what stands in the head of a request whose body is being
// gathered is held, and counts, whether it is in the peer's table or not.
func TestHeadsOfGathersAreHeld(t *testing.T) {
	var first []byte
	for i := 0; i < len(get); i += 2 {
		first = appendPlain(first, get[i], get[i+1])
	}
	for name, value := range map[string]func(b string) string{
		"plain":    func(b string) string { return "\x00\x01x" + b },
		"inserted": func(b string) string { return "\x40\x01x" + b },
	} {
		s := newEnd(t, Server, Config{})
		r := newRaw().hello()
		const heads, size = 50, 10_000
		for i := range heads {
			r.frame(typeHeaders, flagEndHeaders, uint32(2*i+1), string(first)+value(string(appendInt(nil, 0, 7, size))+strings.Repeat("v", size)))
		}
		before := s.s.Held()
		s.give(r.Bytes(), 1<<20)
		if n := s.s.Held() - before; s.err != nil || n < heads*size {
			t.Errorf("%s: %d bytes are held for %d heads of %d, %v", name, n, heads, size, s.err)
		}
		for i := range heads {
			s.give((&raw{}).rst(uint32(2*i+1)).Bytes(), 1<<20)
		}
		if s.s.in.gathered != 0 {
			t.Errorf("%s: %d bytes are counted once all are gone", name, s.s.in.gathered)
		}
	}
}

// TestReadyIsBounded: streams that end while the connection's window is used up leave
// nothing in the list of those that may send.
func TestReadyIsBounded(t *testing.T) {
	s := newEnd(t, Server, Config{Resets: 1 << 20})
	s.on = func(ev *Event) {
		if ev.Flags&Open != 0 {
			s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: answerHead}, text(10))
		}
	}
	r := newRaw().hello().get(1)
	s.s.out.window = 0
	for id := uint32(3); id < 10_000; id += 2 {
		r.get(id).rst(id)
	}
	s.give(r.Bytes(), 1<<20)
	if n := len(s.s.out.ready); s.err != nil || n > 200 {
		t.Errorf("%d streams are in the list, %d wait; %v", n, len(s.s.out.waiting), s.err)
	}
	s.give((&raw{}).update(0, 100).Bytes(), 1<<20)
	if got := told(s.moved()); !strings.HasSuffix(got, "data 1 10 end") {
		t.Errorf("got %.200s", got[max(0, len(got)-200):])
	}
}

// TestBlocksAreBounded: a header block has no more fields than a small multiple of what a
// list may have, or it would be work without end for few bytes; and while little is
// allowed it has no more bytes than a list.
func TestBlocksAreBounded(t *testing.T) {
	const calm = "goaway ENHANCE_YOUR_CALM"
	for _, x := range []struct {
		fields int
		ends   bool
	}{{100, false}, {rawFactor*128 - 100, false}, {rawFactor*128 + 1, true}, {16_000, true}} {
		s := newEnd(t, Server, Config{})
		r := newRaw().hello()
		s.give(r.frame(typeHeaders, flagEndHeaders|flagEnd, 1, r.fields(get...)+strings.Repeat("\x90", x.fields)).Bytes(), 1<<20)
		if got := told(s.moved()); strings.HasSuffix(got, calm) != x.ends {
			t.Errorf("%d fields: %s", x.fields, got)
		}
	}
	for allowed, ends := range map[int]bool{1 << 30: false, 64 << 10: false, 10_000: true} {
		s := newEnd(t, Server, Config{})
		s.s.Allow(allowed)
		r := newRaw().hello()
		r.frame(typeHeaders, 0, 1, r.fields(get...)+strings.Repeat("\x90", 10_000)).cont(1, 0, strings.Repeat("\x90", 5000))
		s.give(r.Bytes(), 1<<20)
		if got := told(s.moved()); strings.HasSuffix(got, calm) {
			t.Errorf("15 KB while %d are allowed: %s", allowed, got)
		}
		s.give((&raw{}).cont(1, 0, strings.Repeat("\x90", 5000)).Bytes(), 1<<20)
		if got := told(s.moved()); strings.HasSuffix(got, calm) != ends {
			t.Errorf("20 KB while %d are allowed: %s", allowed, got)
		}
	}
}

// TestValidValue: values are judged alike eight bytes at a time and one by one.
func TestValidValue(t *testing.T) {
	for n := range 20 {
		for at := range n {
			for c := range 256 {
				b := []byte(strings.Repeat("~", n))
				b[at] = byte(c)
				if at > 0 {
					b[at-1] = byte(c - 1)
				}
				if s := string(b); validValue(s) != validBytes(s) {
					t.Fatalf("%q: %t", s, validValue(s))
				}
			}
		}
	}
	if !validValue("a value\twith a tab and \x80\xff") || validValue("a value with a line's end\n") || validValue("\x7f") || validValue("1234567\x00") {
		t.Error("what is valid")
	}
}

func BenchmarkValidValue(b *testing.B) {
	s := text(4000)
	for b.Loop() {
		validValue(s)
	}
}
