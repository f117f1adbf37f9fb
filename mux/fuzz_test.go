package mux_test

import (
	"context"
	"io"
	"iter"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/mux"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// fuzzLimits are small, so that a short input meets them.
var fuzzLimits = rpc.Limits{
	MessageBytes: 4 << 10, HeaderBytes: 512, HeaderEntries: 8, CallsPerConn: 16, StreamsPerConn: 4,
	QueuedBytes: 8 << 10, HeldPerConn: 16 << 10, Abandoned: 8,
}.WithDefaults()

// fuzzMostHeld is what a session may hold: half of HeldPerConn in pieces, and
// what each of them takes besides, names, and a bare message's nesting.
var fuzzMostHeld = fuzzLimits.HeldPerConn/2 + 2*fuzzLimits.CallsPerConn*1200 + 8<<10 + 64<<10

// heldSession checks after every Cut what is held.
type heldSession struct {
	wire.Session
	t *testing.T
}

func (h heldSession) Cut(in *buf.In) (wire.Event, int, error) {
	ev, need, err := h.Session.Cut(in)
	if n := h.Held(); n < 0 || n > fuzzMostHeld {
		h.t.Errorf("%d bytes are held", n)
	}
	return ev, need, err
}

// fuzzRoute serves echo, a oneway method and two kinds of streams.
func fuzzRoute(service, name string) (rpc.Handler, string, bool) {
	h := handlers{
		"echo":   func(_ context.Context, arg string) (string, error) { return arg, nil },
		"oneway": func(context.Context, string) (string, error) { return "", nil },
	}
	if h, why, ok := h.route(service, name); ok {
		return h, why, ok
	}
	return streamHandlers{sum: simple.sum, chat: simple.chat}.route(service, name)
}

// A fuzzPeer frames what a client, or the server that it talks to, may say.
type fuzzPeer struct {
	f    *testing.F
	c, s wire.Session
	in   buf.In
	out  buf.Out
}

func newFuzzPeer(f *testing.F, form ttheader.Form) *fuzzPeer {
	p := ttheader.Protocol{Form: form}
	return &fuzzPeer{f: f, c: p.Open(wire.Client, fuzzLimits), s: p.Open(wire.Server, fuzzLimits)}
}

// say frames ev by s, and gives the bytes.
func (p *fuzzPeer) say(s wire.Session, ev wire.Event, body string) []byte {
	m := s.Begin(&p.out, &ev)
	if ev.Flags&(wire.Message|wire.Piece) != 0 {
		p.out.AppendString(body)
	}
	if err := s.End(&p.out, m, &ev); err != nil {
		p.f.Fatal(err)
	}
	return p.taken()
}

func (p *fuzzPeer) taken() []byte {
	b := append([]byte(nil), p.out.Bytes()...)
	p.out.Reset()
	return b
}

// meet gives a client's first request, and the server's hello and answer.
func (p *fuzzPeer) meet() (request, answer []byte) {
	request = p.say(p.c, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 65536, Method: "echo"}, "hi")
	p.in.Filled(copy(p.in.Space(), request))
	ev, _, err := p.s.Cut(&p.in)
	if err != nil {
		p.f.Fatal(err)
	}
	ev.Body.Release()
	p.s.Apply(&p.out, &ev)
	answer = p.taken()
	p.in.Filled(copy(p.in.Space(), answer))
	if hello, _, err := p.c.Cut(&p.in); err == nil && hello.Flags&wire.Settings != 0 {
		p.c.Apply(&p.out, &hello)
	}
	p.in.Close()
	ev.Flags, ev.Body = wire.Message|wire.End, buf.View{}
	return request, append(answer, p.say(p.s, ev, "hi")...)
}

// FuzzServerConn gives a whole server connection whatever bytes there are, and
// ends it: nothing hangs, and nothing is left of it.
func FuzzServerConn(f *testing.F) {
	p := newFuzzPeer(f, ttheader.TTHeader)
	hi, _ := p.meet()
	all := append([]byte(nil), hi...)
	for i := range uint64(3) {
		all = append(all, p.say(p.c, wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 10 + i, Method: "echo", Total: 3000}, strings.Repeat("x", 1000))...)
	}
	all = append(all, p.say(p.c, wire.Event{Flags: wire.Message | wire.Piece | wire.Credit, ID: 10, Offset: 1000, Total: 3000}, strings.Repeat("x", 1000))...)
	all = append(all, p.say(p.c, wire.Event{Flags: wire.Reset, ID: 11}, "")...)
	all = append(all, p.say(p.c, wire.Event{Flags: wire.Message | wire.Piece | wire.End, ID: 10, Offset: 2000, Total: 3000}, strings.Repeat("x", 1000))...)
	f.Add(all, byte(255), byte(0))
	f.Add(all, byte(7), byte(1))
	streams := append([]byte(nil), hi...)
	for i, name := range []string{"sum", "chat", "echo", "nothing"} {
		id := uint64(20 + i)
		streams = append(streams, p.say(p.c, wire.Event{Flags: wire.Stream | wire.Open | wire.Message, ID: id, Method: name, Timeout: time.Second}, "m")...)
		streams = append(streams, p.say(p.c, wire.Event{Flags: wire.Stream | wire.Credit, ID: id, Credit: 100}, "")...)
		streams = append(streams, p.say(p.c, wire.Event{Flags: wire.Stream | wire.Message | wire.End, ID: id}, "n")...)
	}
	f.Add(streams, byte(255), byte(2))
	f.Add(streams[:len(streams)-40], byte(33), byte(0))
	f.Add(append(packed(f, 1, message(1, 1, "echo", "hi")), packed(f, 2, message(4, 2, "oneway", strings.Repeat("x", 9000)))...), byte(255), byte(0))
	f.Add([]byte("\x80\x01\x00\x01\x00\x00\x00\x04echo\x00\x00\x00\x01\x0c\x00\x01\x0c\x00\x01"), byte(3), byte(0))
	f.Fuzz(fuzzServerConn)
}

