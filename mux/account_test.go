package mux_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// A row of the account's table: one thing that a peer can make a server hold,
// and a program that does so with all its might. Whoever adds something that
// can be held adds a row.
type held struct {
	name string
	form ttheader.Form
	// fill makes the server hold the thing. It returns at rest, with it held.
	fill func(t *testing.T, h *holder)
	// least is what the program must have made the server hold: that it is
	// counted at all.
	least int
	// beyond is what may be held beyond the limit: what was taken in before the
	// limit was met, such as one batch.
	beyond int
}

// heldLimits are small, so that the programs are quick.
var heldLimits = rpc.Limits{MessageBytes: 512 << 10, HeldPerConn: 1 << 20, QueuedBytes: 256 << 10}

const perBatch = 512 << 10

var table = []held{
	{name: "requests whose handlers do not return", fill: func(t *testing.T, h *holder) {
		for range 100 {
			h.call("wait", strings.Repeat("x", 64<<10))
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "empty requests whose handlers do not return", fill: func(t *testing.T, h *holder) {
		for range 4000 {
			h.call("wait", "")
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "metadata of requests", fill: func(t *testing.T, h *holder) {
		for range 200 {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End | wire.Unordered, Method: "wait", Header: rpc.Metadata{{Key: "k", Value: strings.Repeat("v", 8<<10)}}}, "")
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "answers that nobody reads", fill: func(t *testing.T, h *holder) {
		h.r.send.Stall(true)
		for range 200 {
			h.call("large", "")
		}
	}, least: 256 << 10, beyond: perBatch},
	{name: "answers that nobody reads, of handlers that take long", fill: func(t *testing.T, h *holder) {
		h.r.send.Stall(true)
		for range 200 {
			h.call("large", "later")
		}
		h.release()
	}, least: 256 << 10, beyond: perBatch},
	{name: "small answers that nobody reads", fill: func(t *testing.T, h *holder) {
		h.r.send.Stall(true)
		for range 4000 {
			h.call("echo", strings.Repeat("x", 1<<10))
		}
	}, least: 256 << 10, beyond: perBatch},
	{name: "answers behind a slow first one", form: ttheader.Framed, fill: func(t *testing.T, h *holder) {
		h.call("wait", "")
		for range 2000 {
			h.call("large", "")
		}
	}, least: 900 << 10, beyond: 1<<20 + perBatch}, // dropped once it would be twice the limit
	{name: "answers whose turn has come and that nobody reads", form: ttheader.Framed, fill: func(t *testing.T, h *holder) {
		h.r.send.Stall(true)
		h.call("wait", "")
		for range 200 {
			h.call("large", "")
		}
		h.release()
	}, least: 256 << 10, beyond: perBatch},
	{name: "a frame that does not end", fill: func(t *testing.T, h *holder) {
		h.raw(append([]byte{0, 7, 0, 0, 0x80, 1, 0, 1}, make([]byte, 400<<10)...))
	}, least: 400 << 10, beyond: 0},
	{name: "messages of a stream", fill: func(t *testing.T, h *holder) {
		h.stream("chat", func(i int) string { return strings.Repeat("x", 16<<10) }, 400)
	}, least: 32 << 10, beyond: perBatch},
	{name: "streams that are open", fill: func(t *testing.T, h *holder) {
		for range 1000 {
			h.stream("chat", func(int) string { return "x" }, 1)
		}
	}, least: 500 << 10, beyond: perBatch},
	{name: "compressed requests", form: ttheader.THeader, fill: func(t *testing.T, h *holder) {
		b := make([]byte, 300<<10)
		rand.NewChaCha8([32]byte{}).Read(b)
		noise := string(b)
		for i := range 100 {
			h.raw(stored(t, uint32(i+2), message(raw.Call, int32(i+2), "wait", noise)))
		}
	}, least: 300 << 10, beyond: 576 << 10}, // the block of one of the limit's size, which counts whole
	{name: "compressed requests that become large", form: ttheader.THeader, fill: func(t *testing.T, h *holder) {
		for i := range 300 {
			h.raw(packed(t, uint32(i+2), message(raw.Call, int32(i+2), "wait", strings.Repeat("x", 60<<10))))
		}
	}, least: 200 << 10, beyond: perBatch},
	{name: "messages in pieces that do not end", fill: func(t *testing.T, h *holder) {
		for range 100 {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.Piece, Method: "wait", Total: 500 << 10}, strings.Repeat("x", 32<<10))
		}
	}, least: 300 << 10, beyond: perBatch},
	{name: "announcements of messages in pieces", fill: func(t *testing.T, h *holder) {
		for range 4000 {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.Piece, Method: "wait", Total: 500 << 10}, "x")
		}
	}, least: 300 << 10, beyond: perBatch},
	{name: "names of methods", fill: func(t *testing.T, h *holder) {
		for i := range 1000 {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End, Method: fmt.Sprintf("Method%053d", i)}, "")
		}
		h.r.cend.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return false, nil })
	}, least: 4 << 10, beyond: 0},
	{name: "long names of methods", form: ttheader.Framed, fill: func(t *testing.T, h *holder) {
		h.call("wait", "")
		for i := range 400 {
			h.call(fmt.Sprintf("%01000d", i), "")
		}
	}, least: 150 << 10, beyond: perBatch},
	{name: "long names of services", fill: func(t *testing.T, h *holder) {
		for range 400 {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End, Service: strings.Repeat("s", 4<<10), Method: "wait"}, "")
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "long names of streams", fill: func(t *testing.T, h *holder) {
		for range 400 {
			h.next++
			h.send(&wire.Event{Flags: wire.Stream | wire.Open, ID: h.next, Service: strings.Repeat("s", 4<<10), Method: "chat"}, "")
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "metadata of compressed requests", form: ttheader.THeader, fill: func(t *testing.T, h *holder) {
		value := strings.Repeat("v", 15<<10)
		for i := range 5 {
			p := packed(t, uint32(i+2), message(raw.Call, int32(i+2), "wait", ""))
			infos := append(binary.AppendUvarint([]byte{1, 1, 1, 'k'}, uint64(len(value))), value...)
			infos = append(infos, make([]byte, -len(infos)&3)...)
			p = slices.Insert(p, 17, infos...)
			binary.BigEndian.PutUint32(p, uint32(len(p)-4))
			binary.BigEndian.PutUint16(p[12:], uint16(1+len(infos)/4))
			h.raw(p)
			h.most = 0 // not what was charged before it was unpacked
		}
	}, least: 80 << 10, beyond: perBatch},
	{name: "small requests in large blocks", fill: func(t *testing.T, h *holder) {
		for range 100 {
			h.next++
			h.raw(littleOfBlock(h.t, h.s, &wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: h.next, Method: "wait"}))
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "requests that are decoded to more", fill: func(t *testing.T, h *holder) {
		for range 100 {
			h.call("weighty", "little")
		}
	}, least: 700 << 10, beyond: 64 << 10},
	{name: "small messages of streams in large blocks", fill: func(t *testing.T, h *holder) {
		for range 50 {
			h.stream("chat", func(int) string { return "x" }, 1)
		}
		for i := range 100 {
			h.raw(littleOfBlock(h.t, h.s, &wire.Event{Flags: wire.Stream | wire.Message, ID: h.next - uint64(i%50), Method: "chat"}))
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "hellos that are to be answered", fill: func(t *testing.T, h *holder) {
		h.r.send.Stall(true)
		for range 5000 {
			h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End, Method: "nothing"}, "")
		}
	}, least: 256 << 10, beyond: perBatch},
}

// TestAccountTable runs each program and looks at what the server says that it
// holds, at its limit, and at what is left when the peer has gone: nothing.
func TestAccountTable(t *testing.T) {
	for _, row := range table {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHolder(t, row.form)
				row.fill(t, h)
				synctest.Wait()
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				h.look()
				time.Sleep(3 * time.Second) // the escape from a full account
				synctest.Wait()
				h.look()
				limit := h.lim.HeldPerConn
				if h.most < row.least || h.most > limit+row.beyond {
					t.Errorf("%d bytes are held: at least %d, at most %d + %d expected", h.most, row.least, limit, row.beyond)
				}
				if told := h.total.Held(); told > limit+row.beyond {
					t.Errorf("the server counts %d bytes", told)
				}
				h.end()
				if charged, _ := mux.Charges(h.r.server); charged != 0 || h.total.Held() != 0 {
					t.Errorf("afterwards %d bytes are charged, the server counts %d", charged, h.total.Held())
				}
			})
		})
	}
}

