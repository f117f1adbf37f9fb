package raw

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCompactSkipRefuses holds all three that find the end of a struct in the Compact
// protocol against what is wrong in it; the offset is where it is.
func TestCompactSkipRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		bytes string
		at    int
		why   string
	}{
		"an unknown kind":              {"1e", 0, "unknown wire type"},
		"one behind a field":           {"1302 1f", 2, "unknown wire type"},
		"a list of an unknown kind":    {"19 1e", 1, "unknown wire type"},
		"a list of stops":              {"19 10", 1, "unknown wire type"},
		"a long list of stops":         {"19 f0 02", 1, "unknown wire type"},
		"a map of an unknown key":      {"1b 01 e3", 2, "unknown wire type"},
		"a map of stops":               {"1b 01 30", 2, "unknown wire type"},
		"a negative string":            {"18 ffffffff0f", 1, "negative size"},
		"a negative list":              {"19 f3 ffffffff0f", 2, "negative size"},
		"a negative map":               {"1b ffffffff0f", 1, "negative size"},
		"a number of eleven bytes":     {"16 8080808080808080808000", 1, "number of more than ten bytes"},
		"an id of eleven bytes":        {"06 8080808080808080808000 00", 1, "number of more than ten bytes"},
		"a list of more than can be":   {"19 fd ffffffff07", 7, "size beyond the end"},
		"a map of more than can be":    {"1b ffffffff07 dd", 7, "size beyond the end"},
		"a list in it has a bad kind":  {"19 19 1e", 2, "unknown wire type"},
		"a struct in it has one":       {"1c 1e", 1, "unknown wire type"},
		"a map's value has one":        {"1b 01 39 07 1e", 4, "unknown wire type"},
		"in the second of two structs": {"19 2c 00 1e", 3, "unknown wire type"},
	} {
		p := unhex(t, tt.bytes)
		var syntax *SyntaxError
		if _, err := (Compact{}).SkipStruct(p, 64); !errors.As(err, &syntax) || syntax.Offset != tt.at || syntax.Why != tt.why {
			t.Errorf("%s: skip says %v; want %s at %d", name, err, tt.why, tt.at)
		}
		tr := Transcoder{P: p, Max: 1 << 30}
		if end, f := tr.Value(0, CompactStruct, 64); f.Why() != tt.why || end != tt.at {
			t.Errorf("%s: rewriting says %s at %d; want %s at %d", name, f.Why(), end, tt.why, tt.at)
		}
		s := Skipper{Compact: true}
		if _, err := dribble(t, &s, p, func() int { return 1 }); !errors.As(err, &syntax) || syntax.Why != tt.why {
			t.Errorf("%s: the skipper says %v; want %s", name, err, tt.why)
		}
	}
}

// What is odd and allowed, as Apache's libraries do: it ends where it ends.
func TestCompactSkipTakes(t *testing.T) {
	for name, in := range map[string]string{
		"a stop with an id":          "f0",
		"an empty list of stops":     "19 00 00",
		"an empty list, long form":   "19 f3 00 00",
		"a short list, long form":    "19 f3 01 07 00",
		"an empty map":               "1b 00 00",
		"bools in a list":            "19 31 01 02 07 00",
		"a list of the other bool":   "19 22 01 02 00",
		"a number in ten bytes":      "16 80808080808080808000 00",
		"an id that is written out":  "06 02 07 00",
		"a negative id":              "06 03 07 00",
		"two fields of one id":       "1307 0302 07 00",
		"a field that is a bool":     "11 12 00",
		"a map of structs":           "1b 01 cc 00 00 00",
		"a UUID":                     "1d 000102030405060708090a0b0c0d0e0f 00",
		"lists in a map of lists":    "1b 01 99 13 07 29 13 07 03 00",
		"an empty struct in a union": "1c 00 00",
	} {
		p := unhex(t, in)
		if n, err := (Compact{}).SkipStruct(append(p, 0xee, 0xee), 64); n != len(p) || err != nil {
			t.Errorf("%s: %d of %d, %v", name, n, len(p), err)
		}
		tr := Transcoder{P: p, Max: 1 << 20}
		if end, f := tr.Value(0, CompactStruct, 64); end != len(p) || f != Fine {
			t.Errorf("%s: %d of %d, %s", name, end, len(p), f.Why())
		} else if n, err := SkipStruct(tr.B, 64); n != len(tr.B) || err != nil {
			t.Errorf("%s: it became %x, which ends at %d, %v", name, tr.B, n, err)
		}
		s := Skipper{Compact: true}
		if n, err := dribble(t, &s, p, func() int { return 1 }); n != len(p) || err != nil {
			t.Errorf("%s: the skipper stops at %d of %d, %v", name, n, len(p), err)
		}
	}
}

