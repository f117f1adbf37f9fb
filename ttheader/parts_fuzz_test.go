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
	hello.Tag[0] = tagOffer | tagMux | tagChunks | tagPaced
	seed := func(size int) []byte {
		client := Protocol{}.Open(wire.Client, lim)
		var out buf.Out
		client.Apply(&out, &hello)
		for off := 0; off < 500; off += size {
			ev := wire.Event{Flags: wire.Message | wire.Part | wire.Credit, ID: 5, Method: "big", Offset: off, Total: 500}
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
		s.in.mux, s.in.chunks, s.in.settled, s.in.paced = true, true, true, true
		const owed = PieceWindow/2 - 300 // credit comes due soon
		s.in.gathered = owed
		given, most := 0, owed+len(p)
		var in buf.In
		defer in.Close()
		step = 1 + step&1023
		for len(p) > 0 {
			n := copy(in.Space(), p[:min(step, len(p))])
			in.Filled(n)
			p = p[n:]
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
			held, announced := 0, 0
			for _, g := range s.in.parts.all {
				held += cap(g.body)
				announced += g.total
				if g.seen > g.total || len(g.body) > g.total {
					t.Fatalf("%d of %d bytes gathered", g.seen, g.total)
				}
			}
			if held > partsFactor*lim.MessageBytes || announced != s.in.parts.bytes || len(s.in.parts.all) > maxParts {
				t.Fatalf("%d bytes held, %d announced, %d counted", held, announced, s.in.parts.bytes)
			}
		}
	})
}
