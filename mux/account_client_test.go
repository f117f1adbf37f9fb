package mux_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// clientTable is the account's table for clients: what a server can make one
// hold, with programs that do so with all their might. Whoever adds something
// that can be held adds a row.
var clientTable = []struct {
	name          string
	form          ttheader.Form
	silent        bool // the server says no hello
	fill          func(h *clientHolder)
	least, beyond int // as for servers
}{
	{name: "messages of streams", fill: func(h *clientHolder) {
		for range 40 {
			h.stream(64<<10, 1)
		}
		for range 4 {
			for _, ev := range h.opened() {
				h.send(&wire.Event{Flags: wire.Stream | wire.Message, ID: ev.ID, Tag: ev.Tag, Method: ev.Method}, strings.Repeat("x", 16<<10))
			}
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "empty messages of streams", fill: func(h *clientHolder) {
		for range 40 {
			h.stream(0, 1000)
		}
	}, least: 64 << 10, beyond: perBatch},
	{name: "messages of streams of a server that knows no credit", silent: true, fill: func(h *clientHolder) {
		for range 10 {
			h.stream(16<<10, 20)
		}
	}, least: 512 << 10, beyond: perBatch},
	{name: "empty messages of a server that knows no credit", silent: true, fill: func(h *clientHolder) {
		h.stream(0, 50_000)
	}, least: 64 << 10, beyond: perBatch},
	{name: "small messages of streams in large blocks", fill: func(h *clientHolder) {
		h.stream(1, 1)
		for range 100 {
			ev := h.opened()[0]
			h.raw(littleOfBlock(h.t, h.s, &wire.Event{Flags: wire.Stream | wire.Message, ID: ev.ID, Tag: ev.Tag, Method: ev.Method}))
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "metadata of streams", fill: func(h *clientHolder) {
		for range 100 {
			h.stream(-1, 1)
		}
	}, least: 512 << 10, beyond: perBatch},
	{name: "large answers that their callers do not take", fill: func(h *clientHolder) {
		for range 60 {
			h.unary()
		}
		for _, ev := range h.opened() {
			h.send(&wire.Event{Flags: wire.Message | wire.End, ID: ev.ID, Tag: ev.Tag, Method: ev.Method}, strings.Repeat("x", 64<<10))
		}
	}, least: 1 << 20, beyond: perBatch},
	{name: "a compressed answer", form: ttheader.THeader, fill: func(h *clientHolder) {
		h.unary()
		b := make([]byte, 300<<10)
		rand.NewChaCha8([32]byte{}).Read(b)
		const first = 1 << 16 // the id of a connection's first call
		h.raw(packed(h.t, first, message(raw.Reply, first, "slow", string(b))))
	}, least: 300 << 10, beyond: perBatch},
	{name: "a frame that does not end", fill: func(h *clientHolder) {
		h.unary()
		h.raw(append([]byte{0, 7, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0x80, 1, 0, 2}, make([]byte, 400<<10)...))
	}, least: 400 << 10},
	{name: "the memory for a frame of which little has come", fill: func(h *clientHolder) {
		h.unary()
		h.raw(append([]byte{0, 7, 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0x80, 1, 0, 2}, make([]byte, 20<<10)...))
	}, least: 256 << 10},
	{name: "answers in pieces that do not end", fill: func(h *clientHolder) {
		for range 8 {
			h.unary()
		}
		for _, ev := range h.opened() {
			h.send(&wire.Event{Flags: wire.Message | wire.Piece, ID: ev.ID, Tag: ev.Tag, Method: ev.Method, Total: 400 << 10}, strings.Repeat("x", 100<<10))
		}
	}, least: 100 << 10, beyond: perBatch},
}

// TestClientAccountTable runs each program against a client of which nobody
// takes anything, and looks at what it says that it holds, at its limit, and at
// what is left in the end: nothing.
func TestClientAccountTable(t *testing.T) {
	for _, row := range clientTable {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newClientHolder(t, row.form, row.silent)
				row.fill(h)
				for range 4 { // the escape from a full account
					h.look()
					time.Sleep(time.Second)
					synctest.Wait()
				}
				h.look()
				limit := h.lim.HeldPerConn
				if h.most < row.least || h.most > limit+row.beyond {
					t.Errorf("%d bytes are held: at least %d, at most %d + %d expected", h.most, row.least, limit, row.beyond)
				}
				if told := h.total.Held(); told > limit+row.beyond {
					t.Errorf("the client counts %d bytes", told)
				}
				h.end()
				if charged := mux.ChargesClient(h.c); charged != 0 || h.total.Held() != 0 {
					t.Errorf("afterwards %d bytes are charged, the client counts %d", charged, h.total.Held())
				}
			})
		})
	}
}

// slow is a codec whose messages are decoded when the test says so.
type slow struct {
	text
	until <-chan struct{}
}

func (s slow) Decode(body buf.View, msg any, lim *rpc.Limits) error {
	<-s.until
	return s.text.Decode(body, msg, lim)
}