// weighty is a codec whose messages take 60 KB each.
type weighty struct{ text }

func (w weighty) DecodeWeighed(body buf.View, msg any, lim *rpc.Limits) (int, error) {
	return 60 << 10, w.Decode(body, msg, lim)
}

// A holder is a server, and a peer that makes it hold what it can. It writes
// frames by hand, and never reads.
type holder struct {
	t     *testing.T
	r     *rig
	lim   *rpc.Limits
	total *mux.Total
	s     wire.Session
	next  uint64
	most  int
	open  chan struct{} // closed by release
	runs  atomic.Int32  // handlers that wait
	once  sync.Once
	sent  sync.WaitGroup
}

func newHolder(t *testing.T, form ttheader.Form) *holder {
	return newHolderOver(t, form, func(nc netio.Conn) netio.Conn { return nc })
}

// newHolderOver is newHolder for a server that sees its connection through over.
func newHolderOver(t *testing.T, form ttheader.Form, over func(netio.Conn) netio.Conn) *holder {
	h := &holder{t: t, lim: heldLimits.WithDefaults(), open: make(chan struct{}), r: &rig{finished: make(chan error, 1)}}
	h.total = mux.NewTotal(16<<20, nil, "")
	h.r.cend, h.r.send = pipe.New(pipe.Config{})
	wait := func(ctx context.Context) {
		h.runs.Add(1)
		defer h.runs.Add(-1)
		select {
		case <-h.open:
		case <-ctx.Done():
		}
	}
	unary := handlers{
		"echo": func(_ context.Context, arg string) (string, error) { return arg, nil },
		"wait": func(ctx context.Context, arg string) (string, error) { wait(ctx); return arg, nil },
		"large": func(ctx context.Context, arg string) (string, error) {
			if arg == "later" {
				wait(ctx)
			}
			return strings.Repeat("y", 200<<10), nil
		},
	}
	unary["weighty"], unary["pause"] = unary["wait"], unary["wait"]
	methods := map[string]rpc.Handler{}
	for name := range unary {
		h, _, _ := unary.route("", name)
		if name == "weighty" || name == "pause" {
			h.Method = method(name, rpc.Unary) // its answers are known to be small
		}
		if name == "weighty" {
			h.Method.Codec = weighty{}
		}
		rpc.HintsOf(h.Method).NoteResponse(0) // nothing is known of it
		methods[name] = h
	}
	chat := streamHandlers{chat: func(ctx context.Context, in iter.Seq2[*string, error]) iter.Seq2[*string, error] {
		return func(func(*string, error) bool) { wait(ctx) }
	}}
	pour := streamHandlers{chat: func(context.Context, iter.Seq2[*string, error]) iter.Seq2[*string, error] {
		return func(yield func(*string, error) bool) {
			for m := strings.Repeat("y", 1<<10); yield(&m, nil); {
				continue
			}
		}
	}}
	cfg := &mux.ServerConfig{Config: mux.Config{Limits: h.lim, Total: h.total}, Base: t.Context(), Route: func(service, name string) (rpc.Handler, string, bool) {
		switch name {
		case "chat":
			return chat.route(service, name)
		case "pour":
			return pour.route(service, "chat")
		}
		if h, ok := methods[name]; ok {
			return h, "", true
		}
		return rpc.Handler{}, "no method " + name, false
	}}
	p := ttheader.Protocol{Form: form}
	h.r.server = mux.NewServerConn(over(h.r.send), p.Open(wire.Server, h.lim), cfg)
	go h.r.server.Run(func(err error) { h.r.finished <- err })
	h.s = p.Open(wire.Client, h.lim)
	h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End, Method: "echo"}, "hello")
	synctest.Wait()
	h.r.cend.Receive(false, func(in *buf.In) (bool, error) {
		for {
			ev, need, err := h.s.Cut(in)
			if err != nil || ev.Flags == 0 {
				in.Expect(need)
				return false, err
			}
			h.s.Apply(new(buf.Out), &ev)
			ev.Body.Release()
		}
	})
	return h
}

