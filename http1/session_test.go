package http1

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

const host = " HTTP/1.1\r\nHost: h\r\n"

// answer sends an answer with a body to a request.
func (e *end) answer(id uint64, body string) error {
	return e.send(Send{Flags: Answer | Data | End, ID: id, Head: okHead}, body)
}

const jsonOK = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"

func okOf(body string) string {
	return jsonOK + fmt.Sprintf("content-length: %10d\r\n\r\n%s", len(body), body)
}

// TestPipeline: requests are cut as they come, and answered in their order.
func TestPipeline(t *testing.T) {
	e := serve(t, "GET /1"+host+"\r\nGET /2"+host+"\r\nGET /3"+host+"\r\n", 1<<20, Config{})
	e.expect("open|end 1 GET /1 host=h", "open|end 2 GET /2 host=h", "open|end 3 GET /3 host=h")
	if err := e.answer(2, "two"); err == nil {
		t.Error("the second answer before the first")
	}
	for i, body := range []string{"one", "two", "three"} {
		if err := e.answer(uint64(i+1), body); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := e.sent(), okOf("one")+okOf("two")+okOf("three"); got != want {
		t.Errorf("sent %q", got)
	}
	if err := e.answer(3, "again"); err == nil {
		t.Error("the third answer twice")
	}
	if err := e.answer(4, "early"); err == nil {
		t.Error("an answer to nothing")
	}
	if e.out.Len() > 0 || e.shut {
		t.Errorf("left: %q, %v", e.sent(), e.shut)
	}
}

// TestPipelineLimit: a peer that never stops asking is told so behind its answers.
func TestPipelineLimit(t *testing.T) {
	e := serve(t, strings.Repeat("GET /"+host+"\r\n", 6), 1<<20, Config{Pipeline: 4})
	if len(e.seen) != 4 || e.shut {
		t.Fatalf("saw %q", e.seen)
	}
	for id := range uint64(4) {
		if err := e.answer(id+1, ""); err != nil {
			t.Fatal(err)
		}
	}
	if got := e.sent(); !e.shut || !strings.HasPrefix(got[4*len(okOf("")):], "HTTP/1.1 503 Service Unavailable\r\n") {
		t.Errorf("sent %q", got)
	}
	// One that reads its answers may go on for ever.
	e = newEnd(t, Server, Config{Pipeline: 4})
	for id := range uint64(1000) {
		e.give("GET /"+host+"\r\n", 1<<20)
		if id >= 3 {
			if err := e.answer(id-2, ""); err != nil {
				t.Fatal(err)
			}
			e.sent()
		}
	}
	if n := cap(e.s.out.asked.list); n > 16 {
		t.Errorf("%d places for 4 requests", n)
	}
}

// TestFaultBehindRequests: what is wrong is told once everything before was answered.
func TestFaultBehindRequests(t *testing.T) {
	e := serve(t, "GET /1"+host+"\r\nGET /2"+host+"\r\nGET  /3"+host+"\r\nGET /4"+host+"\r\n", 1<<20, Config{})
	e.expect("open|end 1 GET /1 host=h", "open|end 2 GET /2 host=h")
	if e.out.Len() > 0 || e.shut {
		t.Fatalf("told too early: %q", e.sent())
	}
	e.answer(1, "one")
	if e.shut {
		t.Fatal("ended too early")
	}
	e.answer(2, "two")
	got, want := e.sent(), okOf("one")+okOf("two")+"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: 20\r\n\r\ntarget that is none\n"
	if got != want || !e.shut {
		t.Errorf("sent %q\nwant %q", got, want)
	}
	// Whoever answers still is not told; nothing is sent.
	if err := e.answer(3, "three"); err != nil || e.out.Len() > 0 {
		t.Errorf("%v, %q", err, e.sent())
	}
}

// TestFaultInBody: a request that the user knows is reset, and answered with the fault
// if its answer has not begun.
func TestFaultInBody(t *testing.T) {
	in := "POST /1" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"
	for _, begun := range []bool{false, true} {
		e := serve(t, in, 1<<20, Config{Gather: streaming})
		e.expect("open 1 POST /1 host=h", `data 1 "abc"`)
		if begun {
			e.must(Send{Flags: Answer, ID: 1, Head: okHead}, "")
			e.must(Send{Flags: Data, ID: 1}, "x")
		}
		e.give("zzz\r\n", 1)
		e.expect("reset|close 1 err 400 size of a chunk that is none")
		e.must(Send{Flags: Data | End, ID: 1}, "more")
		if got := e.sent(); begun && got != jsonOK+"transfer-encoding: chunked\r\n\r\n00000001\r\nx\r\n" || !begun && !strings.HasPrefix(got, "HTTP/1.1 400 ") || strings.Contains(got, "more") {
			t.Errorf("sent %q", got)
		}
	}
	// A gathered one is not known to the user.
	e := serve(t, in+"zzz\r\n", 1, Config{})
	e.expect("close 1 err 400 size of a chunk that is none")
	if got := e.sent(); !strings.HasPrefix(got, "HTTP/1.1 400 ") {
		t.Errorf("sent %q", got)
	}
}

// TestContinue: who waits for a word gets it when it is his turn, and not twice.
func TestContinue(t *testing.T) {
	const goOn = "HTTP/1.1 100 Continue\r\n\r\n"
	post := "POST /p" + host + "Expect: 100-continue\r\nContent-Length: 3\r\n\r\n"
	for _, cfg := range []Config{{}, {Gather: streaming}} {
		e := serve(t, post, 1, cfg)
		if got := e.sent(); got != goOn {
			t.Fatalf("sent %q", got)
		}
		e.seen = nil
		e.give("abc", 1<<20)
		if e.answer(1, "ok"); e.sent() != okOf("ok") || e.shut {
			t.Error("answered otherwise")
		}
		// Behind another answer.
		e.give("GET /2"+host+"\r\n"+post, 1<<20)
		if e.out.Len() > 0 {
			t.Errorf("invited before its turn: %q", e.sent())
		}
		e.answer(2, "two")
		if got := e.sent(); got != okOf("two")+goOn {
			t.Errorf("sent %q", got)
		}
		e.give("abc", 1<<20)
		e.answer(3, "")
		e.sent()
		// Who does not wait needs none.
		e.give(post+"abc", 1<<20)
		if got := e.sent(); got != "" {
			t.Errorf("sent %q", got)
		}
		e.answer(4, "")
	}
	// One that is not wanted is told so, and sends nothing more.
	e := serve(t, post, 1<<20, Config{MessageBytes: 2})
	e.expect("open|end 1 POST /p host=h err 413 body of more than there is room for; at most 2 bytes")
	e.must(Send{Flags: Answer | Data | End, ID: 1, Head: NewHead(Field{":status", "413"})}, "")
	if got := e.sent(); got != "HTTP/1.1 413 Content Too Large\r\nconnection: close\r\ncontent-length:          0\r\n\r\n" || !e.shut {
		t.Errorf("sent %q", got)
	}
}

// TestKeepAlive: who ends the connection, and how the peer hears of it.
func TestKeepAlive(t *testing.T) {
	for _, c := range []struct {
		request, head string
		shut          bool
	}{
		{"GET /" + host + "\r\n", "", false},
		{"GET /" + host + "Connection: keep-alive\r\n\r\n", "", false},
		{"GET /" + host + "Connection: close\r\n\r\n", "connection: close\r\n", true},
		{"GET /" + host + "Connection: keep-alive, close\r\n\r\n", "connection: close\r\n", true},
		{"GET /" + host + "Connection: x\r\nConnection: close\r\n\r\n", "connection: close\r\n", true},
		{"GET /" + host + "Proxy-Connection: close\r\n\r\n", "connection: close\r\n", true},
		{"GET / HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n", "connection: close\r\n", true},
		{"GET / HTTP/1.0\r\n\r\n", "connection: close\r\n", true},
		{"GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "connection: keep-alive\r\n", false},
	} {
		e := serve(t, c.request, 1<<20, Config{})
		if err := e.answer(1, "x"); err != nil {
			t.Fatal(err)
		}
		want := jsonOK + c.head + "content-length:          1\r\n\r\nx"
		if got := e.sent(); got != want || e.shut != c.shut {
			t.Errorf("%q: sent %q, %v", c.request, got, e.shut)
		}
		if e.s.Caps().Leaving != c.shut {
			t.Errorf("%q: %+v", c.request, e.s.Caps())
		}
	}
}

// TestDrain: the last request that was seen gets the last answer.
func TestDrain(t *testing.T) {
	e := serve(t, "GET /1"+host+"\r\nGET /2"+host+"\r\n", 1<<20, Config{})
	e.must(Send{Flags: GoAway}, "")
	e.answer(1, "x")
	if e.shut {
		t.Fatal("ended before the last answer")
	}
	e.answer(2, "y")
	want := okOf("x") + jsonOK + "connection: close\r\ncontent-length:          1\r\n\r\ny"
	if got := e.sent(); got != want || !e.shut {
		t.Errorf("sent %q", got)
	}
	e = newEnd(t, Server, Config{})
	if e.must(Send{Flags: GoAway}, ""); !e.shut || e.out.Len() > 0 {
		t.Error("an idle connection stays")
	}
	// A server that closes on its own says so.
	e = serve(t, "GET /1"+host+"\r\nGET /2"+host+"\r\n", 1<<20, Config{})
	e.must(Send{Flags: Answer | End | Close, ID: 1, Head: emptyHead}, "")
	if got := e.sent(); got != "HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n" || !e.shut {
		t.Errorf("sent %q", got)
	}
	if err := e.answer(2, "z"); err != nil || e.out.Len() > 0 {
		t.Errorf("behind the end: %v, %q", err, e.sent())
	}
}

// TestEarlyAnswer: an answer before the request's end is the last.
func TestEarlyAnswer(t *testing.T) {
	e := serve(t, "POST /"+host+"Content-Length: 100\r\n\r\nabc", 1<<20, Config{Gather: streaming})
	e.expect("open 1 POST / host=h", `data 1 "abc"`)
	e.answer(1, "no")
	if got := e.sent(); !strings.Contains(got, "\r\nconnection: close\r\n") || !e.shut {
		t.Errorf("sent %q", got)
	}
	// The client of such a server.
	c := newEnd(t, Client, Config{})
	c.must(Send{Flags: Open, ID: 1, Head: postHead}, "")
	c.must(Send{Flags: Data, ID: 1}, "abc")
	c.give(crlf("HTTP/1.1 413 No\nContent-Length: 2\n\nno"), 1<<20)
	c.expect(`answer|data|end|goaway 1 413 "no"`)
	c.sent()
	if c.must(Send{Flags: Data | End, ID: 1}, "def"); c.out.Len() > 0 || !c.s.Caps().Leaving {
		t.Errorf("sent %q", c.sent())
	}
	if err := c.send(Send{Flags: Open | End, ID: 2, Head: getHead}, ""); err == nil {
		t.Error("another request on the same connection")
	}
}

// TestStreams: bodies of both directions as they come.
func TestStreams(t *testing.T) {
	for _, piece := range []int{1 << 20, 1} {
		c, s := newEnd(t, Client, Config{}), newEnd(t, Server, Config{Gather: streaming})
		c.must(Send{Flags: Open | Data, ID: 9, Head: postHead}, "one")
		c.must(Send{Flags: Data, ID: 9}, "")
		c.must(Send{Flags: Data, ID: 9}, "two")
		s.give(c.sent(), 1<<20)
		s.expect("open 1 POST /hello.Hello/Echo host=localhost:8888 content-type=application/json user-agent=limosa", `data 1 "one"`, `data 1 "two"`)
		s.must(Send{Flags: Answer, ID: 1, Head: okHead}, "")
		s.must(Send{Flags: Data, ID: 1}, "uno")
		c.give(s.sent(), 1<<20)
		c.expect("answer 9 200 content-type=application/json", `data 9 "uno"`)
		c.must(Send{Flags: End, ID: 9}, "")
		s.give(c.sent(), piece)
		s.expect("end 1")
		if err := c.send(Send{Flags: Data, ID: 9}, "behind the end"); err == nil {
			t.Error("a part behind the end")
		}
		s.must(Send{Flags: Data | End, ID: 1, Tail: statusTail, Last: []Field{{"x", "y"}}}, "due")
		c.give(s.sent(), 1<<20)
		c.expect(`data 9 "due"`, "end 9 trailer grpc-status=0 trailer x=y")
		if c.shut || s.shut || c.s.Caps() != (Caps{}) {
			t.Errorf("the connection ends: %+v", c.s.Caps())
		}
	}
}

// TestSized: a length that is told beforehand is kept.
func TestSized(t *testing.T) {
	e := serve(t, "GET /"+host+"\r\nHEAD /"+host+"\r\n", 1<<20, Config{})
	e.must(Send{Flags: Answer | Sized, ID: 1, Head: okHead, Length: 5}, "")
	e.must(Send{Flags: Data, ID: 1}, "hel")
	if err := e.send(Send{Flags: Data, ID: 1}, "lo!"); err == nil {
		t.Error("more than was told")
	}
	if err := e.send(Send{Flags: Data | End, ID: 1}, "l"); err == nil {
		t.Error("less than was told")
	}
	e.must(Send{Flags: Data | End, ID: 1}, "lo")
	e.must(Send{Flags: Answer | End | Sized, ID: 2, Head: okHead, Length: 5}, "")
	if got, want := e.sent(), jsonOK+"content-length: 5\r\n\r\nhello"+jsonOK+"content-length: 5\r\n\r\n"; got != want {
		t.Errorf("sent %q", got)
	}
}

// TestReset: HTTP/1 can give a message up with its connection only.
func TestReset(t *testing.T) {
	c := called(t, getHead, Gathered)
	if c.must(Send{Flags: Reset, ID: 6}, ""); c.shut {
		t.Error("another call's reset")
	}
	c.must(Send{Flags: Reset, ID: 7}, "")
	if c.give(okOf("x"), 1<<20); !c.shut || c.seen != nil || c.out.Len() > 0 {
		t.Errorf("saw %q", c.seen)
	}
	s := serve(t, "GET /"+host+"\r\n", 1<<20, Config{})
	s.must(Send{Flags: Answer, ID: 1, Head: okHead}, "")
	s.sent()
	s.must(Send{Flags: Reset, ID: 1}, "")
	if s.must(Send{Flags: Data, ID: 1}, "late"); !s.shut || s.out.Len() > 0 {
		t.Errorf("sent %q", s.sent())
	}
}

// TestOneCall: a client has one request in flight.
func TestOneCall(t *testing.T) {
	c := called(t, getHead, Gathered)
	if err := c.send(Send{Flags: Open | End, ID: 8, Head: getHead}, ""); err == nil || !c.s.Caps().Busy {
		t.Error("two requests in flight")
	}
	c.give("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n", 1<<20)
	if !c.s.Caps().Busy || c.s.Unfinished() == 0 {
		t.Error("half an answer is taken for one")
	}
	was := c.s.Unfinished()
	c.give("x", 1<<20)
	if c.s.Caps().Busy || c.s.Unfinished() != 0 || was == 0 {
		t.Error("the answer is not taken for one")
	}
	c.must(Send{Flags: Open | End | Close, ID: 8, Head: getHead}, "")
	if got := c.sent(); got != "GET / HTTP/1.1\r\nhost: h\r\nconnection: close\r\n\r\n" || !c.s.Caps().Leaving {
		t.Errorf("sent %q", got)
	}
}

// TestEOF: what the end of the connection means depends on where it is.
func TestEOF(t *testing.T) {
	s := serve(t, "GET /"+host+"\r\n", 1<<20, Config{})
	if err := s.eof(); err != nil {
		t.Error(err)
	}
	for _, half := range []string{"GET /", "GET /" + host + "Content-Length: 1\r\n\r\n"} {
		s = serve(t, half, 1<<20, Config{})
		var fault *Error
		if err := s.eof(); !errors.As(err, &fault) || fault.Offset != int64(len(half)) {
			t.Errorf("%q: %v", half, err)
		}
		if s.s.Held() > 4<<10 || s.s.Unfinished() != 0 {
			t.Error("half a request is held")
		}
	}
	c := called(t, getHead, 0)
	c.give("HTTP/1.1 200 OK\r\n\r\nabc", 1<<20)
	c.give("def", 1<<20)
	if err := c.eof(); err != nil {
		t.Error(err)
	}
	c.expect("answer 7 200", `data 7 "abc"`, `data 7 "def"`, "end|goaway 7")
}

// TestLimits: each thing that a peer may send much of has a bound, and a status.
func TestLimits(t *testing.T) {
	long := strings.Repeat("x", 2000)
	cfg := Config{HeaderBytes: 1000, HeaderEntries: 5, TrailerBytes: 100, ChunkBytes: 100, MessageBytes: 1000}
	chunks := "POST /" + host + "Transfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		name, in string
		status   int
	}{
		{"target", "GET /" + long, 414},
		{"header", "GET /" + host + "x: " + long, 431},
		{"whole header", "GET /" + host + "x: " + long + "\r\n\r\n", 431},
		{"lines", "GET /" + host + strings.Repeat("a: b\r\n", 5) + "\r\n", 431},
		{"trailers", chunks + "0\r\nx: " + long, 431},
		{"trailer lines", chunks + "0\r\n" + strings.Repeat("a: b\r\n", 6) + "\r\n", 431},
		{"extension", chunks + "1;" + long, 400},
		{"extensions", chunks + strings.Repeat("1;"+long[:40]+"\r\nx\r\n", 5), 400},
		{"length", "POST /" + host + "Content-Length: 1001\r\n\r\n", 413},
		{"huge length", "POST /" + host + "Content-Length: 999999999999999999\r\n\r\n", 413},
		{"chunk", chunks + "3e9\r\n", 413},
		{"huge chunk", chunks + "fffffffffffffff\r\n", 413},
		{"chunks", chunks + strings.Repeat("fa\r\n"+long[:250]+"\r\n", 5), 413},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, piece := range []int{1 << 20, 1} {
				e := serve(t, c.in, piece, cfg)
				if len(e.faced) != 1 || e.faced[0].Status != c.status || !e.faced[0].Limit && c.status != 400 {
					t.Errorf("%v, want status %d; saw %q", e.faced, c.status, e.seen)
				}
				if n := e.s.Held(); n > 8<<10 {
					t.Errorf("%d bytes are held", n)
				}
			}
		})
	}
	// Honest chunks of a byte each are none of that.
	e := serve(t, chunks+strings.Repeat("1\r\nx\r\n", 900)+"0\r\n\r\n", 1<<20, cfg)
	if len(e.faced) > 0 {
		t.Error(e.faced)
	}
}