// A clientHolder is a client that takes nothing, and a server that is played by
// hand and makes it hold what it can.
type clientHolder struct {
	t     *testing.T
	c     *mux.Conn
	lim   *rpc.Limits
	total *mux.Total
	peer  *pipe.Conn
	s     wire.Session
	until chan struct{}
	most  int
	calls sync.WaitGroup
	reads sync.WaitGroup

	mu   sync.Mutex
	open []wire.Event // what the client has opened
}

func newClientHolder(t *testing.T, form ttheader.Form, silent bool) *clientHolder {
	h := &clientHolder{t: t, lim: heldLimits.WithDefaults(), total: mux.NewTotal(16<<20, nil, ""), until: make(chan struct{})}
	end, peer := pipe.New(pipe.Config{})
	h.peer = peer
	p := ttheader.Protocol{Form: form, NoOffer: silent}
	h.c = mux.NewConn(end, p.Open(wire.Client, h.lim), mux.Config{Limits: h.lim, Total: h.total})
	h.s = p.Open(wire.Server, h.lim)
	var batch []wire.Event
	h.reads.Go(func() {
		for why := netio.Enough; why != netio.Lost; {
			why, _ = peer.Receive(false, func(in *buf.In) (bool, error) {
				for {
					ev, need, err := h.s.Cut(in)
					if err != nil || ev.Flags == 0 {
						in.Expect(need)
						return len(batch) == 0, err
					}
					batch = append(batch, ev)
				}
			})
			for i := range batch {
				h.heard(&batch[i])
			}
			batch = batch[:0]
		}
	})
	if form == ttheader.TTHeader && !silent {
		x := stub.NewCall[string, string](method("echo", rpc.Unary), "Test")
		h.calls.Go(func() { h.c.Do(t.Context(), &x.Call) })
		synctest.Wait()
		ev := h.opened()[0]
		h.send(&wire.Event{Flags: wire.Message | wire.End, ID: ev.ID, Tag: ev.Tag, Method: ev.Method}, "")
		h.open = nil
	}
	return h
}

// heard takes what the client has sent.
func (h *clientHolder) heard(ev *wire.Event) {
	out := h.peer.Output()
	out.Lock()
	if ev.Flags&(wire.Settings|wire.Ping|wire.Credit) != 0 {
		h.s.Apply(out.Out(), ev)
	}
	if out.Unlock() {
		out.TryFlush()
	}
	ev.Body.Release()
	if ev.Flags&wire.Open != 0 {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.open = append(h.open, *ev)
	}
}

func (h *clientHolder) opened() []wire.Event {
	synctest.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.open
}

// unary makes a call whose answer is decoded when the test says so.
func (h *clientHolder) unary() {
	m := method("slow", rpc.Unary)
	m.Codec = slow{until: h.until}
	x := stub.NewCall[string, string](m, "Test")
	h.calls.Go(func() { h.c.Do(h.t.Context(), &x.Call) })
	synctest.Wait()
}

// stream has the client open a stream and receive one message and no more, and
// the server send n messages of size bytes; with size below 0 metadata.
func (h *clientHolder) stream(size, n int) {
	x := stub.NewCall[string, string](chatMethod, "Test")
	before := len(h.opened())
	h.calls.Go(func() {
		stub.Converse(h.t.Context(), h.c, &x.Call, func(_ context.Context, s rpc.Stream) error {
			s.Send(new(string))
			s.Receive(new(string))
			<-h.until
			return nil
		})
	})
	open := h.opened()
	if len(open) == before {
		return // refused
	}
	ev := wire.Event{Flags: wire.Stream | wire.Message, ID: open[before].ID, Tag: open[before].Tag, Method: open[before].Method}
	if size < 0 {
		ev.Flags, ev.Trailer = wire.Stream|wire.End, rpc.Metadata{{Key: "k", Value: strings.Repeat("v", 8<<10)}}
	}
	for range n {
		again := ev
		h.send(&again, strings.Repeat("x", max(size, 0)))
	}
}

// send sends one frame, as far as the client takes it.
func (h *clientHolder) send(ev *wire.Event, body string) {
	out := h.peer.Output()
	out.Lock()
	m := h.s.Begin(out.Out(), ev)
	if ev.Flags&wire.Message != 0 {
		out.Out().AppendString(body)
	}
	if err := h.s.End(out.Out(), m, ev); err != nil {
		h.t.Error(err)
	}
	h.flush(out.Unlock())
}

func (h *clientHolder) raw(p []byte) {
	out := h.peer.Output()
	out.Lock()
	out.Out().Append(p)
	h.flush(out.Unlock())
}

func (h *clientHolder) flush(owes bool) {
	if owes {
		h.reads.Go(func() { h.peer.Output().Flush() })
	}
	synctest.Wait()
	h.look()
}

func (h *clientHolder) look() { h.most = max(h.most, mux.ChargedClient(h.c)) }

// end has everybody take what there is, and closes the connection.
func (h *clientHolder) end() {
	close(h.until)
	synctest.Wait()
	h.c.Close()
	h.peer.Abort()
	h.calls.Wait()
	h.reads.Wait()
}
