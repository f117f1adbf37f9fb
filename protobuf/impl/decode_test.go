package impl

import (
	"bytes"
	"testing"
	"unsafe"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// varints are numbers of every length, some longer than they need to be, and some that are none.
func varints() (all [][]byte) {
	for bit := range 64 {
		for _, v := range []uint64{1 << bit, 1<<bit - 1, ^uint64(0) >> bit} {
			all = append(all, protowire.AppendVarint(nil, v))
		}
	}
	for n := 1; n <= 11; n++ {
		for _, last := range []byte{0, 1, 2, 0x7f} {
			all = append(all, append(bytes.Repeat([]byte{0x80}, n-1), last), append(bytes.Repeat([]byte{0xff}, n-1), last))
		}
	}
	return all
}

// TestNumberAndLength read what package protowire reads, at the end of a message and before it, and
// refuse what that refuses.
func TestNumberAndLength(t *testing.T) {
	for _, number := range varints() {
		for _, more := range []int{0, 1, 9, 10, 200, 20_000} {
			b := append(append([]byte{7}, number...), make([]byte, more)...)
			want, n := protowire.ConsumeVarint(b[1:])
			if v, end := Number(b, 1); n < 0 != (end < 0) || n > 0 && (v != want || end != 1+n) {
				t.Errorf("%x: %d, %d; want %d, %d", number, v, end, want, n)
			}
			_, n = protowire.ConsumeBytes(b[1:])
			if begin, end := Length(b, 1); n < 0 != (end < 0) || n > 0 && (end != 1+n || begin != 1+len(number)) {
				t.Errorf("%x and %d: from %d to %d, want %d", number, more, begin, end, n)
			}
		}
		for i := range number { // cut off
			if _, end := Number(number[:i], 0); end >= 0 {
				t.Errorf("%x of %x is a number", number[:i], number)
			}
		}
	}
}

// begun is a Decoder at the begin of b, which may take budget bytes of memory.
func begun(t *testing.T, b []byte, budget int) *Decoder {
	t.Helper()
	d := new(Decoder)
	// Safety: b is read only while d is used.
	d.Begin(Input{B: unsafe.String(unsafe.SliceData(b), len(b)), Frame: codec.NewFrame(buf.ViewOf(b)), Budget: codec.Budget(budget)}, 10)
	return d
}

// TestTextAndBytes read strings and bytes of every length around those at which the way of reading
// changes, before the end of the message and far from it, and refuse each that is cut off.
func TestTextAndBytes(t *testing.T) {
	for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 1000, 20_000} {
		for _, after := range []int{0, 1, 20, 100} {
			for _, fill := range []string{"x", "é", "\xff"} {
				text := bytes.Repeat([]byte(fill), n/len(fill)+1)[:n/len(fill)*len(fill)]
				b := append(protowire.AppendBytes([]byte{7}, text), make([]byte, after)...)
				end := len(b) - after
				fine := fill != "\xff" || len(text) == 0
				var s, loose string
				var p []byte
				d := begun(t, b, 1<<20)
				if got := d.Text(&s, b, 1); fine && (got != end || s != string(text)) || !fine && got >= 0 {
					t.Fatalf("%d of %q and %d: text to %d, %q", n, fill, after, got, s)
				}
				if got := d.AnyText(&loose, b, 1); got != end || loose != string(text) {
					t.Fatalf("%d of %q and %d: any text to %d", n, fill, after, got)
				}
				if got := d.Bytes(&p, b, 1); got != end || !bytes.Equal(p, text) {
					t.Fatalf("%d of %q and %d: bytes to %d", n, fill, after, got)
				}
				clear(b) // nothing refers to it
				if fine && s != string(text) || loose != string(text) || !bytes.Equal(p, text) {
					t.Fatalf("%d of %q: changed with the message", n, fill)
				}
			}
		}
		whole := protowire.AppendString(nil, string(bytes.Repeat([]byte("y"), n)))
		for _, cut := range []int{1, n/2 + 1, n} {
			if b := whole[:max(1, len(whole)-cut)]; len(b) < len(whole) {
				var s string
				var p []byte
				d := begun(t, b, 1<<20)
				if d.Text(&s, b, 0) >= 0 || d.AnyText(&s, b, 0) >= 0 || d.Bytes(&p, b, 0) >= 0 {
					t.Errorf("%d bytes cut to %d are taken", n, len(b))
				}
			}
		}
	}
}

// TestBudget pays for what is made, an eighth and 16 bytes more, and gives nil where that is too much; what was refused is not paid.
func TestBudget(t *testing.T) {
	type large struct{ _ [1000]byte }
	d := begun(t, nil, 2500)
	for i := range 3 {
		if paid := New[large](d) != nil; paid != (i < 2) {
			t.Errorf("of 2,500 bytes two of a thousand are paid; the one behind %d: %v", i, paid)
		}
	}
	if New[[150]byte](d) == nil {
		t.Error("what was refused was paid for")
	}
	var p []byte
	b := protowire.AppendBytes(nil, make([]byte, 200))
	if d.Bytes(&p, b, 0) >= 0 || p != nil {
		t.Error("200 bytes are paid by 34")
	}
	if b = protowire.AppendBytes(nil, make([]byte, 10)); d.Bytes(&p, b, 0) != len(b) {
		t.Error("10 bytes are not paid by 34")
	}
}

// TestSlab gives messages that are apart, several from one allocation, as far as the budget goes.
func TestSlab(t *testing.T) {
	type small struct{ a, _ uint64 }
	per := shape.SlabOf(16)
	d := begun(t, nil, 1<<20)
	var s Slab[small]
	seen := map[*small]bool{}
	for left := 3*per + 1; left > 0; left-- {
		x := s.Next(d, left)
		if x == nil || seen[x] || *x != (small{}) {
			t.Fatalf("message %d: %v", left, x)
		}
		seen[x], x.a = true, 1
	}
	if n := testing.AllocsPerRun(10, func() {
		var s Slab[small]
		for left := per; left > 0; left-- {
			s.Next(d, left)
		}
	}); n > 1 {
		t.Errorf("a slab of %d takes %v allocations", per, n)
	}
	d = begun(t, nil, 60)
	var few Slab[small]
	if few.Next(d, 2) == nil || few.Next(d, 1) == nil || few.Next(d, 1) != nil {
		t.Error("two of 16 bytes are paid by 60, and no third one")
	}
}
