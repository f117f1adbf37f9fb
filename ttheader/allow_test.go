package ttheader

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What is larger than is allowed now is refused and read past, also if much of it
// has come; small requests and what is allowed again are taken.
func TestAllow(t *testing.T) {
	const allowed, size = 16 << 10, 300 << 10
	message := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), make([]byte, size)...)
	small := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 6), 0)
	framed := func(p []byte) []byte { return append(binary.BigEndian.AppendUint32(nil, uint32(len(p))), p...) }
	headed := func(p []byte) []byte {
		b, err := frameBytes(Protocol{NoOffer: true}.Open(wire.Client, testLimits), &wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 5, Method: "Ping"}, p)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for name, p := range map[string][]byte{"framed": framed(message), "theader": plainFrame(message), "ttheader": headed(make([]byte, size))} {
		for _, before := range []int{0, 100, size / 2, len(p)} { // bytes that came while all was allowed
			s := Protocol{}.Open(wire.Server, testLimits)
			var in buf.In
			feed(&in, p[:before])
			if before < len(p) {
				if ev, need, err := s.Cut(&in); ev.Flags != 0 || need < 1 || err != nil {
					t.Fatalf("%s: %s, %d, %v", name, trace(ev), need, err)
				}
			}
			s.Allow(allowed)
			feed(&in, p[before:min(before+2000, len(p))])
			ev, _, err := s.Cut(&in)
			if err != nil || ev.Err == nil || ev.Err.Code != rpc.ResourceExhausted || ev.Err.Sent != rpc.Refused || ev.Method != "Ping" || ev.Body.Len() > 0 {
				t.Fatalf("%s, %d bytes before: %s, %v", name, before, trace(ev), err)
			}
			for at := min(before+2000, len(p)); at < len(p); at += 4096 {
				feed(&in, p[at:min(at+4096, len(p))])
				if ev, _, err := s.Cut(&in); ev.Flags != 0 || err != nil || in.Len() > 0 {
					t.Fatalf("%s: %s, %v, %d bytes are kept", name, trace(ev), err, in.Len())
				}
			}
			feed(&in, framed(small))
			if ev, _, err := s.Cut(&in); ev.Flags&wire.Message == 0 || err != nil {
				t.Errorf("%s: a small one: %s, %v", name, trace(ev), err)
			} else {
				ev.Body.Release()
			}
			s.Allow(1 << 30)
			feed(&in, p)
			if ev, _, err = s.Cut(&in); ev.Flags&wire.Message == 0 || err != nil {
				t.Errorf("%s: when there is room again: %.200s, %v", name, trace(ev), err)
			}
			ev.Body.Release()
			in.Close()
		}
	}
}

