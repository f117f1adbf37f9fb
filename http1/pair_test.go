package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
)

// A fuzzPair is both sides of a connection, driven by a script, one call after the
// other. What each side has sent is what the other has got, and what net/http reads.
type fuzzPair struct {
	t      *testing.T
	c, s   *end
	script []byte
	calls  uint64
}

// next is the next byte of the script, below n.
func (p *fuzzPair) next(n int) int {
	if len(p.script) == 0 {
		return 0
	}
	b := p.script[0]
	p.script = p.script[1:]
	return int(b) % n
}

// body is one of a few sizes.
func (p *fuzzPair) body() string {
	size := [...]int{0, 1, 9, 100, 600, 5000}[p.next(6)]
	if size == 5000 && p.next(32) == 0 {
		size = 70_000
	}
	return strings.Repeat(string(rune('a'+p.next(26))), size)
}

// piece is in how many bytes at once n arrive: not too few, that is slow.
func (p *fuzzPair) piece(n int) int { return max(1+p.next(256)*p.next(256), n/50) }

// message sends a message in parts, some of which fail first, and returns what the
// other side is to see of it.
func (p *fuzzPair) message(e *end, sd Send) (want string) {
	parts, begins := p.next(4), sd.Flags&(Open|Answer)
	var bodies []string
	for range parts {
		bodies = append(bodies, p.body())
		want += bodies[len(bodies)-1]
	}
	sizes := p.next(3) == 0
	if sd.Length = int64(len(want)); sizes && parts > 1 {
		sd.Flags |= Sized
	}
	tail := p.next(3) == 0
	for i := range max(1, parts) {
		sd.Flags &^= Data | End
		body := ""
		if i < parts {
			sd.Flags |= Data
			body = bodies[i]
		}
		if i >= parts-1 {
			if sd.Flags |= End; tail {
				sd.Last = []Field{{"x-sum", "1"}}
			}
		}
		if p.next(4) == 0 { // it fails on the way
			m := e.s.Begin(&e.out, &sd)
			e.out.AppendString("half a body")
			e.out.Truncate(m)
		}
		if sd.Body = nil; p.next(2) == 0 && body != "" {
			sd.Body = buf.NewOut(nil)
			sd.Body.AppendString(body[1:])
			body = body[:1]
		}
		if err := e.send(sd, body); err != nil {
			p.t.Fatalf("%+v: %v", sd, err)
		}
		sd.Flags &^= begins | Sized
		sd.Head, sd.Fields = nil, nil
	}
	return want
}

func (p *fuzzPair) call() bool {
	p.calls++
	method := [...]string{"POST", "GET", "HEAD", "PUT"}[p.next(4)]
	head := NewHead(Field{":method", method}, Field{":path", fmt.Sprintf("/%d", p.next(3))}, Field{":authority", "h"})
	sd := Send{Flags: Open | Gathered, ID: p.calls + 100, Head: head}
	if p.next(8) == 0 {
		sd.Flags |= Close
	}
	if p.next(2) == 0 {
		sd.Fields = []Field{{"timeout", fmt.Sprint(p.next(256))}}
	}
	want := p.message(p.c, sd)
	wire := p.c.sent()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(wire)))
	if err != nil {
		p.t.Fatalf("net/http: %v\n%q", err, wire)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil || string(body) != want || r.Method != method || r.Close != (sd.Flags&Close != 0) {
		p.t.Fatalf("net/http: %s %d of %d bytes, %v", r.Method, len(body), len(want), err)
	}
	p.s.give(wire, p.piece(len(wire)))
	wantLine := " " + quoted(want)
	if want == "" {
		wantLine = ""
	}
	if len(p.s.seen) != 1 || !strings.Contains(p.s.seen[0], wantLine) || !strings.HasPrefix(p.s.seen[0], "open|") || !strings.Contains(p.s.seen[0], "end ") {
		p.t.Fatalf("saw %.200q\nwant %.200q", p.s.seen, want)
	}
	p.s.seen = nil

	status := [...]string{"200", "404", "204", "500"}[p.next(4)]
	reply := Send{Flags: Answer, ID: p.calls, Head: NewHead(Field{":status", status}, Field{"a", "b"})}
	if status == "204" {
		reply.Flags, want = Answer|End, ""
		p.s.must(reply, "")
	} else {
		want = p.message(p.s, reply)
	}
	if method == "HEAD" {
		want = ""
	}
	wire = p.s.sent()
	a, err := http.ReadResponse(bufio.NewReader(strings.NewReader(wire)), &http.Request{Method: method})
	if err != nil {
		p.t.Fatalf("net/http: %v\n%q", err, wire)
	}
	if body, err = io.ReadAll(a.Body); err != nil || string(body) != want || fmt.Sprint(a.StatusCode) != status || a.Close != p.s.shut {
		p.t.Fatalf("net/http: %d %d of %d bytes, %v; close %v, %v", a.StatusCode, len(body), len(want), err, a.Close, p.s.shut)
	}
	p.c.give(wire, p.piece(len(wire)))
	if wantLine = " " + quoted(want); want == "" {
		wantLine = ""
	}
	if len(p.c.seen) != 1 || !strings.Contains(p.c.seen[0], wantLine) || !strings.Contains(p.c.seen[0], fmt.Sprintf(" %d %s a=b", p.calls+100, status)) {
		p.t.Fatalf("saw %.200q\nwant %s %.200q", p.c.seen, status, want)
	}
	p.c.seen = nil
	if p.c.s.Caps().Leaving != p.s.shut || p.c.s.Caps().Busy {
		p.t.Fatalf("%+v, server %v", p.c.s.Caps(), p.s.shut)
	}
	account(p.t, &p.c.s.in.heads)
	account(p.t, &p.s.s.in.heads)
	return !p.s.shut
}

