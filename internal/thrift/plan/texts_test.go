package plan_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

type texts struct {
	A string             `thrift:"a,1"`
	B []string           `thrift:"b,2"`
	C map[string]string  `thrift:"c,3"`
	D thrift.Set[string] `thrift:"d,4"`
	E *string            `thrift:"e,5,optional"`
	F []byte             `thrift:"f,6"`
}

// text gives n bytes that differ with n and with their place.
func text(n, seed int) string {
	p := make([]byte, n)
	for i := range p {
		p[i] = byte('!' + (i*7+n*3+seed)%90)
	}
	return string(p)
}

// TestTextsOfEveryLength has strings in each place where one can be, of all lengths around
// those where it is copied in another way, with as much behind it as there can be of
// nothing: 32 bytes are read at once where so many are left.
func TestTextsOfEveryLength(t *testing.T) {
	for _, c := range []rpc.Codec{thrift.Binary{}, thrift.Compact{}} {
		for n := range 140 {
			for _, behind := range []int{0, 1, 30, 31, 32, 33, 600} {
				want := &texts{A: text(n, 1), B: []string{text(n, 2), "", text(n, 3)}, C: map[string]string{text(n, 4): text(n, 5), text(n+1, 6): ""},
					D: thrift.Set[string]{text(n, 7)}, E: new(text(n, 8)), F: []byte(text(behind, 9))}
				var out buf.Out
				if err := c.Append(&out, want); err != nil {
					t.Fatal(err)
				}
				body := bytes.Clone(out.Bytes())
				got := new(texts)
				if err := c.Decode(buf.ViewOf(body[:len(body):len(body)]), got, nil); err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("%T, %d bytes and %d behind: %v\n%+v\n%+v", c, n, behind, err, got, want)
				}
				clear(body) // nothing refers to it
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("%T, %d bytes: a string changed with the message", c, n)
				}
				out.Reset()
			}
		}
	}
}

// A length that is more than is left is found out whatever the length, and so is every
// other end that comes too early.
func TestTextsThatAreCutOff(t *testing.T) {
	for _, c := range []rpc.Codec{thrift.Binary{}, thrift.Compact{}} {
		for _, n := range []int{0, 1, 31, 32, 33, 127, 128, 300} {
			for name, msg := range map[string]*texts{
				"a field": {A: text(n, 1)}, "a list": {B: []string{"x", text(n, 1)}}, "a map": {C: map[string]string{"key": text(n, 1)}}, "an optional": {E: new(text(n, 1))},
			} {
				var out buf.Out
				if err := c.Append(&out, msg); err != nil {
					t.Fatal(err)
				}
				body := out.Bytes()
				for i := range body {
					if err := c.Decode(buf.ViewOf(body[:i:i]), new(texts), nil); rpc.CodeOf(err) != rpc.InvalidArgument {
						t.Errorf("%T, %s with %d bytes, the first %d of %d: %v", c, name, n, i, len(body), err)
					}
				}
				out.Reset()
			}
		}
	}
}

// TestTextsCrossBlocks has so many entries that they fill blocks, of sizes that end at each
// place of one, and strings that are sent by reference among them.
func TestTextsCrossBlocks(t *testing.T) {
	for _, c := range []rpc.Codec{thrift.Binary{}, thrift.Compact{}} {
		for _, n := range []int{5, 61, 127, 128, 1000, 5000} {
			want := &texts{C: map[string]string{}}
			for i := range 400 {
				s := fmt.Sprintf("%d %s", i, text((n*i)%(n+7), i))
				want.B, want.C[s] = append(want.B, s), strings.ToUpper(s)
			}
			want.B = append(want.B, strings.Repeat("r", buf.RefMin))
			want.C[strings.Repeat("k", buf.RefMin)] = strings.Repeat("v", buf.RefMin+n)
			var out buf.Out
			if err := c.Append(&out, want); err != nil {
				t.Fatal(err)
			}
			got := new(texts)
			if err := c.Decode(buf.ViewOf(out.Bytes()), got, nil); err != nil || !thrift.Equal(got, want) {
				t.Errorf("%T, about %d bytes: %v", c, n, err)
			}
			out.Reset()
		}
	}
}

// A key that comes twice has the value that comes last, in batches of entries too.
func TestLastEntryOfAKeyCounts(t *testing.T) {
	for _, n := range []int{2, 8, 9, 16, 17, 40} {
		binaryBody := binary.BigEndian.AppendUint32([]byte{13, 0, 3, 11, 11}, uint32(n))
		compactBody := append(binary.AppendUvarint([]byte{0x3b}, uint64(n)), 0x88)
		for i := range n {
			value := fmt.Sprint(i)
			binaryBody = append(binary.BigEndian.AppendUint32(append(binaryBody, 0, 0, 0, 1, 'k'), uint32(len(value))), value...)
			compactBody = append(append(compactBody, 1, 'k', byte(len(value))), value...)
		}
		for c, body := range map[rpc.Codec][]byte{thrift.Binary{}: binaryBody, thrift.Compact{}: compactBody} {
			got := new(texts)
			if err := c.Decode(buf.ViewOf(append(body, 0)), got, nil); err != nil || len(got.C) != 1 || got.C["k"] != fmt.Sprint(n-1) {
				t.Errorf("%T: %v, %v", c, got.C, err)
			}
		}
	}
}

// TestCheckerTakesWhatTheDecoderTakes spoils messages by a byte or two and asks both, with
// memory enough for anything.
func TestCheckerTakesWhatTheDecoderTakes(t *testing.T) {
	pl, _, err := plan.Of(new(thrifttest.Everything))
	if err != nil {
		t.Fatal(err)
	}
	taken := 0
	for seed := range uint64(4000) {
		_, m := thrifttest.Random(seed, 77)
		r := rand.New(rand.NewPCG(seed, 78))
		body := thrifttest.Encode(t, m)
		for range r.IntN(3) {
			body[r.IntN(len(body))] ^= byte(1 << r.IntN(8))
		}
		if r.IntN(4) == 0 {
			body = body[:r.IntN(len(body)+1)]
		}
		c := plan.Checker{B: body}
		at := make([]uint32, len(pl.Fields))
		end, flt := c.Fields(pl, 0, 64, at)
		d := plan.Decoder{B: body, Budget: codec.Unlimited}
		got := new(thrifttest.Everything)
		_, p, _ := plan.Of(got)
		endD, fltD := d.Fields(pl, p, 0, 64)
		if (flt == raw.Fine) != (fltD == raw.Fine) || flt == raw.Fine && end != endD {
			t.Fatalf("seed %d: the checker says %s at %d, the decoder %s at %d of %x", seed, flt.Why(), end, fltD.Why(), endD, body)
		}
		if flt != raw.Fine {
			continue
		}
		taken++
		for i, o := range at { // where it says that a field is, there is one
			if o != 0 && binary.BigEndian.Uint32(body[o-3:])>>8 != pl.Fields[i].Tag && int(o) < len(body) {
				t.Fatalf("seed %d: field %d is not at %d of %x", seed, i, o, body)
			}
		}
	}
	if taken < 1000 {
		t.Errorf("only %d messages were right", taken)
	}
}
