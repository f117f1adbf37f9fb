package http1

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
)

// TestInjection: what would be read as another line, or another message, is not sent:
// it fails in End, and leaves nothing.
func TestInjection(t *testing.T) {
	for _, f := range []Field{
		{"x", "a\r\nSet-Cookie: b"}, {"x", "a\nb"}, {"x", "a\rb"}, {"x", "a\x00b"}, {"x", "a\x7f"}, {"x", "\x1b"},
		{"x\r\ny", "a"}, {"x y", "a"}, {"x:", "a"}, {"", "a"}, {"X", "a"}, {"x\x00", "a"}, {" x", "a"}, {"\xc3\xa4", "a"},
		{"content-length", "5"}, {"transfer-encoding", "chunked"}, {"connection", "close"}, {"host", "h"}, {"upgrade", "h2c"}, {"expect", "100-continue"}, {"keep-alive", "1"}, {"date", "now"},
	} {
		for i, sd := range []Send{
			{Head: NewHead(Field{":status", "200"}, f)},
			{Head: okHead, Fields: []Field{f}},
			{Head: okHead, Brief: BriefOf(f.Name, []byte(f.Value))},
			{Fields: []Field{{":status", "200"}, f}},
			{Head: okHead, Tail: NewHead(f)},
			{Head: okHead, Last: []Field{f}},
		} {
			if sd.Brief.name == "" && i == 2 {
				continue
			}
			e := serve(t, "GET /"+host+"\r\n", 1<<20, Config{})
			sd.Flags, sd.ID = Answer|Data|End, 1
			if err := e.send(sd, "body"); err == nil || e.out.Len() > 0 {
				t.Errorf("%d: %q: sent %q", i, f, e.sent())
			}
			if err := e.answer(1, "body"); err != nil || e.sent() != okOf("body") {
				t.Errorf("%d: %q: %v afterwards", i, f, err)
			}
		}
	}
	for _, first := range [][]Field{
		{{":method", "GET"}, {":path", "/ HTTP/1.1\r\nx: y"}, {":authority", "h"}},
		{{":method", "GET"}, {":path", "/a b"}, {":authority", "h"}},
		{{":method", "GET"}, {":path", ""}, {":authority", "h"}},
		{{":method", "GET"}, {":path", "*"}, {":authority", "h"}},
		{{":method", "GET"}, {":path", "/"}, {":authority", "h\r\nx: y"}},
		{{":method", "GET"}, {":path", "/"}, {":authority", "u@h/"}},
		{{":method", "GE T"}, {":path", "/"}, {":authority", "h"}},
		{{":method", "CONNECT"}, {":path", "/"}, {":authority", "h"}},
		{{":path", "/"}}, {{":status", "200"}}, {{":protocol", "x"}}, {{"x", "y"}}, nil,
	} {
		for _, sd := range []Send{{Head: NewHead(first...)}, {Fields: first}} {
			e := newEnd(t, Client, Config{})
			sd.Flags, sd.ID = Open|End, 1
			if err := e.send(sd, ""); err == nil || e.out.Len() > 0 {
				t.Errorf("%q: sent %q", first, e.sent())
			}
		}
	}
}

