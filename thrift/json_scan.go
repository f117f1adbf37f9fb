package thrift

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A jsonScanner goes through JSON text. Its methods read at o and leave it
// behind what they took, or where the text is wrong.
type jsonScanner struct {
	b []byte
	o int
}

func (s *jsonScanner) wrong(why string) error { return &SyntaxError{Offset: s.o, Why: why} }

// peek gives the next byte that is no space, and 0 at the end.
func (s *jsonScanner) peek() byte {
	for ; s.o < len(s.b); s.o++ {
		switch c := s.b[s.o]; c {
		case ' ', '\t', '\r', '\n':
		default:
			return c
		}
	}
	return 0
}

// want takes c.
func (s *jsonScanner) want(c byte) error {
	have := s.peek()
	switch {
	case have == c:
		s.o++
		return nil
	case s.o == len(s.b):
		return s.wrong(faults[short])
	}
	return s.wrong("there is " + strconv.QuoteRune(rune(have)) + " instead of " + strconv.QuoteRune(rune(c)))
}

// raw borrows what stands between the quotes of a string, with its escapes.
func (s *jsonScanner) raw() (text []byte, escaped bool, err error) {
	if err := s.want('"'); err != nil {
		return nil, false, err
	}
	from := s.o
	for ; s.o < len(s.b); s.o++ {
		switch c := s.b[s.o]; {
		case c == '"':
			s.o++
			return s.b[from : s.o-1], escaped, nil
		case c < ' ':
			return nil, false, s.wrong("control character in a string")
		case c == '\\':
			escaped = true
			s.o++
		}
	}
	s.o = len(s.b) // an escape may have been the last byte
	return nil, false, s.wrong(faults[short])
}

// text takes a string.
func (s *jsonScanner) text() (string, error) {
	p, escaped, err := s.raw()
	if err != nil || !escaped {
		return string(p), err
	}
	at := s.o - 1 - len(p)
	b := make([]byte, 0, len(p))
	for i := 0; i < len(p); {
		if p[i] != '\\' {
			b = append(b, p[i])
			i++
			continue
		}
		var n int
		if b, n = unescape(b, p[i:]); n == 0 {
			s.o = at + i
			return "", s.wrong("unknown escape")
		}
		i += n
	}
	return string(b), nil
}

// unescape appends what the escape at the begin of p stands for and gives its
// length; 0: it is none.
func unescape(b, p []byte) ([]byte, int) {
	switch p[1] {
	case '"', '\\', '/':
		return append(b, p[1]), 2
	case 'b':
		return append(b, '\b'), 2
	case 'f':
		return append(b, '\f'), 2
	case 'n':
		return append(b, '\n'), 2
	case 'r':
		return append(b, '\r'), 2
	case 't':
		return append(b, '\t'), 2
	}
	r := hexRune(p)
	if r < 0 {
		return b, 0
	}
	if utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, hexRune(p[6:])); pair != utf8.RuneError {
			return utf8.AppendRune(b, pair), 12
		}
	}
	return utf8.AppendRune(b, r), 6 // U+FFFD for half of a pair
}

// hexRune reads \u and four hex digits; -1: that is not there.
func hexRune(p []byte) rune {
	if len(p) < 6 || p[0] != '\\' || p[1] != 'u' {
		return -1
	}
	n, err := strconv.ParseUint(string(p[2:6]), 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// number borrows a number, which may stand in quotes, as keys do.
func (s *jsonScanner) number() ([]byte, error) {
	if s.peek() == '"' {
		p, _, err := s.raw()
		return p, err
	}
	from := s.o
	for s.o < len(s.b) && numeric(s.b[s.o]) {
		s.o++
	}
	switch {
	case s.o == len(s.b):
		return nil, s.wrong(faults[short]) // something closes around every number
	case s.o == from:
		return nil, s.wrong("there is no number")
	}
	return s.b[from:s.o], nil
}

func numeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// integer takes one of so many bits.
func (s *jsonScanner) integer(bits int) (int64, error) {
	s.peek()
	from := s.o
	p, err := s.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(p), 10, bits)
	if err != nil {
		s.o = from
		return 0, s.wrong("no integer of " + strconv.Itoa(bits) + " bits")
	}
	return n, nil
}

// double takes one; not every number that Go knows is one here.
func (s *jsonScanner) double() (float64, error) {
	s.peek()
	from := s.o
	p, err := s.number()
	if err != nil {
		return 0, err
	}
	known := string(p) == "NaN" || string(p) == "Infinity" || string(p) == "-Infinity"
	for _, c := range p {
		known = known || numeric(c)
		if !known {
			break
		}
	}
	v, err := strconv.ParseFloat(string(p), 64)
	if !known || err != nil {
		s.o = from
		return 0, s.wrong("no double")
	}
	return v, nil
}

// skip passes over any value. levels is how many objects and arrays may nest.
func (s *jsonScanner) skip(levels int) error {
	switch c := s.peek(); {
	case s.o == len(s.b):
		return s.wrong(faults[short])
	case c == '"':
		_, _, err := s.raw()
		return err
	case c == '{' || c == '[':
		if levels <= 0 {
			return s.wrong(faults[tooDeep])
		}
		s.o++
		return s.skipAll(c+2, levels-1)
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	_, err := s.number()
	return err
}

// skipAll passes over what an object or array holds, up to its end.
func (s *jsonScanner) skipAll(end byte, levels int) error {
	for first := true; s.peek() != end || !first; first = false {
		if !first {
			if s.peek() == end {
				break
			}
			if err := s.want(','); err != nil {
				return err
			}
		}
		if err := s.skip(levels); err != nil {
			return err
		}
		if end == '}' {
			if err := s.want(':'); err != nil {
				return err
			}
			if err := s.skip(levels); err != nil {
				return err
			}
		}
	}
	return s.want(end)
}

func (s *jsonScanner) word(w string) error {
	for i := range len(w) {
		if s.o == len(s.b) {
			return s.wrong(faults[short])
		}
		if s.b[s.o] != w[i] {
			return s.wrong("neither " + w + " nor anything else")
		}
		s.o++
	}
	return nil
}