// FuzzPair drives both sides by a script.
func FuzzPair(f *testing.F) {
	f.Add([]byte("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09"))
	f.Add(bytes.Repeat([]byte("\x01\x03\x05\x02\x04\x00\x07\x0b\x0d"), 20))
	f.Add(bytes.Repeat([]byte("\x02\x01\x01\x01\x03\x05\x05\x01\x00\x09\xff\x40"), 20))
	f.Fuzz(func(t *testing.T, script []byte) {
		p := &fuzzPair{t: t, c: newEnd(t, Client, Config{}), s: newEnd(t, Server, Config{}), script: script}
		for i := 0; i < 8 && len(p.script) > 0 && p.call(); i++ {
		}
	})
}

// FuzzServer gives a server anything, lets some of the requests be answered, and holds
// what it sends to what net/http reads: never more answers than requests.
func FuzzServer(f *testing.F) {
	for _, c := range requestCases {
		f.Add([]byte(c.in+c.in), byte(3), true)
		f.Add([]byte(c.in+c.in), byte(200), false)
	}
	for _, c := range smuggled {
		f.Add([]byte(requestCases[17].in+c.in), byte(7), true)
	}
	f.Fuzz(func(t *testing.T, p []byte, step byte, gather bool) {
		e := newEnd(t, Server, Config{MessageBytes: 1000, TrailerBytes: 100, ChunkBytes: 100, HeaderBytes: 1000, Pipeline: 4})
		e.s.cfg.Gather = func(*Event) bool { return gather }
		var sent bytes.Buffer
		var open []string // methods, in the order of requests
		answered := uint64(0)
		for len(p) > 0 && !e.shut {
			n := min(1+int(step)%97, len(p))
			e.give(string(p[:n]), n)
			for _, line := range e.seen {
				if strings.HasPrefix(line, "open") {
					open = append(open, strings.Fields(line)[2])
				}
			}
			e.seen = nil
			if n := e.s.Held(); n > 64<<10 {
				t.Fatalf("%d bytes are held", n)
			}
			account(t, &e.s.in.heads)
			for p = p[n:]; !e.shut && int(answered) < len(open)-int(step)%3; {
				answered++
				if err := e.answer(answered, "body"); err != nil {
					t.Fatal(err)
				}
			}
			sent.WriteString(e.sent())
		}
		for !e.shut && int(answered) < len(open) {
			answered++
			if err := e.answer(answered, "body"); err != nil {
				t.Fatal(err)
			}
			sent.WriteString(e.sent())
		}
		br := bufio.NewReader(&sent)
		for i := 0; ; {
			method := "GET"
			if i < len(open) {
				method = open[i]
			}
			r, err := http.ReadResponse(br, &http.Request{Method: method})
			if err == io.ErrUnexpectedEOF && br.Buffered() == 0 {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if r.StatusCode == 100 {
				continue
			}
			if _, err := io.ReadAll(r.Body); err != nil {
				t.Fatal(err)
			}
			if i++; i > int(answered)+1 {
				t.Fatalf("%d answers to %d requests", i, answered)
			}
		}
	})
}
