package pjson

import (
	"testing"

	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
)

// token gives the one token of a text.
func token(t *testing.T, text string) json.Token {
	t.Helper()
	s := json.Scanner{Text: []byte(text), Strict: true}
	tok, bad := s.Value()
	if bad != nil {
		t.Fatalf("%s: %v", text, bad)
	}
	return tok
}

// TestWholeNumbers: an integer may be written with a point, an exponent and in quotes, as
// long as its value is whole. None of it goes by way of a float.
func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		`0`: "0", `-0`: "-0", `7`: "7", `"7"`: "7", `1.0`: "1", `-1.50e1`: "-15", `1e3`: "1000", `"1E3"`: "1000", `1e+2`: "100", `100e-2`: "1", `0.1e1`: "1",
		`9223372036854775807`: "9223372036854775807", `9223372036854775807.0`: "9223372036854775807", `922337203685477580.7e1`: "9223372036854775807",
		`0e99999`: "0", `0.000e-99999`: "0", `0.5e1`: "5",
	} {
		if got, ok := whole(token(t, text)); !ok || got != want {
			t.Errorf("%s is %s, %v; want %s", text, got, ok, want)
		}
	}
	for _, text := range []string{`1.5`, `1e-1`, `1e1001`, `1e99999999999999999999`, `"x"`, `""`, `" 1"`, `"1 "`, `"+1"`, `"NaN"`, `true`, `null`, `"1,000"`} {
		if got, ok := whole(token(t, text)); ok {
			t.Errorf("%s is %s", text, got)
		}
	}
}

// TestRangesOfIntegers: each size has its own bounds, and unsigned ones take -0.
func TestRangesOfIntegers(t *testing.T) {
	for _, tt := range []struct {
		text     string
		i32, i64 bool
		u32, u64 bool
	}{
		{text: `2147483647`, i32: true, i64: true, u32: true, u64: true},
		{text: `2147483648`, i64: true, u32: true, u64: true},
		{text: `-2147483648`, i32: true, i64: true},
		{text: `-2147483649`, i64: true},
		{text: `4294967296`, i64: true, u64: true},
		{text: `9223372036854775808`, u64: true},
		{text: `18446744073709551616`},
		{text: `-0`, i32: true, i64: true, u32: true, u64: true},
		{text: `-1`, i32: true, i64: true},
	} {
		tok := token(t, tt.text)
		_, i32 := integer(tok, 32)
		_, i64 := integer(tok, 64)
		_, u32 := unsigned(tok, 32)
		_, u64 := unsigned(tok, 64)
		if i32 != tt.i32 || i64 != tt.i64 || u32 != tt.u32 || u64 != tt.u64 {
			t.Errorf("%s: %v %v %v %v", tt.text, i32, i64, u32, u64)
		}
	}
}

// TestFloats: names in quotes for what is no number; what is out of range is refused.
func TestFloats(t *testing.T) {
	for text, want := range map[string][2]bool{ // as a float, as a double
		`1.5`: {true, true}, `"1.5"`: {true, true}, `"NaN"`: {true, true}, `"Infinity"`: {true, true}, `"-Infinity"`: {true, true},
		`1e39`: {false, true}, `1e309`: {}, `"nan"`: {}, `"inf"`: {}, `"+Infinity"`: {}, `""`: {}, `true`: {}, `"1.5 "`: {},
	} {
		_, f := float(token(t, text), 32)
		_, d := float(token(t, text), 64)
		if f != want[0] || d != want[1] {
			t.Errorf("%s: %v, %v; want %v", text, f, d, want)
		}
	}
}

// TestDurations: seconds with an s; no needless zeros, no more than nine digits, one sign.
func TestDurations(t *testing.T) {
	for text, want := range map[string][2]int64{
		"0s": {}, "1s": {1, 0}, "-1s": {-1, 0}, "+1s": {1, 0}, "1.5s": {1, 500_000_000}, "-0.5s": {0, -500_000_000}, "1.000000001s": {1, 1}, "-1.25s": {-1, -250_000_000},
		".5s": {0, 500_000_000}, "315576000000s": {315_576_000_000, 0}, "-315576000000s": {-315_576_000_000, 0},
	} {
		if s, n, ok := parseDuration(text); !ok || s != want[0] || int64(n) != want[1] {
			t.Errorf("%q is %d, %d, %v; want %v", text, s, n, ok, want)
		}
	}
	for _, text := range []string{"", "s", "1", "-s", "+s", "01s", "1.0000000001s", "1 s", " 1s", "1m", "1.5.5s", "--1s", "315576000001s", "99999999999999999999s", "1e3s", "0x1s"} {
		if s, n, ok := parseDuration(text); ok {
			t.Errorf("%q is %d, %d", text, s, n)
		}
	}
}

// TestPaths: a path of a field mask comes back from its form in JSON, or is refused.
func TestPaths(t *testing.T) {
	for _, path := range []string{"a", "a_b", "user.display_name", "a.b.c", "x9", "long_name.x9"} {
		name := plan.JSONName(path)
		if back, ok := snake(name); !ok || back != path || !pathLike(path) {
			t.Errorf("%s is %s, and back %s, %v", path, name, back, ok)
		}
	}
	for _, path := range []string{"", ".", "a.", ".a", "a..b", "1a", "a b", "a-b", "a.1"} {
		if pathLike(path) {
			t.Errorf("%q is a path", path)
		}
	}
	for _, path := range []string{"a__b", "a_", "A", "a_1"} { // other paths have the same form in JSON
		if back, ok := snake(plan.JSONName(path)); ok && back == path {
			t.Errorf("%q comes back", path)
		}
	}
	if got, ok := snake("a_b"); ok {
		t.Errorf("a_b, which is no name in JSON, is %s", got)
	}
}
