package plan_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// keeper knows nothing, and keeps it all; forgetful does not even that.
type (
	keeper    struct{ Rest thrift.Unknown }
	forgetful struct{}
)

// What goes through programs that know little, and that speak now the one and
// now the other protocol, arrives whole.
func TestUnknownPassesThroughBothProtocols(t *testing.T) {
	codecs := []rpc.Codec{thrift.Binary{}, thrift.Compact{}}
	for seed := range uint64(300) {
		r, want := thrifttest.Random(seed, 26)
		in := codecs[r.IntN(2)]
		body := thrifttest.Written(t, in, want)
		for range 1 + r.IntN(4) {
			var mid any = new(sparse)
			if r.IntN(3) == 0 {
				mid = new(keeper)
			}
			if err := in.Decode(buf.ViewOf(body), mid, nil); err != nil {
				t.Fatalf("seed %d, %T: %v", seed, in, err)
			}
			clear(body) // nothing refers to it
			in = codecs[r.IntN(2)]
			body = thrifttest.Written(t, in, mid)
		}
		got := new(thrifttest.Everything)
		if err := in.Decode(buf.ViewOf(body), got, nil); err != nil {
			t.Fatalf("seed %d, %T: %v", seed, in, err)
		}
		if !reflect.DeepEqual(got, thrifttest.Normal(t, want)) {
			t.Fatalf("seed %d:\n%s\nwant\n%s", seed, thrift.String(got), thrift.String(want))
		}
	}
}

