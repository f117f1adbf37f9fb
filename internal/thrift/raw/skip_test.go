package raw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// everything has a field of each type, and containers of fixed and variable
// elements.
const everything = `
	02 0001 01  03 0002 7f  06 0003 0102  08 0004 01020304  0a 0005 0102030405060708  04 0006 3ff0000000000000
	0b 0007 00000003 616263  10 0008 00112233445566778899aabbccddeeff
	0c 0009 0b 0001 00000000 00
	0f 000a 08 00000002 00000001 00000002
	0f 000b 0c 00000002 00 08 0001 00000001 00
	0e 000c 0b 00000002 00000001 61 00000001 62
	0d 000d 0b 08 00000001 00000001 61 00000001
	0d 000e 08 02 00000002 00000001 01 00000002 00
	0d 000f 00 00 00000000
	0f 0010 0f 00000001 0f 00000002 02 00000001 01 02 00000000
	00`

// dribble feeds p to s in pieces and gives Feed's last result. It fails the
// test unless every piece but the last asks for more, and for no more than there is.
func dribble(t *testing.T, s *Skipper, p []byte, piece func() int) (n int, err error) {
	t.Helper()
	for have := 0; ; {
		done, n, err := s.Feed(p[:have:have])
		if done || err != nil {
			return n, err
		}
		if n <= have {
			t.Fatalf("Feed wants %d bytes and has %d", n, have)
		}
		if have == len(p) {
			return n, ErrShort
		}
		have = min(have+piece(), len(p))
	}
}

func TestSkipEveryPrefix(t *testing.T) {
	p := unhex(t, everything)
	if n, err := SkipStruct(append(p, 1, 2, 3), 64); n != len(p) || err != nil {
		t.Fatalf("whole: %d, %v; want %d", n, err, len(p))
	}
	var s Skipper
	for i := range p {
		if n, err := SkipStruct(p[:i:i], 64); err != ErrShort || n <= i || n > len(p) {
			t.Errorf("prefix of %d: %d, %v", i, n, err)
		}
	}
	for size := 1; size < 9; size++ {
		n, err := dribble(t, &s, p, func() int { return size })
		if n != len(p) || err != nil {
			t.Errorf("pieces of %d: %d, %v", size, n, err)
		}
	}
}

// TestSkipperTellsHowMuchIsMissing: the least that can still make a struct.
func TestSkipperTellsHowMuchIsMissing(t *testing.T) {
	for _, tt := range []struct {
		in   string
		need int
	}{
		{"", 1},
		{"0b", 7},
		{"0b 0001", 7},
		{"0b 0001 00", 7},
		{"0b 0001 00000064", 108},
		{"0a 0001", 12},
		{"0f 0001 0a", 8},
		{"0f 0001 0a 00000064", 809},
		{"0f 0001 0b 00000064", 408},
		{"0d 0001 0b 08 00000064", 809},
		{"0c 0001", 4}, // at least the inner stop
		{"0c 0001 00", 5},
	} {
		s := Skipper{}
		p := unhex(t, tt.in)
		if done, n, err := s.Feed(p); done || n != tt.need || err != nil {
			t.Errorf("%q: %v, %d, %v; want %d", tt.in, done, n, err, tt.need)
		}
	}
}

func TestSkipRefuses(t *testing.T) {
	deep := "0c0001"
	for _, tt := range []struct{ in, why string }{
		{"07 0001", "unknown wire type"},
		{"01 0001", "unknown wire type"},
		{"0f 0001 07 00000001", "unknown wire type"},
		{"0d 0001 08 00 00000001", "unknown wire type"},
		{"0d 0001 00 0c 00000001 00 00 00", "unknown wire type"},
		{"0d 0001 07 0c 00000001 00 00 00", "unknown wire type"},
		{"0b 0001 ffffffff", "negative size"},
		{"0f 0001 0a 80000000", "negative size"},
		{"0d 0001 0a 0a ffffffff", "negative size"},
		{strings.Repeat(deep, 64) + "00", "nested too deeply"},
		{"0f0001" + strings.Repeat("0f00000001", 64) + "00", "nested too deeply"},
		{"0f0001" + strings.Repeat("0f00000001", 62) + "0200000000", ""}, // not too deep, and incomplete
	} {
		p := unhex(t, tt.in)
		_, err := SkipStruct(p, 64)
		_, err2 := dribble(t, new(Skipper), p, func() int { return 1 })
		for _, err := range []error{err, err2} {
			var syntax *SyntaxError
			switch {
			case tt.why == "" && err != ErrShort:
				t.Errorf("%.40s: %v; want ErrShort", tt.in, err)
			case tt.why != "" && (!errors.As(err, &syntax) || syntax.Why != tt.why || rpc.CodeOf(err) != rpc.InvalidArgument):
				t.Errorf("%.40s: %v; want %q", tt.in, err, tt.why)
			}
		}
	}
}

