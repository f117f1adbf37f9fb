package ttheader

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

func deflate(t testing.TB, p []byte, times int) []byte {
	t.Helper()
	for range times {
		var b bytes.Buffer
		w := zlib.NewWriter(&b)
		if _, err := w.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		p = b.Bytes()
	}
	return p
}

// zlibFrame is a frame whose message was compressed several times.
func zlibFrame(t testing.TB, protocol byte, message []byte, times int) []byte {
	header := []byte{protocol, byte(times)}
	for range times {
		header = append(header, transformZlib)
	}
	for len(header)%4 != 0 {
		header = append(header, 0)
	}
	p := be32(be16(be16(make([]byte, 4), theaderMagic), 0), 77)
	p = append(be16(p, uint16(len(header)/4)), header...)
	p = append(p, deflate(t, message, times)...)
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	return p
}

func cutOne(t *testing.T, s wire.Session, p []byte) (wire.Event, error) {
	t.Helper()
	var in buf.In
	defer in.Close()
	feed(&in, p)
	ev, need, err := s.Cut(&in)
	if err == nil && (need != 0 || in.Len() != 0 && ev.Err == nil) {
		t.Fatalf("need %d, %d bytes are left", need, in.Len())
	}
	if ev.Flags&wire.Packed != 0 {
		s.Unpack(&ev, math.MaxInt)
	}
	return ev, err
}

// packBytes frames an answer as the engine does: compressed, if its request was.
func packBytes(s wire.Session, ev *wire.Event, body []byte) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	out.Append(body)
	defer func() { ev.Flags &^= wire.Packed }()
	if err := s.Pack(ev, &out); err != nil {
		return nil, err
	}
	return frameBytes(s, ev, out.Bytes())
}

// codeOfCut is why what was cut is not in order: the connection, or the call.
func codeOfCut(ev wire.Event, err error) rpc.Code {
	if err == nil && ev.Err != nil {
		return ev.Err.Code
	}
	return rpc.CodeOf(err)
}

func TestZlib(t *testing.T) {
	body := raw.AppendException(nil, string(make([]byte, 5000)), 7)
	message := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), body...)
	s := Protocol{}.Open(wire.Server, testLimits)
	for times := range 2 {
		p := zlibFrame(t, 0, message, times)
		for i := range p {
			var in buf.In
			feed(&in, p[:i])
			if ev, need, err := (Protocol{}).Open(wire.Server, testLimits).Cut(&in); ev.Flags != 0 || need < 1 || err != nil {
				t.Fatalf("%d of %d: %s, %d, %v", i, len(p), trace(ev), need, err)
			}
			in.Close()
		}
		ev, err := cutOne(t, s, p)
		if err != nil || ev.Method != "Ping" || !bytes.Equal(ev.Body.Bytes(), body) || seqOf(ev.Tag) != 5 || uint32(ev.Tag[1]) != 77 {
			t.Fatalf("%d times: %.200s, %v", times, trace(ev), err)
		}
		// The answer is compressed once if the request was at all.
		ev.Flags = wire.Message | wire.End
		q, err := packBytes(s, &ev, body)
		want, zipped := []byte{0, 0, 0, 0}, times > 0
		if zipped {
			want = []byte{0, 1, transformZlib, 0}
		}
		if err != nil || !bytes.Equal(q[14:18], want) || zipped != (len(q) < len(body)) {
			t.Errorf("%d times: %d bytes, %x, %v", times, len(q), q, err)
		}
		checkZlibAnswer(t, q, body)
		ev.Body.Release()
		// An error is not, and one request's form is not the next one's.
		ev.Err = &rpc.Error{Code: rpc.NotFound, Msg: "no such thing"}
		if q, err = packBytes(s, &ev, nil); err != nil || !bytes.Equal(q[14:18], make([]byte, 4)) {
			t.Errorf("%d times: %x, %v", times, q, err)
		}
		if answer, err := cutOne(t, client(t), q); err != nil || answer.Err == nil || answer.Err.Msg != "no such thing" {
			t.Errorf("%d times: %s, %v", times, trace(answer), err)
		}
	}
	compact := append(raw.Compact{}.AppendMessageBegin(nil, "Ping", raw.Call, 5), 0)
	if ev, err := cutOne(t, s, zlibFrame(t, protocolCompact, compact, 1)); err != nil || ev.Encoding != rpc.Compact || len(ev.Body.Bytes()) != 1 {
		t.Errorf("%s, %v", trace(ev), err)
	} else {
		ev.Body.Release()
	}
	for _, in := range [][]byte{nil, message[:5], {0x80, 1, 0, 9}, compact} {
		ev, err := cutOne(t, s, zlibFrame(t, 0, in, 1))
		if codeOfCut(ev, err) != rpc.DataLoss || err != nil || ev.Err.Sent != rpc.Refused || ev.Body.Len() > 0 || ev.Flags&wire.Message != 0 {
			t.Errorf("%x: %s, %v", in, trace(ev), err)
		}
	}
	// Once is enough, as anybody writes it.
	for times := 2; times <= maxTransforms; times++ {
		if ev, err := cutOne(t, s, zlibFrame(t, 0, message, times)); codeOfCut(ev, err) != rpc.InvalidArgument || err != nil || ev.Body.Len() > 0 {
			t.Errorf("%d times: %.200s, %v", times, trace(ev), err)
		}
	}
	whole := zlibFrame(t, 0, message, 1)
	for cut := 1; cut < 20; cut++ { // the end of the stream is missing
		p := append(be32(nil, uint32(len(whole)-4-cut)), whole[4:len(whole)-cut]...)
		if ev, err := cutOne(t, s, p); codeOfCut(ev, err) != rpc.DataLoss || err != nil || ev.Method != "Ping" {
			t.Errorf("without the last %d bytes: %.200s, %v", cut, trace(ev), err)
		}
	}
}

