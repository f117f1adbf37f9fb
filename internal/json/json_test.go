package json

import (
	"bytes"
	stdjson "encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// walk reads any value, with all that is in it.
func walk(s *Scanner, depth int) *Fault {
	tok, bad := s.Value()
	if bad != nil {
		return bad
	}
	for first := true; tok.Kind == '{' || tok.Kind == '['; first = false {
		more, bad := s.More(first, tok.Kind+2)
		if bad != nil || !more {
			return bad
		}
		if tok.Kind == '{' {
			if _, bad := s.Name(); bad != nil {
				return bad
			}
		}
		if bad := walk(s, depth+1); bad != nil {
			return bad
		}
	}
	return nil
}

// whole reads a text that is one value.
func whole(text []byte) *Fault {
	s := Scanner{Text: text}
	if bad := walk(&s, 0); bad != nil {
		return bad
	}
	if s.Peek(); s.At != len(text) {
		return &Fault{At: s.At, Why: "more after the end"}
	}
	return nil
}

var texts = []string{
	`{}`, `[]`, `0`, `-1.5e+10`, `"a"`, `true`, `false`, `null`, ` { "a" : [ 1 , 2.5 , { } , [ ] , "\u00fc\n" ] , "b" : null } `,
	`{"a":{"b":{"c":[[[0]]]}},"\ud83d\udc26":"é€😀"}`, "\t\r\n[\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"]",
}

// What is JSON is so for encoding/json too: all texts, each with one byte changed, and
// each of their beginnings.
func TestScannerTakesJSON(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const bytesOfJSON = `{}[],:"\ 0123456789-+.eEtruefalsn/bu` + "\n\x00\x1f\xff\xc3"
	for _, text := range texts {
		if bad := whole([]byte(text)); bad != nil {
			t.Errorf("%s: %v", text, bad)
		}
		for i := range text {
			bad := whole([]byte(text[:i]))
			if valid := stdjson.Valid([]byte(text[:i])); valid != (bad == nil) {
				t.Errorf("%q: %v, and valid is %v", text[:i], bad, valid)
			}
			if bad != nil && (!bad.Early || bad.At != i) {
				t.Errorf("%q: %v is not that it ends there", text[:i], bad)
			}
			for range 200 {
				b := []byte(text)
				b[r.IntN(len(b))] = bytesOfJSON[r.IntN(len(bytesOfJSON))]
				bad := whole(b)
				if valid := stdjson.Valid(b); valid != (bad == nil) {
					t.Fatalf("%q: %v, and valid is %v", b, bad, valid)
				}
				if bad != nil && (bad.At < 0 || bad.At > len(b) || bad.Why == "" || bad.Early != (bad.At == len(b)) && bad.Why != "more after the end") {
					t.Fatalf("%q: %+v", b, bad)
				}
			}
		}
	}
}

func TestTokens(t *testing.T) {
	s := Scanner{Text: []byte(` {"na\u006de" : [-12.5e3, "te\\xt", true, null]}`)}
	for _, want := range []struct {
		kind byte
		text string
		at   int
		show string
	}{
		{'{', "", 1, "an object"}, {'"', "name", 2, ""}, {'[', "", 16, "an array"}, {'0', "-12.5e3", 17, "the number -12.5e3"},
		{'"', `te\xt`, 26, "the string \"te\\\\xt\""}, {'t', "", 36, "true"}, {'n', "", 42, "null"},
	} {
		var tok Token
		var bad *Fault
		switch {
		case want.show == "":
			if more, bad := s.More(true, '}'); !more || bad != nil {
				t.Fatal(more, bad)
			}
			tok, bad = s.Name()
		default:
			if want.at > 17 {
				if bad := s.Want(','); bad != nil {
					t.Fatal(bad)
				}
			}
			tok, bad = s.Value()
		}
		if bad != nil || tok.Kind != want.kind || string(tok.Text) != want.text || tok.At != want.at || want.show != "" && tok.String() != want.show {
			t.Errorf("%c %q at %d (%s), %v; want %+v", tok.Kind, tok.Text, tok.At, tok, bad, want)
		}
	}
	if s.Want(']') != nil || s.Want('}') != nil || s.Peek() != 0 {
		t.Errorf("the end is at %d", s.At)
	}
}

