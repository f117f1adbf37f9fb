package ttheader

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// agreed gives the sessions of a client and a server after an offer and a hello
// with these terms.
func agreed(t *testing.T, offer, hello string) (client, server *Session, cin, sin *buf.In) {
	t.Helper()
	client, server = Protocol{}.Open(wire.Client, creditLimits).(*Session), Protocol{}.Open(wire.Server, creditLimits).(*Session)
	cin, sin = new(buf.In), new(buf.In)
	t.Cleanup(func() { cin.Close(); sin.Close() })
	out := newOut(t)
	frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 1, Method: "first"}, []byte{0}, 0)
	out.Reset()
	client.appendSignal(out, 0, keyOffer, offer)
	applyAll(t, server, newOut(t), sin, out)
	server.appendSignal(out, 0, keyHello, hello)
	applyAll(t, client, newOut(t), cin, out)
	return client, server, cin, sin
}

// applyAll cuts what from holds, and applies what of it is to be; it returns
// the messages' sizes.
func applyAll(t *testing.T, s *Session, answers *buf.Out, in *buf.In, from *buf.Out) (sizes []int) {
	t.Helper()
	evs, err := gather(t, s, in, from.Bytes(), 64<<10)
	from.Reset()
	if err != nil {
		t.Fatal(err)
	}
	for i := range evs {
		ev := &evs[i]
		if ev.Flags&(wire.Settings|wire.Credit) != 0 {
			s.Apply(answers, ev)
		}
		if ev.Flags&wire.Message != 0 {
			sizes = append(sizes, ev.Body.Len())
		}
		ev.Body.Release()
	}
	return sizes
}

const (
	withCredit = "v=1;mux=1;chunks=1;credit=1"
	anOlder    = "v=1;mux=1;chunks=1;streams=1"
)

// sendPieces frames a request of n bytes in pieces that take credit, of size
// bytes, but for the last k.
func sendPieces(t *testing.T, s *Session, out *buf.Out, id uint64, n, size, k int) {
	t.Helper()
	ev := wire.Event{ID: id, Method: "m", Total: n, Flags: wire.Open | wire.Credit}
	for ev.Offset = 0; ev.Offset < n-k; ev.Offset += size {
		ev.Flags = ev.Flags&(wire.Open|wire.Credit) | wire.Message | wire.Piece
		left := min(size, n-ev.Offset)
		if ev.Offset+left == n {
			ev.Flags |= wire.End
		}
		m := s.Begin(out, &ev)
		out.Append(bytes.Repeat([]byte{'x'}, left))
		if err := s.End(out, m, &ev); err != nil {
			t.Fatal(err)
		}
		ev.Flags &^= wire.Open
	}
}

// Credit that was taken comes back, whatever becomes of the message: it is
// whole, it was given up, or it is beyond the limits.
func TestCreditOfPiecesComesBack(t *testing.T) {
	c, s, cin, sin := agreed(t, withCredit, withCredit)
	out, back := newOut(t), newOut(t)
	n := creditLimits.MessageBytes - 1000
	const size = 8 << 10
	for round := range uint64(40) {
		id := 2 + round
		given := 0 // of the message, not sent
		if round%3 == 1 {
			given = n / 2
		}
		before := c.Credit(0)
		sendPieces(t, c, out, id, n, size, given)
		if took := before - c.Credit(0); took < n-given-2*size || took > n {
			t.Fatalf("round %d: %d bytes took %d", round, n-given, took)
		}
		if given > 0 {
			m := c.Begin(out, &wire.Event{Flags: wire.Reset, ID: id})
			if err := c.End(out, m, &wire.Event{Flags: wire.Reset, ID: id}); err != nil {
				t.Fatal(err)
			}
		}
		sizes := applyAll(t, s, back, sin, out)
		if given == 0 && fmt.Sprint(sizes) != fmt.Sprint([]int{n}) {
			t.Fatalf("round %d: messages of %v", round, sizes)
		}
		applyAll(t, c, newOut(t), cin, back)
		if room := c.Credit(0); room <= PieceWindow/2 || room > PieceWindow {
			t.Fatalf("round %d: room is %d", round, room)
		}
	}
}

// A message in two pieces has none but its last to bring credit back.
func TestCreditWithTheLastPiece(t *testing.T) {
	c, s, cin, sin := agreed(t, withCredit, withCredit)
	out, back := newOut(t), newOut(t)
	n := creditLimits.MessageBytes - 1000
	for id := range uint64(100) {
		sendPieces(t, c, out, 2+id, n, n/2+1, 0)
		if sizes := applyAll(t, s, back, sin, out); len(sizes) != 1 || sizes[0] != n {
			t.Fatalf("messages of %v", sizes)
		}
		applyAll(t, c, newOut(t), cin, back)
		if room := c.Credit(0); room <= PieceWindow/2 || room > PieceWindow {
			t.Fatalf("room is %d", room)
		}
	}
}

// Peers that did not agree on credit neither wait for it nor give it.
func TestOlderPeersKnowNoCreditForPieces(t *testing.T) {
	for _, tt := range []struct{ offer, hello string }{
		{anOlder, anOlder}, {withCredit, anOlder}, {"v=1;mux=1;credit=1", "v=1;mux=1;credit=1"}, {"mux=1;chunks=1;credit=1", "v=1"},
	} {
		c, s, cin, sin := agreed(t, tt.offer, tt.hello)
		if n := c.Credit(0); n != math.MaxInt {
			t.Errorf("%v: the client has room for %d", tt, n)
		}
		if n := s.Credit(0); n != math.MaxInt && tt.offer != withCredit {
			t.Errorf("%v: the server has room for %d", tt, n)
		}
		if tt.offer != anOlder {
			continue
		}
		out, back := newOut(t), newOut(t)
		for id := range uint64(50) {
			sendPieces(t, c, out, 2+id, creditLimits.MessageBytes-1000, 8<<10, 0)
			applyAll(t, s, back, sin, out)
		}
		if n := back.Len(); n > 0 {
			t.Errorf("%v: %d bytes of credit were given", tt, n)
		}
		s.appendSignal(back, 0, keyCredit, "1000")
		applyAll(t, c, newOut(t), cin, back)
	}
}

// What a peer grants is bounded, and nonsense is ignored.
func TestCreditThatAPeerMakesUp(t *testing.T) {
	for _, side := range []wire.Side{wire.Client, wire.Server} {
		c, s, cin, sin := agreed(t, withCredit, withCredit)
		me, peer, in := c, s, cin
		if side == wire.Server {
			me, peer, in = s, c, sin
		}
		out := newOut(t)
		for _, v := range []string{"", "0", "-1", "x", "4294967296", "2147483648"} {
			peer.appendSignal(out, 0, keyCredit, v)
			peer.appendSignal(out, 5, keyCredit, "1000")
			applyAll(t, me, newOut(t), in, out)
			if n := me.Credit(0); n != PieceWindow {
				t.Errorf("%q: room is %d", v, n)
			}
		}
		for range 3 {
			peer.appendSignal(out, 0, keyCredit, "2147483647")
			applyAll(t, me, newOut(t), in, out)
			if n := me.Credit(0); n != math.MaxInt32 {
				t.Errorf("room is %d", n)
			}
		}
	}
}

// creditLimits keep the messages of these tests small.
var creditLimits = rpc.Limits{MessageBytes: 1 << 20}.WithDefaults()