// client is the other side of a THeader connection, which waits for the answer to call 77.
func client(t *testing.T) wire.Session {
	t.Helper()
	return Protocol{Form: THeader}.Open(wire.Client, testLimits)
}

// checkZlibAnswer has a client read q, whole and every prefix.
func checkZlibAnswer(t *testing.T, q, body []byte) {
	t.Helper()
	for i := range q {
		var in buf.In
		feed(&in, q[:i])
		if ev, need, err := client(t).Cut(&in); ev.Flags != 0 || need < 1 || err != nil {
			t.Fatalf("%d of %d: %s, %d, %v", i, len(q), trace(ev), need, err)
		}
		in.Close()
	}
	ev, err := cutOne(t, client(t), q)
	if err != nil || ev.Err != nil || ev.Method != "Ping" || ev.Flags&wire.Message == 0 || !bytes.Equal(ev.Body.Bytes(), body) {
		t.Errorf("the client reads %.200s, %v", trace(ev), err)
	}
	ev.Body.Release()
}

// A client's limit holds for what an answer becomes, and a server's for what it
// compresses.
func TestZlibAnswersAreBounded(t *testing.T) {
	lim := rpc.Limits{MessageBytes: 64 << 10}.WithDefaults()
	large := make([]byte, 8<<20)
	server := Protocol{}.Open(wire.Server, rpc.Limits{MessageBytes: 16 << 20}.WithDefaults())
	request := zlibFrame(t, 0, append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), 0), 1)
	ev, err := cutOne(t, server, request)
	if err != nil {
		t.Fatal(err)
	}
	ev.Body.Release()
	ev.Flags = wire.Message | wire.End
	q, err := packBytes(server, &ev, large)
	if err != nil || len(q) > 64<<10 {
		t.Fatalf("%d bytes, %v", len(q), err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer, err := cutOne(t, Protocol{Form: THeader}.Open(wire.Client, lim), q)
	runtime.ReadMemStats(&after)
	if err != nil || answer.Err == nil || answer.Err.Code != rpc.ResourceExhausted || after.TotalAlloc-before.TotalAlloc > 2<<20 {
		t.Errorf("%s, %v, %d bytes of memory", trace(answer), err, after.TotalAlloc-before.TotalAlloc)
	}
	small := Protocol{}.Open(wire.Server, lim)
	if ev, err = cutOne(t, small, request); err != nil {
		t.Fatal(err)
	}
	ev.Body.Release()
	ev.Flags = wire.Message | wire.End
	if _, err := packBytes(small, &ev, large); rpc.CodeOf(err) != rpc.ResourceExhausted {
		t.Errorf("more than a message may have: %v", err)
	}
	// What cannot be compressed becomes longer than what it was.
	noise := make([]byte, 64<<10-14-4-4-4-4-5)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	if _, err := packBytes(small, &ev, noise); rpc.CodeOf(err) != rpc.ResourceExhausted {
		t.Errorf("as long as a message may be, but not compressed: %v", err)
	}
	if q, err := packBytes(small, &ev, noise[:len(noise)-1000]); err != nil || len(q) < len(noise)-1000 {
		t.Errorf("%d bytes, %v", len(q), err)
	}
}

// TestZlibIsBounded has what becomes much larger than a message may be, than its
// share, or than there is room for.
func TestZlibIsBounded(t *testing.T) {
	message := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), make([]byte, 8<<20)...)
	p := zlibFrame(t, 0, message, 1)
	for name, tt := range map[string]struct {
		lim  rpc.Limits
		most int
	}{
		"message": {rpc.Limits{MessageBytes: 64 << 10}, math.MaxInt},
		"share":   {rpc.Limits{MessageBytes: 16 << 20, InflateFactor: 8}, math.MaxInt},
		"room":    {rpc.Limits{MessageBytes: 16 << 20}, 64 << 10},
		"none":    {rpc.Limits{MessageBytes: 16 << 20}, -1},
	} {
		s := Protocol{}.Open(wire.Server, tt.lim.WithDefaults())
		live := buf.Live()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		var in buf.In
		feed(&in, p)
		ev, _, err := s.Cut(&in)
		in.Close()
		if err != nil || ev.Flags&wire.Packed == 0 || ev.Body.Len() > len(p) {
			t.Fatalf("%s: %.200s, %v", name, trace(ev), err)
		}
		fault := s.Unpack(&ev, tt.most)
		runtime.ReadMemStats(&after)
		if fault == nil || fault != ev.Err || fault.Code != rpc.ResourceExhausted || fault.Sent != rpc.Refused || tt.most > 0 && ev.Method != "Ping" {
			t.Errorf("%s: %s, %v", name, trace(ev), fault)
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<20 || buf.Live() != live {
			t.Errorf("%s: %d bytes of memory, %d blocks", name, spent, buf.Live()-live)
		}
		// The connection goes on.
		small := zlibFrame(t, 0, append(raw.AppendMessageBegin(nil, "Pong", raw.Call, 6), 0), 1)
		if ev, err := cutOne(t, s, small); err != nil || ev.Method != "Pong" || ev.Err != nil {
			t.Errorf("after it: %s, %v", trace(ev), err)
		} else {
			ev.Body.Release()
		}
	}
}

