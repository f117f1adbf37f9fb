package http1

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// drive runs an end on a connection until it ends, or done says so.
func (e *end) drive(nc net.Conn, done func() bool) error {
	p := make([]byte, 32<<10)
	for {
		if e.out.Len() > 0 {
			if _, err := io.WriteString(nc, e.sent()); err != nil {
				return err
			}
		}
		if e.err != nil || e.shut || done() {
			return e.err
		}
		n, err := nc.Read(p)
		if err != nil {
			return err
		}
		e.give(string(p[:n]), len(p))
	}
}

// TestClientOfNetHTTP: net/http's client against our server.
func TestClientOfNetHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			nc, err := l.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer nc.Close()
				s := newEnd(t, Server, Config{})
				s.on = func(ev *Event) {
					if ev.Flags&Open != 0 {
						s.echo(ev)
					}
				}
				s.drive(nc, func() bool { return false })
			})
		}
	})
	tr := &http.Transport{ExpectContinueTimeout: 60e9}
	c := http.Client{Transport: tr}
	for i := range 40 {
		want := strings.Repeat("x", i*i*i)
		r, _ := http.NewRequest("POST", fmt.Sprintf("http://%s/echo/%d", l.Addr(), i%3), strings.NewReader(want))
		switch i % 5 {
		case 1: // chunked
			r.ContentLength, r.Body = -1, io.NopCloser(strings.NewReader(want))
		case 2:
			r.Header.Set("Expect", "100-continue")
		case 3:
			r.Close = true
		case 4:
			r.Method = "HEAD"
		}
		a, err := c.Do(r)
		if err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		body, err := io.ReadAll(a.Body)
		a.Body.Close()
		if r.Method == "HEAD" {
			want = ""
		}
		if err != nil || string(body) != want || a.StatusCode != 200 || a.Header.Get("X-Path") != r.URL.Path || want != "" && a.Trailer.Get("X-Sum") != "1" {
			t.Fatalf("%d: %d bytes of %d, %v; %v %v", i, len(body), len(want), err, a.Header, a.Trailer)
		}
	}
	tr.CloseIdleConnections()
	l.Close()
	wg.Wait()
}

// echo answers with what was sent, and a trailer.
func (e *end) echo(ev *Event) {
	err := e.send(Send{Flags: Answer | Data | End, ID: ev.ID, Fields: []Field{{":status", "200"}, {"x-path", ev.Fields.Path}, {"trailer", "x-sum"}}, Last: []Field{{"x-sum", "1"}}}, string(ev.Body.Bytes()))
	if err != nil {
		e.t.Error(err)
	}
}

// TestServerOfNetHTTP: our client against net/http's server.
func TestServerOfNetHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Host != "localhost:8888" {
			t.Errorf("%v, host %s", err, r.Host)
		}
		w.Header().Set("Trailer", "X-Sum")
		w.Header().Set("X-Timeout", r.Header.Get("Timeout"))
		if len(body)%2 == 0 {
			w.(http.Flusher).Flush()
		}
		io.Copy(w, bytes.NewReader(body))
		w.Header().Set("X-Sum", fmt.Sprint(len(r.Trailer)))
	})}
	var wg sync.WaitGroup
	wg.Go(func() { server.Serve(l) })
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	e := newEnd(t, Client, Config{})
	for i := range 40 {
		want := strings.Repeat("y", i*i*i+i)
		sd := Send{Flags: Open | Data | End | Gathered, ID: uint64(i + 1), Head: postHead, Brief: BriefOf("timeout", fmt.Append(nil, i))}
		if i%3 == 1 {
			sd.Last = []Field{{"a", "b"}}
		}
		if i%3 == 2 {
			sd.Flags &^= End
		}
		if e.must(sd, want); i%3 == 2 {
			e.must(Send{Flags: Data | End, ID: sd.ID}, "tail")
			want += "tail"
		}
		got := ""
		e.on = func(ev *Event) { got = tell(ev) }
		if err := e.drive(nc, func() bool { return got != "" }); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
		if !strings.HasPrefix(got, "answer|") || want != "" && !strings.Contains(got, " "+quoted(want)) || !strings.Contains(got, fmt.Sprintf(" x-timeout=%d ", i)) {
			t.Fatalf("%d: %.200s", i, got)
		}
	}
	nc.Close()
	server.Close()
	wg.Wait()
}
