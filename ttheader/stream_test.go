package ttheader

import (
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A streamPair is a client's and a server's session with random streams
// between them. What each side is to see next of each stream is known.
type streamPair struct {
	t      *testing.T
	rng    *rand.Rand
	ends   [2]streamEnd // by wire.Side
	kin    bool
	next   uint64
	dry    int // how often a sender had no room
	resets int
	done   int
}

// A streamEnd is one side, with what it sends on its way.
type streamEnd struct {
	side    wire.Side
	s       wire.Session
	p       pipe // towards the other side
	streams map[uint64]*modelSide
}

// A modelSide is what one side of one stream knows, and what the other is to
// be told.
type modelSide struct {
	ev      wire.Event // what all its frames have in common
	opened  bool
	over    bool     // nothing more is said
	sent    int      // as messages count
	credit  int      // that has arrived
	granted int      // that was given to the peer
	got     int      // as messages count
	due     []string // traces of what the peer is to see
}

func (p *streamPair) other(e *streamEnd) *streamEnd { return &p.ends[1-e.side] }

// say frames an event and notes what the peer is to see of it.
func (p *streamPair) say(e *streamEnd, m *modelSide, ev wire.Event, body []byte) {
	b, err := frameBytes(e.s, &ev, body)
	if err != nil {
		p.t.Fatal(err)
	}
	e.p.flight = append(e.p.flight, b...)
	seen, knows := wire.Event{Flags: wire.Stream, ID: m.ev.ID}, e.s.Caps().Mux
	if ev.Flags&wire.Open != 0 {
		o := seen
		o.Flags |= wire.Open | wire.Unordered
		o.Service, o.Method, o.Header = ev.Service, ev.Method, ev.Header
		m.due = append(m.due, trace(o))
	}
	if ev.Flags&wire.Message != 0 {
		o := seen
		o.Flags |= wire.Message
		if p.kin && e.side == wire.Client && !knows {
			o.Flags |= wire.Early
		}
		o.Body = buf.ViewOf(body)
		m.due = append(m.due, brief(o))
	}
	if ev.Flags&wire.Credit != 0 && knows {
		o := seen
		o.Flags |= wire.Credit
		o.Credit = ev.Credit
		m.due = append(m.due, trace(o)+fmt.Sprint(" ", ev.Credit))
	}
	if ev.Flags&(wire.End|wire.Reset) != 0 {
		o := seen
		o.Flags |= ev.Flags & (wire.End | wire.Reset)
		o.Trailer, o.Err = ev.Trailer, p.seenErr(e, ev)
		m.due = append(m.due, trace(o))
		if ev.Flags&wire.Reset != 0 && e.side == wire.Client && !knows {
			o.Flags, o.Err = wire.End|wire.Stream, nil
			m.due = append(m.due, trace(o))
		}
	}
}

// seenErr is what the peer sees of an error.
func (p *streamPair) seenErr(e *streamEnd, ev wire.Event) *rpc.Error {
	if ev.Err == nil {
		return nil
	}
	err, knows := *ev.Err, e.s.Caps().Mux
	if err.Sent != rpc.Refused || !knows {
		err.Sent = rpc.Processed
	}
	if !knows || e.side == wire.Client {
		err.Details = nil
	}
	switch {
	case knows:
	case ev.Flags&wire.Reset != 0:
		if !slices.Contains([]rpc.Code{rpc.Canceled, rpc.DeadlineExceeded, rpc.Unavailable, rpc.Internal}, err.Code) {
			err.Code = rpc.Unknown
		}
	default:
		err.Code = raw.ExceptionOf(err.Code).Code()
	}
	return &err
}

// brief is an event in one line, without the bytes of a large body.
func brief(ev wire.Event) string {
	if n := ev.Body.Len(); n > 64 {
		ev.Body = buf.ViewOf(fmt.Appendf(nil, "%d %x", n, crc32.ChecksumIEEE(ev.Body.Bytes())))
	}
	return trace(ev)
}

// room checks what a session thinks it may send against the model.
func (p *streamPair) room(e *streamEnd, m *modelSide) int {
	room, want := e.s.Credit(m.ev.ID), StreamWindow+m.credit-m.sent
	if !p.kin {
		want = math.MaxInt
	}
	if room != want {
		p.t.Fatalf("side %d, stream %x: room is %d, want %d: %d sent, %d granted", e.side, m.ev.ID, room, want, m.sent, m.credit)
	}
	return room
}

func (p *streamPair) randomErr() *rpc.Error {
	err := &rpc.Error{Code: rpc.Code(1 + p.rng.IntN(rpc.Codes-1)), Msg: "no luck", Remote: true}
	if p.rng.IntN(2) == 0 {
		err.Details = rpc.Metadata{{Key: "user", Value: "7"}}
	}
	if p.rng.IntN(3) == 0 {
		err.Sent = rpc.Refused
	}
	return err
}

// act lets a side do something on a stream that it has not ended.
func (p *streamPair) act(e *streamEnd, m *modelSide) {
	ev := m.ev
	ev.Flags = wire.Stream
	if !m.opened && e.side == wire.Client {
		ev.Flags |= wire.Open
	}
	var body []byte
	switch k := p.rng.IntN(20); {
	case k == 0 && m.opened:
		p.resets++
		ev.Flags |= wire.Reset
		ev.Err = p.randomErr()
		m.over = e.side == wire.Client
	case k == 1:
		ev.Flags |= wire.End
		if e.side == wire.Server {
			ev.Trailer = rpc.Metadata{{Key: "a", Value: "b"}}[:p.rng.IntN(2)]
			if p.rng.IntN(2) == 0 {
				ev.Err = p.randomErr()
			}
		}
		m.over = true
	case k < 5 && m.got > m.granted && e.s.Caps().Mux == p.kin:
		ev.Flags |= wire.Credit
		ev.Flags &^= wire.Open
		ev.Credit = 1 + p.rng.IntN(m.got-m.granted)
		if p.rng.IntN(4) == 0 {
			ev.Credit += 30_000 // a window may grow
		}
		m.granted += ev.Credit
		p.say(e, m, ev, nil)
		return
	default:
		if p.room(e, m) <= 0 {
			p.dry++
			return
		}
		ev.Flags |= wire.Message
		body = make([]byte, 1+p.rng.IntN(10)+p.rng.IntN(2)*p.rng.IntN(30_000))
		body[len(body)/2] = byte(m.sent)
		m.sent += len(body) + StreamMessage
		if p.rng.IntN(20) == 0 {
			ev.Flags |= wire.End
			m.over = true
		}
	}
	m.opened = true
	p.say(e, m, ev, body)
	m.ev.Header, m.ev.Service = nil, ""
	if m.over {
		p.done++
	}
}

// arrive lets some bytes of e through to the other side.
func (p *streamPair) arrive(e *streamEnd) {
	to := p.other(e)
	n := min(len(e.p.flight), 1+p.rng.IntN(20_000))
	feed(&e.p.in, e.p.flight[:n])
	e.p.flight = e.p.flight[n:]
	evs, _, err := cutAll(to.s, &e.p.in)
	if err != nil {
		p.t.Fatal(err)
	}
	defer release(evs)
	for _, ev := range evs {
		if ev.Flags&(wire.Settings|wire.Credit) != 0 {
			var out buf.Out
			to.s.Apply(&out, &ev)
			to.p.flight = append(to.p.flight, out.Bytes()...)
			out.Reset()
		}
		ev.Flags &^= wire.Settings
		if ev.Flags == 0 {
			continue
		}
		id := ev.ID & math.MaxUint32
		from := e.streams[id]
		if from == nil || len(from.due) == 0 {
			p.t.Fatalf("nobody sent %s", trace(ev))
		}
		got := ev
		got.ID, got.Tag = from.ev.ID, [2]uint64{}
		line := brief(got)
		if ev.Flags&wire.Credit != 0 {
			line += fmt.Sprint(" ", ev.Credit)
		}
		if line != from.due[0] {
			p.t.Fatalf("side %d\ngot  %s\nwant %s", to.side, line, from.due[0])
		}
		from.due = from.due[1:]
		m := to.streams[id]
		if ev.Flags&wire.Open != 0 {
			m = &modelSide{ev: wire.Event{ID: ev.ID, Tag: ev.Tag, Method: ev.Method}}
			to.streams[id] = m
		}
		m.credit += ev.Credit
		if ev.Flags&wire.Message != 0 {
			if p.kin && StreamWindow+m.granted-m.got <= 0 {
				p.t.Fatalf("stream %x: a message beyond what was granted: %d of %d", id, m.got, m.granted)
			}
			m.got += ev.Body.Len() + StreamMessage
		}
	}
}

func (p *streamPair) drive() {
	for p.done < 60 {
		e := &p.ends[p.rng.IntN(2)]
		var live []*modelSide
		for _, id := range sortedIDs(e.streams) {
			if m := e.streams[id]; !m.over {
				live = append(live, m)
			}
		}
		switch k := p.rng.IntN(8); {
		case k == 0 && e.side == wire.Client && len(live) < 6 && (p.next == 0 || !e.s.Caps().Pending):
			p.next++
			id := 1<<16 | p.next
			m := &modelSide{ev: wire.Event{ID: id, Service: "Echo", Method: fmt.Sprint("m", p.next%3), Header: rpc.Metadata{{Key: "tenant", Value: "t"}}[:p.rng.IntN(2)]}}
			e.streams[id] = m
			p.act(e, m)
		case k < 5 && len(live) > 0:
			p.act(e, live[p.rng.IntN(len(live))])
		case k >= 5:
			p.arrive(e)
		}
	}
	for len(p.ends[0].p.flight)+len(p.ends[1].p.flight) > 0 {
		p.arrive(&p.ends[p.rng.IntN(2)])
	}
}

func sortedIDs(m map[uint64]*modelSide) (ids []uint64) {
	for id := range m {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// TestStreamPair drives random streams, with our kind and with a peer without
// credit: each side sees what the other said, in order, no sender frames a
// message without room, and both have the same account of what was granted.
func TestStreamPair(t *testing.T) {
	for _, kin := range []bool{true, false} {
		t.Run(fmt.Sprintf("kin=%v", kin), func(t *testing.T) {
			dry, resets := 0, 0
			for seed := range uint64(30) {
				p := &streamPair{t: t, rng: rand.New(rand.NewPCG(seed, 7)), kin: kin}
				p.ends[wire.Client] = streamEnd{side: wire.Client, s: Protocol{NoOffer: !kin}.Open(wire.Client, testLimits), streams: map[uint64]*modelSide{}}
				p.ends[wire.Server] = streamEnd{side: wire.Server, s: Protocol{}.Open(wire.Server, testLimits), streams: map[uint64]*modelSide{}}
				p.drive()
				for i := range p.ends {
					e := &p.ends[i]
					left := 0
					for id, m := range e.streams {
						if len(m.due) > 0 {
							t.Fatalf("seed %d, stream %x: never seen: %v", seed, id, m.due)
						}
						if m.over {
							continue
						}
						left++
						peer := p.other(e).streams[id]
						p.room(e, m)
						if peer != nil && (m.credit != peer.granted && kin || m.sent != peer.got) {
							t.Fatalf("seed %d, stream %x: %d of %d sent arrived, %d of %d granted", seed, id, peer.got, m.sent, m.credit, peer.granted)
						}
					}
					if n := len(e.s.(*Session).out.streams); n > left {
						t.Fatalf("seed %d, side %d: the session keeps %d streams, %d are open", seed, i, n, left)
					}
					e.p.in.Close()
				}
				dry, resets = dry+p.dry, resets+p.resets
			}
			if (dry > 0) != kin || resets == 0 {
				t.Errorf("%d times without room, %d resets", dry, resets)
			}
		})
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// ourStreams are frames between two of our kind, after offer and hello.
var ourStreams = map[wire.Side]string{
	wire.Server: `[ 1000 0002 00010001 { 1000 01 0003 'limosa-offer' 'v=1;mux=1;streams=1' 'isn' 'Echo' 'RPC_TRANSIT_a' 'b' 10 0002 0009 'Chat' 001b '2' } ]
		[ 1000 0002 00010001 { 1000 10 0001 001b '3' } 00 ] [ 1000 0002 00010001 { 1000 10 0001 001b '3' } ]
		[ 1000 0002 00010001 { 1000 01 0001 'limosa-credit' '72' 10 0001 001b '1' } ] [ 1000 0002 00010001 { 1000 10 0001 001b '3' } 0b0001 "text" 00 ]
		[ 1000 0002 00010001 { 1000 10 0001 001b '4' } ]
		[ 1000 0002 00010001 { 1000 01 0001 'limosa-code' '4' 10 0001 001b '5' } 80010003 "Chat" 00010003 0b0001 "late" 08 0002 00002eef 00 ]`,
	wire.Client: `[ 1000 0000 00000000 { 0000 01 0001 'limosa-hello' 'v=1;mux=1;streams=1' } ]
		[ 1000 0002 00010001 { 1000 01 0001 'limosa-credit' '72' 10 0001 001b '1' } ] [ 1000 0002 00010001 { 1000 10 0001 001b '3' } 0b0001 "text" 00 ]
		[ 1000 0002 00010001 { 1000 01 0002 'limosa-code' '5' 'a' 'b' 10 0001 001b '4' } 80010003 "Chat" 00010001 0b0001 "none" 08 0002 00000006 00 ]
		[ 1000 0002 00010002 { 1000 10 0001 001b '3' } 00 ] [ 1000 0002 00010002 { 1000 10 0001 001b '5' } 80010003 "Chat" 00010001 0b0001 "none" 08 0002 00000006 00 ]`,
}

// TestStreamPieces cuts them in two at each place, and byte by byte: the same
// events come of it; and of a prefix those of the frames that are whole.
func TestStreamPieces(t *testing.T) {
	for side, text := range ourStreams {
		p, _ := scriptBytes(t, strings.NewReplacer("\n", " ", "\t", " ").Replace(text))
		open := func() wire.Session { return Protocol{}.Open(side, testLimits) }
		want := run(t, open(), p, func(left int) int { return left })
		frames, ends := readAll(p), []int{}
		for at := 0; at < len(p); at = ends[len(ends)-1] {
			ends = append(ends, at+4+int(p[at+2])<<8+int(p[at+3]))
		}
		if len(want) != len(frames) || len(ends) != len(frames) {
			t.Fatalf("%d events of %d frames:\n%s", len(want), len(frames), strings.Join(want, "\n"))
		}
		for i := range len(p) + 1 {
			whole, _ := slices.BinarySearch(ends, i+1)
			if got := run(t, open(), p[:i], func(left int) int { return left }); !slices.Equal(got, want[:whole]) {
				t.Fatalf("side %d, %d bytes:\ngot  %s\nwant %s", side, i, strings.Join(got, "\n"), strings.Join(want[:whole], "\n"))
			}
			got := run(t, open(), p, func(left int) int { return max(i-(len(p)-left), 0) + btoi(left <= len(p)-i)*left })
			if !slices.Equal(got, want) {
				t.Fatalf("side %d cut at %d:\ngot  %s\nwant %s", side, i, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		if got := run(t, open(), p, func(int) int { return 1 }); !slices.Equal(got, want) {
			t.Fatalf("byte by byte:\ngot  %s", strings.Join(got, "\n"))
		}
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// TestDataBothWays: the short way of a DATA frame does what the long one does,
// which a frame takes whose header has one more byte of padding or a method.
func TestDataBothWays(t *testing.T) {
	for side, first := range map[wire.Side]string{wire.Server: strings.SplitAfter(ourStreams[wire.Server], "]")[0], wire.Client: strings.SplitAfter(ourStreams[wire.Client], "]")[0]} {
		for _, body := range []string{"00", "", "0b00010000000178 00"} {
			var traces []string
			for _, head := range []string{"1000 10 0001 001b '3'", "1000 10 0001 001b '3' 00 00 00", "1000 10 0002 0009 'Chat' 001b '3'"} {
				p, _ := scriptBytes(t, first+" [ 1000 0002 00010001 { "+head+" } "+body+" ]")
				traces = append(traces, strings.Join(run(t, Protocol{}.Open(side, testLimits), p, func(left int) int { return left }), "\n"))
			}
			if side == wire.Server { // a method says that the client has not seen the hello
				traces[2] = strings.Replace(traces[2], "|early", "", 1)
			}
			if traces[0] != traces[1] || traces[0] != traces[2] || !strings.Contains(traces[0], "message|stream") {
				t.Errorf("%s", strings.Join(traces, "\n\n"))
			}
		}
	}
	// Lengths that lie, and a limit.
	for _, n := range []byte{0, 9, 21} {
		p, _ := scriptBytes(t, "000000 00 1000 0002 00010001 0003 1000 10 0001 001b '3' 0000 00")
		p[3] = n
		if got := run(t, Protocol{}.Open(wire.Server, testLimits), p, func(left int) int { return left }); len(got) != 1 || !strings.HasPrefix(got[0], "error") {
			t.Errorf("length %d: %v", n, got)
		}
	}
}

// TestTakenBack: what the engine takes back, because of the codec or of a
// limit, has not begun the stream, used no room and not ended it.
func TestTakenBack(t *testing.T) {
	lim := rpc.Limits{MessageBytes: 40 << 10}.WithDefaults()
	c := Protocol{}.Open(wire.Client, lim)
	open := wire.Event{Flags: wire.Stream | wire.Open | wire.Message | wire.End, ID: 65537, Service: "Echo", Method: "Chat"}
	var out buf.Out
	defer out.Reset()
	m := c.Begin(&out, &open)
	out.Truncate(m) // the codec failed
	if _, err := frameBytes(c, &open, make([]byte, 41<<10)); !errors.Is(err, rpc.ResourceExhausted) {
		t.Fatal(err)
	}
	name := open
	name.Method = strings.Repeat("x", raw.MaxName+1)
	if _, err := frameBytes(c, &name, []byte{0}); !errors.Is(err, rpc.InvalidArgument) {
		t.Fatal(err)
	}
	meta := open
	meta.Header = rpc.Metadata{{Key: "a", Value: strings.Repeat("x", 70_000)}}
	if _, err := frameBytes(c, &meta, []byte{0}); !errors.Is(err, rpc.ResourceExhausted) {
		t.Fatal(err)
	}
	open.Flags &^= wire.End
	p, err := frameBytes(c, &open, []byte{0})
	if err != nil {
		t.Fatal(err)
	}
	if all := readAll(p); len(all) != 2 || all[0].stream() != '2' || all[0].str(keyOffer) == "" || c.Credit(65537) != StreamWindow-65 {
		t.Fatalf("%v, room %d", all, c.Credit(65537))
	}
	// Toward Kitex a second HEADER would end the connection.
	s := Protocol{}.Open(wire.Server, lim)
	ans := wire.Event{Flags: wire.Stream | wire.Message, Method: "Chat"}
	ans.ID, ans.Tag[0], ans.Tag[1] = kitexStreams|7, 7<<32|uint64(shapeStream), 7
	if p, err := frameBytes(s, &ans, []byte{0}); err != nil || len(readAll(p)) != 2 {
		t.Fatal(readAll(p), err)
	}
	end := ans
	end.Flags, end.Trailer = wire.Stream|wire.End, rpc.Metadata{{Key: "a", Value: strings.Repeat("x", 70_000)}}
	if _, err := frameBytes(s, &end, nil); !errors.Is(err, rpc.ResourceExhausted) {
		t.Fatal(err)
	}
	end.Trailer = nil
	if p, err := frameBytes(s, &end, nil); err != nil || len(readAll(p)) != 1 {
		t.Fatal(readAll(p), err)
	}
}

// TestStreamCodes walks the table of docs/wire/streams.md both ways.
func TestStreamCodes(t *testing.T) {
	for typ, want := range map[raw.ExceptionType]rpc.Code{
		12001: rpc.Unknown, 12002: rpc.Internal, 12003: rpc.Internal, 12004: rpc.Internal, 12005: rpc.Internal,
		12006: rpc.Unavailable, 12007: rpc.Canceled, 12008: rpc.Canceled, 12009: rpc.Unknown, 12010: rpc.Unknown,
		12011: rpc.Internal, 12012: rpc.Unknown, 12013: rpc.Unavailable, 12014: rpc.DeadlineExceeded, 12015: rpc.DeadlineExceeded,
		1: rpc.Unimplemented, 6: rpc.Internal, 7: rpc.InvalidArgument, -1: rpc.Unknown, 12016: rpc.Unknown,
	} {
		if got := streamCode(typ); got != want {
			t.Errorf("type %d is %v, want %v", typ, got, want)
		}
	}
	out := map[rpc.Code]raw.ExceptionType{rpc.Canceled: 12007, rpc.DeadlineExceeded: 12015, rpc.Unavailable: 12013, rpc.Internal: 12011}
	for c := range rpc.Code(rpc.Codes) {
		want, own := out[c]
		if !own {
			want = 12001
		}
		if got := resetType(c); got != want || own && streamCode(got) != c {
			t.Errorf("%v goes out as %d, want %d", c, got, want)
		}
	}
}
