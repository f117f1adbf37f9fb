package impl_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// What generated code would do for Echo and Small, as the measure for the plan:
// decoding is to be within 1.2 and encoding within 1.7 times of it, or 10 ns.

func appendEcho(m *thrifttest.Echo, b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, 10, 0, 1), uint64(m.ID))
	b = binary.BigEndian.AppendUint32(append(b, 11, 0, 2), uint32(len(m.Text)))
	b = append(b, m.Text...)
	b = binary.BigEndian.AppendUint32(append(b, 15, 0, 3, 10), uint32(len(m.Numbers)))
	for _, n := range m.Numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	return append(b, 0)
}

func appendSmall(m *thrifttest.Small, b []byte) []byte {
	b = binary.BigEndian.AppendUint64(append(b, 10, 0, 1), uint64(m.ID))
	b = binary.BigEndian.AppendUint32(append(b, 8, 0, 2), uint32(m.Kind))
	b = append(binary.BigEndian.AppendUint32(append(b, 11, 0, 3), uint32(len(m.Sku))), m.Sku...)
	b = append(binary.BigEndian.AppendUint32(append(b, 11, 0, 4), uint32(len(m.Name))), m.Name...)
	b = binary.BigEndian.AppendUint64(append(b, 4, 0, 5), math.Float64bits(m.Price))
	b = binary.BigEndian.AppendUint32(append(b, 8, 0, 6), uint32(m.Count))
	live := byte(0)
	if m.Live {
		live = 1
	}
	b = append(b, 2, 0, 7, live)
	b = append(binary.BigEndian.AppendUint32(append(b, 11, 0, 8), uint32(len(m.Owner))), m.Owner...)
	b = binary.BigEndian.AppendUint64(append(b, 10, 0, 9), uint64(m.Made))
	b = append(binary.BigEndian.AppendUint32(append(b, 11, 0, 10), uint32(len(m.Note))), m.Note...)
	return append(b, 0)
}

// decodeEcho trusts p, which is more than a decoder may do: a floor.
func decodeEcho(p []byte) *thrifttest.Echo {
	m := new(thrifttest.Echo)
	m.ID = int64(binary.BigEndian.Uint64(p[3:]))
	n := int(binary.BigEndian.Uint32(p[14:]))
	m.Text = string(p[18 : 18+n])
	p = p[18+n:]
	m.Numbers = make([]int64, binary.BigEndian.Uint32(p[4:]))
	for i := range m.Numbers {
		m.Numbers[i] = int64(binary.BigEndian.Uint64(p[8+8*i:]))
	}
	return m
}

// decodeSmall trusts p too, and copies all strings at once.
func decodeSmall(p []byte) *thrifttest.Small {
	m := new(thrifttest.Small)
	s := string(p)
	m.ID = int64(binary.BigEndian.Uint64(p[3:]))
	m.Kind = int32(binary.BigEndian.Uint32(p[14:]))
	o := 21
	next := func() string {
		n := int(binary.BigEndian.Uint32(p[o:]))
		o += 4 + n + 3
		return s[o-n-3 : o-3]
	}
	m.Sku, m.Name = next(), next()
	m.Price = math.Float64frombits(binary.BigEndian.Uint64(p[o:]))
	m.Count = int32(binary.BigEndian.Uint32(p[o+11:]))
	m.Live = p[o+18] == 1
	o += 22
	m.Owner = next()
	m.Made = int64(binary.BigEndian.Uint64(p[o:]))
	o += 11
	m.Note = next()
	return m
}

func TestByHandIsTheSame(t *testing.T) {
	echo, small := thrifttest.Shapes()["echo"].(*thrifttest.Echo), thrifttest.Shapes()["small"].(*thrifttest.Small)
	if got := thrifttest.Encode(t, echo); string(got) != string(appendEcho(echo, nil)) || decodeEcho(got).Text != echo.Text {
		t.Error("echo differs")
	}
	if got := thrifttest.Encode(t, small); string(got) != string(appendSmall(small, nil)) || *decodeSmall(got) != *small {
		t.Error("small differs")
	}
}

var (
	sinkEcho  *thrifttest.Echo
	sinkSmall *thrifttest.Small
)

// BenchmarkByHand runs the plan and the hand-written form in turns, so that a
// busy machine disturbs both alike; it reports their ratio.
func BenchmarkByHand(b *testing.B) {
	lim := rpc.Limits{}.WithDefaults()
	echo, small := thrifttest.Shapes()["echo"].(*thrifttest.Echo), thrifttest.Shapes()["small"].(*thrifttest.Small)
	echoBody, smallBody := thrifttest.Encode(b, echo), thrifttest.Encode(b, small)
	echoView, smallView := buf.ViewOf(echoBody), buf.ViewOf(smallBody)
	var out buf.Out
	out.AppendString("held")
	m := out.Mark()
	for _, tt := range []struct {
		name       string
		plan, hand func()
	}{
		{"echo/encode", func() { thrifttest.Must(b, thrift.Binary{}.Append(&out, echo)); out.Truncate(m) },
			func() { out.Commit(appendEcho(echo, out.Block())); out.Truncate(m) }},
		{"small/encode", func() { thrifttest.Must(b, thrift.Binary{}.Append(&out, small)); out.Truncate(m) },
			func() { out.Commit(appendSmall(small, out.Block())); out.Truncate(m) }},
		{"echo/decode", func() {
			sinkEcho = new(thrifttest.Echo)
			thrifttest.Must(b, thrift.Binary{}.Decode(echoView, sinkEcho, lim))
		},
			func() { sinkEcho = decodeEcho(echoBody) }},
		{"small/decode", func() {
			sinkSmall = new(thrifttest.Small)
			thrifttest.Must(b, thrift.Binary{}.Decode(smallView, sinkSmall, lim))
		},
			func() { sinkSmall = decodeSmall(smallBody) }},
	} {
		b.Run(tt.name, func(b *testing.B) {
			best := [2]float64{math.Inf(1), math.Inf(1)}
			for b.Loop() {
				for i, f := range []func(){tt.plan, tt.hand} {
					best[i] = min(best[i], nanoseconds(f))
				}
			}
			b.ReportMetric(best[0], "plan-ns")
			b.ReportMetric(best[1], "hand-ns")
			b.ReportMetric(best[0]/best[1], "ratio")
		})
	}
}

// nanoseconds is the time of one f, from a thousand.
func nanoseconds(f func()) float64 {
	start := time.Now()
	for range 1000 {
		f()
	}
	return float64(time.Since(start).Nanoseconds()) / 1000
}