// TestFraming: what the head says of the body, for each kind of peer and message.
func TestFraming(t *testing.T) {
	const get, get10, headRequest = "GET /" + host + "\r\n", "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "HEAD /" + host + "\r\n"
	not := NewHead(Field{":status", "304"})
	for _, c := range []struct {
		name, request string
		sends         []Send
		bodies        []string
		want          string
		fails         bool
	}{
		{"unary", get, []Send{{Flags: Answer | Data | End, Head: okHead}}, []string{"abc"}, okOf("abc"), false},
		{"empty", get, []Send{{Flags: Answer | End, Head: okHead}}, []string{""}, okOf(""), false},
		{"trailers", get, []Send{{Flags: Answer | Data | End, Head: okHead, Tail: statusTail}}, []string{"abc"}, jsonOK + "transfer-encoding: chunked\r\n\r\n00000003\r\nabc\r\n0\r\ngrpc-status: 0\r\n\r\n", false},
		{"trailers alone", get, []Send{{Flags: Answer | End, Head: okHead, Tail: statusTail}}, []string{""}, jsonOK + "transfer-encoding: chunked\r\n\r\n0\r\ngrpc-status: 0\r\n\r\n", false},
		{"parts", get, []Send{{Flags: Answer | Data, Head: okHead}, {Flags: Data}, {Flags: Data | End}}, []string{"a", "", "b"}, jsonOK + "transfer-encoding: chunked\r\n\r\n00000001\r\na\r\n00000001\r\nb\r\n0\r\n\r\n", false},
		{"HEAD", headRequest, []Send{{Flags: Answer | Data | End, Head: okHead}}, []string{"abc"}, jsonOK + "content-length:          3\r\n\r\n", false},
		{"HEAD in parts", headRequest, []Send{{Flags: Answer | Data, Head: okHead}, {Flags: Data | End, Tail: statusTail}}, []string{"a", "b"}, jsonOK + "transfer-encoding: chunked\r\n\r\n", false},
		{"204", get, []Send{{Flags: Answer | End, Head: emptyHead}}, []string{""}, "HTTP/1.1 204 No Content\r\n\r\n", false},
		{"204 with a body", get, []Send{{Flags: Answer | Data | End, Head: emptyHead}}, []string{"a"}, "", true},
		{"304", get, []Send{{Flags: Answer | End, Head: not}}, []string{""}, "HTTP/1.1 304 Not Modified\r\n\r\n", false},
		{"100", get, []Send{{Flags: Answer | End, Head: NewHead(Field{":status", "100"})}}, []string{""}, "", true},
		{"body without its flag", get, []Send{{Flags: Answer | End, Head: okHead}}, []string{"a"}, "", true},
		{"fields", get, []Send{{Flags: Answer | End, Fields: []Field{{":status", "404"}, {"a", "b"}}, Brief: BriefOf("c", []byte("d"))}}, []string{""}, "HTTP/1.1 404 Not Found\r\na: b\r\nc: d\r\ncontent-length:          0\r\n\r\n", false},
		{"1.0", get10, []Send{{Flags: Answer | Data | End, Head: okHead, Tail: statusTail}}, []string{"abc"}, jsonOK + "connection: keep-alive\r\ncontent-length:          3\r\n\r\nabc", false},
		{"1.0 in parts", get10, []Send{{Flags: Answer | Data, Head: okHead}, {Flags: Data | End, Tail: statusTail}}, []string{"a", "b"}, jsonOK + "connection: close\r\n\r\nab", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := serve(t, c.request, 1<<20, Config{})
			for i, sd := range c.sends {
				sd.ID = 1
				if err := e.send(sd, c.bodies[i]); (err != nil) != c.fails {
					t.Fatal(err)
				}
			}
			if got := e.sent(); got != c.want {
				t.Errorf("sent %q\nwant %q", got, c.want)
			}
		})
	}
	// Requests.
	for _, c := range []struct {
		sd         Send
		body, want string
	}{
		{Send{Flags: Open | End, Head: getHead}, "", "GET / HTTP/1.1\r\nhost: h\r\n\r\n"},
		{Send{Flags: Open | Data | End, Head: getHead}, "ab", "GET / HTTP/1.1\r\nhost: h\r\ncontent-length:          2\r\n\r\nab"},
		{Send{Flags: Open | End, Fields: []Field{{":method", "POST"}, {":path", "/"}, {":authority", "h"}}}, "", "POST / HTTP/1.1\r\nhost: h\r\ncontent-length:          0\r\n\r\n"},
		{Send{Flags: Open | Data, Head: getHead}, "ab", "GET / HTTP/1.1\r\nhost: h\r\ntransfer-encoding: chunked\r\n\r\n00000002\r\nab\r\n"},
		{Send{Flags: Open | Sized, Head: getHead, Length: 9}, "", "GET / HTTP/1.1\r\nhost: h\r\ncontent-length: 9\r\n\r\n"},
	} {
		e := newEnd(t, Client, Config{})
		c.sd.ID = 1
		if e.must(c.sd, c.body); e.out.Len() != len(c.want) || string(e.out.Bytes()) != c.want {
			t.Errorf("sent %q\nwant %q", e.sent(), c.want)
		}
	}
}

// TestUndo: what was begun and not ended leaves nothing, wherever it stopped.
func TestUndo(t *testing.T) {
	begin := func(e *end, sd Send) {
		m := e.s.Begin(&e.out, &sd)
		e.out.AppendString("half")
		e.out.Truncate(m)
	}
	e := serve(t, "GET /"+host+"\r\n", 1<<20, Config{})
	begin(e, Send{Flags: Answer | Data | End | Close, ID: 1, Head: emptyHead, Tail: statusTail})
	begin(e, Send{Flags: Answer | Data, ID: 1, Head: okHead})
	e.must(Send{Flags: Answer | Data, ID: 1, Head: okHead}, "a")
	begin(e, Send{Flags: Data | End, ID: 1, Tail: statusTail})
	e.give("GET /"+host+"\r\n", 1<<20) // Apply in between
	e.must(Send{Flags: Data | End, ID: 1}, "b")
	if got := e.sent(); got != jsonOK+"transfer-encoding: chunked\r\n\r\n00000001\r\na\r\n00000001\r\nb\r\n0\r\n\r\n" || e.shut {
		t.Errorf("sent %q", got)
	}
	// A body that is too large, in the Out or beside it.
	large := buf.NewOut(nil)
	large.AppendString(strings.Repeat("x", 100))
	e = serve(t, "GET /"+host+"\r\n", 1<<20, Config{MessageBytes: 50})
	if err := e.send(Send{Flags: Answer | Data | End, ID: 1, Head: okHead, Body: large}, ""); err == nil || large.Len() != 100 {
		t.Error("a body beyond the limit")
	}
	if e.must(Send{Flags: Answer | Data | End, ID: 1, Head: okHead}, "ok"); e.sent() != okOf("ok") {
		t.Error("something is left")
	}
	large.Reset()
	// A client whose first request failed.
	c := newEnd(t, Client, Config{})
	begin(c, Send{Flags: Open | Data | End, ID: 1, Head: headHead})
	c.must(Send{Flags: Open | Data | End | Gathered, ID: 2, Head: getHead}, "x")
	c.give(okOf("y"), 1<<20)
	c.expect(`answer|data|end 2 200 content-type=application/json "y"`)
}

// TestBody: one that was encoded elsewhere is moved.
func TestBody(t *testing.T) {
	for _, flags := range []Flags{Answer | Data | End, Answer | Data} {
		e := serve(t, "GET /"+host+"\r\n", 1<<20, Config{})
		body := buf.NewOut(nil)
		body.RefString(strings.Repeat("y", 100_000))
		e.must(Send{Flags: flags, ID: 1, Head: okHead, Body: body}, "head ")
		if body.Len() > 0 {
			t.Error("the body was not moved")
		}
		if flags&End == 0 {
			e.must(Send{Flags: End, ID: 1}, "")
		}
		r, err := http.ReadResponse(bufio.NewReader(strings.NewReader(e.sent())), nil)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := io.ReadAll(r.Body); err != nil || string(p) != "head "+strings.Repeat("y", 100_000) {
			t.Errorf("%d bytes, %v", len(p), err)
		}
	}
}