// send sends one frame, as far as the server takes it.
func (h *holder) send(ev *wire.Event, body string) {
	if ev.ID == 0 {
		h.next++
		ev.ID = h.next
	}
	out := h.r.cend.Output()
	out.Lock()
	m := h.s.Begin(out.Out(), ev)
	out.Out().AppendString(body)
	if err := h.s.End(out.Out(), m, ev); err != nil {
		h.t.Fatal(err)
	}
	h.flush(out.Unlock())
}

func (h *holder) raw(p []byte) {
	out := h.r.cend.Output()
	out.Lock()
	out.Out().Append(p)
	h.flush(out.Unlock())
}

// flush sends on a goroutine: the server may not read.
func (h *holder) flush(owes bool) {
	if owes {
		h.sent.Go(func() { h.r.cend.Output().Flush() })
	}
	synctest.Wait()
	h.look()
}

// littleOfBlock is a frame with a message of one byte, and behind it, for the same
// block, 60 KB of frames that mean nothing.
func littleOfBlock(t *testing.T, s wire.Session, ev *wire.Event) []byte {
	var out buf.Out
	defer out.Reset()
	m := s.Begin(&out, ev)
	out.AppendString("x")
	if err := s.End(&out, m, ev); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), bytes.Repeat(streamFrame(9999, "3", "k", strings.Repeat("v", 10<<10)), 6)...) // of no stream
}

