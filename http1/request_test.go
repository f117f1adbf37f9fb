package http1

import (
	"strings"
	"testing"
)

// crlf makes CRLF of the line ends of a text.
func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

// requestCases are requests that are taken: RFC 9112 and what clients send.
var requestCases = []struct{ name, in, want string }{
	{"least", crlf("GET / HTTP/1.1\nHost: h\n\n"), "open|end 1 GET / host=h"},
	{"curl", crlf("GET /get_no_headers_no_body/world?a=b&c=d HTTP/1.1\nHost: localhost:8888\nUser-Agent: curl/8.14.1\nAccept: */*\n\n"),
		"open|end 1 GET /get_no_headers_no_body/world?a=b&c=d host=localhost:8888 user-agent=curl/8.14.1 accept=*/*"},
	{"no host in 1.0", crlf("GET / HTTP/1.0\n\n"), "open|end 1 GET / host="},
	{"empty host", crlf("GET / HTTP/1.1\nHost:\n\n"), "open|end 1 GET / host="},
	{"IPv6", crlf("GET / HTTP/1.1\nHost: [::1]:80\n\n"), "open|end 1 GET / host=[::1]:80"},
	{"white space around a value", crlf("GET / HTTP/1.1\nhost: \t h \t\nx:\ny: a b\tc\n\n"), "open|end 1 GET / host=h x= y=a b\tc"},
	{"bytes above ASCII", crlf("GET / HTTP/1.1\nHost: h\nx: \xc3\xa4\xff\n\n"), "open|end 1 GET / host=h x=\xc3\xa4\xff"},
	{"fields twice", crlf("GET / HTTP/1.1\nHost: h\nX: a\nx: b\n\n"), "open|end 1 GET / host=h x=a x=b"},
	{"length", crlf("POST /p HTTP/1.1\nHost: h\nContent-Length: 5\n\n") + "hello", `open|data|end 1 POST /p host=h "hello"`},
	{"length padded", crlf("POST /p HTTP/1.1\nHost: h\nContent-Length:          05\n\n") + "hello", `open|data|end 1 POST /p host=h "hello"`},
	{"length of nothing", crlf("POST /p HTTP/1.1\nHost: h\nContent-Length: 0\n\n"), `open|end 1 POST /p host=h`},
	{"body of GET", crlf("GET /p HTTP/1.1\nHost: h\nContent-Length: 2\n\n") + "ab", `open|data|end 1 GET /p host=h "ab"`},
	{"chunked", crlf("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n5\nhello\n6\n world\n0\n\n"), `open|data|end 1 POST / host=h "hello world"`},
	{"chunked of nothing", crlf("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: Chunked\n\n000\n\n"), `open|end 1 POST / host=h`},
	{"one chunk", crlf("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n00a\n0123456789\n0\n\n"), `open|data|end 1 POST / host=h "0123456789"`},
	{"trailers", crlf("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\nTrailer: Vary\n\n5\nhello\n0\nVary: *\nX-Sum: 1\n\n"), `open|data|end 1 POST / host=h trailer=Vary "hello" trailer vary=* trailer x-sum=1`},
	{"chunk extensions", crlf("POST / HTTP/1.1\nHost: h\nTransfer-Encoding: chunked\n\n5;a;b=c;d=\"e; f\"\nhello\n0;x\n\n"), `open|data|end 1 POST / host=h "hello"`},
	{"absolute form", crlf("GET http://H.example:80/x?y HTTP/1.1\nHost: h.example:80\n\n"), "open|end 1 GET /x?y host=h.example:80"},
	{"absolute form of nothing", crlf("GET http://h HTTP/1.1\nHost: h\n\n"), "open|end 1 GET / host=h"},
	{"asterisk", crlf("OPTIONS * HTTP/1.1\nHost: h\n\n"), "open|end 1 OPTIONS * host=h"},
	{"escapes", crlf("GET /a%20b/%c3%A4?q=%22 HTTP/1.1\nHost: h\n\n"), "open|end 1 GET /a%20b/%c3%A4?q=%22 host=h"},
	{"h2c upgrade", crlf("GET / HTTP/1.1\nHost: h\nConnection: Upgrade, HTTP2-Settings\nUpgrade: h2c\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\n\n"),
		"open|end 1 GET / host=h upgrade=h2c http2-settings=AAMAAABkAAQAoAAAAAIAAAAA"},
	{"pipelined", crlf("GET /1 HTTP/1.1\nHost: h\n\nPOST /2 HTTP/1.1\nHost: h\nContent-Length: 2\n\nabGET /3 HTTP/1.1\nHost: h\n\n"),
		"open|end 1 GET /1 host=h\nopen|data|end 2 POST /2 host=h \"ab\"\nopen|end 3 GET /3 host=h"},
	{"nothing behind close", crlf("GET /1 HTTP/1.1\nHost: h\nConnection: foo , Close\n\nGET /2 HTTP/1.1\nHost: h\n\n"), "open|end 1 GET /1 host=h"},
	{"nothing behind 1.0", crlf("GET /1 HTTP/1.0\nHost: h\n\nGET /2 HTTP/1.0\nHost: h\n\n"), "open|end 1 GET /1 host=h"},
	{"1.0 that stays", crlf("GET /1 HTTP/1.0\nHost: h\nConnection: keep-alive\n\nGET /2 HTTP/1.0\n\n"), "open|end 1 GET /1 host=h\nopen|end 2 GET /2 host="},
	{"expectation", crlf("POST / HTTP/1.1\nHost: h\nExpect: 100-Continue\nContent-Length: 2\n\nab"), `open|data|end 1 POST / host=h "ab"`},
	{"expectation in 1.0", crlf("POST / HTTP/1.0\nExpect: the unexpected\nContent-Length: 2\n\nab"), `open|data|end 1 POST / host= "ab"`},
}

