package http1

import (
	"errors"
	"strings"
	"testing"
)

// answerCases are answers to a GET, gathered; want "" is one that is refused.
var answerCases = []struct{ name, in, want string }{
	{"least", crlf("HTTP/1.1 204 \n\n"), "answer|end 7 204"},
	{"without a reason", crlf("HTTP/1.1 204\n\n"), "answer|end 7 204"},
	{"length", crlf("HTTP/1.1 200 OK\nContent-Length: 5\nX: y\n\nhello"), `answer|data|end 7 200 x=y "hello"`},
	{"length of nothing", crlf("HTTP/1.1 200 OK\nContent-Length: 0\n\n"), `answer|end 7 200`},
	{"chunked", crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n1\n!\n0\n\n"), `answer|data|end 7 200 "hello!"`},
	{"trailers", crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n0\ngrpc-status: 0\n\n"), `answer|data|end 7 200 "hello" trailer grpc-status=0`},
	{"until the end", crlf("HTTP/1.1 200 OK\n\nhello"), `answer|data|end|goaway 7 200 "hello"`},
	{"until the end, of nothing", crlf("HTTP/1.1 200 OK\n\n"), `answer|end|goaway 7 200`},
	{"1.0", crlf("HTTP/1.0 200 OK\nContent-Length: 5\n\nhello"), `answer|data|end|goaway 7 200 "hello"`},
	{"1.0 that stays", crlf("HTTP/1.0 200 OK\nContent-Length: 5\nConnection: Keep-Alive\n\nhello"), `answer|data|end 7 200 "hello"`},
	{"close", crlf("HTTP/1.1 200 OK\nContent-Length: 5\nConnection: close\n\nhello"), `answer|data|end|goaway 7 200 "hello"`},
	{"304 with a length", crlf("HTTP/1.1 304 Not Modified\nContent-Length: 5\n\n"), `answer|end 7 304`},
	{"204 with a coding", crlf("HTTP/1.1 204 No Content\nTransfer-Encoding: chunked\n\n"), `answer|end 7 204`},
	{"informational", crlf("HTTP/1.1 100 Continue\n\nHTTP/1.1 103 Early Hints\nLink: x\n\nHTTP/1.1 200 OK\nContent-Length: 0\n\n"), `answer|end 7 200`},
	{"599", crlf("HTTP/1.1 599 \xe4 reason\nContent-Length: 0\n\n"), `answer|end 7 599`},
	{"nothing", "", ""},
	{"half a head", "HTTP/1.1 200 OK\r\nContent-", ""},
	{"half a body", crlf("HTTP/1.1 200 OK\nContent-Length: 5\n\nhell"), ""},
	{"half a chunk", crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhell"), ""},
	{"no last chunk", crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n5\nhello\n"), ""},
	{"no end of trailers", crlf("HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n0\nx: y\n"), ""},
	{"two lengths", crlf("HTTP/1.1 200 OK\nContent-Length: 5\nContent-Length: 4\n\nhello"), ""},
	{"length and coding", crlf("HTTP/1.1 200 OK\nContent-Length: 5\nTransfer-Encoding: chunked\n\n0\n\n"), ""},
	{"other coding", crlf("HTTP/1.1 200 OK\nTransfer-Encoding: gzip\n\nhello"), ""},
	{"coding in 1.0", crlf("HTTP/1.0 200 OK\nTransfer-Encoding: chunked\n\n0\n\n"), ""},
	{"switching", crlf("HTTP/1.1 101 Switching Protocols\nUpgrade: h2c\nConnection: upgrade\n\n"), ""},
	{"informational and the last", crlf("HTTP/1.1 103 x\nConnection: close\n\nHTTP/1.1 200 OK\nContent-Length: 0\n\n"), ""},
	{"two digits", crlf("HTTP/1.1 20 OK\n\n"), ""},
	{"four digits", crlf("HTTP/1.1 2000 OK\n\n"), ""},
	{"099", crlf("HTTP/1.1 099 OK\n\n"), ""},
	{"two spaces", crlf("HTTP/1.1  200 OK\n\n"), ""},
	{"HTTP/2.0", crlf("HTTP/2.0 200 OK\n\n"), ""},
	{"reason with an escape", crlf("HTTP/1.1 200 \x1b[2J\n\n"), ""},
	{"ICY", crlf("ICY 200 OK\n\n"), ""},
	{"bare LF", "HTTP/1.1 200 OK\nContent-Length: 0\n\n", ""},
	{"folded line", crlf("HTTP/1.1 200 OK\nx: y\n z\nContent-Length: 0\n\n"), ""},
	{"name with a space", crlf("HTTP/1.1 200 OK\nContent-Length : 0\n\n"), ""},
	{"HTTP/2", "\x00\x00\x00\x04\x00\x00\x00\x00\x00\r\n\r\n", ""},
}

func TestAnswers(t *testing.T) {
	for _, c := range answerCases {
		t.Run(c.name, func(t *testing.T) {
			for _, piece := range []int{1 << 20, 1, 2, 3, 5} {
				e, line := answers(t, getHead, c.in, piece, Gathered)
				if c.want != "" {
					if line != c.want || e.err != nil {
						t.Errorf("in pieces of %d\n%s\nwant\n%s\n%v", piece, line, c.want, e.err)
					}
					continue
				}
				var fault *Error
				switch {
				case e.shut:
					fault = e.faced[len(e.faced)-1]
				case c.in == "" && e.err == nil:
					continue // nothing has come: the engine knows that a call is open
				case !errors.As(e.err, &fault):
					t.Fatalf("in pieces of %d: taken: %s, %v", piece, line, e.err)
				}
				if fault.Status != 502 || fault.Offset < 0 || fault.Offset > int64(len(c.in)) || strings.HasPrefix(line, "answer|") {
					t.Errorf("in pieces of %d: %v; %s", piece, fault, line)
				}
			}
		})
	}
}

// TestAnswerToHead: none of its lengths is one of a body.
func TestAnswerToHead(t *testing.T) {
	for _, in := range []string{"Content-Length: 5\n\n", "Transfer-Encoding: chunked\n\n", "\n"} {
		e := called(t, headHead, Gathered)
		e.give(crlf("HTTP/1.1 200 OK\n"+in), 1)
		e.expect("answer|end 7 200")
		if e.s.Caps().Leaving {
			t.Error("the connection is given up")
		}
		e.must(Send{Flags: Open | End | Gathered, ID: 8, Head: getHead}, "")
		e.give(crlf("HTTP/1.1 200 OK\nContent-Length: 1\n\nx"), 1)
		e.expect(`answer|data|end 8 200 "x"`)
	}
}

// TestUnasked: an answer to nothing ends the connection, also one that came with the last.
func TestUnasked(t *testing.T) {
	answer := crlf("HTTP/1.1 200 OK\nContent-Length: 1\n\nx")
	e := newEnd(t, Client, Config{})
	e.give(answer, 1<<20)
	e.expect("close err 502 answer that nobody has asked for")
	e = called(t, getHead, Gathered)
	e.give(answer+answer, 1<<20)
	e.expect(`answer|data|end 7 200 "x"`, "close err 502 answer that nobody has asked for")
	e = newEnd(t, Client, Config{})
	e.give(crlf("HTTP/1.1 408 Request Timeout\nConnection: close\n\n"), 1<<20)
	e.expect("close err 502 answer that nobody has asked for")
	e = called(t, getHead, Gathered)
	e.give(strings.Repeat(crlf("HTTP/1.1 102 Processing\n\n"), 17), 1<<20)
	e.expect("reset|close 7 err 502 informational answers that nobody has asked for")
	if _, err := e.s.Cut(&e.in, new(Event)); err == nil {
		t.Error("Cut goes on")
	}
}
