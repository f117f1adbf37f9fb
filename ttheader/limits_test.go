package ttheader

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// TestTooLongToSend: what a TTHeader cannot hold is refused before it is sent,
// and what comes after is framed as if nothing had been.
func TestTooLongToSend(t *testing.T) {
	lim := rpc.Limits{HeaderBytes: 1 << 20}.WithDefaults()
	for name, c := range map[string]struct {
		ev   wire.Event
		code rpc.Code
	}{
		"value":   {wire.Event{Method: "m", Header: rpc.Metadata{{Key: "k", Value: strings.Repeat("v", 65536)}}}, rpc.ResourceExhausted},
		"token":   {wire.Event{Method: "m", Header: rpc.Metadata{{Key: tokenKey, Value: strings.Repeat("v", 65536)}}}, rpc.ResourceExhausted},
		"service": {wire.Event{Method: "m", Service: strings.Repeat("v", 65536)}, rpc.ResourceExhausted},
		"header":  {wire.Event{Method: "m", Header: slicesRepeat(rpc.Pair{Key: "k", Value: strings.Repeat("v", 60000)}, 5)}, rpc.ResourceExhausted},
		"method":  {wire.Event{Method: strings.Repeat("v", raw.MaxName+1)}, rpc.InvalidArgument},
	} {
		s := Protocol{}.Open(wire.Client, lim)
		c.ev.Flags, c.ev.ID = wire.Open|wire.Message|wire.End, 65537
		_, err := frameBytes(s, &c.ev, []byte{0})
		if e, ok := errors.AsType[*rpc.Error](err); !ok || e.Code != c.code || e.Sent != rpc.NotSent {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p, err := frameBytes(s, &wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 65538, Method: "m"}, []byte{0})
		if f := readPlain(p); err != nil || f.Name != "m" || f.str(keyOffer) == "" {
			t.Errorf("%s, and then: %v, %v", name, f, err)
		}
	}
}

// befriend has s know that its peer is of our kind.
func befriend(s wire.Session) {
	var out buf.Out
	s.Apply(&out, &wire.Event{Flags: wire.Settings, Tag: [2]uint64{(ours | multiplexed).tag()}})
	out.Reset()
}

func slicesRepeat(p rpc.Pair, n int) (m rpc.Metadata) {
	for range n {
		m = append(m, p)
	}
	return m
}

// TestErrorsFit: an error gets through even if its details do not.
func TestErrorsFit(t *testing.T) {
	s := Protocol{}.Open(wire.Server, testLimits)
	befriend(s)
	for name, details := range map[string]rpc.Metadata{
		"many":  slicesRepeat(rpc.Pair{Key: "k", Value: "v"}, 100),
		"large": slicesRepeat(rpc.Pair{Key: "k", Value: strings.Repeat("v", 1000)}, 20),
		"huge":  slicesRepeat(rpc.Pair{Key: "k", Value: strings.Repeat("v", 70000)}, 1),
	} {
		p, err := frameBytes(s, &wire.Event{Flags: wire.End, Method: "m", Err: &rpc.Error{Code: rpc.NotFound, Msg: "x", Details: details}}, nil)
		if err != nil {
			t.Fatal(name, err)
		}
		c := Protocol{}.Open(wire.Client, testLimits)
		var in buf.In
		feed(&in, p)
		ev, _, err := c.Cut(&in)
		if err != nil || ev.Err == nil || ev.Err.Code != rpc.NotFound || len(ev.Err.Details) > 64 || name == "many" && len(ev.Err.Details) != 64 {
			t.Errorf("%s: %v, %v", name, ev.Err, err)
		}
		in.Close()
	}
}