// Every level that is allowed, and not one more, in both protocols and all three ways: the
// outermost struct is one, and so is a list, empty or not.
func TestDepthIsExact(t *testing.T) {
	const depth = 5
	for name, tt := range map[string]struct {
		of      func(inner int) string // a struct with so many levels in it
		compact bool
	}{
		"structs": {func(n int) string { return strings.Repeat("0c 0001", n) + strings.Repeat("00", n) + "00" }, false},
		"lists":   {func(n int) string { return "0f 0001" + strings.Repeat("0f 00000001", n-1) + "02 00000000 00" }, false},
		"maps": {func(n int) string {
			return "0d 0001" + strings.Repeat("03 0d 00000001 07", n-1) + "03 03 00000000 00"
		}, false},
		"structs in Compact": {func(n int) string { return strings.Repeat("1c", n) + strings.Repeat("00", n) + "00" }, true},
		"lists in Compact":   {func(n int) string { return "19" + strings.Repeat("19", n-1) + "01 00" }, true},
	} {
		for inner := depth - 2; inner <= depth; inner++ {
			p, fits := unhex(t, tt.of(inner)), inner < depth
			skip := func() (int, error) { return SkipStruct(p, depth) }
			if tt.compact {
				skip = func() (int, error) { return Compact{}.SkipStruct(p, depth) }
				tr := Transcoder{P: p, Max: 1 << 20}
				if _, f := tr.Value(0, CompactStruct, depth); (f == Fine) != fits {
					t.Errorf("%s, %d within: rewriting says %s", name, inner, f.Why())
				}
			}
			if n, err := skip(); (err == nil) != fits || fits && n != len(p) {
				t.Errorf("%s, %d within: %d of %d, %v", name, inner, n, len(p), err)
			}
			s := Skipper{MaxDepth: depth, Compact: tt.compact}
			if _, err := dribble(t, &s, p, func() int { return 3 }); (err == nil) != fits {
				t.Errorf("%s, %d within: the skipper says %v", name, inner, err)
			}
		}
	}
}

// A Skipper goes on with the next struct, and with pieces of any size; what it holds does not
// grow with the number of structs.
func TestSkipperGoesOn(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	s := Skipper{Compact: true}
	held := 0
	for i := range 300 {
		p, _ := compactStruct(rand.New(rand.NewPCG(uint64(i), 4)), 2)
		n, err := dribble(t, &s, p, func() int { return 1 + r.IntN(9) })
		if n != len(p) || err != nil {
			t.Fatalf("struct %d: %d of %d, %v", i, n, len(p), err)
		}
		if i == 200 {
			held = s.Held()
		}
	}
	if s.Held() != held {
		t.Errorf("%d bytes held after 200 structs, %d after 300", held, s.Held())
	}
}

// Both envelopes bring back what was put into them, whatever bytes the name has.
func TestEnvelopesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 500 {
		name := make([]byte, r.IntN(MaxName+1)>>r.IntN(10))
		for i := range name {
			name[i] = byte(r.Uint32())
		}
		typ, seq := MessageType(1+r.IntN(4)), int32(r.Uint32())
		for _, p := range [][]byte{
			AppendMessageBegin([]byte{9}, string(name), typ, seq),
			Compact{}.AppendMessageBegin([]byte{9}, string(name), typ, seq),
		} {
			parse := func(p []byte) ([]byte, MessageType, int32, int, error) { return ParseMessageBegin(p, false) }
			if p[1] == compactProtocol {
				parse = Compact{}.ParseMessageBegin
			}
			got, gotType, gotSeq, n, err := parse(p[1:])
			if string(got) != string(name) || gotType != typ || gotSeq != seq || n != len(p)-1 || err != nil || cap(got) != len(got) {
				t.Fatalf("%q %v %d became %q %v %d, %v", name, typ, seq, got, gotType, gotSeq, err)
			}
		}
	}
	long := strings.Repeat("n", MaxName+1)
	if _, _, _, _, err := (Compact{}).ParseMessageBegin((Compact{}).AppendMessageBegin(nil, long, Call, 1)); err == nil || errors.Is(err, ErrShort) {
		t.Errorf("a name of %d bytes: %v", len(long), err)
	}
}

func FuzzCompactEnvelope(f *testing.F) {
	f.Add(Compact{}.AppendMessageBegin(nil, "echo", Call, 7))
	f.Add(Compact{}.AppendException(nil, "no", InternalError))
	f.Add([]byte{0x82, 0x21, 0xff, 0xff, 0xff, 0xff, 0x7f, 1, 'a'})
	f.Fuzz(func(t *testing.T, p []byte) {
		name, typ, seq, n, err := (Compact{}).ParseMessageBegin(p)
		switch {
		case errors.Is(err, ErrShort):
			if n <= len(p) {
				t.Fatalf("%x: short with %d of %d", p, n, len(p))
			}
		case err == nil:
			again := Compact{}.AppendMessageBegin(nil, string(name), typ, seq)
			name2, typ2, seq2, _, err := Compact{}.ParseMessageBegin(again)
			if string(name2) != string(name) || typ2 != typ || seq2 != seq || err != nil || len(again) > n {
				t.Fatalf("%x became %x, %v", p[:n], again, err)
			}
		}
		if text, typ, n, err := (Compact{}).ParseException(p); err == nil {
			if end, err := (Compact{}).SkipStruct(p, 65); end != n || err != nil {
				t.Fatalf("%x: an exception of %d bytes, a struct of %d, %v", p, n, end, err)
			}
			text2, typ2, _, err := Compact{}.ParseException(Compact{}.AppendException(nil, text, typ))
			if text2 != text || typ2 != typ || err != nil {
				t.Fatalf("%q %d became %q %d, %v", text, typ, text2, typ2, err)
			}
		}
	})
}