// Messages in pieces are given up when their connection may not hold them any
// more, all but one that ends.
func TestAllowOfPieces(t *testing.T) {
	client, server, _, sin := acquainted(t, rpc.Limits{}.WithDefaults())
	out := newOut(t)
	for id := range uint64(4) {
		announce(t, client, out, 10+id, 50_000, 150_000)
	}
	cut := func() []wire.Event {
		evs, err := gather(t, server, sin, out.Bytes(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		release(evs)
		out.Reset()
		checkParts(t, server.(*Session), 1<<30)
		return evs
	}
	if evs := cut(); len(evs) != 0 || server.Held() < 200_000 {
		t.Fatalf("%d events, %d bytes are held", len(evs), server.Held())
	}
	server.Allow(16 << 10)
	announce(t, client, out, 20, 50_000, 150_000)
	for id := range uint64(3) {
		more(t, client, out, 10+id, 50_000, 50_000, 150_000)
	}
	evs := cut()
	if len(evs) != 4 || server.Held() > 210_000 {
		t.Fatalf("%d events, %d bytes are held", len(evs), server.Held())
	}
	for _, ev := range evs {
		if ev.Err == nil || ev.Err.Code != rpc.ResourceExhausted || ev.Err.Sent != rpc.Refused {
			t.Errorf("%s", trace(ev))
		}
	}
	more(t, client, out, 13, 50_000, 100_000, 150_000)
	for id := range uint64(3) {
		more(t, client, out, 10+id, 100_000, 50_000, 150_000)
	}
	if evs := cut(); len(evs) != 1 || evs[0].ID != 13 || evs[0].Err != nil {
		t.Errorf("%d events", len(evs))
	}
}

// A first piece that is refused for its size before it is whole is read past as
// it comes: its connection keeps its place.
func TestAllowOfAFirstPiece(t *testing.T) {
	for _, step := range []int{500, 2000, 1 << 20} {
		client, server, _, sin := acquainted(t, rpc.Limits{}.WithDefaults())
		out := newOut(t)
		server.Allow(16 << 10)
		announce(t, client, out, 10, 50_000, 150_000)
		more(t, client, out, 10, 50_000, 50_000, 150_000)
		more(t, client, out, 10, 100_000, 50_000, 150_000)
		frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 11, Method: "next"}, []byte{0}, 0)
		evs, err := gather(t, server, sin, out.Bytes(), step)
		release(evs)
		if err != nil || len(evs) != 2 || evs[0].ID != 10 || evs[0].Err == nil || evs[0].Err.Sent != rpc.Refused || evs[1].ID != 11 || evs[1].Err != nil {
			t.Errorf("in steps of %d: %d events, %v", step, len(evs), err)
		}
		if n := len(server.(*Session).in.unfinished.all); n != 0 {
			t.Errorf("in steps of %d: %d messages are unfinished", step, n)
		}
	}
}

// Of a message that is not kept nothing is gathered, also no piece that is larger
// than a message may be, and its connection keeps its place.
func TestPiecesThatAreReadPast(t *testing.T) {
	const piece = 100_000
	for name, tt := range map[string]struct {
		most    int // a message of the server's
		allowed int // once part of the second piece has come
	}{
		"beyond the limit":   {64 << 10, 1 << 30},
		"no room for it now": {16 << 20, 16 << 10},
		"beyond both":        {64 << 10, 16 << 10},
	} {
		limits := rpc.Limits{MessageBytes: tt.most}
		client, server, _, sin := acquaintedOf(t, rpc.Limits{}.WithDefaults(), limits.WithDefaults())
		out := newOut(t)
		announce(t, client, out, 10, piece, 4*piece)
		first := out.Len() + piece/2
		for at := piece; at < 4*piece; at += piece {
			more(t, client, out, 10, at, piece, 4*piece)
		}
		frames(t, client, out, wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 11, Method: "next"}, []byte{0}, 0)
		p := out.Bytes()
		evs, err := gather(t, server, sin, p[:first], 1000)
		server.Allow(tt.allowed)
		for at := first; at < len(p) && err == nil; at += 1000 {
			var got []wire.Event
			got, err = gather(t, server, sin, p[at:min(at+1000, len(p))], 1000)
			evs = append(evs, got...)
			if sin.Len() > 1000 {
				t.Fatalf("%s: %d bytes are kept", name, sin.Len())
			}
		}
		release(evs)
		if err != nil || len(evs) != 2 || evs[0].ID != 10 || evs[0].Err == nil || evs[0].Err.Sent != rpc.Refused || evs[1].ID != 11 || evs[1].Err != nil {
			t.Errorf("%s: %d events, %v", name, len(evs), err)
		}
		if n := len(server.(*Session).in.unfinished.all); n != 0 || server.Held() > 4<<10 {
			t.Errorf("%s: %d messages are unfinished, %d bytes are held", name, n, server.Held())
		}
	}
}

