package http1

import (
	"strings"
	"testing"
)

// joined puts the parts of bodies that are not gathered together: how many there are
// depends on how the bytes came.
func joined(lines []string) string {
	var b []string
	for _, l := range lines {
		if head, data, ok := strings.Cut(l, ` "`); ok && strings.HasPrefix(l, "open|data|end") {
			b = append(b, "open"+strings.TrimPrefix(head, "open|data|end"), `data 1 "`+data, "end 1")
			continue
		}
		data, ok := strings.CutPrefix(l, "data 1 ")
		if n := len(b) - 1; ok && n >= 0 && strings.HasPrefix(b[n], "data 1 ") {
			b[n] = strings.TrimSuffix(b[n], `"`) + data[1:]
			continue
		}
		if data, ok := strings.CutPrefix(l, "data|end 1 "); ok {
			if n := len(b) - 1; n >= 0 && strings.HasPrefix(b[n], "data 1 ") {
				b[n] = strings.TrimSuffix(b[n], `"`) + data[1:]
			} else {
				b = append(b, "data 1 "+data)
			}
			l = "end 1"
		}
		b = append(b, l)
	}
	return strings.Join(b, "\n")
}

// TestEveryPrefix: a server that got any beginning of a conversation waits for more,
// and goes on from there as if nothing had been.
func TestEveryPrefix(t *testing.T) {
	conversation := "GET /1" + host + "\r\n" + "POST /2" + host + "Content-Length: 11\r\nX: y\r\n\r\nhello world" +
		"POST /3" + host + "Transfer-Encoding: chunked\r\n\r\n5;x=\"y\"\r\nhello\r\n1\r\n \r\n005\r\nworld\r\n0\r\nA: b\r\nC: d\r\n\r\n" +
		"POST /4" + host + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n" + "POST /2" + host + "Content-Length: 1\r\nX: z\r\n\r\nh" + "HEAD /5 HTTP/1.0\r\n\r\n"
	want := serve(t, conversation, 1<<20, Config{})
	for i := range conversation {
		e := serve(t, conversation[:i], 1<<20, Config{})
		if e.shut || e.err != nil {
			t.Fatalf("after %d bytes: %q", i, e.seen)
		}
		e.give(conversation[i:], 1<<20)
		if got := strings.Join(e.seen, "\n"); got != strings.Join(want.seen, "\n") {
			t.Fatalf("cut at %d, saw\n%s\nwant\n%s", i, got, strings.Join(want.seen, "\n"))
		}
		account(t, &e.s.in.heads)
	}
	// Bodies that come as they come.
	body := "POST /1" + host + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\nA: b\r\n\r\n"
	for _, in := range []string{body, "POST /1" + host + "Content-Length: 11\r\n\r\nhello world", body + "GET  /2"} {
		whole := joined(serve(t, in, len(in), Config{Gather: streaming}).seen)
		for i := 1; i < len(in); i++ {
			e := serve(t, in[:i], 1<<20, Config{Gather: streaming})
			e.give(in[i:], 1<<20)
			if got := joined(e.seen); got != whole {
				t.Fatalf("cut at %d, saw\n%s\nwant\n%s", i, got, whole)
			}
		}
	}
	// And a client.
	answer := "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nDate: now\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nA: b\r\n\r\n"
	for i := range answer {
		c := called(t, getHead, Gathered)
		c.give(answer[:i], 1<<20)
		if len(c.seen) > 0 || c.err != nil {
			t.Fatalf("after %d bytes: %q, %v", i, c.seen, c.err)
		}
		c.give(answer[i:], 1<<20)
		c.expect(`answer|data|end 7 200 date=now "hello" trailer a=b`)
	}
}
