package http2

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// drive runs an end on a connection until it is closed, or done says so.
func (e *end) drive(nc net.Conn, done func() bool) error {
	p := make([]byte, 32<<10)
	for {
		if e.out.Len() > 0 {
			if _, err := nc.Write(e.moved()); err != nil {
				return err
			}
		}
		if e.err != nil {
			return e.err
		}
		if done() {
			return nil
		}
		n, err := nc.Read(p)
		if err != nil {
			return err
		}
		e.now = time.Now()
		e.give(p[:n], len(p))
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
					if ev.Flags&Open == 0 {
						return
					}
					sd := Send{Flags: Answer | Data | End, ID: ev.ID, Head: NewHead(Field{":status", "200"}, Field{"trailer", "x-sum"}),
						Fields: []Field{{"x-path", ev.Fields.Path}}, Tail: NewHead(Field{"x-sum", "1"}), Last: []Field{{"x-len", fmt.Sprint(ev.Body.Len())}}}
					if err := s.send(sd, string(ev.Body.Bytes())); err != nil {
						t.Error(err)
					}
				}
				s.drive(nc, func() bool { return false })
				account(t, s.s)
			})
		}
	})
	defer wg.Wait()
	defer l.Close()
	tr := &http.Transport{Protocols: new(http.Protocols)}
	tr.Protocols.SetUnencryptedHTTP2(true)
	defer tr.CloseIdleConnections()
	client := &http.Client{Transport: tr}
	var calls sync.WaitGroup
	defer calls.Wait()
	for i := range 40 {
		calls.Go(func() {
			body := text(i * i * 400)
			url := fmt.Sprintf("http://%s/%d", l.Addr(), i)
			req, _ := http.NewRequest("POST", url, strings.NewReader(body))
			if i%5 == 4 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*100*time.Microsecond)
				defer cancel()
				req = req.WithContext(ctx)
			}
			resp, err := client.Do(req)
			if err != nil {
				if i%5 != 4 {
					t.Errorf("call %d: %v", i, err)
				}
				return
			}
			got, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if i%5 == 4 && err != nil {
				return
			}
			if err != nil || string(got) != body || resp.Header.Get("x-path") != fmt.Sprintf("/%d", i) || resp.Trailer.Get("x-sum") != "1" || resp.Trailer.Get("x-len") != fmt.Sprint(len(body)) {
				t.Errorf("call %d: %d bytes of %d, %v, %v, %v", i, len(got), len(body), err, resp.Header, resp.Trailer)
			}
		})
	}
}

// TestServerOfNetHTTP: our client against net/http's server.
func TestServerOfNetHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Protocols: new(http.Protocols), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("trailer", "x-len")
		w.Write(bytes.ToUpper(body))
		w.Header().Set("x-len", fmt.Sprint(len(body)))
	})}
	srv.Protocols.SetUnencryptedHTTP2(true)
	var wg sync.WaitGroup
	wg.Go(func() { srv.Serve(l) })
	defer wg.Wait()
	defer srv.Close()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	c := newEnd(t, Client, Config{})
	head := NewHead(Field{":method", "POST"}, Field{":scheme", "http"}, Field{":path", "/x"}, Field{":authority", "localhost"}, Field{"user-agent", "limosa"})
	left := 0
	want := map[uint64]string{}
	open := func(id uint64) {
		body := text(int(id*id) * 300)
		if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: id, Head: head, Fields: []Field{{"x-id", fmt.Sprint(id)}}}, body); err != nil {
			t.Error(err)
			return
		}
		want[id] = strings.ToUpper(body)
		left++
	}
	for id := range uint64(30) {
		open(id + 1)
	}
	next := uint64(1000)
	c.on = func(ev *Event) {
		if ev.Flags&(Answer|End) != Answer|End {
			return
		}
		left--
		tail := ""
		if ev.Trailer != nil {
			for _, f := range append(ev.Trailer.List[:len(ev.Trailer.List):len(ev.Trailer.List)], ev.Tail...) {
				if f.Name == "x-len" {
					tail = f.Value
				}
			}
		}
		if ev.Fields.Status != 200 || string(ev.Body.Bytes()) != want[ev.ID] || tail != fmt.Sprint(len(want[ev.ID])) {
			t.Errorf("call %d: %s", ev.ID, show(ev))
		}
		if next++; next < 1050 {
			want[next] = ""
			if err := c.send(Send{Flags: Open | End | Gathered, ID: next, Head: head}, ""); err != nil {
				t.Error(err)
			}
			left++
		}
	}
	nc.SetDeadline(time.Now().Add(2 * time.Minute))
	if err := c.drive(nc, func() bool { return left == 0 }); err != nil {
		t.Errorf("%v, %d calls are left", err, left)
	}
	account(t, c.s)
	if c.s.out.streams.live != 0 {
		t.Errorf("%d streams are left", c.s.out.streams.live)
	}
}
