package ttheader

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// fuzzLimits are small, so that a short input meets them.
var fuzzLimits = rpc.Limits{MessageBytes: 512, HeaderBytes: 128, HeaderEntries: 4}.WithDefaults()

// fuzzCut feeds data in pieces, checks what every event must hold to, and
// answers requests.
func fuzzCut(t *testing.T, p Protocol, side wire.Side, data []byte, piece int) {
	s := p.Open(side, fuzzLimits)
	if side == wire.Client {
		fuzzOpen(t, s)
	}
	var in buf.In
	var out buf.Out
	before, fed := buf.Live(), 0
	for len(data) > 0 {
		n := min(len(data), max(1, piece))
		feed(&in, data[:n])
		data = data[n:]
		fed += n
		for {
			ev, need, err := s.Cut(&in)
			checkParts(t, s.(*Session), fed)
			if n := s.Held(); n > 64*fed+namesBytes || n > fuzzLimits.HeldPerConn+fuzzLimits.MessageBytes {
				t.Fatalf("%d bytes are held after %d", n, fed)
			}
			if err != nil {
				if ev.Flags != 0 {
					t.Fatalf("event %s with error %v", ev.Flags, err)
				}
				if _, _, again := s.Cut(&in); again == nil {
					t.Fatalf("no error after %v", err)
				}
				data = nil
				break
			}
			if ev.Flags == 0 {
				if need < 1 || need > max(skipStep, fuzzLimits.MessageBytes+sniffLen) {
					t.Fatalf("need is %d", need)
				}
				in.Expect(need)
				break
			}
			checkEvent(t, side, &ev)
			fuzzUnpack(t, s, side, &ev)
			checkEvent(t, side, &ev)
			if ev.Flags&(wire.Settings|wire.GoAway|wire.Credit) != 0 {
				s.Apply(&out, &ev)
				if n := s.Credit(ev.ID); n > math.MaxInt32 && n != math.MaxInt || ev.Flags&wire.Credit != 0 && n < ev.Credit && side == wire.Client && ev.ID == 1 {
					t.Fatalf("room %d after credit of %d", n, ev.Credit)
				}
			}
			ev.Body.Release()
			ev.Body = buf.View{}
			if side == wire.Server && ev.Flags&(wire.Open|wire.Stream) == wire.Open|wire.Stream {
				fuzzStream(t, s, &ev)
			} else if side == wire.Server && ev.Flags&wire.Open != 0 {
				ev.Flags = wire.Message | wire.End
				if ev.Err != nil {
					ev.Flags = wire.End
				}
				m := s.Begin(&out, &ev)
				if ev.Err == nil {
					out.AppendString("\x00")
				}
				if err := s.End(&out, m, &ev); err != nil {
					out.Truncate(m)
				}
			}
		}
	}
	in.Close()
	out.Reset()
	if n := buf.Live(); n != before {
		t.Fatalf("%d blocks leaked", n-before)
	}
}

// fuzzOpen opens stream 1, so that what arrives may be for it.
func fuzzOpen(t *testing.T, s wire.Session) {
	if _, err := frameBytes(s, &wire.Event{Flags: wire.Stream | wire.Open | wire.Message, ID: 1, Method: "m"}, []byte{0}); err != nil {
		t.Fatal(err)
	}
}

