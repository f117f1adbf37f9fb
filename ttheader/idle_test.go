package ttheader

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// What a session keeps after its messages is a few KB, whatever they were.
func TestIdleSessionHoldsLittle(t *testing.T) {
	const sessions, most = 50, 10 << 10
	for name, use := range map[string]func(s wire.Session){
		"names": func(s wire.Session) {
			for i := range 1000 {
				cutOf(t, s, append(raw.AppendMessageBegin(nil, fmt.Sprintf("Method%053d", i), raw.Call, 5), 0))
				cutOf(t, s, append(raw.AppendMessageBegin(nil, strings.Repeat("x", raw.MaxName-1000+i), raw.Call, 5), 0))
			}
		},
		"zlib": func(s wire.Session) {
			cutOf(t, s, zlibFrame(t, 0, append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), 0), 1))
		},
		"nesting": func(s wire.Session) {
			deep := append(raw.AppendMessageBegin(nil, "Ping", raw.Call, 5), strings.Repeat("\x0c\x00\x01", 2000)...)
			deep = append(deep, make([]byte, 2001)...)
			var in buf.In
			defer in.Close()
			feed(&in, deep[:len(deep)-1])
			if ev, _, err := s.Cut(&in); ev.Flags != 0 || err != nil || s.Held() < 2000*16 {
				t.Fatalf("%s, %v, %d bytes are held", trace(ev), err, s.Held())
			}
			feed(&in, deep[len(deep)-1:])
			ev, _, err := s.Cut(&in)
			if ev.Body.Release(); ev.Flags == 0 || err != nil {
				t.Fatalf("%s, %v", trace(ev), err)
			}
		},
		"streams": func(s wire.Session) {
			for i := range uint64(1000) {
				sayStream(t, s, i, wire.Message)
			}
			for i := range uint64(1000) {
				sayStream(t, s, i, wire.End)
			}
		},
		"pieces": func(s wire.Session) {
			s.(*Session).in.agreed = ours | multiplexed | inPieces
			client := Protocol{}.Open(wire.Client, testLimits)
			out := new(buf.Out)
			defer out.Reset()
			for i := range uint64(1000) {
				announce(t, client, out, i, 100, 1000)
			}
			for i := range uint64(1000) {
				more(t, client, out, i, 100, 900, 1000)
			}
			var in buf.In
			defer in.Close()
			evs, err := gather(t, s, &in, out.Bytes(), 1<<20)
			if release(evs); len(evs) < 1000 || err != nil {
				t.Fatal(len(evs), err)
			}
		},
	} {
		var all [sessions]wire.Session
		for i := range all {
			all[i] = Protocol{}.Open(wire.Server, testLimits)
		}
		var before, after runtime.MemStats
		heap := func(m *runtime.MemStats) {
			for range 3 { // what lies in pools goes with the second
				runtime.GC()
			}
			runtime.ReadMemStats(m)
		}
		use(Protocol{}.Open(wire.Server, testLimits)) // what is made once for all
		heap(&before)
		for _, s := range all {
			use(s)
			if s.Held() > most {
				t.Errorf("%s: Held is %d", name, s.Held())
			}
		}
		heap(&after)
		if each := int(after.HeapAlloc-before.HeapAlloc) / sessions; after.HeapAlloc > before.HeapAlloc && each > most {
			t.Errorf("%s: %d bytes a session", name, each)
		}
		runtime.KeepAlive(all)
	}
}

// cutOf takes the one message p off.
func cutOf(t *testing.T, s wire.Session, p []byte) {
	t.Helper()
	ev, err := cutOne(t, s, p)
	if ev.Body.Release(); err != nil || ev.Err != nil {
		t.Fatalf("%.200s, %v", trace(ev), err)
	}
}

func sayStream(t *testing.T, s wire.Session, id uint64, flags wire.Flags) {
	t.Helper()
	if _, err := frameBytes(s, &wire.Event{Flags: wire.Stream | flags, ID: id, Method: "m", Tag: [2]uint64{id << 32, id}}, nil); err != nil {
		t.Fatal(err)
	}
}

// A name that comes again costs no allocation, whatever others come between.
func TestNamesAreKept(t *testing.T) {
	var n names
	all := make([][]byte, 12)
	for i := range all {
		all[i] = fmt.Appendf(nil, "aMethodWithALongName%d", i)
	}
	round := func() {
		for _, b := range all {
			if n.intern(0, []byte("Service")) != "Service" || n.intern(1, b) != string(b) || n.intern(1, nil) != "" {
				t.Fatal(string(b))
			}
		}
	}
	round()
	if allocs := testing.AllocsPerRun(100, round); allocs > 2 { // those that share a place
		t.Errorf("%v allocations", allocs)
	}
	if n.held() > 4<<10 {
		t.Errorf("%d bytes", n.held())
	}
}

// fuzzUnpack makes a packed event whole, within what there is room for.
func fuzzUnpack(t *testing.T, s wire.Session, side wire.Side, ev *wire.Event) {
	if ev.Flags&wire.Packed == 0 {
		return
	}
	if ev.Flags&wire.Message == 0 || ev.Err != nil || ev.Method != "" || ev.Service != "" {
		t.Fatalf("a packed event is %s", trace(*ev))
	}
	most := math.MaxInt
	if ev.Body.Len()%3 == 0 {
		most = 300
	}
	n := ev.Body.Len()
	fault := s.Unpack(ev, most)
	switch {
	case ev.Flags&wire.Packed != 0, fault != nil && (fault != ev.Err || ev.Body.Len() > 0 || ev.Flags&wire.Message != 0):
		t.Fatalf("unpacked: %s, %v", trace(*ev), fault)
	case ev.Body.Len() > min(most, fuzzLimits.InflateBudget(n)):
		t.Fatalf("%d bytes became %d", n, ev.Body.Len())
	case fault != nil && side == wire.Server && fault.Sent != rpc.Refused:
		t.Fatal(fault.Sent)
	}
}
