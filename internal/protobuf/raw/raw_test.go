package raw_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// edges are numbers around every length that a varint has.
func edges() (all []uint64) {
	for i := range 64 {
		v := uint64(1) << i
		all = append(all, v-1, v, v+1)
	}
	return append(all, math.MaxUint64, math.MaxUint64-1)
}

func TestVarint(t *testing.T) {
	for _, v := range edges() {
		want := binary.AppendUvarint(nil, v)
		if got := raw.Append(nil, v); !bytes.Equal(got, want) {
			t.Errorf("Append(%#x) = %x, want %x", v, got, want)
		}
		var p [raw.MaxVarint]byte
		if n := raw.Put(&p, v); !bytes.Equal(p[:n], want) || raw.Size(v) != n {
			t.Errorf("Put(%#x) = %x, Size %d, want %x", v, p[:n], raw.Size(v), want)
		}
		for _, more := range []int{0, 1, 20} {
			b := append(append([]byte{7}, want...), make([]byte, more)...)
			if got, end, f := raw.Uvarint(b, 1); got != v || end != 1+len(want) || f != raw.Fine {
				t.Errorf("Uvarint(%x) = %#x, %d, %v", b, got, end, f)
			}
		}
		for i := range want {
			if _, _, f := raw.Uvarint(want[:i], 0); f != raw.Short {
				t.Errorf("Uvarint(%x) is %v", want[:i], f)
			}
		}
		if raw.Unzigzag(raw.Zigzag(int64(v))) != int64(v) || raw.Zigzag(int64(v)) != protowire.EncodeZigZag(int64(v)) {
			t.Errorf("zigzag of %d", int64(v))
		}
	}
	for _, tail := range []string{"\x02", "\x7f", "\x80\x00", "\xff\x01"} {
		for _, more := range []string{"", "0123456789"} {
			b := append(bytes.Repeat([]byte{0xff}, 9), tail+more...)
			if _, _, f := raw.Uvarint(b, 0); f != raw.LongNumber && len(b) >= raw.MaxVarint {
				t.Errorf("Uvarint(%x) is %v", b, f)
			}
		}
	}
}

func TestPacked(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 70 {
		for range 50 {
			s, want, size := make([]uint64, n), []byte(nil), 0
			bits := 1 + r.IntN(64)
			for i := range s {
				s[i] = r.Uint64() >> (64 - 1 - r.IntN(bits))
				want = binary.AppendUvarint(want, s[i])
				size += raw.Size(s[i])
			}
			b := make([]byte, n*raw.MaxVarint)
			if b = b[:raw.PutNumbers(b, s)]; !bytes.Equal(b, want) || raw.SizeNumbers(s) != size || size != len(want) {
				t.Fatalf("%v: %x, want %x", s, b, want)
			}
			if raw.Count(b) != n {
				t.Fatalf("Count(%x) = %d, want %d", b, raw.Count(b), n)
			}
			got, half := make([]uint64, n), make([]uint32, n)
			end, f := raw.Numbers(got, b)
			if end != len(b) || f != raw.Fine || !slices.Equal(got, s) {
				t.Fatalf("Numbers(%x) = %v, %d, %v", b, got, end, f)
			}
			if _, f := raw.Numbers(half, b); f != raw.Fine {
				t.Fatal(f)
			}
			for i := range half {
				if half[i] != uint32(s[i]) {
					t.Fatalf("%d of %x is %d", i, b, half[i])
				}
			}
			cut := append(slices.Clone(b), 0x80)
			if end, f := raw.Numbers(make([]uint64, raw.Count(cut)), cut); f != raw.Short || end != len(b) {
				t.Fatalf("cut off: %d, %v", end, f)
			}
		}
	}
}

func TestWiden(t *testing.T) {
	src, dst := []uint32{0, 1, 0x7fffffff, 0x80000000, 0xffffffff}, make([]uint64, 5)
	for _, tt := range []struct {
		of   func([]uint64, []uint32)
		want []uint64
	}{
		{raw.Widen, []uint64{0, 1, 0x7fffffff, 0x80000000, 0xffffffff}},
		{raw.WidenSigned, []uint64{0, 1, 0x7fffffff, 0xffffffff80000000, math.MaxUint64}},
		{raw.Zigzags32, []uint64{0, 2, 0xfffffffe, 0xffffffff, 1}},
	} {
		if tt.of(dst, src); !slices.Equal(dst, tt.want) {
			t.Errorf("%x, want %x", dst, tt.want)
		}
	}
	back := []uint32{0, 2, 0xfffffffe, 0xffffffff, 1}
	if raw.Unzigzags(back); !slices.Equal(back, src) {
		t.Errorf("%x", back)
	}
}

