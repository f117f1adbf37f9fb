package http1

import (
	"fmt"
	"strings"
	"testing"
)

func parsed(s *Session) (n int) {
	if s.in.heads.slots != nil {
		for _, c := range s.in.heads.slots {
			if c != nil {
				n++
			}
		}
	}
	return n
}

// account holds what the cache counts to what it has.
func account(t testing.TB, h *headCache) {
	t.Helper()
	n := 0
	if h.slots != nil {
		for _, c := range h.slots {
			if c != nil {
				n += c.cost()
			}
		}
	}
	if n != h.bytes {
		t.Errorf("%d bytes are kept, %d counted", n, h.bytes)
	}
	if h.bytes > headsMost {
		t.Errorf("%d bytes are kept", h.bytes)
	}
}

// TestCacheSame: what comes out does not depend on what came before.
func TestCacheSame(t *testing.T) {
	var all []string
	for _, c := range requestCases {
		all = append(all, c.in)
	}
	for _, c := range smuggled {
		all = append(all, c.in)
	}
	first := post("Content-Length: 3\nx: y\nz: 1\n\nabc")
	for _, before := range []string{first, post("Content-Length: 77\n\n") + strings.Repeat("x", 77), post("x: y\nTransfer-Encoding: chunked\n\n0\n\n"), crlf("GET / HTTP/1.1\nHost: h\n\n")} {
		for _, in := range all {
			want := serve(t, in, 1<<20, Config{})
			e := newEnd(t, Server, Config{})
			for id := range uint64(3) {
				e.give(before, 1<<20)
				if err := e.answer(id+1, ""); err != nil {
					t.Fatal(err)
				}
			}
			e.seen = nil
			e.give(in, 1<<20)
			w := strings.Join(want.seen, "\n")
			for id := 5; id > 0; id-- {
				w = strings.ReplaceAll(w, fmt.Sprintf(" %d ", id), fmt.Sprintf(" %d ", id+3))
			}
			if got := strings.Join(e.seen, "\n"); got != w {
				t.Errorf("behind %q:\n%s\nwant\n%s", before, got, w)
			}
			account(t, &e.s.in.heads)
		}
	}
}

// TestCacheLearns: of heads that differ in a line, what is before it is kept.
func TestCacheLearns(t *testing.T) {
	e := newEnd(t, Server, Config{})
	var shared *Fields
	for i := range 2 * relearn {
		e.in.Give(bufOf(fmt.Sprintf("POST /x HTTP/1.1\r\nHost: h\r\nA: b\r\nContent-Length: %d\r\nTimeout: %d\r\n\r\n%s", i%7, i, strings.Repeat("x", i%7))))
		var ev Event
		if need, err := e.s.Cut(&e.in, &ev); need > 0 || err != nil {
			t.Fatal(need, err)
		}
		e.s.Apply(&e.out, &ev)
		if v, ok := ev.Lookup("timeout"); !ok || v != fmt.Sprint(i) || ev.Length != int64(i%7) || ev.Body.Len() != i%7 {
			t.Fatalf("%d: timeout %s, length %d", i, v, ev.Length)
		}
		if v, ok := ev.Lookup("a"); !ok || v != "b" || ev.Fields.Authority != "h" || ev.Fields.Path != "/x" {
			t.Fatalf("%d: %+v", i, ev.Fields)
		}
		if i > 3 && i < relearn && (shared != ev.Fields || len(ev.Rest) != 1) {
			t.Fatalf("%d: nothing is shared", i)
		}
		shared = ev.Fields
		ev.Body.Release()
		if err := e.answer(uint64(i+1), ""); err != nil {
			t.Fatal(err)
		}
		e.sent()
	}
	if n := parsed(e.s); n != 1 {
		t.Errorf("%d heads are kept", n)
	}
	account(t, &e.s.in.heads)
}

// TestCacheBounds: a peer that asks for something else each time costs no more.
func TestCacheBounds(t *testing.T) {
	e := newEnd(t, Server, Config{})
	for i := range 500 {
		e.give(fmt.Sprintf("GET /%d%s HTTP/1.1\r\nHost: h\r\nX: %s\r\n\r\n", i, strings.Repeat("y", i%600), strings.Repeat("z", i%3000)), 1<<20)
		if err := e.answer(uint64(i+1), ""); err != nil {
			t.Fatal(err)
		}
		e.sent()
		account(t, &e.s.in.heads)
	}
}