func TestRequests(t *testing.T) {
	for _, c := range requestCases {
		t.Run(c.name, func(t *testing.T) {
			for _, piece := range []int{1 << 20, 1, 2, 3, 5} {
				e := serve(t, c.in, piece, Config{})
				if got := strings.Join(e.seen, "\n"); got != c.want {
					t.Errorf("in pieces of %d\n%s\nwant\n%s", piece, got, c.want)
				}
			}
			if ours, theirs := whole(t, c.in, 1<<20), 0; len(ours) > 0 {
				lines, err := theirRequests(c.in)
				if theirs = len(lines); theirs < len(ours) {
					t.Errorf("net/http does not take it: %v", err)
				}
			}
		})
	}
}

// post is a request whose header lines and body are the case's.
func post(lines string) string { return crlf("POST / HTTP/1.1\nHost: h\n" + lines) }

// smuggled are requests that are refused, with the status that says so: most of them
// two programs on the way of a request would read in two ways.
var smuggled = []struct {
	name, in string
	status   int
}{
	// Two lengths.
	{"CL.CL", post("Content-Length: 5\nContent-Length: 6\n\nhello!"), 400},
	{"CL.CL alike", post("Content-Length: 5\nContent-Length: 5\n\nhello"), 400},
	{"list of lengths", post("Content-Length: 5, 5\n\nhello"), 400},
	{"CL.TE", post("Content-Length: 6\nTransfer-Encoding: chunked\n\n0\n\nG"), 400},
	{"TE.CL", post("Transfer-Encoding: chunked\nContent-Length: 4\n\n5c\nGPOST / HTTP/1.1\n0\n\n"), 400},
	{"TE.CL of nothing", post("Transfer-Encoding: chunked\nContent-Length: 0\n\n0\n\n"), 400},
	{"TE.TE", post("Transfer-Encoding: chunked\nTransfer-Encoding: identity\n\n0\n\n"), 400},
	{"TE.TE alike", post("Transfer-Encoding: chunked\nTransfer-Encoding: chunked\n\n0\n\n"), 400},
	{"TE in 1.0", crlf("POST / HTTP/1.0\nHost: h\nTransfer-Encoding: chunked\n\n0\n\n"), 400},
	// Lengths that are none.
	{"length with a sign", post("Content-Length: +5\n\nhello"), 400},
	{"negative length", post("Content-Length: -5\n\nhello"), 400},
	{"length in hex", post("Content-Length: 0x5\n\nhello"), 400},
	{"length with a space", post("Content-Length: 1 0\n\nhello"), 400},
	{"length with an underscore", post("Content-Length: 1_0\n\nhello"), 400},
	{"length with a fraction", post("Content-Length: 5.0\n\nhello"), 400},
	{"length in other digits", post("Content-Length: \u0665\n\nhello"), 400},
	{"length of nothing", post("Content-Length:\n\nhello"), 400},
	{"length beyond 64 bits", post("Content-Length: 18446744073709551621\n\nhello"), 400},
	{"length beyond 63 bits", post("Content-Length: 9223372036854775808\n\nhello"), 400},
	{"quoted length", post("Content-Length: \"5\"\n\nhello"), 400},
	// Codings that are none.
	{"TE xchunked", post("Transfer-Encoding: xchunked\n\n0\n\n"), 501},
	{"TE identity", post("Transfer-Encoding: identity\n\n"), 501},
	{"TE gzip, chunked", post("Transfer-Encoding: gzip, chunked\n\n0\n\n"), 501},
	{"TE chunked, chunked", post("Transfer-Encoding: chunked, chunked\n\n0\n\n"), 501},
	{"TE chunked with a parameter", post("Transfer-Encoding: chunked;q=1\n\n0\n\n"), 501},
	{"TE quoted", post("Transfer-Encoding: \"chunked\"\n\n0\n\n"), 501},
	{"TE of nothing", post("Transfer-Encoding:\n\n0\n\n"), 501},
	{"TE with a vertical tab", post("Transfer-Encoding: \x0bchunked\n\n0\n\n"), 400},
	{"TE with a NUL", post("Transfer-Encoding: chunked\x00\n\n0\n\n"), 400},
	{"TE folded", post("Transfer-Encoding:\n chunked\n\n0\n\n"), 400},
	// White space.
	{"space before the colon", post("Content-Length : 5\n\nhello"), 400},
	{"tab before the colon", post("Transfer-Encoding\t: chunked\n\n0\n\n"), 400},
	{"space before the name", post(" Content-Length: 5\n\nhello"), 400},
	{"folded line", post("x: a\n b\n\n"), 400},
	{"folded first line", crlf("GET / HTTP/1.1\n Host: h\n\n"), 400},
	{"line without a colon", post("Content-Length 5\n\nhello"), 400},
	{"line of a colon", post(": 5\n\nhello"), 400},
	{"name with a space", post("Content Length: 5\n\n"), 400},
	{"name with a slash", post("a/b: 5\n\n"), 400},
	{"name above ASCII", post("Content-Length\xa0: 5\n\nhello"), 400},
	{"name with a NUL", post("a\x00: 5\n\n"), 400},
	// Line ends.
	{"bare LF", "GET / HTTP/1.1\nHost: h\n\n", 400},
	{"bare LF behind a field", "GET / HTTP/1.1\r\nHost: h\nx: y\r\n\r\n", 400},
	{"bare LF for the empty line", "GET / HTTP/1.1\r\nHost: h\r\n\n", 400},
	{"bare CR", "GET / HTTP/1.1\r\nHost: h\r\nx: a\rContent-Length: 5\r\n\r\n", 400},
	{"bare CR as line end", "GET / HTTP/1.1\rHost: h\r\n\r\n", 400},
	{"two CR", "GET / HTTP/1.1\r\r\nHost: h\r\n\r\n", 400},
	{"empty line first", "\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n", 400},
	{"NUL in a value", post("x: a\x00b\n\n"), 400},
	{"escape in a value", post("x: a\x1b[2Jb\n\n"), 400},
	{"DEL in a value", post("x: a\x7fb\n\n"), 400},
	// First lines.
	{"two spaces", crlf("GET  / HTTP/1.1\nHost: h\n\n"), 400},
	{"two spaces before the version", crlf("GET /  HTTP/1.1\nHost: h\n\n"), 400},
	{"tab", crlf("GET\t/ HTTP/1.1\nHost: h\n\n"), 400},
	{"space at the end", crlf("GET / HTTP/1.1 \nHost: h\n\n"), 400},
	{"HTTP/0.9", crlf("GET /\n\n"), 400},
	{"HTTP/1.2", crlf("GET / HTTP/1.2\nHost: h\n\n"), 505},
	{"HTTP/2.0", crlf("GET / HTTP/2.0\nHost: h\n\n"), 505},
	{"preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 501},
	{"http/1.1", crlf("GET / http/1.1\nHost: h\n\n"), 400},
	{"HTTP/01.1", crlf("GET / HTTP/01.1\nHost: h\n\n"), 400},
	{"HTTP/1.1x", crlf("GET / HTTP/1.1x\nHost: h\n\n"), 400},
	{"method in lower case", crlf("get / HTTP/1.1\nHost: h\n\n"), 501},
	{"method that nobody knows", crlf("FROB / HTTP/1.1\nHost: h\n\n"), 501},
	{"method that is no token", crlf("G(T / HTTP/1.1\nHost: h\n\n"), 400},
	{"CONNECT", crlf("CONNECT h:443 HTTP/1.1\nHost: h:443\n\n"), 501},
	{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400},
	// Targets.
	{"target without a slash", crlf("GET x HTTP/1.1\nHost: h\n\n"), 400},
	{"asterisk of GET", crlf("GET * HTTP/1.1\nHost: h\n\n"), 400},
	{"authority as target", crlf("GET h:80 HTTP/1.1\nHost: h:80\n\n"), 400},
	{"fragment", crlf("GET /#x HTTP/1.1\nHost: h\n\n"), 400},
	{"escape that is none", crlf("GET /%zz HTTP/1.1\nHost: h\n\n"), 400},
	{"escape cut off", crlf("GET /%4 HTTP/1.1\nHost: h\n\n"), 400},
	{"backslash", crlf("GET /\\x HTTP/1.1\nHost: h\n\n"), 400},
	{"target above ASCII", crlf("GET /\xc3\xa4 HTTP/1.1\nHost: h\n\n"), 400},
	{"target with a NUL", crlf("GET /\x00 HTTP/1.1\nHost: h\n\n"), 400},
	{"absolute form with another host", crlf("GET http://a/ HTTP/1.1\nHost: b\n\n"), 400},
	{"absolute form with a user", crlf("GET http://u@h/ HTTP/1.1\nHost: u@h\n\n"), 400},
	{"absolute form without a host", crlf("GET http:///x HTTP/1.1\nHost: h\n\n"), 400},
	{"absolute form with an empty host field", crlf("GET http://a/ HTTP/1.1\nHost:\n\n"), 400},
	{"other scheme", crlf("GET ftp://h/ HTTP/1.1\nHost: h\n\n"), 400},
	// Hosts.
	{"no host", crlf("GET / HTTP/1.1\n\n"), 400},
	{"two hosts", crlf("GET / HTTP/1.1\nHost: a\nHost: b\n\n"), 400},
	{"two hosts alike", crlf("GET / HTTP/1.1\nHost: a\nHost: a\n\n"), 400},
	{"host with a path", crlf("GET / HTTP/1.1\nHost: a/b\n\n"), 400},
	{"host with a user", crlf("GET / HTTP/1.1\nHost: u@h\n\n"), 400},
	{"host with a space", crlf("GET / HTTP/1.1\nHost: a b\n\n"), 400},
	{"list of hosts", crlf("GET / HTTP/1.1\nHost: a, b/\n\n"), 400},
	{"port that is none", crlf("GET / HTTP/1.1\nHost: h:80x\n\n"), 400},
	{"bracket without an end", crlf("GET / HTTP/1.1\nHost: [::1\n\n"), 400},
	// Chunks.
	{"chunk size with a sign", post("Transfer-Encoding: chunked\n\n+5\nhello\n0\n\n"), 400},
	{"chunk size in C", post("Transfer-Encoding: chunked\n\n0x5\nhello\n0\n\n"), 400},
	{"negative chunk", post("Transfer-Encoding: chunked\n\n-5\nhello\n0\n\n"), 400},
	{"space before a chunk size", post("Transfer-Encoding: chunked\n\n 5\nhello\n0\n\n"), 400},
	{"space behind a chunk size", post("Transfer-Encoding: chunked\n\n5 \nhello\n0\n\n"), 400},
	{"chunk without a size", post("Transfer-Encoding: chunked\n\n\nhello\n0\n\n"), 400},
	{"chunk of an extension", post("Transfer-Encoding: chunked\n\n;a\nhello\n0\n\n"), 400},
	{"chunk size beyond 64 bits", post("Transfer-Encoding: chunked\n\n10000000000000005\nhello\n0\n\n"), 400},
	{"chunk size of many zeros", post("Transfer-Encoding: chunked\n\n0000000000000005\nhello\n0\n\n"), 400},
	{"chunk longer than it says", post("Transfer-Encoding: chunked\n\n5\nhello!\n0\n\n"), 400},
	{"chunk shorter than it says", post("Transfer-Encoding: chunked\n\n5\nhell\n0\n\n"), 400},
	{"bare LF behind a chunk size", post("Transfer-Encoding: chunked\n\n") + "5\nhello\r\n0\r\n\r\n", 400},
	{"bare LF behind a chunk", post("Transfer-Encoding: chunked\n\n") + "5\r\nhello\n0\r\n\r\n", 400},
	{"bare LF in an extension", post("Transfer-Encoding: chunked\n\n") + "5;a\nhello\r\n0\r\n\r\n", 400},
	{"bare CR in an extension", post("Transfer-Encoding: chunked\n\n") + "5;a\rb\r\nhello\r\n0\r\n\r\n", 400},
	{"extension with a space", post("Transfer-Encoding: chunked\n\n5; a\nhello\n0\n\n"), 400},
	{"extension without a name", post("Transfer-Encoding: chunked\n\n5;\nhello\n0\n\n"), 400},
	{"extension without a value", post("Transfer-Encoding: chunked\n\n5;a=\nhello\n0\n\n"), 400},
	{"extension without an end", post("Transfer-Encoding: chunked\n\n5;a=\"b\nhello\n0\n\n"), 400},
	{"bare LF behind the last chunk", post("Transfer-Encoding: chunked\n\n") + "0\r\n\n", 400},
	{"length in trailers", post("Transfer-Encoding: chunked\n\n0\nContent-Length: 5\n\n"), 400},
	{"coding in trailers", post("Transfer-Encoding: chunked\n\n0\nTransfer-Encoding: chunked\n\n"), 400},
	{"host in trailers", post("Transfer-Encoding: chunked\n\n0\nHost: b\n\n"), 400},
	{"folded trailer", post("Transfer-Encoding: chunked\n\n0\na: b\n c\n\n"), 400},
	{"trailer that is none", post("Transfer-Encoding: chunked\n\n0\nGET / HTTP/1.1\n\n"), 400},
	{"length announced as trailer", post("Transfer-Encoding: chunked\nTrailer: a, Content-Length\n\n0\n\n"), 400},
	{"expectation that is none", post("Expect: 200-ok\nContent-Length: 5\n\nhello"), 417},
}

func TestSmuggling(t *testing.T) {
	for _, c := range smuggled {
		t.Run(c.name, func(t *testing.T) {
			// What comes behind must never be taken for a request.
			in := c.in + crlf("GET /smuggled HTTP/1.1\nHost: h\n\n")
			for _, piece := range []int{1 << 20, 1, 3} {
				e := serve(t, in, piece, Config{})
				if len(e.faced) != 1 || e.faced[0].Status != c.status {
					t.Fatalf("in pieces of %d: %v, want status %d; saw %q", piece, e.faced, c.status, e.seen)
				}
				if at := e.faced[0].Offset; at < 0 || at > int64(len(c.in)) {
					t.Errorf("fault at %d of %d", at, len(c.in))
				}
				if len(e.seen) != 1 || !e.shut {
					t.Errorf("in pieces of %d: saw %q", piece, e.seen)
				}
				answer := e.sent()
				if !strings.HasPrefix(answer, "HTTP/1.1 ") || !strings.Contains(answer, "\r\nconnection: close\r\n") || answer[9:12] != itoa(c.status) {
					t.Errorf("answered %q", answer)
				}
			}
		})
	}
}

func itoa(n int) string {
	return string([]byte{byte('0' + n/100), byte('0' + n/10%10), byte('0' + n%10)})
}