// look notes what the server holds.
func (h *holder) look() { h.most = max(h.most, mux.Charged(h.r.server)) }

func (h *holder) call(method, body string) {
	h.send(&wire.Event{Flags: wire.Open | wire.Message | wire.End | wire.Unordered, Method: method}, body)
}

// stream opens a stream and sends n messages, whatever credit it has.
func (h *holder) stream(method string, msg func(i int) string, n int) {
	h.next++
	id := h.next
	for i := range n {
		flags := wire.Stream | wire.Message
		if i == 0 {
			flags |= wire.Open
		}
		h.send(&wire.Event{Flags: flags, ID: id, Method: method}, msg(i))
	}
}

// more sends one more message of a stream that is open.
func (h *holder) more(id uint64, msg string) {
	h.send(&wire.Event{Flags: wire.Stream | wire.Message, ID: id}, msg)
}

// release has all handlers go on.
func (h *holder) release() { h.once.Do(func() { close(h.open) }) }

// end closes the connection, and waits until nothing runs.
func (h *holder) end() {
	h.release()
	h.r.cend.Abort()
	h.r.cend.Receive(false, nil)
	<-h.r.finished
	h.sent.Wait()
	synctest.Wait()
}

// A share counts for its Total as well, and is full if either is.
func TestShareOfATotal(t *testing.T) {
	total := mux.NewTotal(100, nil, "")
	a, b := total.Share(60), total.Share(0)
	mux.Count(a, 61)
	if !a.Full() || b.Full() || total.Full() || total.Held() != 61 || a.Held() != 61 || b.Held() != 0 {
		t.Errorf("a share beyond its bound: %v %v %v, %d held", a.Full(), b.Full(), total.Full(), total.Held())
	}
	mux.Count(a, -11)
	mux.Count(b, 51)
	if !a.Full() || !b.Full() || !total.Full() {
		t.Error("the Total is full, and a share is not")
	}
	mux.Count(a, -50)
	mux.Count(b, -51)
	if a.Full() || b.Full() || total.Held() != 0 {
		t.Errorf("%d are left", total.Held())
	}
}
