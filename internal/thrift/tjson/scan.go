package tjson

import (
	"slices"
	"strconv"

	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A scanner goes through JSON text as Thrift has it: numbers may stand in quotes, and
// keys may be anything.
type scanner struct{ json.Scanner }

// wrong is an error at what comes next. The path is set by Decode.
//
// All that is wrong is the peer's: who calls knows no other errors.
func (s *scanner) wrong(why string) error { return &raw.SyntaxError{Offset: s.At, Why: why} }

// fault makes an error of what the scanner found, with the words that all codecs have for a
// message that ends too early.
func (s *scanner) fault(bad *json.Fault) error {
	switch {
	case bad == nil:
		return nil
	case bad.Early:
		return &raw.SyntaxError{Offset: bad.At, Why: raw.Short.Why()}
	}
	return &raw.SyntaxError{Offset: bad.At, Why: bad.Why}
}

// want takes c.
func (s *scanner) want(c byte) error { return s.fault(s.Want(c)) }

// quoted borrows a string until the next one.
func (s *scanner) quoted() ([]byte, error) {
	if s.Peek() != '"' {
		return nil, s.want('"')
	}
	p, bad := s.Quoted()
	return p, s.fault(bad)
}

// text takes a string.
func (s *scanner) text() (string, error) {
	p, err := s.quoted()
	return string(p), err
}

// number borrows a number, which may stand in quotes, as keys do. Which characters follow each
// other is not looked at: who parses it finds out.
func (s *scanner) number() ([]byte, error) {
	if s.Peek() == '"' {
		return s.quoted()
	}
	from := s.At
	for s.At < len(s.Text) && numeric(s.Text[s.At]) {
		s.At++
	}
	switch {
	case s.At == len(s.Text):
		return nil, s.wrong(raw.Short.Why()) // something closes around every number
	case s.At == from:
		return nil, s.wrong("there is no number")
	}
	return s.Text[from:s.At], nil
}

// numeric tells the characters of numbers.
func numeric(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E'
}

// integer takes one of so many bits.
//
// A number that does not fit is refused, unlike in Compact, where the bits are cut off:
// text that says 300 for an i8 is wrong, and nobody could have meant 44.
func (s *scanner) integer(bits int) (int64, error) {
	s.Peek()
	from := s.At
	p, err := s.number()
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseInt(string(p), 10, bits)
	if err != nil {
		s.At = from
		return 0, s.wrong("no integer of " + strconv.Itoa(bits) + " bits")
	}
	return n, nil
}

// double takes one; not every number that Go knows is one here: strconv takes "inf" and
// hexadecimal digits too.
func (s *scanner) double() (float64, error) {
	s.Peek()
	from := s.At
	p, err := s.number()
	if err != nil {
		return 0, err
	}
	known := string(p) == "NaN" || string(p) == "Infinity" || string(p) == "-Infinity" ||
		!slices.ContainsFunc(p, func(c byte) bool { return !numeric(c) })
	v, err := strconv.ParseFloat(string(p), 64)
	if !known || err != nil {
		s.At = from
		return 0, s.wrong("no double")
	}
	return v, nil
}

// skip passes over any value. levels is how many objects and arrays may nest, which bounds the
// recursion whatever the text is.
func (s *scanner) skip(levels int) error {
	switch c := s.Peek(); {
	case c == '{' || c == '[':
		if levels <= 0 {
			return s.wrong(raw.TooDeep.Why())
		}
		s.At++
		return s.skipAll(c+2, levels-1)
	case numeric(c):
		_, err := s.number()
		return err
	}
	_, bad := s.Value()
	return s.fault(bad)
}

// skipAll passes over what an object or array holds, up to its end.
func (s *scanner) skipAll(end byte, levels int) error {
	for first := true; ; first = false {
		more, bad := s.More(first, end)
		if bad != nil || !more {
			return s.fault(bad)
		}
		// A key is a value: keys of maps are whatever Thrift has.
		err := s.skip(levels)
		if err == nil && end == '}' {
			if err = s.want(':'); err == nil {
				err = s.skip(levels)
			}
		}
		if err != nil {
			return err
		}
	}
}
