package json

import (
	stdjson "encoding/json"
	"testing"
	"unicode/utf8"
)

// The grammar of numbers, of which a scanner makes nothing: behind it comes the next byte.
func TestNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"0": "0", "-0": "-0", "10": "10", "-1.50": "-1.50", "1e5": "1e5", "1E+05": "1E+05", "0.1e-9": "0.1e-9",
		"01": "0", "1.5.2": "1.5", "1-": "1", "9999999999999999999999999": "9999999999999999999999999",
	} {
		s := Scanner{Text: []byte(text)}
		if tok, bad := s.Value(); bad != nil || tok.Kind != '0' || string(tok.Text) != want || s.At != len(want) {
			t.Errorf("%s: %q, %v at %d", text, tok.Text, bad, s.At)
		}
	}
	for text, at := range map[string]int{"-": 1, "-a": 1, "1.": 2, "1.x": 2, "1e": 2, "1e+": 3, "-.5": 1, "1.e5": 2} {
		s := Scanner{Text: []byte(text)}
		if tok, bad := s.Value(); bad == nil || bad.At != at || bad.Early != (at == len(text)) {
			t.Errorf("%s: %q, %v; want a fault at %d", text, tok.Text, bad, at)
		}
	}
	s := Scanner{Text: []byte("+1")}
	if _, bad := s.Value(); bad == nil || bad.At != 0 {
		t.Errorf("+1: %v", bad)
	}
}

// A NUL is no end.
func TestPeekAtTheEnd(t *testing.T) {
	s := Scanner{Text: []byte(" \x00")}
	if s.Peek() != 0 || s.At == len(s.Text) {
		t.Errorf("a NUL is at %d", s.At)
	}
	if bad := s.Want(0); bad != nil || s.Peek() != 0 || s.At != len(s.Text) {
		t.Errorf("%v at %d", bad, s.At)
	}
}

// Each byte and each rune of up to two bytes is written so that encoding/json reads it.
func TestEveryCharacter(t *testing.T) {
	for r := range rune(0x800) {
		text := AppendString([]byte("x"), "a"+string(r)+"b")
		var back string
		if err := stdjson.Unmarshal(text[1:], &back); text[0] != 'x' || err != nil || back != "a"+string(r)+"b" {
			t.Errorf("%U became %s, %v", r, text, err)
		}
	}
	for c := range 256 {
		text := AppendString(nil, []byte{byte(c), 'z'})
		if !stdjson.Valid(text) || c >= utf8.RuneSelf && string(text) != "\"\uFFFDz\"" {
			t.Errorf("%#x became %s", c, text)
		}
	}
}