func TestSkipLimitsCostNothing(t *testing.T) {
	deep := bytes.Repeat([]byte{12, 0, 1}, 2_000_000)
	huge := unhex(t, "0b 0001 7fffffff")
	many := unhex(t, "0f 0001 0c 7fffffff")
	for name, p := range map[string][]byte{"deep": deep, "huge": huge, "many": many} {
		var s Skipper
		s.Feed(nil)
		allocs := testing.AllocsPerRun(10, func() {
			if _, err := SkipStruct(p, 64); err == nil {
				t.Fatal("taken")
			}
		})
		start := time.Now()
		done, n, err := s.Feed(p)
		if took := time.Since(start); took > 50*time.Millisecond {
			t.Errorf("%s took %v", name, took)
		}
		if done || err == nil && n < 1<<30 {
			t.Errorf("%s: done %v, need %d, %v", name, done, n, err)
		}
		if allocs > 1 { // the error
			t.Errorf("%s: %v allocations", name, allocs)
		}
	}
}

// TestSkipperIsLinear counts work, not time: no byte but those of an unfinished
// header may be read twice, so that overwriting what was passed changes nothing.
func TestSkipperIsLinear(t *testing.T) {
	p := unhex(t, everything)
	p = p[:len(p)-1]
	var long []byte
	for range 200 {
		long = append(long, p...)
	}
	long = append(long, 0)
	work := bytes.Clone(long)
	var s Skipper
	for have := 0; ; have = min(have+13, len(long)) {
		done, n, err := s.Feed(work[:have])
		if err != nil {
			t.Fatal(err)
		}
		if done {
			if n != len(long) {
				t.Fatalf("%d; want %d", n, len(long))
			}
			break
		}
		for i := range min(s.at, have) {
			work[i] = 0xcc
		}
		if have-s.at > 9 {
			t.Fatalf("%d bytes would be read again", have-s.at)
		}
	}
}

func TestSkipperDoesNotAllocate(t *testing.T) {
	p := unhex(t, everything)
	s := Skipper{}
	s.Feed(p)
	if n := testing.AllocsPerRun(100, func() { s.Feed(p[:20]); s.Feed(p) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzSkip(f *testing.F) {
	f.Add(unhex(f, everything), uint64(1))
	f.Add(unhex(f, "0d 0001 0c 0c 00000001 0000 00"), uint64(2))
	f.Add([]byte("\r00\x00\f\x00\x00\x00\x01\x00\x00"), uint64(145))
	f.Add([]byte("\r00\f\f000000"), uint64(29))
	f.Add(binary.BigEndian.AppendUint32([]byte{15, 0, 1, 12}, 1<<31-1), uint64(3))
	f.Fuzz(func(t *testing.T, p []byte, seed uint64) {
		const depth = 8
		n, err := SkipStruct(p, depth)
		r := rand.New(rand.NewPCG(seed, 1))
		m, err2 := dribble(t, &Skipper{MaxDepth: depth}, p, func() int { return 1 + r.IntN(20) })
		// In one piece an element count that the rest cannot hold ends the
		// search; in pieces garbage is found in the first elements.
		if (err == nil) != (err2 == nil) || err2 == ErrShort && err != ErrShort || err == nil && n != m {
			t.Fatalf("whole: %d, %v; in pieces: %d, %v", n, err, m, err2)
		}
		if err == nil && n > len(p) {
			t.Fatalf("%d of %d", n, len(p))
		}
	})
}

func BenchmarkSkip(b *testing.B) {
	p := unhex(b, everything)
	b.SetBytes(int64(len(p)))
	for b.Loop() {
		if _, err := SkipStruct(p, 64); err != nil {
			b.Fatal(err)
		}
	}
}
