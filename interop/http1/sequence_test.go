package http1

import (
	"math/rand/v2"
	"strings"
)

// Parts of messages, most of which are right.
var (
	methods  = []string{"GET", "GET", "POST", "POST", "PUT", "HEAD", "OPTIONS", "PATCH", "DELETE", "PURGE", "PROPFIND", "SEARCH", "CONNECT", "get", "FROB", "G T", ""}
	targets  = []string{"/", "/a/b?c=d&e", "/%20", "*", "http://h/x", "http://h", "//x/y", "/a#b", "/\xc3\xa4", "h:80", "x", "/a b", "/%zz", "/\\", "/a|b^{}", ""}
	versions = []string{"HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/0.9", "HTTP/2.0", "HTTP/1.2", "http/1.1", "HTTP/1.10", "HTTP/1,1", ""}
	statuses = []string{"200 OK", "200 OK", "200", "404 Not Found", "204 No Content", "304 ", "100 Continue", "103 x", "101 Switching", "599 x", "099 x", "20 x", "2000 x", "999 x", "200  two", "200 \x01", "-20 x"}
	lines    = []string{"Host: h", "host:h", "Host: h:80", "Host: a b", "Host:", "Host: [::1]", "Accept: */*", "X: y", "X : y", " X: y", "X", ": y", "X:", "X: \xff", "X: a\x00b", "X: a\rb", "X:\ty\t",
		"Content-Length: 5", "Content-Length: 5", "Content-Length: 05", "Content-Length: +5", "Content-Length: 5,5", "Content-Length: 0x5", "Content-Length: 18446744073709551621", "Content-Length : 5", "Content-Length:         5 ", "Content-Length: ",
		"Transfer-Encoding: chunked", "Transfer-Encoding: chunked", "Transfer-Encoding: Chunked", "transfer-encoding: gzip, chunked", "Transfer-Encoding: xchunked", "Transfer-Encoding:\x0bchunked", "Transfer-Encoding: chunked, identity", "Transfer-Encoding: identity", "Transfer-Encoding: chunked;q=1",
		"Connection: close", "Connection: keep-alive", "Connection: upgrade", "Connection: close, keep-alive", "Upgrade: h2c", "Upgrade: websocket", "Expect: 100-continue", "Expect: x", "Trailer: X", "Trailer: Content-Length", "Keep-Alive: 5", "Proxy-Connection: close", "Date: now", "TE: trailers"}
	bodies = []string{"", "hello", "hello", "hell", "5\r\nhello\r\n0\r\n\r\n", "5\r\nhello\r\n0\r\n\r\n", "0\r\n\r\n", "0\r\nX: y\r\n\r\n", "5;a=b\r\nhello\r\n0\r\n\r\n", "5;a=\"b c\"\r\nhello\r\n0;x\r\n\r\n", "05\r\nhello\r\n00\r\n\r\n", "5 \r\nhello\r\n0\r\n\r\n", "0x5\r\nhello\r\n0\r\n\r\n", "+5\r\nhello\r\n0\r\n\r\n",
		"5\nhello\r\n0\r\n\r\n", "5\r\nhello\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhello\r\n0\r\n\n", "5\r\nhello\r\n0\r\nX : y\r\n\r\n", "5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n", "1\r\nh\r\n4\r\nello\r\n0\r\n\r\n", "5;\r\nhello\r\n0\r\n\r\n", "A\r\n0123456789\r\n0\r\n\r\n", "10000000000000005\r\nhello\r\n0\r\n\r\n", "5; a\r\nhello\r\n0\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\n\r\n"}
	ends = []string{"\n", "\r", "\r\r\n", "\r\n ", "\r\n\t", "", "\r\n\r\n"}
)

func pick(rng *rand.Rand, from []string) string { return from[rng.IntN(len(from))] }

// sequence is a few messages one behind the other; about half of them are right.
func sequence(rng *rand.Rand, answers bool) string {
	var b strings.Builder
	wild := rng.IntN(3) // 0: first lines, line ends and hosts are right
	end := func() string {
		if wild > 0 && rng.IntN(40) == 0 {
			return pick(rng, ends)
		}
		return "\r\n"
	}
	first := func(from []string) string {
		if wild == 0 || rng.IntN(3) > 0 {
			return from[0]
		}
		return pick(rng, from)
	}
	for range 1 + rng.IntN(3) {
		if answers {
			b.WriteString(first(versions) + " " + pick(rng, statuses) + end())
		} else {
			b.WriteString(pick(rng, methods[:10]) + " " + first(targets) + " " + first(versions) + end())
			if wild == 0 || rng.IntN(4) > 0 {
				b.WriteString("Host: h" + end())
			}
		}
		switch rng.IntN(4) {
		case 0: // whatever comes
			for range rng.IntN(4) {
				b.WriteString(pick(rng, lines) + end())
			}
			b.WriteString(end() + pick(rng, bodies))
		case 1:
			b.WriteString("X: y" + end() + "Content-Length: 5" + end() + end() + "hello")
		case 2:
			b.WriteString("Transfer-Encoding: chunked" + end() + end() + pick(rng, bodies[4:]))
		case 3:
			b.WriteString(pick(rng, lines) + end() + "Content-Length: 0" + end() + end())
		}
	}
	p := []byte(b.String())
	if rng.IntN(4) == 0 && len(p) > 0 {
		for range 1 + rng.IntN(3) {
			i := rng.IntN(len(p))
			switch rng.IntN(3) {
			case 0:
				p[i] = byte(rng.IntN(256))
			case 1:
				p = append(p[:i], p[i+1:]...)
			case 2:
				p = append(p[:i+1], p[i:]...)
			}
			if len(p) == 0 {
				break
			}
		}
	}
	return string(p)
}