// TestAllow: less room than there was is heeded in the midst of a body.
func TestAllow(t *testing.T) {
	for _, in := range []string{"Content-Length: 100\r\n\r\nabc", "Transfer-Encoding: chunked\r\n\r\n64\r\nabc"} {
		e := serve(t, "POST /"+host+in, 1<<20, Config{})
		e.s.Allow(50)
		e.give("def", 1<<20)
		e.expect("open|end 1 POST / host=h err 413 body of more than there is room for; at most 50 bytes")
		e.give(strings.Repeat("x", 1000), 1<<20)
		if e.seen != nil || e.in.Len() > 0 || e.s.Unfinished() != 0 {
			t.Errorf("saw %q", e.seen)
		}
		e.answer(1, "no")
		if !e.shut {
			t.Error("the connection stays")
		}
	}
}

// TestGrowth: the memory of a chunked body follows what has come of it.
func TestGrowth(t *testing.T) {
	e := serve(t, "POST /"+host+"Transfer-Encoding: chunked\r\n\r\nf00000\r\n", 1<<20, Config{})
	for sent := 0; sent < 1<<20; sent += 1000 {
		if n := e.s.Held(); n > 4*sent+8<<10 {
			t.Fatalf("%d bytes are held for %d", n, sent)
		}
		e.give(strings.Repeat("x", 1000), 1<<20)
	}
}

