package ttheader

import (
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// FuzzPieces gives a session that has agreed on pieces whatever bytes there
// are: it must not panic, and must not hold more than the limits allow.
func FuzzPieces(f *testing.F) {
	lim := rpc.Limits{MessageBytes: 64 << 10}.WithDefaults()
	hello := wire.Event{Flags: wire.Settings}
	hello.Tag[0] = (ours | multiplexed | inPieces | pieceCredit).tag()
	seed := func(size int) []byte {
		client := Protocol{}.Open(wire.Client, lim)
		var out buf.Out
		client.Apply(&out, &hello)
		for off := 0; off < 500; off += size {
			ev := wire.Event{Flags: wire.Message | wire.Piece | wire.Credit, ID: 5, Method: "big", Offset: off, Total: 500}
			if off == 0 {
				ev.Flags |= wire.Open
			}
			m := client.Begin(&out, &ev)
			out.Append(make([]byte, min(size, 500-off)))
			client.End(&out, m, &ev)
		}
		defer out.Reset()
		return out.Bytes()
	}
	f.Add(seed(100), true, 7)
	f.Add(seed(250), true, 1000)
	f.Add(append(seed(100)[:300], seed(100)...), true, 64)
	f.Add(seed(100), false, 3)
	f.Fuzz(func(t *testing.T, p []byte, server bool, step int) {
		side := wire.Client
		if server {
			side = wire.Server
		}
		s := Protocol{}.Open(side, lim).(*Session)
		s.in.agreed, s.in.settled = ours|multiplexed|inPieces|pieceCredit, true
		const owed = PieceWindow/2 - 300 // credit comes due soon
		s.in.gathered = owed
		given, most, fed := 0, owed+len(p), 0
		var in buf.In
		defer in.Close()
		step = 1 + step&1023
		for len(p) > 0 {
			n := copy(in.Space(), p[:min(step, len(p))])
			in.Filled(n)
			p = p[n:]
			fed += n
			for {
				ev, need, err := s.Cut(&in)
				ev.Body.Release()
				if ev.Tag[0]&tagGive != 0 && ev.Flags&wire.Credit != 0 {
					given += ev.Credit
				}
				if given+s.in.gathered > most || s.in.gathered >= PieceWindow/2 {
					t.Fatalf("%d bytes granted, %d owed, of %d", given, s.in.gathered, most)
				}
				if err != nil {
					return
				}
				if ev.Flags == 0 {
					if need < 1 {
						t.Fatalf("need %d", need)
					}
					break
				}
			}
			checkParts(t, s, fed)
		}
	})
}

// checkParts checks what s has gathered of fed bytes, and the account of it.
func checkParts(t *testing.T, s *Session, fed int) {
	t.Helper()
	p := &s.in.unfinished
	held, bytes := 0, 0
	for _, g := range p.all {
		if g.seen > g.total || g.kept != nil && (g.body.Len() != g.seen || g.body.Cap() > max(2*4*g.seen, 64)) {
			t.Fatalf("%d of %d bytes gathered", g.seen, g.total)
		}
		if g.kept != nil {
			held += g.body.Cap()
			bytes += g.bytes
		}
	}
	switch most := max(s.lim.HeldPerConn/unfinishedShare, s.lim.MessageBytes); {
	case bytes != p.bytes, held > most, held/(2*4) > fed, len(p.all) > s.maxUnfinished(), (len(p.all) > 0) != (s.Unfinished() != 0):
		t.Fatalf("%d bytes held of %d, %d counted of %d, %d messages", held, fed, p.bytes, bytes, len(p.all))
	case s.Held() != bytes+droppedBytes*len(p.all)+s.in.names.held()+s.in.skipper.Held():
		t.Fatalf("Held is %d", s.Held())
	}
}
