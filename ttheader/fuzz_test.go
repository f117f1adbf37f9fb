package ttheader

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/wire"
)

// fuzzLimits are small, so that a short input meets them.
var fuzzLimits = rpc.Limits{MessageBytes: 512, HeaderBytes: 128, HeaderEntries: 4}.WithDefaults()

// fuzzCut feeds data in pieces, checks what every event must hold to, and
// answers requests.
func fuzzCut(t *testing.T, p Protocol, side wire.Side, data []byte, piece int) {
	s := p.Open(side, fuzzLimits)
	var in buf.In
	var out buf.Out
	before := buf.Live()
	for len(data) > 0 {
		n := min(len(data), max(1, piece))
		feed(&in, data[:n])
		data = data[n:]
		for {
			ev, need, err := s.Cut(&in)
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
			if ev.Flags&(wire.Settings|wire.GoAway) != 0 {
				s.Apply(&out, &ev)
			}
			ev.Body.Release()
			ev.Body = buf.View{}
			if side == wire.Server && ev.Flags&wire.Open != 0 {
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

func checkEvent(t *testing.T, side wire.Side, ev *wire.Event) {
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
	case side == wire.Client && (ev.Flags&wire.Open != 0 || ev.Flags&(wire.Reset|wire.Stream) == wire.Reset):
		t.Fatalf("a client got %s", ev.Flags)
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
	for _, p := range recorded(f, from) {
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
		fuzzCut(t, Protocol{NonStrict: opt&1 != 0, NoOffer: opt&2 != 0, Multiplexed: opt&4 != 0}, wire.Client, data, int(piece))
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
			if len(service)+len(method) < 60_000 && len(method) <= thrift.MaxName {
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
