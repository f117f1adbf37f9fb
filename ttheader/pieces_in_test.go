package ttheader

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// frames appends body for ev in pieces of size bytes, or whole with size 0.
func frames(t *testing.T, s wire.Session, out *buf.Out, ev wire.Event, body []byte, size int) {
	t.Helper()
	head := ev.Flags &^ (wire.Message | wire.End)
	for off := 0; ; {
		e, n := ev, len(body)-off
		if size > 0 {
			n = min(n, size)
			e.Flags, e.Offset, e.Total = wire.Message|wire.Piece, off, len(body)
			if off == 0 {
				e.Flags |= head
			}
			if off+n == len(body) {
				e.Flags |= wire.End
			}
		}
		m := s.Begin(out, &e)
		out.Append(body[off : off+n])
		if err := s.End(out, m, &e); err != nil {
			t.Fatalf("End: %v", err)
		}
		if off += n; off == len(body) {
			return
		}
	}
}

// newOut makes an Out that is empty in the end.
func newOut(t *testing.T) *buf.Out {
	out := new(buf.Out)
	t.Cleanup(out.Reset)
	return out
}

// gather cuts all of p, given in pieces of step bytes.
func gather(t *testing.T, s wire.Session, in *buf.In, p []byte, step int) (evs []wire.Event, err error) {
	t.Helper()
	for len(p) > 0 {
		n := min(step, len(p))
		n = copy(in.Space(), p[:n])
		in.Filled(n)
		p = p[n:]
		for {
			ev, need, err := s.Cut(in)
			if err != nil {
				return evs, err
			}
			if ev.Flags == 0 {
				if need < 1 {
					t.Fatalf("need %d", need)
				}
				break
			}
			evs = append(evs, ev)
		}
	}
	return evs, nil
}

// acquainted gives a client's and a server's session after offer and hello.
func acquainted(t *testing.T, lim *rpc.Limits) (client, server wire.Session, cin, sin *buf.In) {
	t.Helper()
	return acquaintedOf(t, lim, lim)
}

// acquaintedOf is acquainted for sides with limits of their own.
func acquaintedOf(t *testing.T, clients, servers *rpc.Limits) (client, server wire.Session, cin, sin *buf.In) {
	t.Helper()
	client, server = Protocol{}.Open(wire.Client, clients), Protocol{}.Open(wire.Server, servers)
	cin, sin = new(buf.In), new(buf.In)
	out := newOut(t)
	t.Cleanup(func() { cin.Close(); sin.Close() })
	frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 1, Method: "first"}, []byte{0}, 0)
	evs, err := gather(t, server, sin, out.Bytes(), 1<<20)
	if err != nil || len(evs) != 1 {
		t.Fatal(evs, err)
	}
	evs[0].Body.Release()
	out.Reset()
	server.Apply(out, &evs[0])
	evs, err = gather(t, client, cin, out.Bytes(), 1<<20)
	if err != nil || len(evs) != 1 {
		t.Fatal(evs, err)
	}
	client.Apply(out, &evs[0])
	out.Reset()
	if !client.Caps().Pieces || !server.Caps().Pieces {
		t.Fatal("pieces were not agreed upon")
	}
	return client, server, cin, sin
}