// TestDate: the date is Clock's, and nobody else's.
func TestDate(t *testing.T) {
	e := newEnd(t, Server, Config{})
	e.s.Clock(noon)
	for id := range uint64(2) {
		e.give("GET /"+host+"\r\n", 1<<20)
		e.answer(id+1, "")
		if got := e.sent(); got != jsonOK+"date: Mon, 23 Nov 2026 12:00:00 GMT\r\ncontent-length:          0\r\n\r\n" {
			t.Errorf("sent %q", got)
		}
	}
	e.s.Clock(noon.Add(61e9))
	e.give("GET  /"+host+"\r\n", 1<<20)
	if got := e.sent(); !strings.Contains(got, "\r\ndate: Mon, 23 Nov 2026 12:01:01 GMT\r\n") {
		t.Errorf("sent %q", got)
	}
}

func TestSniff(t *testing.T) {
	for _, c := range []struct {
		prefix string
		need   int
		ok     bool
	}{
		{"", 4, true}, {"G", 3, true}, {"GET", 1, true}, {"GET ", 0, true}, {"GETX", 0, false}, {"get ", 0, false},
		{"POST /", 0, true}, {"PO", 3, true}, {"PRI * HTTP/2.0", 0, false}, {"PR", 7, true}, {"\x16\x03\x01", 0, false}, {"FROB ", 0, false}, {"\x00\x00\x00\x10", 0, false},
	} {
		if need, ok := Sniff([]byte(c.prefix)); need != c.need || ok != c.ok {
			t.Errorf("%q: %d, %v; want %d, %v", c.prefix, need, ok, c.need, c.ok)
		}
	}
}

