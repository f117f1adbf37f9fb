package dynamic

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// A scanner reads JSON (RFC 8259) from one piece of text, token by token. What
// brackets, commas and colons there must be is asked for by who knows what the
// text is to be: nothing is stored.
type scanner struct {
	p       []byte
	o       int
	scratch []byte // of strings that are not in the text as they are
}

// A token is a scalar, or the bracket that begins an object or an array.
type token struct {
	kind byte   // '"', '0' for a number, 't', 'f', 'n', '{', '['
	text []byte // of a string what it means, of a number its spelling; borrowed until the next string
	at   int    // where it begins
}

// A syntaxFault says where text is not JSON.
type syntaxFault struct {
	at  int
	why string
}

const tooEarly = "the JSON ends too early"

// wrong is the fault of the character at o, or of the end if there is none.
func (s *scanner) wrong(want string) *syntaxFault {
	if s.o >= len(s.p) {
		return &syntaxFault{len(s.p), tooEarly}
	}
	r, _ := utf8.DecodeRune(s.p[s.o:])
	return &syntaxFault{s.o, fmt.Sprintf("invalid character %q where %s is expected", r, want)}
}

func (s *scanner) space() {
	for s.o < len(s.p) {
		switch s.p[s.o] {
		case ' ', '\t', '\n', '\r':
			s.o++
		default:
			return
		}
	}
}

// more goes to the next element of what ends with end, or behind that end.
func (s *scanner) more(first bool, end byte) (bool, *syntaxFault) {
	s.space()
	switch {
	case s.o < len(s.p) && s.p[s.o] == end:
		s.o++
		return false, nil
	case first:
		return true, nil
	case s.o < len(s.p) && s.p[s.o] == ',':
		s.o++
		return true, nil
	}
	return false, s.wrong("a comma or " + string(end))
}

// name reads a member's name and the colon behind it.
func (s *scanner) name() (token, *syntaxFault) {
	s.space()
	if s.o >= len(s.p) || s.p[s.o] != '"' {
		return token{}, s.wrong("a name in quotes")
	}
	at := s.o
	text, bad := s.text()
	if bad != nil {
		return token{}, bad
	}
	s.space()
	if s.o >= len(s.p) || s.p[s.o] != ':' {
		return token{}, s.wrong("a colon")
	}
	s.o++
	return token{'"', text, at}, nil
}

// value reads the token that a value begins with.
func (s *scanner) value() (token, *syntaxFault) {
	s.space()
	if s.o >= len(s.p) {
		return token{}, s.wrong("a value")
	}
	at := s.o
	switch c := s.p[s.o]; {
	case c == '"':
		text, bad := s.text()
		return token{c, text, at}, bad
	case c == '{' || c == '[':
		s.o++
		return token{c, nil, at}, nil
	case c == '-' || c >= '0' && c <= '9':
		bad := s.number()
		return token{'0', s.p[at:s.o], at}, bad
	case c == 't':
		return token{c, nil, at}, s.word("true")
	case c == 'f':
		return token{c, nil, at}, s.word("false")
	case c == 'n':
		return token{c, nil, at}, s.word("null")
	}
	return token{}, s.wrong("a value")
}

func (s *scanner) word(w string) *syntaxFault {
	for i := range len(w) {
		if s.o >= len(s.p) || s.p[s.o] != w[i] {
			return s.wrong(w)
		}
		s.o++
	}
	return nil
}

// number passes over -?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *scanner) number() *syntaxFault {
	if s.p[s.o] == '-' {
		s.o++
	}
	if s.o < len(s.p) && s.p[s.o] == '0' {
		s.o++
	} else if bad := s.digits(); bad != nil {
		return bad
	}
	if s.o < len(s.p) && s.p[s.o] == '.' {
		s.o++
		if bad := s.digits(); bad != nil {
			return bad
		}
	}
	if s.o < len(s.p) && s.p[s.o]|0x20 == 'e' {
		s.o++
		if s.o < len(s.p) && (s.p[s.o] == '+' || s.p[s.o] == '-') {
			s.o++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() *syntaxFault {
	from := s.o
	for s.o < len(s.p) && s.p[s.o]-'0' <= 9 {
		s.o++
	}
	if s.o == from {
		return s.wrong("a digit")
	}
	return nil
}

// text reads a string: borrowed from the text if it stands there as it is.
func (s *scanner) text() ([]byte, *syntaxFault) {
	from := s.o + 1
	ascii := true
	for i := from; i < len(s.p); i++ {
		switch c := s.p[i]; {
		case c == '"' && (ascii || utf8.Valid(s.p[from:i])):
			s.o = i + 1
			return s.p[from:i:i], nil
		case c == '"' || c == '\\' || c < ' ':
			s.o = from
			return s.unescape()
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.o = len(s.p)
	return nil, s.wrong("")
}

// unescape reads the rest of a string into scratch. What is not UTF-8, and half
// a surrogate pair, becomes U+FFFD, as in encoding/json.
func (s *scanner) unescape() ([]byte, *syntaxFault) {
	b := s.scratch[:0]
	for s.o < len(s.p) {
		switch c := s.p[s.o]; {
		case c == '"':
			s.o++
			s.scratch = b
			return b, nil
		case c < ' ':
			return nil, s.wrong("a character of a string, which is escaped,")
		case c == '\\':
			var bad *syntaxFault
			if b, bad = s.escape(b); bad != nil {
				return nil, bad
			}
		case c < utf8.RuneSelf:
			n := 1
			for s.o+n < len(s.p) && s.p[s.o+n]-' ' < utf8.RuneSelf-' ' && s.p[s.o+n] != '"' && s.p[s.o+n] != '\\' {
				n++
			}
			b = append(b, s.p[s.o:s.o+n]...)
			s.o += n
		default:
			r, n := utf8.DecodeRune(s.p[s.o:])
			b = utf8.AppendRune(b, r)
			s.o += n
		}
	}
	return nil, s.wrong("")
}

// escape reads what begins with a backslash.
func (s *scanner) escape(b []byte) ([]byte, *syntaxFault) {
	s.o++
	if s.o >= len(s.p) {
		return nil, s.wrong("")
	}
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := s.p[s.o]
	if i := bytes.IndexByte([]byte(from), c); i >= 0 {
		s.o++
		return append(b, to[i]), nil
	}
	if c != 'u' {
		return nil, s.wrong("an escape")
	}
	r, bad := s.hex4()
	if bad != nil {
		return nil, bad
	}
	if utf16.IsSurrogate(r) {
		pair := utf8.RuneError
		if at := s.o; at+1 < len(s.p) && s.p[at] == '\\' && s.p[at+1] == 'u' {
			s.o++
			low, bad := s.hex4()
			if bad != nil {
				return nil, bad
			}
			if pair = utf16.DecodeRune(r, low); pair == utf8.RuneError {
				s.o = at // the second one stands for itself
			}
		}
		r = pair
	}
	return utf8.AppendRune(b, r), nil
}

// hex4 reads the four digits behind the u at o.
func (s *scanner) hex4() (rune, *syntaxFault) {
	var r rune
	for range 4 {
		s.o++
		if s.o >= len(s.p) {
			return 0, s.wrong("")
		}
		c := s.p[s.o]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, s.wrong("a hexadecimal digit")
		}
		r = r<<4 | rune(c)
	}
	s.o++
	return r, nil
}
