package http1

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
)

// noon is the time of tests that look at dates.
var noon = time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)

// An end is a session with its buffers, and what it has seen.
type end struct {
	t     testing.TB
	s     *Session
	in    buf.In
	out   buf.Out
	err   error
	shut  bool // Close was left
	seen  []string
	faced []*Error // of the events
	on    func(*Event)
}

func newEnd(t testing.TB, side Side, cfg Config) *end {
	e := &end{t: t, s: New(side, cfg)}
	t.Cleanup(func() {
		e.in.Close()
		e.out.Reset()
	})
	return e
}

// give lets bytes arrive, piece by piece, and cuts after each.
func (e *end) give(p string, piece int) {
	for len(p) > 0 && e.err == nil && !e.shut {
		n := min(piece, len(p))
		for k := 0; k < n; {
			room := e.in.Space()
			m := copy(room, p[k:n])
			e.in.Filled(m)
			k += m
		}
		p = p[n:]
		e.cut()
	}
}

func (e *end) cut() {
	for {
		var ev Event
		need, err := e.s.Cut(&e.in, &ev)
		if err != nil {
			e.err = err
			return
		}
		if need > 0 {
			e.in.Expect(need)
			return
		}
		if e.apply(&ev); e.shut {
			return
		}
	}
}

func (e *end) apply(ev *Event) {
	e.s.Apply(&e.out, ev)
	if line := tell(ev); e.on != nil && line != "" {
		e.on(ev)
	} else if line != "" {
		e.seen = append(e.seen, line)
	}
	if ev.Err != nil {
		e.faced = append(e.faced, ev.Err)
	}
	e.shut = e.shut || ev.Flags&Close != 0
	ev.Body.Release()
}

func (e *end) eof() error {
	var ev Event
	err := e.s.EOF(&e.in, &ev)
	if ev.Flags != 0 {
		e.apply(&ev)
	}
	return err
}

// send begins, appends the body and ends.
func (e *end) send(sd Send, body string) error {
	m := e.s.Begin(&e.out, &sd)
	e.out.AppendString(body)
	err := e.s.End(&e.out, m, &sd)
	if err != nil {
		e.out.Truncate(m)
	}
	e.shut = e.shut || sd.Flags&Close != 0
	return err
}

func (e *end) must(sd Send, body string) {
	e.t.Helper()
	if err := e.send(sd, body); err != nil {
		e.t.Fatal(err)
	}
}

// sent takes what was sent.
func (e *end) sent() string {
	p := string(e.out.Bytes())
	e.out.Reset()
	return p
}

// expect compares what was seen since the last look.
func (e *end) expect(want ...string) {
	e.t.Helper()
	if got := strings.Join(e.seen, "\n"); got != strings.Join(want, "\n") {
		e.t.Fatalf("saw\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	e.seen = nil
}

var eventFlags = []string{"open", "answer", "data", "end", "reset", "goaway", "close", "gathered", "sized", "announced"}

// tell is an event in a line.
func tell(ev *Event) string {
	if ev.Flags == 0 {
		return ""
	}
	var names []string
	for i, n := range eventFlags {
		if ev.Flags&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	b := strings.Join(names, "|")
	if ev.ID != 0 {
		b += fmt.Sprintf(" %d", ev.ID)
	}
	if f := ev.Fields; f != nil {
		if f.Status != 0 {
			b += fmt.Sprintf(" %d", f.Status)
		} else {
			b += fmt.Sprintf(" %s %s host=%s", f.Method, f.Path, f.Authority)
		}
		for _, x := range append(f.List[:len(f.List):len(f.List)], ev.Rest...) {
			b += fmt.Sprintf(" %s=%s", x.Name, x.Value)
		}
	}
	if ev.Flags&Data != 0 {
		b += " " + quoted(ev.Body.Bytes())
	}
	for _, x := range ev.Trailer {
		b += fmt.Sprintf(" trailer %s=%s", x.Name, x.Value)
	}
	if ev.Err != nil {
		b += fmt.Sprintf(" err %d %s", ev.Err.Status, ev.Err.Why)
	}
	return b
}

// quoted is a body in a line: a long one by its length and sum.
func quoted[T string | []byte](p T) string {
	if len(p) > 500 {
		return fmt.Sprintf("%d:%08x", len(p), crc32.ChecksumIEEE([]byte(p)))
	}
	return strconv.Quote(string(p))
}

func streaming(*Event) bool { return false }

// serve gives a server bytes, and returns it.
func serve(t testing.TB, p string, piece int, cfg Config) *end {
	e := newEnd(t, Server, cfg)
	e.give(p, piece)
	return e
}

// called is a client that has one request in flight.
func called(t testing.TB, head *Head, gathered Flags) *end {
	e := newEnd(t, Client, Config{})
	e.must(Send{Flags: Open | End | gathered, ID: 7, Head: head}, "")
	e.sent()
	return e
}

var (
	getHead    = NewHead(Field{":method", "GET"}, Field{":path", "/"}, Field{":authority", "h"})
	headHead   = NewHead(Field{":method", "HEAD"}, Field{":path", "/"}, Field{":authority", "h"})
	postHead   = NewHead(Field{":method", "POST"}, Field{":scheme", "http"}, Field{":path", "/hello.Hello/Echo"}, Field{":authority", "localhost:8888"}, Field{"content-type", "application/json"}, Field{"user-agent", "limosa"})
	okHead     = NewHead(Field{":status", "200"}, Field{"content-type", "application/json"})
	emptyHead  = NewHead(Field{":status", "204"})
	statusTail = NewHead(Field{"grpc-status", "0"})
)