// TestErrors: an error says where, and what answers it.
func TestErrors(t *testing.T) {
	for want, e := range map[string]*Error{
		"http1: 400: host twice (at byte 7)":     {Status: 400, Offset: 7, Why: "host twice"},
		"http1: 500: a request is in flight":     sendErr("a request is in flight"),
		"http1: 501: unknown method (at byte 0)": {Status: 501, Why: "unknown method"},
	} {
		if e.Error() != want {
			t.Errorf("%q, want %q", e.Error(), want)
		}
	}
	e := serve(t, "GET /1"+host+"\r\nGET /2"+host+"Content-Length: 5\r\nContent-Length: 5\r\n\r\n", 1<<20, Config{})
	if want := int64(len("GET /1" + host + "\r\nGET /2" + host + "Content-Length: 5\r\n")); len(e.faced) != 1 || e.faced[0].Offset != want {
		t.Errorf("%v, want byte %d", e.faced, want)
	}
	if h := postHead.Fields(); len(h) != 6 || h[0].Value != "POST" {
		t.Errorf("%v", h)
	}
}

func TestLookup(t *testing.T) {
	ev := Event{Fields: &Fields{List: []Field{{"a", "1"}, {"b", "2"}}}, Rest: []Field{{"a", "3"}, {"c", "4"}}}
	for name, want := range map[string]string{"a": "1", "b": "2", "c": "4"} {
		if got, ok := ev.Lookup(name); !ok || got != want {
			t.Errorf("%s: %q, %v", name, got, ok)
		}
	}
	if _, ok := ev.Lookup("d"); ok {
		t.Error("a field that is not there")
	}
}