// fuzzStream answers a stream in one of several ways, which the oracle must
// be able to read. Nothing of it is kept.
func fuzzStream(t *testing.T, s wire.Session, open *wire.Event) {
	say := func(flags wire.Flags, err *rpc.Error) string {
		ev := wire.Event{Flags: wire.Stream | flags, ID: open.ID, Tag: open.Tag, Method: open.Method, Err: err, Credit: 7}
		if flags&wire.End != 0 {
			ev.Trailer = open.Header
		}
		room := s.Credit(open.ID)
		p, failed := frameBytes(s, &ev, []byte{0}[:btoi(flags&wire.Message != 0)])
		if failed != nil {
			if len(open.Method) < 100 && len(open.Header) == 0 {
				t.Fatal(failed)
			}
			if s.Credit(open.ID) != room {
				t.Fatal("what was taken back takes room")
			}
			return ""
		}
		types := ""
		for _, f := range readAll(p) {
			if f.Seq != uint32(seqOf(open.Tag)) || f.Proto != 0x10 {
				t.Fatalf("%s of %s", f, trace(*open))
			}
			types += string(f.stream())
		}
		return types
	}
	got := ""
	why := &rpc.Error{Code: rpc.Code(1 + open.ID%16), Msg: "no", Details: rpc.Metadata{{Key: "k", Value: "v"}}}
	switch {
	case open.Err != nil:
		got = say(wire.End, open.Err)
	case open.ID%4 == 0:
		got = say(wire.Message|wire.End, nil)
	case open.ID%4 == 1:
		got = say(wire.Message, nil) + say(wire.Credit, nil) + say(wire.Message, nil) + say(wire.End, why)
	case open.ID%4 == 2:
		got = say(wire.Reset, why) + say(wire.End, why)
	default:
		got = say(wire.End, nil)
	}
	kin, small := s.(*Session).out.agreed.has(ours), len(open.Method) < 100 && len(open.Header) == 0
	if want := map[bool]string{true: "2", false: ""}[!kin] + "4"; small && open.Err == nil && open.ID%4 == 3 && got != want {
		t.Fatalf("frames %s, want %s", got, want)
	}
	if strings.Count(got, "2") > btoi(!kin) || small && (!strings.HasSuffix(got, "4") || strings.Count(got, "4") != 1) {
		t.Fatalf("frames %s of a stream", got)
	}
	if small && len(s.(*Session).out.streams) != 0 {
		t.Fatalf("%d streams are kept", len(s.(*Session).out.streams))
	}
}

// checkStream checks which flags an event of a stream has, and what with them.
func checkStream(t *testing.T, side wire.Side, ev *wire.Event) {
	err, ok := ev.Err, false
	switch f := ev.Flags &^ (wire.Settings | wire.GoAway | wire.Stream); f {
	case wire.Open | wire.Unordered:
		ok = side == wire.Server && (err == nil || err.Sent == rpc.Refused)
	case wire.Message:
		ok = err == nil && ev.Header == nil && ev.Trailer == nil
	case wire.Credit:
		ok = err == nil && ev.Credit > 0 && ev.Credit <= math.MaxInt32 && ev.Flags&wire.Settings == 0
	case wire.End:
		ok = err == nil || err.Sent == rpc.Processed || err.Sent == rpc.Refused && err.Remote
	case wire.Reset:
		ok = err != nil && (err.Sent == rpc.Processed || err.Sent == rpc.Refused && err.Remote)
	case 0:
		ok = err != nil && err.Sent == rpc.Processed && !err.Remote || err == nil && side == wire.Client && len(ev.Header) > 0
	}
	if !ok || ev.Encoding != rpc.Native || side == wire.Client && ev.ID > math.MaxUint32 || ev.Flags&wire.Open == 0 && (ev.Method != "" || ev.Timeout != 0) {
		t.Fatalf("side %d got %s", side, trace(*ev))
	}
}

func checkEvent(t *testing.T, side wire.Side, ev *wire.Event) {
	if ev.Flags&wire.Stream != 0 {
		checkStream(t, side, ev)
	}
	total := 0
	for _, m := range []rpc.Metadata{ev.Header, ev.Trailer} {
		for _, p := range m {
			if ev.Flags&wire.Open == 0 && side == wire.Client && ev.Flags&wire.Settings != 0 && len(ev.Trailer) == 0 {
				continue // doors
			}
			if rpc.Reserved(p.Key) || p.Key == "" {
				t.Fatalf("key %q", p.Key)
			}
			total += len(p.Key) + len(p.Value)
		}
		if len(m) > fuzzLimits.HeaderEntries+2 {
			t.Fatalf("%d pairs", len(m))
		}
	}
	switch {
	case total > fuzzLimits.HeaderBytes:
		t.Fatalf("%d bytes of metadata", total)
	case ev.Body.Len() > fuzzLimits.MessageBytes:
		t.Fatalf("a body of %d bytes", ev.Body.Len())
	case ev.Flags&wire.Message != 0 && ev.Err != nil, ev.Flags&wire.Message == 0 && ev.Body.Len() > 0:
		t.Fatalf("%s, error %v, %d bytes", ev.Flags, ev.Err, ev.Body.Len())
	case ev.Timeout < 0:
		t.Fatal(ev.Timeout)
	case ev.Flags&wire.Credit != 0 != (ev.Credit != 0), ev.Flags&wire.Stream == 0 && ev.Flags&wire.Credit != 0:
		t.Fatalf("%s, credit %d", ev.Flags, ev.Credit)
	case side == wire.Client && (ev.Flags&wire.Open != 0 || ev.Flags&(wire.Reset|wire.Stream) == wire.Reset):
		t.Fatalf("a client got %s", ev.Flags)
	case ev.Flags&wire.HasLast != 0 && (side != wire.Client || ev.Flags&^wire.Credit != wire.GoAway|wire.HasLast || ev.ID != 0):
		t.Fatalf("side %d got %s of %d", side, ev.Flags, ev.ID)
	case side == wire.Server && ev.Flags&(wire.End|wire.Stream) == wire.End && ev.Flags&wire.Open == 0:
		t.Fatalf("a server got %s", ev.Flags)
	}
}