func TestFaults(t *testing.T) {
	for _, tt := range []struct {
		text string
		f    func(s *Scanner) *Fault
		at   int
		why  string
	}{
		{" x", func(s *Scanner) *Fault { return s.Want(':') }, 1, "invalid character 'x' where : is expected"},
		{"  ", func(s *Scanner) *Fault { return s.Want(':') }, 2, "the JSON ends too early"},
		{"\x00", func(s *Scanner) *Fault { return s.Want(':') }, 0, `invalid character '\x00' where : is expected`},
		{"1]", func(s *Scanner) *Fault { _, bad := s.More(false, ']'); return bad }, 0, "invalid character '1' where a comma or ] is expected"},
		{"a", func(s *Scanner) *Fault { _, bad := s.Name(); return bad }, 0, "invalid character 'a' where a name in quotes is expected"},
		{`"a" é`, func(s *Scanner) *Fault { _, bad := s.Name(); return bad }, 4, "invalid character 'é' where a colon is expected"},
		{`"\ud83d\u12"`, func(s *Scanner) *Fault { _, bad := s.Quoted(); return bad }, 11, `invalid character '"' where a hexadecimal digit is expected`},
	} {
		s := Scanner{Text: []byte(tt.text)}
		var bad *Fault
		if err := error(tt.f(&s)); !errors.As(err, &bad) || bad.At != tt.at || bad.Why != tt.why || err.Error() != "json: "+tt.why+" at "+strconv.Itoa(tt.at) {
			t.Errorf("%q: %v; want %s at %d", tt.text, err, tt.why, tt.at)
		}
	}
}

// quoted is what the scanner makes of a string, which is all of the text.
func quoted(t *testing.T, text []byte, anyBytes bool) string {
	t.Helper()
	s := Scanner{Text: text, AnyBytes: anyBytes}
	got, bad := s.Quoted()
	if bad != nil || s.At != len(text) {
		t.Fatalf("%q: %v, at %d of %d", text, bad, s.At, len(text))
	}
	return string(got)
}

// Strings come back as they were, and encoding/json reads and writes the same.
func TestStringsRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		b := make([]byte, r.IntN(40))
		for i := range b {
			if b[i] = byte(r.Uint32()); r.IntN(3) > 0 {
				b[i] = "\"\\/\n\x01aé€😀\xff"[r.IntN(16)]
			}
		}
		valid := strings.ToValidUTF8(string(b), "")
		ours := AppendString(nil, valid)
		var std string
		if err := stdjson.Unmarshal(ours, &std); err != nil || std != valid || quoted(t, ours, false) != valid {
			t.Fatalf("%q became %s, %q, %v", valid, ours, std, err)
		}
		theirs, _ := stdjson.Marshal(valid)
		if got := quoted(t, theirs, false); got != valid {
			t.Fatalf("%s became %q", theirs, got)
		}
		// What is no UTF-8 is U+FFFD for each byte, or stays.
		if text := AppendString(nil, b); !utf8.Valid(text) || stdjson.Unmarshal(text, &std) != nil || !bytes.Equal(text, AppendString(nil, string(b))) {
			t.Fatalf("%q became %q", b, text)
		}
		raw := append(append([]byte{'"'}, bytes.Map(func(r rune) rune {
			if r < ' ' || r == '"' || r == '\\' {
				return -1
			}
			return r
		}, []byte(valid))...), "\\n\xff\xc3\""...)
		if got := quoted(t, raw, true); got != string(raw[1:len(raw)-5])+"\n\xff\xc3" {
			t.Fatalf("%q became %q", raw, got)
		}
		if err := stdjson.Unmarshal(raw, &std); err != nil || quoted(t, raw, false) != std {
			t.Fatalf("%q is %q for encoding/json, %v", raw, std, err)
		}
	}
}

func TestStringsAreBorrowedWhereTheyCanBe(t *testing.T) {
	text := []byte(`"plain é"`)
	s := Scanner{Text: text}
	if n := testing.AllocsPerRun(10, func() {
		s.At = 0
		if p, bad := s.Quoted(); bad != nil || &p[0] != &text[1] || cap(p) != len(p) {
			t.Fatalf("%q, %v", p, bad)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestDoubles(t *testing.T) {
	for _, v := range []float64{0, -1.5, 1e300, 5e-324, math.MaxFloat64, 100000} {
		var std float64
		if err := stdjson.Unmarshal(AppendDouble(nil, v), &std); err != nil || std != v {
			t.Errorf("%v became %s, %v, %v", v, AppendDouble(nil, v), std, err)
		}
	}
	for v, want := range map[float64]string{math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`, math.NaN(): `"NaN"`} {
		if got := string(AppendDouble(nil, v)); got != want {
			t.Errorf("%s; want %s", got, want)
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Count(text, []byte("["))+bytes.Count(text, []byte("{")) > 5000 {
			return // walk has no limit; encoding/json's is 10,000
		}
		if bad := whole(text); stdjson.Valid(text) != (bad == nil) {
			t.Errorf("%q: %v", text, bad)
		}
	})
}

// TestStrict refuses what is replaced otherwise.
func TestStrict(t *testing.T) {
	for text, fine := range map[string]bool{`"aé𝄞"`: true, `"\ud834\udd1e"`: true, `"\ud834"`: false, `"\udd1e\ud834"`: false, `"\ud834\n"`: false, "\"\xff\"": false, "\"a\\n\xc3\"": false, `"\ufffd"`: true} {
		s := Scanner{Text: []byte(text), Strict: true}
		if _, bad := s.Quoted(); (bad == nil) != fine {
			t.Errorf("%s: %v", text, bad)
		}
		s = Scanner{Text: []byte(text)}
		if _, bad := s.Quoted(); bad != nil {
			t.Errorf("%s: %v", text, bad)
		}
	}
}