func TestPiecesAreGathered(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for _, step := range []int{1, 7, 1000, 1 << 20} {
		client, server, cin, sin := acquainted(t, lim)
		out := newOut(t)
		large := bytes.Repeat([]byte("0123456789abcdef"), 600)
		call := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 5, Service: "S", Method: "big", Header: rpc.Metadata{{Key: "k", Value: "v"}}}
		small := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 6, Method: "small"}
		frames(t, client, out, call, large, 1000)
		frames(t, client, out, small, []byte("x"), 0)
		evs, err := gather(t, server, sin, out.Bytes(), step)
		if err != nil || len(evs) != 2 {
			t.Fatalf("%v, %v", evs, err)
		}
		ev := evs[0]
		if !bytes.Equal(ev.Body.Bytes(), large) || ev.Method != "big" || ev.Service != "S" || ev.ID != 5 || ev.Header.Get("k") != "v" || ev.Flags != wire.Open|wire.Message|wire.End|wire.Unordered {
			t.Errorf("gathered %d bytes of %d, %v", ev.Body.Len(), len(large), ev.Flags)
		}
		out.Reset()
		reply := evs[0]
		reply.Flags, reply.Header, reply.Body = wire.Message|wire.End, nil, buf.View{}
		frames(t, server, out, reply, large, 777)
		back, err := gather(t, client, cin, out.Bytes(), step)
		if err != nil || len(back) != 1 || !bytes.Equal(back[0].Body.Bytes(), large) || back[0].ID != 5 || back[0].Method != "big" {
			t.Fatalf("%v, %v", back, err)
		}
		for _, ev := range append(evs, back...) {
			ev.Body.Release()
		}
	}
}

// Two messages in pieces and small ones take turns.
func TestPiecesInterleave(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	client, server, _, sin := acquainted(t, lim)
	out := newOut(t)
	bodies := map[uint64][]byte{5: bytes.Repeat([]byte{5}, 5000), 6: bytes.Repeat([]byte{6}, 9000)}
	for off := 0; off < 9000; off += 1000 {
		for id, body := range bodies {
			if off >= len(body) {
				continue
			}
			ev := wire.Event{Flags: wire.Message | wire.Piece, ID: id, Method: "big", Offset: off, Total: len(body)}
			if off == 0 {
				ev.Flags |= wire.Open
			}
			m := client.Begin(out, &ev)
			out.Append(body[off : off+1000])
			client.End(out, m, &ev)
		}
		frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 100 + uint64(off), Method: "small"}, []byte{1}, 0)
	}
	evs, err := gather(t, server, sin, out.Bytes(), 333)
	if err != nil || len(evs) != 11 {
		t.Fatalf("%d events, %v", len(evs), err)
	}
	for _, ev := range evs {
		if want := bodies[ev.ID]; want != nil && !bytes.Equal(ev.Body.Bytes(), want) {
			t.Errorf("call %d: %d bytes", ev.ID, ev.Body.Len())
		}
		ev.Body.Release()
	}
}

func TestPiecesHaveLimits(t *testing.T) {
	lim := rpc.Limits{MessageBytes: 10_000}.WithDefaults()
	client, _, _, sin := acquainted(t, rpc.Limits{}.WithDefaults())
	server := Protocol{}.Open(wire.Server, lim)
	out := newOut(t)
	// A fresh server with a small limit, and a client that has said hello to another.
	frames(t, Protocol{}.Open(wire.Client, lim), out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 1, Method: "first"}, []byte{0}, 0)
	frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 5, Method: "big"}, make([]byte, 50_000), 1000)
	frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 6, Method: "small"}, []byte("x"), 0)
	evs, err := gather(t, server, sin, out.Bytes(), 500)
	if err != nil || len(evs) != 3 {
		t.Fatalf("%v, %v", evs, err)
	}
	if e := evs[1].Err; e == nil || e.Code != rpc.ResourceExhausted || e.Sent != rpc.Refused || evs[1].ID != 5 {
		t.Errorf("the large call: %+v", evs[1])
	}
	if evs[2].Method != "small" || evs[2].Err != nil {
		t.Errorf("the small call: %+v", evs[2])
	}
	for _, ev := range evs {
		ev.Body.Release()
	}
	e := &wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 7, Method: "big", Total: 20 << 20}
	m := client.Begin(out, e)
	if err := client.End(out, m, e); rpc.CodeOf(err) != rpc.ResourceExhausted {
		t.Errorf("End of 20 MB: %v", err)
	}
}