// A struct that keeps everything holds the same bytes from either protocol, and
// writes the same bytes as one that knows everything, to each.
func TestUnknownIsOneForm(t *testing.T) {
	for seed := range uint64(200) {
		_, msg := thrifttest.Random(seed, 27)
		msg = thrifttest.Normal(t, msg)
		binary, short := new(keeper), new(keeper)
		body := thrifttest.Encode(t, msg)
		if err := thrifttest.Decode(body, binary); err != nil {
			t.Fatal(err)
		}
		if want := body[:len(body)-1]; !bytes.Equal(binary.Rest, want) {
			t.Fatalf("seed %d: Binary's bytes changed", seed)
		}
		// From bytes that are compared maps would come in another order each time.
		packed := thrifttest.Written(t, thrift.Compact{}, binary)
		if err := thrifttest.DecodeCompact(packed, short); err != nil {
			t.Fatal(err)
		}
		if again := thrifttest.Written(t, thrift.Compact{}, short); !bytes.Equal(again, packed) {
			t.Fatalf("seed %d: Compact's bytes changed", seed)
		}
		again := new(keeper)
		if err := thrifttest.Decode(thrifttest.Encode(t, short), again); err != nil || !thrift.Equal(again, short) {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func TestUnknownCompactBytes(t *testing.T) {
	for _, c := range []struct{ in, rest, out string }{
		// Bools in headers, and as elements; a step to a known id and one back.
		{"11 1801 61 35 04 02 05 00", "02 0001 01 08 0005 00000002 02 fffd 00", "28 01 61 01 02 45 04 02 05 00"},
		{"28 01 61 12 15 01 00", "02 0003 00 08 0004 ffffffff", "28 01 61 12 15 01 00"},
		{"49 21 01 02 00", "0f 0004 02 00000002 01 00", "28 00 29 21 01 02 00"},
		{"49 23 05 ff 00", "0f 0004 03 00000002 05 ff", "28 00 29 23 05 ff 00"},
		// A bool that is neither, a list that says its bools are false ones.
		{"49 22 07 01 00", "0f 0004 02 00000002 00 01", "28 00 29 21 02 01 00"},
		{"44 ffff03 16 ffffffffffffffffff01 00", "06 0004 8000 0a 0005 8000000000000000", "28 00 24 ffff03 16 ffffffffffffffffff01 00"},
		{"47 0102030405060708 00", "04 0004 0807060504030201", "28 00 27 0102030405060708 00"},
		{"4d 000102030405060708090a0b0c0d0e0f 00", "10 0004 000102030405060708090a0b0c0d0e0f", "28 00 2d 000102030405060708090a0b0c0d0e0f 00"},
		// Empty containers have no types, or ones that are not looked at.
		{"4b 00 1a 00 1c 00 19 08 00", "0d 0004 0000 00000000 0e 0005 00 00000000 0c 0006 00 0f 0007 0b 00000000", "28 00 2b 00 1a 00 1c 00 19 08 00"},
		{"4b 02 83 01 61 7f 00 01 00", "0d 0004 0b03 00000002 00000001 61 7f 00000000 01", "28 00 2b 02 83 01 61 7f 00 01 00"},
		{"4c 1c 11 00 00 00", "0c 0004 0c 0001 02 0001 01 00 00", "28 00 2c 1c 11 00 00 00"},
		// A field that is known, with another type.
		{"26 02 00", "0a 0002 0000000000000001", "28 00 06 04 02 00"},
	} {
		body := thrifttest.Unhex(t, c.in)
		m := &sparseLeaf{Rest: thrift.Unknown("before")}
		if err := thrifttest.DecodeCompact(body, m); err != nil || !bytes.Equal(m.Rest, thrifttest.Unhex(t, c.rest)) {
			t.Errorf("%s: %x, %v", c.in, m.Rest, err)
		}
		if got := thrifttest.Written(t, thrift.Compact{}, m); !bytes.Equal(got, thrifttest.Unhex(t, c.out)) {
			t.Errorf("%s: %x", c.in, got)
		}
		for i := range body {
			var syntax *thrift.SyntaxError
			if err := thrifttest.DecodeCompact(body[:i], new(sparseLeaf)); !errors.As(err, &syntax) || syntax.Offset > i {
				t.Errorf("%s: prefix of %d: %v", c.in, i, err)
			}
		}
	}
	// Many, and long ones: over the ends of blocks.
	m := &keeper{}
	for range 3000 {
		m.Rest = append(m.Rest, thrifttest.Unhex(t, "0f 0004 0a 00000003 0000000000000001 ffffffffffffffff 7fffffffffffffff")...)
	}
	m.Rest = append(append(m.Rest, thrifttest.Unhex(t, "0b 0005 00020000")...), make([]byte, 0x20000)...)
	got := new(keeper)
	if err := thrifttest.DecodeCompact(thrifttest.Written(t, thrift.Compact{}, m), got); err != nil || !bytes.Equal(got.Rest, m.Rest) {
		t.Errorf("%d bytes became %d: %v", len(m.Rest), len(got.Rest), err)
	}
}

func TestUnknownCompactLimits(t *testing.T) {
	var syntax *thrift.SyntaxError
	many := bytes.Repeat([]byte{0x06, 0x02, 0x02}, 1<<16) // i64: three bytes become eleven
	many = append(many, 0)
	tight := rpc.Limits{DecodeFactor: 1}.WithDefaults()
	if err := (thrift.Compact{}).Decode(buf.ViewOf(many), new(keeper), tight); !errors.As(err, &syntax) || syntax.Why != "takes more memory than its size allows" {
		t.Errorf("over the budget: %v", err)
	}
	for name, worst := range map[string][]byte{
		"numbers": append([]byte{0x19, 0xf6, 0x80, 0x80, 0x10}, make([]byte, 1<<18+1)...),
		"maps":    append([]byte{0x19, 0xfb, 0x80, 0x80, 0x10}, make([]byte, 1<<18+1)...),
	} {
		m := new(keeper)
		if err := thrifttest.DecodeCompact(worst, m); err != nil {
			t.Errorf("%s, which become eight times as long: %v", name, err)
		}
		if err := (thrift.Compact{}).Decode(buf.ViewOf(worst), new(keeper), tight); !errors.As(err, &syntax) || syntax.Why != "takes more memory than its size allows" {
			t.Errorf("%s, over the budget: %v", name, err)
		}
	}
	deep := func(n int) []byte {
		return append(append([]byte{0x1c}, bytes.Repeat([]byte{0x1c}, n-1)...), bytes.Repeat([]byte{0}, n+1)...)
	}
	for n, ok := range map[int]bool{63: true, 64: false} {
		m := new(keeper)
		if err := thrifttest.DecodeCompact(deep(n), m); (err == nil) != ok {
			t.Errorf("%d levels: %v", n, err)
		}
		m.Rest = append(bytes.Repeat([]byte{12, 0, 1}, n), make([]byte, n)...)
		var out buf.Out
		if err := (thrift.Compact{}).Append(&out, m); (err == nil) != ok {
			t.Errorf("%d levels are encoded: %v", n, err)
		}
		out.Reset()
	}
	for _, bad := range []string{"x", "\x02\x00", "\x02\x00\x01", "\x00", "\x01\x00\x01\x00", "\x0b\x00\x01\x7f\xff\xff\xff", "\x0f\x00\x01\x02\xff\xff\xff\xff"} {
		var out buf.Out
		var typ *thrift.TypeError
		if err := (thrift.Compact{}).Append(&out, &keeper{thrift.Unknown(bad)}); !errors.As(err, &typ) {
			t.Errorf("%q: %v", bad, err)
		}
		out.Reset()
	}
}

// JSON neither fills nor writes it, and leaves nothing of an earlier message.
func TestUnknownIsNotForJSON(t *testing.T) {
	m := &sparseLeaf{Rest: thrifttest.Unhex(t, "02 0063 01")}
	if got := thrifttest.Written(t, thrift.JSON{}, m); string(got) != `{"2":{"str":""}}` {
		t.Errorf("%s", got)
	}
	if err := (thrift.JSON{}).Decode(buf.ViewOf([]byte(`{"99":{"tf":1},"2":{"str":"a"}}`)), m, nil); err != nil || m.Name != "a" || m.Rest != nil {
		t.Errorf("%v, %v", m, err)
	}
}

// FuzzUnknownCompact: a struct that keeps is no more and no less strict than one
// that passes over, and what it kept says the same as before in both protocols.
func FuzzUnknownCompact(f *testing.F) {
	for seed := range uint64(20) {
		r := &thrifttest.Filler{Rand: rand.New(rand.NewPCG(seed, 28)), Depth: 5}
		msg := new(thrifttest.Everything)
		r.Fill(reflect.ValueOf(msg).Elem(), true, false)
		f.Add(thrifttest.Written(f, thrift.Compact{}, msg))
	}
	f.Add(thrifttest.Unhex(f, "4b 02 83 01 61 7f 00 01 49 22 07 01 28 01 61 00"))
	f.Fuzz(func(t *testing.T, body []byte) {
		lim := rpc.Limits{DecodeFactor: 64}.WithDefaults()
		over, all := new(keeper), new(thrifttest.Everything)
		want, got := (thrift.Compact{}).Decode(buf.ViewOf(body), new(forgetful), lim), (thrift.Compact{}).Decode(buf.ViewOf(body), over, lim)
		if want == nil != (got == nil) || want != nil && problem(want) != problem(got) {
			t.Fatalf("kept: %v; passed over: %v", got, want)
		}
		if got != nil || (thrift.Compact{}).Decode(buf.ViewOf(body), all, lim) != nil {
			return
		}
		mid := new(sparse)
		if err := (thrift.Compact{}).Decode(buf.ViewOf(body), mid, lim); err != nil {
			t.Fatal(err)
		}
		lim = rpc.Limits{DecodeFactor: 256, Depth: 65}.WithDefaults()
		for _, m := range []any{over, mid} {
			for _, c := range []rpc.Codec{thrift.Binary{}, thrift.Compact{}} {
				passed := new(thrifttest.Everything)
				if err := c.Decode(buf.ViewOf(thrifttest.Written(t, c, m)), passed, lim); err != nil || !thrift.Equal(all, passed) {
					t.Fatalf("%T through %T: %v\n%s\n%s", m, c, err, thrift.String(all), thrift.String(passed))
				}
			}
		}
	})
}

// problem is what is wrong, and where, without the name of the type.
func problem(err error) thrift.SyntaxError {
	s, _ := errors.AsType[*thrift.SyntaxError](err)
	return thrift.SyntaxError{Offset: s.Offset, Why: s.Why}
}