// TestZlibWhereTHeaderIsSpoken: nobody who began with another form, or is asked
// in another, compresses.
func TestZlibWhereTHeaderIsSpoken(t *testing.T) {
	request := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), 0)
	answer := append(raw.AppendMessageBegin(nil, "Ping", raw.Reply, 5), 0)
	for _, first := range [][]byte{request, append(be32(nil, uint32(len(request))), request...)} {
		s := Protocol{}.Open(wire.Server, testLimits)
		ev, err := cutOne(t, s, first)
		if ev.Body.Release(); err != nil {
			t.Fatal(err)
		}
		if ev, err = cutOne(t, s, zlibFrame(t, 0, request, 1)); codeOfCut(ev, err) != rpc.InvalidArgument || err != nil || ev.Body.Len() > 0 || seqOf(ev.Tag) != 77 {
			t.Errorf("%s, %v", trace(ev), err)
		}
		if ev, err = cutOne(t, s, plainFrame(request)); ev.Err != nil || err != nil {
			t.Errorf("%s, %v", trace(ev), err)
		}
		ev.Body.Release()
	}
	for _, form := range []Form{TTHeader, Framed, Buffered} {
		ev, err := cutOne(t, Protocol{Form: form}.Open(wire.Client, testLimits), zlibFrame(t, 0, answer, 1))
		if codeOfCut(ev, err) != rpc.InvalidArgument || err != nil || ev.Body.Len() > 0 || ev.ID != 77 || ev.Err.Sent != rpc.Processed {
			t.Errorf("%s: %s, %v", form, trace(ev), err)
		}
	}
}

// TestPiecesOfCompact has large compact messages in pieces, under names of
// services too: the length that is announced counts the envelope.
func TestPiecesOfCompact(t *testing.T) {
	for _, p := range []Protocol{{}, {Multiplexed: true}, {Compact: true}, {Compact: true, Multiplexed: true}} {
		c, s := p.Open(wire.Client, testLimits), Protocol{}.Open(wire.Server, testLimits)
		settle(t, c, s)
		body := raw.AppendException(nil, string(make([]byte, 1000)), 7)
		var all []byte
		for at := 0; at < len(body); at += 300 {
			end := min(at+300, len(body))
			ev := wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 70000, Service: "Echo", Method: "Ping", Total: len(body), Offset: at}
			if end == len(body) {
				ev.Flags |= wire.End
			}
			b, err := frameBytes(c, &ev, body[at:end])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, b...)
		}
		ev, err := cutOne(t, s, all)
		if err != nil || ev.Service != "Echo" || ev.Method != "Ping" || !bytes.Equal(ev.Body.Bytes(), body) || (ev.Encoding == rpc.Compact) != p.Compact {
			t.Errorf("%+v: %.200s, %v", p, trace(ev), err)
		}
		ev.Body.Release()
	}
}