func TestPiecesOfACancelledCallAreForgotten(t *testing.T) {
	client, server, _, sin := acquainted(t, rpc.Limits{CallsPerConn: 8}.WithDefaults())
	out := newOut(t)
	n := server.(*Session).maxUnfinished() + 10
	for range n {
		ev := wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 5, Method: "big", Total: 1000}
		m := client.Begin(out, &ev)
		out.Append(make([]byte, 10))
		client.End(out, m, &ev)
		reset := wire.Event{Flags: wire.Reset, ID: 5}
		client.End(out, client.Begin(out, &reset), &reset)
	}
	evs, err := gather(t, server, sin, out.Bytes(), 1<<20)
	if err != nil || len(evs) != n || evs[0].ID != 5 || evs[0].Err == nil || evs[0].Err.Code != rpc.Canceled || evs[0].Err.Sent != rpc.Refused || evs[0].Flags != wire.Open|wire.End|wire.Unordered {
		t.Fatalf("%d events, %v", len(evs), err)
	}
	if p := &server.(*Session).in.unfinished; len(p.all) != 0 || p.bytes != 0 || server.Unfinished() != 0 {
		t.Errorf("%d are left with %d bytes", len(p.all), p.bytes)
	}
}

// announce appends the first piece, of n bytes, of a message of total bytes.
func announce(t *testing.T, s wire.Session, out *buf.Out, id uint64, n, total int) {
	t.Helper()
	ev := wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: id, Method: "big", Total: total}
	m := s.Begin(out, &ev)
	out.Append(make([]byte, n))
	if err := s.End(out, m, &ev); err != nil {
		t.Fatal(err)
	}
}

// more appends a later piece, of n bytes behind at of total.
func more(t *testing.T, s wire.Session, out *buf.Out, id uint64, at, n, total int) {
	t.Helper()
	ev := wire.Event{Flags: wire.Message | wire.Piece, ID: id, Offset: at, Total: total}
	m := s.Begin(out, &ev)
	out.Append(make([]byte, n))
	if err := s.End(out, m, &ev); err != nil {
		t.Fatal(err)
	}
}

// What is announced costs nothing: memory follows the bytes that have come, also
// of messages that are begun and cancelled.
func TestPiecesCostWhatHasCome(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	client, server, _, sin := acquainted(t, lim)
	out := newOut(t)
	const n = 2000
	for i := range uint64(n) {
		announce(t, client, out, 10+i, 10, 16<<20-100)
	}
	for i := range uint64(n) {
		announce(t, client, out, 100_000+i, 10, 16<<20-100)
		reset := wire.Event{Flags: wire.Reset, ID: 100_000 + i}
		client.End(out, client.Begin(out, &reset), &reset)
	}
	p := out.Bytes()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	evs, err := gather(t, server, sin, p, 1<<20)
	runtime.ReadMemStats(&after)
	if err != nil || len(evs) != n || rpc.CodeOf(evs[0].Err) != rpc.Canceled {
		t.Fatalf("%d events, %v", len(evs), err)
	}
	if spent := int(after.TotalAlloc - before.TotalAlloc); spent > 2*n*2048+4<<20 || server.Held() > n*1024 || server.Held() < n*10 {
		t.Errorf("%d bytes of memory, %d are said to be held", spent, server.Held())
	}
}