// What is read past has to be known, which takes memory: a connection that is
// allowed little announces no messages without end.
func TestAllowOfAnnouncements(t *testing.T) {
	const allowed = 16 << 10
	client, server, _, sin := acquainted(t, rpc.Limits{}.WithDefaults())
	out := newOut(t)
	server.Allow(allowed)
	var err error
	refused := 0
	for id := uint64(10); id < 5000 && err == nil; id++ {
		announce(t, client, out, id, 1000, 150_000)
		var evs []wire.Event
		evs, err = gather(t, server, sin, out.Bytes(), 1<<20)
		for _, ev := range evs {
			if ev.Err != nil {
				refused++
			}
		}
		release(evs)
		out.Reset()
		if server.Held() > 3*allowed {
			t.Fatalf("%d bytes are held of %d messages", server.Held(), id)
		}
	}
	if _, ends := errors.AsType[*FrameError](err); !ends || refused < 100 {
		t.Errorf("%d were refused before the connection has ended: %v", refused, err)
	}
}

// A message of a stream that is larger than is allowed now ends its stream, and is
// read past.
func TestAllowOfStreams(t *testing.T) {
	const allowed, size = 16 << 10, 300 << 10
	c := Protocol{NoOffer: true}.Open(wire.Client, testLimits)
	var p []byte
	for _, ev := range []wire.Event{{Flags: wire.Open | wire.Stream}, {Flags: wire.Message | wire.Stream}} {
		ev.ID, ev.Method = 7, "chat"
		body := make([]byte, size)
		if ev.Flags&wire.Open != 0 {
			body = nil
		}
		b, err := frameBytes(c, &ev, body)
		if err != nil {
			t.Fatal(err)
		}
		p = append(p, b...)
	}
	s := Protocol{}.Open(wire.Server, testLimits)
	s.Allow(allowed)
	var in buf.In
	defer in.Close()
	most := 0
	var evs []wire.Event
	for len(p) > 0 {
		n := min(len(p), 1000)
		feed(&in, p[:n])
		p = p[n:]
		got, _, err := cutAll(s, &in)
		if evs = append(evs, got...); err != nil {
			t.Fatal(err)
		}
		most = max(most, in.Len())
	}
	if len(evs) != 2 || evs[0].Err != nil || evs[1].Err == nil || evs[1].Err.Code != rpc.ResourceExhausted || evs[1].Flags != wire.Stream || most > 1000 {
		t.Errorf("%d events, %d bytes were kept", len(evs), most)
	}
}

// A bare message that is larger than is allowed now is answered, and then its
// connection closed, since its end is unknown; one that is there whole is refused.
func TestAllowOfBareMessages(t *testing.T) {
	const allowed, size = 16 << 10, 300 << 10
	p := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), 0x0b, 0, 1)
	p = append(binary.BigEndian.AppendUint32(p, size), make([]byte, size+1)...)
	for _, before := range []int{0, 100, len(p)} { // bytes that came while all was allowed
		s := Protocol{}.Open(wire.Server, testLimits)
		var in buf.In
		feed(&in, p[:before])
		if before < len(p) {
			if ev, need, err := s.Cut(&in); ev.Flags != 0 || need < 1 || err != nil {
				t.Fatalf("%s, %d, %v", trace(ev), need, err)
			}
		}
		s.Allow(allowed)
		var ev wire.Event
		var err error
		for at := before; ; at += 1000 {
			feed(&in, p[min(at, len(p)):min(at+1000, len(p))])
			if ev, _, err = s.Cut(&in); ev.Flags != 0 || err != nil || at >= len(p) {
				break
			}
			if in.Len() > 2*allowed {
				t.Fatalf("%d bytes are kept", in.Len())
			}
		}
		if err != nil || ev.Err == nil || ev.Err.Code != rpc.ResourceExhausted || ev.Err.Sent != rpc.Refused || ev.Method != "Ping" || (ev.Flags&wire.Close != 0) != (before < len(p)) || in.Len() > 0 {
			t.Errorf("%d bytes before: %s, %v, %d are left", before, trace(ev), err, in.Len())
		}
		in.Close()
	}
}
