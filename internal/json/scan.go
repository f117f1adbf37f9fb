package json

import (
	"bytes"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// A Scanner reads JSON (RFC 8259) from one piece of text, token by token. What
// brackets, commas and colons there must be is asked for by who knows what the
// text is to be: nothing is stored. Its methods read at At and leave it behind what they
// took, or where the text is wrong. The zero Scanner with a Text is at its begin; one
// goroutine at a time.
type Scanner struct {
	Text []byte // borrowed
	At   int
	// AnyBytes leaves bytes of strings that are not UTF-8 as they are; else they
	// become U+FFFD.
	AnyBytes bool
	// Strict refuses strings that are not UTF-8, and half surrogate pairs in them.
	Strict bool

	// scratch has strings that are not in the text as they are. It grows with the longest one, so
	// that a scanner takes no memory for each; that is why a Token borrows.
	scratch []byte
}

// A Token is a scalar, or the bracket that begins an object or an array.
type Token struct {
	Kind byte   // '"', '0' for a number, 't', 'f', 'n', '{', '['
	Text []byte // of a string what it means, of a number its spelling; borrowed until the next string
	At   int    // where it begins
}

// String names a token for an error.
func (t Token) String() string {
	switch t.Kind {
	case 'n':
		return "null"
	case 't':
		return "true"
	case 'f':
		return "false"
	case '0':
		return fmt.Sprintf("the number %.60s", t.Text)
	case '"':
		return fmt.Sprintf("the string %.40q", t.Text)
	case '{':
		return "an object"
	}
	return "an array"
}

// A Fault says where text is not JSON.
type Fault struct {
	At    int
	Why   string
	Early bool // the text ends too early
}

// Error gives both.
func (f *Fault) Error() string { return fmt.Sprintf("json: %s at %d", f.Why, f.At) }

// wrong is the fault of the character at o, or of the end if there is none.
func (s *Scanner) wrong(want string) *Fault {
	if s.At >= len(s.Text) {
		return &Fault{At: len(s.Text), Why: "the JSON ends too early", Early: true}
	}
	r, _ := utf8.DecodeRune(s.Text[s.At:]) // a whole character, not the first byte of one
	return &Fault{At: s.At, Why: fmt.Sprintf("invalid character %q where %s is expected", r, want)}
}

// Peek goes to the next byte that is no space and gives it; 0 at the end. A NUL in the text gives 0
// as well: who asks for the end compares At.
func (s *Scanner) Peek() byte {
	for ; s.At < len(s.Text); s.At++ {
		switch c := s.Text[s.At]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// Want takes c, after spaces.
func (s *Scanner) Want(c byte) *Fault {
	if s.Peek() == c && s.At < len(s.Text) {
		s.At++
		return nil
	}
	return s.wrong(string(rune(c)))
}

// More goes to the next element of what ends with end, or behind that end; first says that none
// was read yet. A comma before the end is refused: what follows it is not an element.
//
//	for first := true; ; first = false {
//		more, bad := s.More(first, ']')
//		if bad != nil || !more {
//			return bad
//		}
//		…                              // an element
//	}
func (s *Scanner) More(first bool, end byte) (bool, *Fault) {
	s.Peek()
	switch {
	case s.At < len(s.Text) && s.Text[s.At] == end:
		s.At++
		return false, nil
	case first:
		return true, nil
	case s.At < len(s.Text) && s.Text[s.At] == ',':
		s.At++
		return true, nil
	}
	return false, s.wrong("a comma or " + string(end))
}

// Name reads a member's name and the colon behind it.
func (s *Scanner) Name() (Token, *Fault) {
	s.Peek()
	if s.At >= len(s.Text) || s.Text[s.At] != '"' {
		return Token{}, s.wrong("a name in quotes")
	}
	at := s.At
	text, bad := s.Quoted()
	if bad != nil {
		return Token{}, bad
	}
	s.Peek()
	if s.At >= len(s.Text) || s.Text[s.At] != ':' {
		return Token{}, s.wrong("a colon")
	}
	s.At++
	return Token{'"', text, at}, nil // borrowed from the text or from scratch, as of any string
}

// Value reads the token that a value begins with.
func (s *Scanner) Value() (Token, *Fault) {
	s.Peek()
	if s.At >= len(s.Text) {
		return Token{}, s.wrong("a value")
	}
	at := s.At
	switch c := s.Text[s.At]; {
	case c == '"':
		text, bad := s.Quoted()
		return Token{c, text, at}, bad
	case c == '{' || c == '[':
		s.At++
		return Token{c, nil, at}, nil
	case c == '-' || c >= '0' && c <= '9':
		bad := s.number()
		return Token{'0', s.Text[at:s.At], at}, bad
	case c == 't':
		return Token{c, nil, at}, s.word("true")
	case c == 'f':
		return Token{c, nil, at}, s.word("false")
	case c == 'n':
		return Token{c, nil, at}, s.word("null")
	}
	return Token{}, s.wrong("a value")
}

// word takes true, false or null. The fault is that of the first letter that is another.
func (s *Scanner) word(w string) *Fault {
	for i := range len(w) {
		if s.At >= len(s.Text) || s.Text[s.At] != w[i] {
			return s.wrong(w)
		}
		s.At++
	}
	return nil
}

// number passes over a number by the grammar of RFC 8259, section 6, and makes nothing of it: what
// is too large for a type is the concern of who knows the type. There is no leading zero and
// no leading plus, and a point has digits on both sides.
//
//	-?(0|[1-9][0-9]*)(.[0-9]+)?([eE][+-]?[0-9]+)?
func (s *Scanner) number() *Fault {
	if s.Text[s.At] == '-' {
		s.At++
	}
	if s.At < len(s.Text) && s.Text[s.At] == '0' {
		s.At++
	} else if bad := s.digits(); bad != nil {
		return bad
	}
	if s.At < len(s.Text) && s.Text[s.At] == '.' {
		s.At++
		if bad := s.digits(); bad != nil {
			return bad
		}
	}
	if s.At < len(s.Text) && s.Text[s.At]|0x20 == 'e' {
		s.At++
		if s.At < len(s.Text) && (s.Text[s.At] == '+' || s.Text[s.At] == '-') {
			s.At++
		}
		return s.digits()
	}
	return nil
}

// digits passes over one at the least.
func (s *Scanner) digits() *Fault {
	from := s.At
	for s.At < len(s.Text) && s.Text[s.At]-'0' <= 9 {
		s.At++
	}
	if s.At == from {
		return s.wrong("a digit")
	}
	return nil
}

// Quoted reads a string: borrowed from the text if it stands there as it is.
func (s *Scanner) Quoted() ([]byte, *Fault) {
	// The usual string has no escapes and is ASCII: one pass over it, and no copy. UTF-8 is checked
	// only where some byte is above ASCII.
	from := s.At + 1
	ascii := true
	for i := from; i < len(s.Text); i++ {
		switch c := s.Text[i]; {
		case c == '"' && (ascii || s.AnyBytes || utf8.Valid(s.Text[from:i])):
			s.At = i + 1
			return s.Text[from:i:i], nil
		case c == '"' || c == '\\' || c < ' ':
			s.At = from
			return s.unescape()
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	s.At = len(s.Text)
	return nil, s.wrong("")
}

// unescape reads the rest of a string into scratch. What is not UTF-8, and half
// a surrogate pair, becomes U+FFFD, as in encoding/json.
func (s *Scanner) unescape() ([]byte, *Fault) {
	b := s.scratch[:0]
	for s.At < len(s.Text) {
		switch c := s.Text[s.At]; {
		case c == '"':
			s.At++
			s.scratch = b
			return b, nil
		case c < ' ':
			return nil, s.wrong("a character of a string, which is escaped,")
		case c == '\\':
			var bad *Fault
			if b, bad = s.escape(b); bad != nil {
				return nil, bad
			}
		case c < utf8.RuneSelf:
			n := 1
			for s.At+n < len(s.Text) && s.Text[s.At+n]-' ' < utf8.RuneSelf-' ' && s.Text[s.At+n] != '"' && s.Text[s.At+n] != '\\' {
				n++
			}
			b = append(b, s.Text[s.At:s.At+n]...)
			s.At += n
		default:
			r, n := utf8.DecodeRune(s.Text[s.At:])
			if s.Strict && r == utf8.RuneError && n == 1 {
				return nil, s.wrong("UTF-8")
			}
			if s.AnyBytes {
				b = append(b, s.Text[s.At:s.At+n]...)
			} else {
				b = utf8.AppendRune(b, r)
			}
			s.At += n
		}
	}
	return nil, s.wrong("")
}

// escape reads what begins with a backslash.
func (s *Scanner) escape(b []byte) ([]byte, *Fault) {
	s.At++
	if s.At >= len(s.Text) {
		return nil, s.wrong("")
	}
	// The eight escapes of a letter, and what they stand for at the same place.
	const from, to = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	c := s.Text[s.At]
	if i := bytes.IndexByte([]byte(from), c); i >= 0 {
		s.At++
		return append(b, to[i]), nil
	}
	if c != 'u' {
		return nil, s.wrong("an escape")
	}
	r, bad := s.hex4()
	if bad != nil {
		return nil, bad
	}
	// A character beyond the first 65,536 is two escapes. Half of one is no character; encoding/json
	// makes U+FFFD of it and goes on, and so does this.
	if utf16.IsSurrogate(r) {
		pair := utf8.RuneError
		if at := s.At; at+1 < len(s.Text) && s.Text[at] == '\\' && s.Text[at+1] == 'u' {
			s.At++
			low, bad := s.hex4()
			if bad != nil {
				return nil, bad
			}
			if pair = utf16.DecodeRune(r, low); pair == utf8.RuneError {
				s.At = at // the second one stands for itself
			}
		}
		if s.Strict && pair == utf8.RuneError {
			return nil, s.wrong("the other half of a surrogate pair")
		}
		r = pair
	}
	return utf8.AppendRune(b, r), nil
}

// hex4 reads the four digits behind the u at o.
func (s *Scanner) hex4() (rune, *Fault) {
	var r rune
	for range 4 {
		s.At++
		if s.At >= len(s.Text) {
			return 0, s.wrong("")
		}
		c := s.Text[s.At]
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
	s.At++
	return r, nil
}
