package ttheader

import (
	"math"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// The flag of a piece means nothing to a server that has not agreed to pieces,
// and lets nothing pass that is not allowed.
func TestFlagsLetNothingPass(t *testing.T) {
	for _, flags := range []byte{flagPiece >> 8, 0} {
		p, err := frameBytes(Protocol{NoOffer: true}.Open(wire.Client, testLimits), &wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 5, Method: "Ping"}, make([]byte, 300<<10))
		if err != nil {
			t.Fatal(err)
		}
		p[6] = flags
		s := Protocol{}.Open(wire.Server, testLimits)
		s.Allow(16 << 10)
		var in buf.In
		feed(&in, p[:1000])
		ev, _, err := s.Cut(&in)
		if err != nil || ev.Err == nil || ev.Err.Code != rpc.ResourceExhausted {
			t.Errorf("flags %#x: %s, %v", flags, trace(ev), err)
		}
		in.Close()
	}
}

// Metadata of unfinished messages is in their budget, also where no byte of a
// body has come.
func TestHeadersOfPiecesHaveABudget(t *testing.T) {
	lim := rpc.Limits{HeldPerConn: 1 << 20, MessageBytes: 256 << 10}.WithDefaults()
	client, server, _, sin := acquainted(t, lim)
	out := newOut(t)
	refused := 0
	for i := range uint64(200) {
		ev := wire.Event{Flags: wire.Open | wire.Message | wire.Piece, ID: 10 + i, Method: "m", Total: 1000, Header: rpc.Metadata{{Key: "k", Value: strings.Repeat("v", 15<<10)}}}
		m := client.Begin(out, &ev)
		if err := client.End(out, m, &ev); err != nil {
			t.Fatal(err)
		}
		evs, err := gather(t, server, sin, out.Bytes(), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		for _, ev := range evs {
			if ev.Err != nil && ev.Err.Code == rpc.ResourceExhausted {
				refused++
			}
		}
		out.Reset()
	}
	if n := server.Held(); n > lim.HeldPerConn/2+64<<10 || refused == 0 {
		t.Errorf("%d bytes are held, %d were refused", n, refused)
	}
}

// An exception in pieces is an error, as one in a single frame is.
func TestExceptionInPieces(t *testing.T) {
	client, server, cin, _ := acquainted(t, rpc.Limits{}.WithDefaults())
	body := raw.AppendException(nil, strings.Repeat("no ", 1000), raw.InternalError)
	out := newOut(t)
	frames(t, server, out, wire.Event{Flags: wire.End | wire.Message, Method: "m", Tag: [2]uint64{5 << 32, 5}, Trailer: rpc.Metadata{{Key: "k", Value: "v"}}}, body, 1000)
	p := append([]byte(nil), out.Bytes()...)
	at := strings.Index(string(p), "\x80\x01\x00\x02")
	p[at+3] = byte(raw.Exception)
	evs, err := gather(t, client, cin, p, 1<<20)
	if err != nil || len(evs) != 1 {
		t.Fatal(evs, err)
	}
	if ev := evs[0]; ev.ID != 5 || ev.Err == nil || ev.Err.Code != rpc.Internal || len(ev.Err.Msg) != 3000 || ev.Flags&wire.Message != 0 || ev.Flags&wire.End == 0 {
		t.Errorf("%.200s", trace(ev))
	}
	release(evs)
}

// A factor that is no bound is none, and does not overflow.
func TestInflateWithoutFactor(t *testing.T) {
	s := Protocol{}.Open(wire.Server, rpc.Limits{InflateFactor: math.MaxInt}.WithDefaults())
	message := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), make([]byte, 1<<20)...)
	ev, err := cutOne(t, s, zlibFrame(t, 0, message, 1))
	if err != nil || ev.Err != nil || ev.Body.Len() != 1<<20 {
		t.Errorf("%d bytes, %v, %v", ev.Body.Len(), ev.Err, err)
	}
	ev.Body.Release()
}

// A message without a TTHeader has no place for the total of an answer in pieces, and
// is matched by order as likely as by its id: it is answered in order, and whole.
func TestOtherFormsAreAnsweredInOrder(t *testing.T) {
	_, server, _, sin := acquainted(t, rpc.Limits{}.WithDefaults())
	for text, unordered := range map[string]bool{
		`[ 80010001 "Ping" 00000005 00 ]`:                              false,
		`80010001 "Ping" 00000005 00`:                                  false,
		`[ 0fff 0000 00000005 { 00 00 } 80010001 "Ping" 00000005 00 ]`: false,
		`[ 0fff 0001 00000005 { 00 00 } 80010001 "Ping" 00000005 00 ]`: false,
		`[ 1000 0000 00000005 { 0000 } 80010001 "Ping" 00000005 00 ]`:  true,
	} {
		p, _ := scriptBytes(t, text)
		evs, err := gather(t, server, sin, p, 1<<20)
		if err != nil || len(evs) != 1 || (evs[0].Flags&wire.Unordered != 0) != unordered {
			t.Errorf("%s: %v, %v", text, evs, err)
		}
		release(evs)
	}
}