// settle makes one call, after which both sides know that they are of one kind.
func settle(t *testing.T, c, s wire.Session) {
	t.Helper()
	first := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 65537, Method: "First"}
	p, err := frameBytes(c, &first, []byte{0})
	if err != nil {
		t.Fatal(err)
	}
	ev, err := cutOne(t, s, p)
	if err != nil || ev.Flags&wire.Settings == 0 {
		t.Fatal(trace(ev), err)
	}
	ev.Body.Release()
	var out buf.Out
	defer out.Reset()
	s.Apply(&out, &ev)
	hello, err := cutOne(t, c, out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	c.Apply(nil, &hello)
	if !c.Caps().Pieces {
		t.Fatalf("%+v", c.Caps())
	}
}

// TestBareCompactIsLinear is TestBareIsLinear for compact messages, with
// elements of variable size: a step for each.
func TestBareCompactIsLinear(t *testing.T) {
	p := append(raw.Compact{}.AppendMessageBegin(nil, "Ping", raw.Call, 1), 0x19, 0xf8, 0x80, 0xb5, 0x18) // 400,000 strings
	for i := range 400_000 {
		p = fmt.Appendf(append(p, 8), "%08d", i)
	}
	p = append(p, 0)
	s := Protocol{}.Open(wire.Server, testLimits)
	var in buf.In
	defer in.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for len(p) > 0 {
		n := copy(in.Space(), p[:min(len(p), 1+rng.IntN(300))])
		in.Filled(n)
		p = p[n:]
		ev, need, err := s.Cut(&in)
		if err != nil || (ev.Flags == 0) != (len(p) > 0) {
			t.Fatalf("%d bytes left: %s, %v", len(p), ev.Flags, err)
		}
		in.Expect(need)
		ev.Body.Release()
	}
}

// FuzzTHeaderPairs frames what a caller may hand over: a server reads the same,
// or End refused it.
func FuzzTHeaderPairs(f *testing.F) {
	f.Add("Ping", "key", "value", "other", "", uint32(65537), int64(1500), true)
	f.Add("", "a", "b", "a", "b", uint32(0), int64(0), false)
	f.Add("m", strings.Repeat("k", 127), strings.Repeat("v", 128), "x", "y", uint32(1<<31), int64(1), true)
	f.Fuzz(func(t *testing.T, method, k1, v1, k2, v2 string, id uint32, timeout int64, compact bool) {
		ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: uint64(id), Method: method}
		for i, p := range []rpc.Pair{{Key: k1, Value: v1}, {Key: k2, Value: v2, Scope: rpc.Persistent}} {
			if p.Key != "" && !rpc.Reserved(p.Key) && p.Key != keyClientTimeout && (i == 0 || p.Key != k1) {
				ev.Header = append(ev.Header, p)
			}
		}
		if timeout > 0 && timeout < 1<<50 {
			ev.Timeout = time.Duration(timeout)
		}
		p, err := frameBytes(Protocol{Form: THeader, Compact: compact}.Open(wire.Client, testLimits), &ev, []byte{0})
		if err != nil {
			if len(k1)+len(v1)+len(k2)+len(v2) < 100_000 && len(method) <= raw.MaxName {
				t.Fatal(err)
			}
			return
		}
		if len(k1)+len(v1)+2*(len(k2)+len(v2)) > testLimits.HeaderBytes || strings.Contains(method, ":") {
			return // more than the server takes, or the name of a service
		}
		got, err := cutOne(t, Protocol{}.Open(wire.Server, testLimits), p)
		if err != nil {
			t.Fatal(err)
		}
		ev.Timeout = (ev.Timeout + time.Millisecond - 1).Truncate(time.Millisecond)
		ev.ID, ev.Tag, ev.Body = got.ID, got.Tag, buf.ViewOf([]byte{0})
		if compact {
			ev.Encoding = rpc.Compact
		}
		if trace(got) != trace(ev) || uint32(seqOf(got.Tag)) != id || uint32(got.Tag[1]) != id {
			t.Fatalf("%s\nwant %s", trace(got), trace(ev))
		}
		got.Body.Release()
	})
}