// TestPiecesShareABudget: what there is no room for is refused, at its first piece
// or at a later one, and read past; the others arrive, and nothing is left.
func TestPiecesShareABudget(t *testing.T) {
	lim := rpc.Limits{MessageBytes: 1 << 20, HeldPerConn: 4 << 20}.WithDefaults()
	client, server, _, sin := acquainted(t, lim)
	const n, size = 40, 100_000
	refused, whole := map[uint64]bool{}, 0
	take := func(out *buf.Out) {
		evs, err := gather(t, server, sin, out.Bytes(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range evs {
			switch {
			case ev.Flags&wire.Message != 0 && ev.Body.Len() == 3*size && !refused[ev.ID]:
				whole++
			case ev.Err != nil && ev.Err.Code == rpc.ResourceExhausted && ev.Err.Sent == rpc.Refused && ev.Flags&wire.Open != 0 && ev.Body.Len() == 0 && !refused[ev.ID]:
				refused[ev.ID] = true
			default:
				t.Errorf("%s", trace(ev))
			}
			ev.Body.Release()
		}
		if server.Held() > lim.HeldPerConn/unfinishedShare+n*(unfinishedBytes+droppedBytes+1024) {
			t.Errorf("%d bytes are held", server.Held())
		}
		checkParts(t, server.(*Session), 1<<30)
		out.Reset()
	}
	out := newOut(t)
	for at := 0; at < 3; at++ {
		for i := range uint64(n) {
			if at == 0 {
				announce(t, client, out, 10+i, size, 3*size)
			} else {
				more(t, client, out, 10+i, at*size, size, 3*size)
			}
		}
		take(out)
	}
	if whole+len(refused) != n || whole < 5 || len(refused) < 10 {
		t.Errorf("%d arrived, %d were refused", whole, len(refused))
	}
	// There is room again, and there is an end to what may be unfinished.
	announce(t, client, out, 1000, size, 2*size)
	more(t, client, out, 1000, size, size, 2*size)
	evs, err := gather(t, server, sin, out.Bytes(), 1<<20)
	if err != nil || len(evs) != 1 || evs[0].Body.Len() != 2*size || server.Unfinished() != 0 {
		t.Errorf("%v, %v", evs, err)
	}
	release(evs)
}

// A server that gives up an answer in pieces says so by an ordinary one.
func TestAnAnswerEndsItsPieces(t *testing.T) {
	client, server, cin, sin := acquainted(t, rpc.Limits{}.WithDefaults())
	out := newOut(t)
	frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 65540, Method: "big"}, []byte("x"), 0)
	evs, err := gather(t, server, sin, out.Bytes(), 1<<20)
	if err != nil || len(evs) != 1 {
		t.Fatal(evs, err)
	}
	release(evs)
	out.Reset()
	reply := evs[0]
	reply.Flags, reply.Body = wire.Message|wire.Piece, buf.View{}
	reply.Total = 1000
	m := server.Begin(out, &reply)
	out.Append(make([]byte, 100))
	if err := server.End(out, m, &reply); err != nil {
		t.Fatal(err)
	}
	reply.Flags, reply.Total, reply.Err = wire.End, 0, &rpc.Error{Code: rpc.Canceled}
	if err := server.End(out, server.Begin(out, &reply), &reply); err != nil {
		t.Fatal(err)
	}
	evs, err = gather(t, client, cin, out.Bytes(), 1<<20)
	if err != nil || len(evs) != 1 || evs[0].Err == nil || evs[0].Err.Code != rpc.Canceled || client.Unfinished() != 0 {
		t.Errorf("%v, %v, unfinished %d", evs, err, client.Unfinished())
	}
}

func TestPiecesThatMakeNoSense(t *testing.T) {
	for name, spoil := range map[string]func(client wire.Session, out *buf.Out){
		"a piece of nothing": func(client wire.Session, out *buf.Out) {
			ev := wire.Event{Flags: wire.Message | wire.Piece, ID: 9, Offset: 10, Total: 20}
			m := client.Begin(out, &ev)
			out.Append(make([]byte, 10))
			client.End(out, m, &ev)
		},
		"more than announced": func(client wire.Session, out *buf.Out) {
			for off := range 2 {
				ev := wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 9, Method: "m", Offset: off, Total: 15}
				m := client.Begin(out, &ev)
				out.Append(make([]byte, 10))
				client.End(out, m, &ev)
			}
		},
		"begun twice": func(client wire.Session, out *buf.Out) {
			for range 2 {
				ev := wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 9, Method: "m", Total: 15}
				m := client.Begin(out, &ev)
				out.Append(make([]byte, 10))
				client.End(out, m, &ev)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			client, server, _, sin := acquainted(t, rpc.Limits{}.WithDefaults())
			out := newOut(t)
			spoil(client, out)
			if evs, err := gather(t, server, sin, out.Bytes(), 5); err == nil || !strings.Contains(fmt.Sprint(err), "piece") {
				t.Errorf("%v, %v", evs, err)
			}
		})
	}
}