// seeds adds what the scripts feed, and Kitex's recorded bytes, to the corpus.
func seeds(f *testing.F, from string) {
	files, _ := filepath.Glob("testdata/script/*.txt")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range strings.Lines(string(data)) {
			if text, ok := strings.CutPrefix(strings.TrimSpace(line), "in "); ok {
				p, _ := scriptBytes(f, text)
				f.Add(p, byte(200), byte(0))
				f.Add(p, byte(3), byte(3))
			}
		}
	}
	for _, typ := range []raw.MessageType{raw.Call, raw.Reply, raw.Exception, raw.Oneway} {
		message := append(raw.AppendMessageBegin(nil, "Ping", typ, 77), make([]byte, 400)...)
		f.Add(zlibFrame(f, 0, message, 1), byte(200), byte(8))
		f.Add(zlibFrame(f, 0, append(message, make([]byte, 4000)...), 1), byte(9), byte(8))
	}
	for _, p := range recorded(f, from) {
		f.Add(p, byte(200), byte(0))
	}
	for _, text := range ourStreams {
		p, _ := scriptBytes(f, strings.NewReplacer("\n", " ", "\t", " ").Replace(text))
		f.Add(p, byte(200), byte(0))
	}
}

func FuzzServer(f *testing.F) {
	seeds(f, "client")
	f.Fuzz(func(t *testing.T, data []byte, piece, opt byte) {
		fuzzCut(t, Protocol{NonStrict: opt&1 != 0, Host: "h1", Unix: "/u"}, wire.Server, data, int(piece))
	})
}

func FuzzClient(f *testing.F) {
	seeds(f, "server")
	f.Fuzz(func(t *testing.T, data []byte, piece, opt byte) {
		fuzzCut(t, Protocol{NonStrict: opt&1 != 0, NoOffer: opt&2 != 0, Multiplexed: opt&4 != 0, Form: [2]Form{TTHeader, THeader}[opt>>3&1]}, wire.Client, data, int(piece))
	})
}

// FuzzRequest frames what a caller may hand over: a server reads the same, or
// End refused it.
func FuzzRequest(f *testing.F) {
	f.Add("Echo", "Ping", "key", "value", uint32(65537), []byte("x"), int64(1500))
	f.Add("", "", tokenKey, "v", uint32(0), []byte{}, int64(-1))
	f.Fuzz(func(t *testing.T, service, method, key, value string, id uint32, body []byte, timeout int64) {
		ev := wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: uint64(id), Service: service, Method: method}
		if key != "" && !rpc.Reserved(key) && len(key)+len(value) <= testLimits.HeaderBytes && (key != tokenKey || value != "") {
			ev.Header.Add(key, value)
		}
		if timeout > 0 && timeout < 1<<55 {
			ev.Timeout = 1 + 999_999*1 // below a millisecond: rounded up to one
		}
		p, err := frameBytes(Protocol{}.Open(wire.Client, testLimits), &ev, append([]byte{0}, body...))
		if err != nil {
			if len(service)+len(method) < 60_000 && len(method) <= raw.MaxName {
				t.Fatal(err)
			}
			return
		}
		if len(service) > 2000 {
			return // the server takes no header of that size
		}
		var in buf.In
		defer in.Close()
		feed(&in, p)
		got, _, err := Protocol{}.Open(wire.Server, testLimits).Cut(&in)
		if err != nil {
			t.Fatal(err)
		}
		defer got.Body.Release()
		wantService, wantMethod := service, method
		if a, b, ok := strings.Cut(method, ":"); ok {
			wantService, wantMethod = a, b
		}
		if got.Service != wantService || got.Method != wantMethod || got.ID != uint64(id) || string(got.Body.Bytes()) != "\x00"+string(body) {
			t.Fatalf("got %s", trace(got))
		}
		if len(got.Header) != len(ev.Header) || len(ev.Header) > 0 && got.Header[0] != ev.Header[0] || (ev.Timeout > 0) != (got.Timeout > 0) {
			t.Fatalf("got %s", trace(got))
		}
	})
}