// TestTHeaderAtItsLimit: as much metadata as is allowed, all of it persistent.
func TestTHeaderAtItsLimit(t *testing.T) {
	for over, want := range map[int]rpc.Code{0: rpc.OK, 1: rpc.ResourceExhausted} {
		ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 65537, Method: "Ping"}
		each := testLimits.HeaderBytes/testLimits.HeaderEntries - 2
		for i := range testLimits.HeaderEntries {
			ev.Header = append(ev.Header, rpc.Pair{Key: fmt.Sprintf("%02d", i), Value: strings.Repeat("v", each), Scope: rpc.Persistent})
		}
		ev.Header[7].Value += strings.Repeat("v", over)
		p, err := frameBytes(Protocol{Form: THeader}.Open(wire.Client, testLimits), &ev, []byte{0})
		if err != nil {
			t.Fatal(err)
		}
		got, err := cutOne(t, Protocol{}.Open(wire.Server, testLimits), p)
		if err != nil || want == rpc.OK && (got.Err != nil || fmt.Sprint(got.Header) != fmt.Sprint(ev.Header)) || want != rpc.OK && (got.Err == nil || got.Err.Code != want) {
			t.Errorf("%d over: %.100s, %v", over, trace(got), err)
		}
		got.Body.Release()
	}
}

// plainFrame is a frame with a bare THeader before a message.
func plainFrame(message []byte) []byte {
	p := be32(be16(be16(make([]byte, 4), theaderMagic), 0), 77)
	p = append(append(be16(p, 1), 0, 0, 0, 0), message...)
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	return p
}

// TestTHeaderOfTheLargestMessage: what has the limit's size is taken, one byte
// more is not.
func TestTHeaderOfTheLargestMessage(t *testing.T) {
	const limit = 1000
	lim := rpc.Limits{MessageBytes: limit}.WithDefaults()
	head := raw.AppendMessageBegin(nil, "Ping", raw.Call, 5)
	sized := func(n int) []byte { return append(bytes.Clone(head), make([]byte, n-len(head))...) }
	for over, want := range map[int]rpc.Code{0: rpc.OK, 1: rpc.ResourceExhausted} {
		for name, p := range map[string][]byte{
			"plain":      plainFrame(sized(limit - 14 + over)), // the frame counts from behind its length
			"compressed": zlibFrame(t, 0, sized(limit+over), 1),
		} {
			ev, err := cutOne(t, Protocol{}.Open(wire.Server, lim), p)
			if codeOfCut(ev, err) != want || err != nil || ev.Method != "Ping" {
				t.Errorf("%s, %d over: %.100s, %v", name, over, trace(ev), err)
			}
			ev.Body.Release()
		}
	}
	// Compressed, and too large as it is: not looked into.
	noise := make([]byte, 2*limit)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	ev, err := cutOne(t, Protocol{}.Open(wire.Server, lim), zlibFrame(t, 0, append(bytes.Clone(head), noise...), 1))
	if err != nil || ev.Method != "" || ev.Err == nil || ev.Err.Code != rpc.ResourceExhausted || seqOf(ev.Tag) != 77 {
		t.Errorf("%.100s, %v", trace(ev), err)
	}
}

// TestTHeaderOfOldMessages: without a version, where that is allowed by name.
func TestTHeaderOfOldMessages(t *testing.T) {
	old, _ := scriptBytes(t, `"Ping" 01 00000005 00`)
	strict, _ := scriptBytes(t, `80010001 "Ping" 00000005 00`)
	for _, zipped := range []bool{false, true} {
		wrap := plainFrame
		if zipped {
			wrap = func(p []byte) []byte { return zlibFrame(t, 0, p, 1) }
		}
		s := Protocol{NonStrict: true}.Open(wire.Server, testLimits)
		for _, tt := range []struct {
			message []byte
			tag     uint64
		}{{old, tagOld}, {strict, 0}} {
			ev, err := cutOne(t, s, wrap(tt.message))
			if err != nil || ev.Method != "Ping" || ev.Tag[0]&tagOld != tt.tag {
				t.Errorf("compressed %v: %s, %v", zipped, trace(ev), err)
			}
			ev.Body.Release()
		}
		if ev, err := cutOne(t, Protocol{}.Open(wire.Server, testLimits), wrap(old)); codeOfCut(ev, err) != rpc.DataLoss {
			t.Errorf("compressed %v, not allowed: %s, %v", zipped, trace(ev), err)
		}
	}
	if ev, err := cutOne(t, Protocol{NonStrict: true}.Open(wire.Server, testLimits), zlibFrame(t, 0, nil, 1)); codeOfCut(ev, err) != rpc.DataLoss {
		t.Errorf("nothing, compressed: %s, %v", trace(ev), err)
	}
}
