package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// requests is what a server takes out of p, gathered, one line each, and how it ends:
// the error, or nil.
func requests(t testing.TB, p string, piece int) (lines []string, fault *Error) {
	e := serve(t, p, piece, Config{MessageBytes: 1 << 20})
	if n := len(e.faced); n > 0 {
		fault = e.faced[n-1]
	}
	return e.seen, fault
}

// whole keeps the lines of messages that have come whole, in the oracle's form.
func whole(t testing.TB, p string, piece int) (lines []string) {
	s := New(Server, Config{MessageBytes: 1 << 20})
	e := newEnd(t, Server, Config{})
	for len(p) > 0 {
		n := min(piece, len(p))
		e.in.Filled(copy(e.in.Space(), p[:n]))
		p = p[n:]
		for {
			var ev Event
			if need, _ := s.Cut(&e.in, &ev); need > 0 {
				break
			}
			s.Apply(&e.out, &ev)
			if ev.Flags&(Open|End) == Open|End && ev.Err == nil {
				lines = append(lines, fmt.Sprintf("%s %s %s %d %q %s", ev.Fields.Method, ev.Fields.Path, strings.ToLower(ev.Fields.Authority), ev.Fields.Minor, ev.Body.Bytes(), fieldsOf(ev.Trailer)))
			}
			ev.Body.Release()
		}
	}
	return lines
}

func fieldsOf(list []Field) string {
	h := http.Header{}
	for _, f := range list {
		h.Add(f.Name, f.Value)
	}
	return fmt.Sprint(h)
}

// theirRequests is the same by net/http, up to the first that it refuses.
func theirRequests(p string) (lines []string, err error) {
	br := bufio.NewReader(strings.NewReader(p))
	for {
		r, err := http.ReadRequest(br)
		if err != nil {
			return lines, err
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return lines, err
		}
		path := r.RequestURI
		if _, after, ok := strings.Cut(path, "://"); ok && path[0] != '/' {
			path = "/"
			if i := strings.IndexByte(after, '/'); i >= 0 {
				path = after[i:]
			} else if r.Method == "OPTIONS" {
				path = "*"
			}
		}
		trailer := r.Trailer
		if trailer == nil {
			trailer = http.Header{}
		}
		for k, v := range trailer {
			if v == nil { // announced, and did not come
				delete(trailer, k)
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %d %q %s", r.Method, path, strings.ToLower(r.Host), r.ProtoMinor, body, fmt.Sprint(trailer)))
	}
}

func seedRequests(f *testing.F) {
	for _, c := range requestCases {
		f.Add([]byte(c.in))
	}
	for _, c := range smuggled {
		f.Add([]byte(c.in))
	}
}

// FuzzRequest: what a server takes net/http takes too, and reads alike; how it was cut
// into pieces makes no difference.
func FuzzRequest(f *testing.F) {
	seedRequests(f)
	f.Fuzz(func(t *testing.T, p []byte) {
		text := string(p)
		ours := whole(t, text, len(text)+1)
		theirs, err := theirRequests(text)
		if len(theirs) < len(ours) {
			t.Fatalf("we take %d, net/http %d: %v\n%q", len(ours), len(theirs), err, ours)
		}
		for i := range ours {
			if ours[i] != theirs[i] {
				t.Fatalf("ours   %s\ntheirs %s", ours[i], theirs[i])
			}
		}
		if len(text) > 2000 {
			return
		}
		all, fault := requests(t, text, len(text)+1)
		for _, piece := range []int{1, 7} {
			lines, e := requests(t, text, piece)
			if strings.Join(lines, "\n") != strings.Join(all, "\n") {
				t.Fatalf("in pieces of %d\n%s\nat once\n%s", piece, strings.Join(lines, "\n"), strings.Join(all, "\n"))
			}
			if (e == nil) != (fault == nil) || e != nil && *e != *fault {
				t.Fatalf("in pieces of %d %v, at once %v", piece, e, fault)
			}
		}
	})
}

// answers is what a client makes of p, up to the end of the connection.
func answers(t testing.TB, head *Head, p string, piece int, gathered Flags) (e *end, line string) {
	e = called(t, head, gathered)
	e.give(p, piece)
	if !e.shut {
		e.err = e.eof()
	}
	return e, strings.Join(e.seen, "\n")
}

// FuzzAnswer: what a client takes net/http takes too, and reads alike.
func FuzzAnswer(f *testing.F) {
	for _, c := range answerCases {
		f.Add([]byte(c.in), false)
		f.Add([]byte(c.in), true)
	}
	f.Fuzz(func(t *testing.T, p []byte, head bool) {
		text, request, method := string(p), getHead, "GET"
		if head {
			request, method = headHead, "HEAD"
		}
		_, line := answers(t, request, text, len(text)+1, Gathered)
		if len(text) < 2000 {
			for _, piece := range []int{1, 7} {
				if _, l := answers(t, request, text, piece, Gathered); l != line {
					t.Fatalf("in pieces of %d\n%s\nat once\n%s", piece, l, line)
				}
			}
		}
		if !strings.HasPrefix(line, "answer|") || strings.Contains(line, " err 502 body") {
			return
		}
		br := bufio.NewReader(bytes.NewReader(p))
		for {
			r, err := http.ReadResponse(br, &http.Request{Method: method})
			if err != nil {
				t.Fatalf("we take\n%s\nnet/http says %v", line, err)
			}
			body, err := io.ReadAll(r.Body)
			if r.StatusCode < 200 {
				continue
			}
			if err != nil {
				t.Fatalf("we take\n%s\nnet/http says %v", line, err)
			}
			want := fmt.Sprintf(" 7 %d", r.StatusCode)
			if !strings.Contains(line, want) || len(body) > 0 && !strings.Contains(line, " "+quoted(body)) || len(body) == 0 && strings.HasPrefix(line, "answer|data") {
				t.Fatalf("ours %s\ntheirs %d %q", line, r.StatusCode, body)
			}
			return
		}
	})
}