// TestCodes walks all codes to a peer of our kind, where each arrives as it
// was, and to others, where it arrives as its nearest type says.
func TestCodes(t *testing.T) {
	for _, kin := range []bool{false, true} {
		s, c := Protocol{}.Open(wire.Server, testLimits), Protocol{}.Open(wire.Client, testLimits)
		if kin {
			befriend(s)
		}
		for code := rpc.Canceled; int(code) < rpc.Codes; code++ {
			p, err := frameBytes(s, &wire.Event{Flags: wire.End, Method: "m", Err: &rpc.Error{Code: code, Msg: "x"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !kin && strings.Contains(string(p), prefixOwn) {
				t.Errorf("%v: a stranger gets a key of ours", code)
			}
			var in buf.In
			feed(&in, p)
			ev, _, err := c.Cut(&in)
			in.Close()
			want := code
			if !kin {
				want = raw.ExceptionOf(code).Code()
			}
			if err != nil || ev.Err == nil || ev.Err.Code != want || ev.Err.Msg != "x" || !ev.Err.Remote {
				t.Errorf("%v, kin %v: %v, %v", code, kin, ev.Err, err)
			}
		}
	}
}

func TestSmall(t *testing.T) {
	if rpc.CodeOf(&FrameError{Why: "x"}) != rpc.DataLoss {
		t.Error("a FrameError is DataLoss")
	}
	if s := (Protocol{Form: Framed}).Name() + Form(9).String(); s != "framedunknown form" {
		t.Error(s)
	}
	c := Protocol{}.Open(wire.Client, testLimits)
	if p, err := frameBytes(c, &wire.Event{Flags: wire.GoAway}, nil); len(p) != 0 || err != nil {
		t.Errorf("a client says goodbye: %x, %v", p, err)
	}
	befriend(c)
	p, err := frameBytes(c, &wire.Event{Flags: wire.Reset, ID: 7, Err: &rpc.Error{Code: rpc.DeadlineExceeded}}, nil)
	if f := readPlain(p); err != nil || f.str(keyCancel) != "4" || f.Seq != 7 {
		t.Errorf("cancel: %v, %v", f, err)
	}
	if c.Credit(1) <= 0 {
		t.Error("no room")
	}
}

// A user's pair is not the deadline, however it is called.
func TestTimeoutsAreNotUsers(t *testing.T) {
	for _, scope := range []rpc.Scope{rpc.Transient, rpc.Persistent} {
		for _, form := range []Form{TTHeader, THeader} {
			c := Protocol{Form: form}.Open(wire.Client, testLimits)
			header := rpc.Metadata{{Key: keyClientTimeout, Value: "1", Scope: scope}, {Key: "12", Value: "1", Scope: scope}}
			p, err := frameBytes(c, &wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: 5, Method: "Ping", Header: header}, []byte{0})
			if err != nil {
				t.Fatal(err)
			}
			ev, err := cutOne(t, Protocol{}.Open(wire.Server, testLimits), p)
			if err != nil || ev.Timeout != 0 {
				t.Errorf("%v: %s, %v", form, trace(ev), err)
			}
			ev.Body.Release()
		}
	}
}

// What a server says of an error is never more than a client takes.
func TestErrorsAndTrailersFit(t *testing.T) {
	client, server, cin, _ := acquainted(t, rpc.Limits{}.WithDefaults())
	many := func(n int) rpc.Metadata { return slicesRepeat(rpc.Pair{Key: "k", Value: "v"}, n) }
	out := newOut(t)
	ev := wire.Event{Flags: wire.End | wire.Stream, ID: 5, Method: "m", Tag: [2]uint64{uint64(shapeStream) | 5<<32, 5}, Err: &rpc.Error{Code: rpc.NotFound, Details: many(40)}, Trailer: many(40)}
	m := server.Begin(out, &ev)
	if err := server.End(out, m, &ev); err != nil {
		t.Fatal(err)
	}
	evs, err := gather(t, client, cin, out.Bytes(), 1<<20)
	if err != nil || len(evs) != 1 || evs[0].Err == nil || evs[0].Err.Code != rpc.NotFound {
		t.Errorf("%v, %v", evs, err)
	}
}

// A trailer beyond the limits fails its call, not the connection at the client.
func TestTrailersBeyondTheLimits(t *testing.T) {
	for name, trailer := range map[string]rpc.Metadata{
		"entries": slicesRepeat(rpc.Pair{Key: "k", Value: "v"}, 65),
		"bytes":   {{Key: "k", Value: strings.Repeat("v", 16<<10)}},
	} {
		for what, tag := range map[string]uint64{"ttheader": uint64(shapeTTHeader), "theader": uint64(shapeTHeader), "stream": uint64(shapeStream)} {
			s := Protocol{}.Open(wire.Server, testLimits)
			befriend(s)
			ev := wire.Event{Flags: wire.End | wire.Message, Method: "m", Tag: [2]uint64{tag | 5<<32, 5}, Trailer: trailer}
			if what == "stream" {
				ev.Flags |= wire.Stream
			}
			if _, err := frameBytes(s, &ev, []byte{0}); rpc.CodeOf(err) != rpc.ResourceExhausted {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
}

// A stream's method has a name like any other: an exception could not repeat a
// longer one.
func TestLongNamesOfStreams(t *testing.T) {
	c := Protocol{NoOffer: true}.Open(wire.Client, testLimits)
	p, err := frameBytes(c, &wire.Event{Flags: wire.Open | wire.Stream, ID: 7, Method: strings.Repeat("m", raw.MaxName)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if ev, err := cutOne(t, Protocol{}.Open(wire.Server, testLimits), p); err != nil || ev.Err != nil || len(ev.Method) != raw.MaxName {
		t.Errorf("%s, %v", trace(ev), err)
	}
	at := strings.Index(string(p), "mmmm")
	p = append(append([]byte(nil), p[:at]...), append([]byte("mmmm"), p[at:]...)...)
	binary.BigEndian.PutUint32(p, uint32(len(p)-4))
	binary.BigEndian.PutUint16(p[12:], binary.BigEndian.Uint16(p[12:])+1)
	binary.BigEndian.PutUint16(p[at-2:], raw.MaxName+4)
	if ev, err := cutOne(t, Protocol{}.Open(wire.Server, testLimits), p); err != nil || ev.Err == nil || ev.Err.Code != rpc.InvalidArgument || ev.Err.Sent != rpc.Refused || ev.Method != "" {
		t.Errorf("%s, %v", trace(ev), err)
	}
}