func TestFixed(t *testing.T) {
	s64, s32 := []uint64{1, math.MaxUint64, 1 << 40}, []uint32{1, math.MaxUint32, 1 << 20}
	b := make([]byte, 24)
	raw.To64(b, s64)
	got := make([]uint64, 3)
	if raw.From64(got, b); !slices.Equal(got, s64) || b[0] != 1 || b[1] != 0 {
		t.Errorf("%x %x", b, got)
	}
	raw.To32(b, s32)
	half := make([]uint32, 3)
	if raw.From32(half, b); !slices.Equal(half, s32) || b[0] != 1 || b[4] != 0xff {
		t.Errorf("%x %x", b, half)
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		b    string
		at   int
		want raw.Fault
	}{
		{"\x08\x01", 2, raw.Fine}, {"\x08", 1, raw.Short}, {"\x80", 0, raw.Short}, {"\x00\x01", 0, raw.BadTag}, {"\x07", 0, raw.BadTag},
		{"\x0e\x01", 1, raw.BadWire}, {"\x0f", 1, raw.BadWire}, {"\x0c", 1, raw.BadGroup}, {"\x0b", 1, raw.NoEnd}, {"\x0b\x14", 1, raw.BadGroup},
		{"\x0b\x0c", 2, raw.Fine}, {"\x0b\x13\x14\x0c", 4, raw.Fine}, {"\x0b\x13\x1b\x1c\x14\x0c", 3, raw.TooDeep},
		{"\x0a\x02a", 1, raw.TooLarge}, {"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 1, raw.TooLarge},
		{"\x09\x01\x02\x03", 1, raw.Short}, {"\x0d\x01\x02\x03", 1, raw.Short},
		{"\xf8\xff\xff\xff\x0f\x01", 6, raw.Fine}, {"\x80\x80\x80\x80\x10\x01", 0, raw.BadTag},
		{"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 1, raw.LongNumber},
	} {
		at, f := raw.Check([]byte(tt.b), 2)
		if f != tt.want || at != tt.at {
			t.Errorf("%x: %q at %d, want %q at %d", tt.b, f.Why(), at, tt.want.Why(), tt.at)
		}
		if f != raw.Fine {
			var e *raw.SyntaxError
			if err := f.At(at); !errors.As(err, &e) || e.Offset != at || rpc.CodeOf(err) != rpc.InvalidArgument || e.Error() == "" {
				t.Errorf("%x: %v", tt.b, err)
			}
		}
	}
}

// TestDeepGroups gives groups within groups by the million.
func TestDeepGroups(t *testing.T) {
	if _, f := raw.Check(bytes.Repeat([]byte{0x0b}, 2_000_000), 64); f != raw.TooDeep {
		t.Error(f.Why())
	}
}

// FuzzCheck compares with the official parser of the wire format.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"", "\x08\x01", "\x0b\x13\x14\x0c", "\x0a\x03abc\x15\x01\x02\x03\x04", "\x80\x80\x01\x00", "\x09\x01\x02\x03\x04\x05\x06\x07\x08"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		end, flt := raw.Check(b, 10_000)
		if end < 0 || end > len(b) {
			t.Fatalf("%x: offset %d", b, end)
		}
		fine := true
		for rest := b; len(rest) > 0; {
			_, _, n := protowire.ConsumeField(rest)
			if n < 0 {
				fine = false
				break
			}
			rest = rest[n:]
		}
		// The official parser takes larger numbers here, which its messages then refuse.
		if fine != (flt == raw.Fine) && flt != raw.BadTag {
			t.Fatalf("%x: %q at %d, the official parser says %v", b, flt.Why(), end, fine)
		}
		n := raw.Count(b)
		got := make([]uint64, n)
		if end, f := raw.Numbers(got, b); f == raw.Fine && end != len(b) {
			t.Fatalf("%x: %d numbers end at %d", b, n, end)
		}
	})
}
