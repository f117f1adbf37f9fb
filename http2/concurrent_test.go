package http2

import (
	"net"
	"runtime"
	"sync"
	"testing"
	"time"
)

// A shared end is used as an engine uses it: who reads holds the read role, whoever
// sends holds the lock, and only the reader holds both, for Apply.
type shared struct {
	s     *Session
	mu    sync.Mutex
	out   *end // its Out is guarded by mu
	nc    net.Conn
	wg    sync.WaitGroup
	onAny func(ev *Event) // called without the lock
}

func (h *shared) send(sd Send, body string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.out.send(sd, body); err != nil {
		return err
	}
	return h.flush()
}

func (h *shared) flush() error {
	_, err := h.nc.Write(h.out.moved())
	return err
}

func (h *shared) read(t *testing.T) {
	e := h.out
	for {
		n, err := h.nc.Read(e.in.Space())
		if err != nil {
			return
		}
		e.in.Filled(n)
		h.s.Clock(time.Now())
		var batch []Event
		for {
			var ev Event
			need, err := h.s.Cut(&e.in, &ev)
			if err != nil {
				t.Error(err)
				return
			}
			if need > 0 {
				break
			}
			batch = append(batch, ev)
		}
		h.mu.Lock()
		for i := range batch {
			h.s.Apply(&e.out, &batch[i])
		}
		err = h.flush()
		h.mu.Unlock()
		for i := range batch {
			if batch[i].Flags != 0 {
				h.onAny(&batch[i])
			}
		}
		if err != nil {
			return
		}
	}
}

// TestConcurrent runs calls from many goroutines; the race detector sees whether a
// half touches what is the other's.
func TestConcurrent(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		nc, _ := l.Accept()
		accepted <- nc
	}()
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ends := [2]*shared{{nc: nc}, {nc: <-accepted}}
	const callers, calls = 12, 20
	var answers [callers + 1]chan string
	for i := range answers {
		answers[i] = make(chan string, 1)
	}
	for side, h := range ends {
		h.out = newEnd(t, Side(side), Config{})
		h.s = h.out.s
	}
	c, s := ends[Client], ends[Server]
	c.onAny = func(ev *Event) {
		if ev.Flags&End != 0 {
			answers[ev.ID] <- string(ev.Body.Bytes())
		}
		ev.Body.Release()
	}
	s.onAny = func(ev *Event) {
		if ev.Flags&Open == 0 {
			return
		}
		id, path := ev.ID, ev.Fields.Path
		body := ev.Body
		s.wg.Go(func() {
			defer body.Release()
			runtime.Gosched()
			if err := s.send(Send{Flags: Answer | Data | End, ID: id, Head: answerHead, Tail: answerTail, Fields: []Field{{"x-path", path}}}, string(body.Bytes())); err != nil {
				t.Error(err)
			}
		})
	}
	var readers, work sync.WaitGroup
	for _, h := range ends {
		readers.Go(func() { h.read(t) })
	}
	for i := range callers {
		work.Go(func() {
			id := uint64(i + 1)
			for n := range calls {
				body := text(n * i * 300)
				if err := c.send(Send{Flags: Open | Data | End | Gathered, ID: id, Head: requestHead}, body); err != nil {
					t.Error(err)
					return
				}
				select {
				case got := <-answers[id]:
					if got != body {
						t.Errorf("call %d: %d bytes of %d", id, len(got), len(body))
					}
				case <-time.After(2 * time.Minute):
					t.Errorf("call %d: no answer", id)
					return
				}
			}
		})
	}
	work.Wait()
	s.wg.Wait()
	nc.Close()
	ends[Server].nc.Close()
	readers.Wait()
	account(t, c.s)
	account(t, s.s)
}

// TestIdleMemory bounds what a connection takes on which nothing was said yet.
func TestIdleMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("skipped: the race detector takes memory of its own")
	}
	const n = 1000
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := make([]*Session, n)
	for i := range all {
		all[i] = New(Server, Config{})
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if each := (after.HeapAlloc - before.HeapAlloc) / n; each > 3000 {
		t.Errorf("%d bytes a connection", each)
	} else {
		t.Logf("%d bytes a connection", each)
	}
	runtime.KeepAlive(all)
}