func fuzzServerConn(t *testing.T, data []byte, piece, where byte) {
	if len(data) > 1<<16 {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		live := buf.Live()
		a, b := pipe.New(pipe.Config{})
		s := ttheader.Protocol{NonStrict: where&4 != 0}.Open(wire.Server, fuzzLimits)
		cfg := &mux.ServerConfig{Config: mux.Config{Limits: fuzzLimits, Logger: slog.New(slog.DiscardHandler)}, Route: fuzzRoute, Base: t.Context(), Handlers: mux.Handlers(where % 3)}
		server := mux.NewServerConn(b, heldSession{s, t}, cfg)
		ended := make(chan struct{})
		go server.Run(func(error) { close(ended) })
		read := make(chan struct{})
		go func() {
			defer close(read)
			for why := netio.Enough; why != netio.Lost; {
				why, _ = a.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil })
			}
		}()
		for len(data) > 0 {
			n := min(len(data), 1+int(piece)*8)
			put(a, data[:n])
			data = data[n:]
			synctest.Wait()
		}
		a.Abort()
		<-ended
		<-read
		a.Receive(false, nil)
		synctest.Wait()
		if n, h := buf.Live()-live, mux.Held(server); n != 0 || h != 0 {
			t.Errorf("%d blocks and %d bytes of streams are left", n, h)
		}
	})
}

// FuzzConn gives a client's connection whatever bytes there are for answers.
func FuzzConn(f *testing.F) {
	p := newFuzzPeer(f, ttheader.TTHeader)
	_, answer := p.meet()
	f.Add(answer, byte(255), byte(0))
	f.Add(answer[:len(answer)-3], byte(1), byte(0))
	reply := wire.Event{Flags: wire.Message | wire.Piece, ID: 65537, Method: "echo", Total: 3000, Tag: [2]uint64{65537 << 32, 65537}}
	all := append([]byte(nil), answer...)
	all = append(all, p.say(p.s, reply, strings.Repeat("x", 1000))...)
	reply.Offset, reply.Flags = 1000, reply.Flags|wire.Credit
	all = append(all, p.say(p.s, reply, strings.Repeat("x", 1000))...)
	reply.Offset, reply.Flags = 2000, reply.Flags|wire.End
	all = append(all, p.say(p.s, reply, strings.Repeat("x", 1000))...)
	f.Add(all, byte(255), byte(0))
	st := wire.Event{ID: 65538, Method: "chat", Tag: [2]uint64{65538<<32 | 4, 65538}}
	for _, flags := range []wire.Flags{wire.Message, wire.Credit, wire.Message, wire.End} {
		st.Flags, st.Credit = wire.Stream|flags, 100
		all = append(all, p.say(p.s, st, "m")...)
	}
	f.Add(all, byte(20), byte(0))
	goodbye := p.say(p.s, wire.Event{Flags: wire.GoAway | wire.HasLast}, "")
	f.Add(append(append([]byte(nil), answer...), goodbye...), byte(255), byte(0))
	f.Add(append(append(goodbye, all...), goodbye...), byte(20), byte(0)) // more after the last word
	f.Add(packed(f, 65536, message(2, 65536, "echo", "hi")), byte(255), byte(3))
	f.Add(packed(f, 65536, message(2, 65536, "echo", strings.Repeat("x", 9000))), byte(9), byte(3))
	f.Fuzz(fuzzConn)
}

func fuzzConn(t *testing.T, data []byte, piece, form byte) {
	if len(data) > 1<<16 {
		return
	}
	synctest.Test(t, func(t *testing.T) {
		live := buf.Live()
		a, b := pipe.New(pipe.Config{})
		s := ttheader.Protocol{Form: ttheader.Form(form % 4), Compact: form&4 != 0}.Open(wire.Client, fuzzLimits)
		c := mux.NewConn(a, heldSession{s, t}, mux.Config{Limits: fuzzLimits})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		var calls sync.WaitGroup
		for range 3 {
			calls.Go(func() { fuzzCall(ctx, c) })
		}
		calls.Go(func() { fuzzChat(ctx, c) })
		read := make(chan struct{})
		go func() {
			defer close(read)
			for why := netio.Enough; why != netio.Lost; {
				why, _ = b.Receive(false, func(in *buf.In) (bool, error) { in.Skip(in.Len()); return true, nil })
			}
		}()
		synctest.Wait()
		for len(data) > 0 {
			n := min(len(data), 1+int(piece)*8)
			put(b, data[:n])
			data = data[n:]
			synctest.Wait()
		}
		b.Abort()
		calls.Wait()
		c.Close()
		<-read
		b.Receive(false, nil)
		synctest.Wait()
		if n := buf.Live() - live; n != 0 {
			t.Errorf("%d blocks are left", n)
		}
	})
}

func fuzzCall(ctx context.Context, c *mux.Conn) {
	x := stub.NewCall[string, string](method("echo", rpc.Unary), "Test")
	x.Args = strings.Repeat("x", 100)
	c.Do(ctx, &x.Call) //nolint:errcheck // whatever the peer makes of it
}

func fuzzChat(ctx context.Context, c *mux.Conn) {
	x := stub.NewCall[string, string](chatMethod, "Test")
	var ask iter.Seq2[*string, error] = strs(3, "m")
	for _, err := range stub.Exchange[string, string](ctx, c, &x.Call, ask) {
		if err != nil && err != io.EOF {
			return
		}
	}
}
