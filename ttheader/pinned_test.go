package ttheader

import (
	"encoding/binary"
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A pair of a few bytes does not keep a whole header, most of which means nothing:
// what is kept is what is accounted for.
func TestSmallPairPinsNoHeader(t *testing.T) {
	const calls = 1000
	first := raw.AppendMessageBegin(nil, "Ping", raw.Call, 5)
	w := writer{b: make([]byte, 4)}
	w.open(0, 5, 0)
	w.str("", "RPC_TRANSIT_K", "v")
	w.str("", "limosa-unknown", strings.Repeat("x", 20<<10))
	w.close()
	frame := append(append(w.b, first...), 0)
	binary.BigEndian.PutUint32(frame, uint32(len(frame)-4))
	s := Protocol{}.Open(wire.Server, testLimits)
	var kept []rpc.Metadata
	before := liveBytes()
	for range calls {
		var in buf.In
		feed(&in, frame)
		ev, _, err := s.Cut(&in)
		if err != nil || len(ev.Header) != 1 || ev.Header[0].Key != "K" || ev.Header[0].Value != "v" {
			t.Fatalf("%v, %s", err, trace(ev))
		}
		kept = append(kept, ev.Header)
		ev.Body.Release()
		in.Close()
	}
	if each := (liveBytes() - before) / calls; each > 2<<10 {
		t.Errorf("a call with one pair of two bytes keeps %d bytes", each)
	}
	runtime.KeepAlive(kept)
}

func liveBytes() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
