package impl

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
)

// A sheet is memory that a pen writes into, with bytes around it that stay what they are.
type sheet struct{ mem []byte }

const margin = 64

func newSheet(n int) sheet { return sheet{bytes.Repeat([]byte{0xa5}, margin+n+margin)} }

// begin gives the block, which has room for n bytes, and some bytes in it.
func (s sheet) begin() []byte {
	return append(s.mem[margin:margin:len(s.mem)-margin], "begun"...)
}

// checked compares what was written with what should be, and looks at the margins.
func (s sheet) checked(t *testing.T, what string, got, want []byte) {
	t.Helper()
	if !bytes.Equal(got, append([]byte("begun"), want...)) {
		t.Fatalf("%s: %x, not %x", what, got, want)
	}
	for i := range margin {
		if s.mem[i] != 0xa5 || s.mem[len(s.mem)-1-i] != 0xa5 {
			t.Fatalf("%s: wrote outside of its room", what)
		}
	}
}

// TestPenNumbers writes numbers of every length, the room being what the generator reckons: ten bytes and slack.
func TestPenNumbers(t *testing.T) {
	for bit := range 64 {
		for _, v := range []uint64{1<<bit - 1, 1 << bit, 1<<bit + 1, ^uint64(0) >> bit} {
			s := newSheet(len("begun") + 11 + slack)
			b := s.begin()
			s.checked(t, fmt.Sprint(v), End(b).Number(0x78, v).Upto(b), binary.AppendUvarint([]byte{0x78}, v))
			s = newSheet(len("begun") + 12 + slack)
			b = s.begin()
			s.checked(t, fmt.Sprint("two bytes of tag, ", v), End(b).Byte(0xf8).Number(0x7f, v).Upto(b), binary.AppendUvarint([]byte{0xf8, 0x7f}, v))
		}
	}
	s := newSheet(len("begun") + 16)
	b := s.begin()
	w := End(b).Fixed32(5, 0x01020304).Fixed64(9, 0x0102030405060708).Bool(16, 1)
	s.checked(t, "fixed", w.Upto(b), []byte{5, 4, 3, 2, 1, 9, 8, 7, 6, 5, 4, 3, 2, 1, 16, 1})
}

// TestPenTexts writes strings of all lengths up to some vectors, with one character of two bytes, or with a byte that
// is none, at each place.
func TestPenTexts(t *testing.T) {
	for n := range 300 {
		plain := strings.Repeat("0123456789abcdefghijklmnop", 12)[:n]
		list := []string{plain}
		for i := 0; i < n; i += 1 + n/40 {
			list = append(list, plain[:i]+"\xff"+plain[i+1:])
			if i+2 <= n {
				list = append(list, plain[:i]+"é"+plain[i+2:])
			}
		}
		for _, text := range list {
			want := append(raw.Append([]byte{0x12}, uint64(n)), text...)
			var e Encoder
			s := newSheet(len("begun") + len(want))
			b := s.begin()
			s.checked(t, fmt.Sprintf("%q", text), e.Text(End(b), 0x12, text).Upto(b), want)
			if e.bad == utf8.ValidString(text) {
				t.Fatalf("%q: bad is %v", text, e.bad)
			}
			s = newSheet(len("begun") + len(want))
			b = s.begin()
			s.checked(t, fmt.Sprintf("any %q", text), End(b).AnyText(0x12, text).Upto(b), want)
			s = newSheet(len("begun") + len(want))
			b = s.begin()
			s.checked(t, fmt.Sprintf("bytes %q", text), End(b).Bytes(0x12, []byte(text)).Upto(b), want)
		}
	}
	long := strings.Repeat("z", Whole-slack)
	want := append(raw.Append([]byte{0x12}, uint64(len(long))), long...)
	var e Encoder
	s := newSheet(len("begun") + len(want))
	b := s.begin()
	s.checked(t, "the longest", e.Text(End(b), 0x12, long).Upto(b), want)
}

// TestPenFew writes lists of as many numbers as have a length of one byte, each of any length, into no more room than
// is looked for.
func TestPenFew(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 1; n <= few; n++ {
		for k := range 100 {
			list, want := make([]uint64, n), []byte(nil)
			for i := range list {
				if list[i] = r.Uint64() >> r.UintN(64); k == 0 {
					list[i] = ^uint64(0)
				}
				want = binary.AppendUvarint(want, list[i])
			}
			s := newSheet(len("begun") + fewRoom)
			b := s.begin()
			if !Few(b, list) || Few(b[:len(b)+1], list) {
				t.Fatalf("%d numbers are not few where there is room for them, or are where there is none", n)
			}
			s.checked(t, fmt.Sprint(list), Int64s(b, 0x1a, list), append([]byte{0x1a, byte(len(want))}, want...))
		}
	}
	s := newSheet(len("begun") + fewRoom)
	b := s.begin()
	if s.checked(t, "none", Int64s(b, 0x1a, []int64(nil)), nil); Few(b, make([]int64, few+1)) {
		t.Fatalf("%d numbers are few", few+1)
	}
}

// TestFewNumbersWrong decodes short lists that are cut off, or have a number of too many bits: the plan does them again,
// and finds its budget as it was.
func TestFewNumbersWrong(t *testing.T) {
	nine := bytes.Repeat([]byte{0x80}, 9)
	for _, c := range []struct {
		what string
		list []byte
		want []uint64
	}{
		{"nothing", nil, nil},
		{"one", []byte{7}, []uint64{7}},
		{"the largest", append(bytes.Repeat([]byte{0xff}, 9), 1), []uint64{1<<64 - 1}},
		{"65 bits", append(nine[:9:9], 2), nil},
		{"eleven bytes", append(nine[:9:9], 0x80, 0), nil},
		{"longer than need be", []byte{0x80, 0x80, 0, 1}, []uint64{0, 1}},
		{"cut off", []byte{1, 2, 0x80}, nil},
		{"no end", bytes.Repeat([]byte{0xff}, 100), nil},
	} {
		var d Decoder
		d.core.Budget = 1 << 20
		var got []uint64
		b := append([]byte{0xaa, 0xbb}, c.list...)
		end := d.fewNumbers(&got, b, 2)
		if c.want == nil && (end != -1 || got != nil || d.core.Budget != 1<<20) {
			t.Errorf("%s: %d, %d, %d left", c.what, end, got, d.core.Budget)
		}
		if c.want != nil && (end != len(b) || fmt.Sprint(got) != fmt.Sprint(c.want)) {
			t.Errorf("%s: %d, %d", c.what, end, got)
		}
	}
}
