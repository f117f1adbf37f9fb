package dynamic

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/thrift"
)

// scalar writes a value that is one token. It takes more than the reader writes: an enum by its number,
// numbers as strings, both alphabets of base64. Errors say what is expected and what is there.
func (w *writer) scalar(t *typ, tok json.Token) error {
	w.room(headroom)
	switch t.kind {
	case idl.Bool:
		switch tok.Kind {
		case 't':
			w.b = append(w.b, 1)
		case 'f':
			w.b = append(w.b, 0)
		default:
			return w.errorf(tok.At, "bool is true or false, not %s", tok)
		}
		return nil
	case idl.I8, idl.I16, idl.I32, idl.I64:
		return w.integer(t, tok)
	case idl.EnumRef:
		if tok.Kind == '"' {
			if n, ok := t.names[string(tok.Text)]; ok {
				w.b = binary.BigEndian.AppendUint32(w.b, uint32(n))
				return nil
			}
			if _, err := strconv.ParseInt(string(tok.Text), 10, 64); err != nil {
				return w.errorf(tok.At, "the enum %s has no value %.40q; %s", t.enum.Name, tok.Text, values(t.enum))
			}
		}
		return w.integer(t, tok)
	case idl.Double:
		return w.double(tok)
	}
	if tok.Kind != '"' {
		return w.errorf(tok.At, "%s is a string, not %s", t.text, tok)
	}
	switch t.kind {
	case idl.Binary:
		raw, err := unbase64(w.raw[:0], tok.Text)
		if err != nil {
			return w.errorf(tok.At, "binary is base64: %v", err)
		}
		w.raw = raw
		w.bytes(raw)
	case idl.UUID:
		id, err := thrift.ParseUUID(string(tok.Text))
		if err != nil {
			return w.errorf(tok.At, "%.40q is not a uuid", tok.Text)
		}
		w.b = append(w.b, id[:]...)
	default:
		w.bytes(tok.Text)
	}
	return w.fits(tok.At)
}

// values lists the first names of an enum for an error.
//
// It names twenty at the most: the text goes into an error.
func values(e *idl.Enum) string {
	var names []string
	for _, v := range e.Values[:min(20, len(e.Values))] {
		names = append(names, v.Name)
	}
	return "known are " + strings.Join(names, ", ")
}

// unbase64 appends what s means: base64 with or without padding, of the standard or the URL alphabet,
// which are told apart by the two characters that only one of them has.
func unbase64(b, s []byte) ([]byte, error) {
	s = bytes.TrimRight(s, "=")
	if bytes.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.AppendDecode(b, s)
	}
	return base64.RawStdEncoding.AppendDecode(b, s)
}

// bitsOf are the sizes of what integer writes.
var bitsOf = map[idl.Kind]int{idl.I8: 8, idl.I16: 16, idl.I32: 32, idl.EnumRef: 32, idl.I64: 64}

// integer takes numbers and their text. 1.0 and 1e3 are integers to JSON.
//
// They are exact up to 64 bits, as JSON's grammar has them, although many a tool reads
// JSON's numbers as doubles; for those there are numbers as strings.
func (w *writer) integer(t *typ, tok json.Token) error {
	if tok.Kind != '"' && tok.Kind != '0' {
		return w.errorf(tok.At, "%s is an integer, not %s", t.text, tok)
	}
	// Most numbers are short, and are read without a string being made. n fits in its bits if it
	// stays the same when it is shifted out of them and back.
	n, ok := short(tok.Text)
	bits := bitsOf[t.kind]
	if !ok || n != n<<(64-bits)>>(64-bits) {
		text := string(tok.Text)
		var err error
		if n, err = strconv.ParseInt(text, 10, bits); err != nil && !errors.Is(err, strconv.ErrRange) {
			// 1.0 and 1e3: as long as a double has all integers, it is the one that was meant.
			f, ferr := strconv.ParseFloat(text, 64)
			if ferr == nil && tok.Kind == '0' && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
				n, err = strconv.ParseInt(strconv.FormatFloat(f, 'f', 0, 64), 10, bits)
			}
		}
		switch {
		case errors.Is(err, strconv.ErrRange):
			return w.errorf(tok.At, "%.40s is out of range for %s", text, t.text)
		case err != nil:
			return w.errorf(tok.At, "%s is an integer, not %s", t.text, tok)
		}
	}
	switch bits {
	case 8:
		w.b = append(w.b, byte(n))
	case 16:
		w.b = binary.BigEndian.AppendUint16(w.b, uint16(n))
	case 32:
		w.b = binary.BigEndian.AppendUint32(w.b, uint32(n))
	default:
		w.b = binary.BigEndian.AppendUint64(w.b, uint64(n))
	}
	return nil
}

// short reads a decimal number of at most 18 digits, which most are.
//
// 18 digits always fit in 64 bits, so that nothing has to be looked at but the digits.
// Leading zeros are gone through as digits: the scanner has refused them in numbers, and
// strings are taken with them.
func short(p []byte) (n int64, ok bool) {
	neg := len(p) > 0 && p[0] == '-'
	if neg {
		p = p[1:]
	}
	if len(p) == 0 || len(p) > 18 {
		return 0, false
	}
	for _, c := range p {
		if c -= '0'; c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if neg {
		n = -n
	}
	return n, true
}

// double takes numbers, their text, and the three names of what JSON has no numbers for. A number that is
// too large is an error rather than an infinity.
func (w *writer) double(tok json.Token) error {
	text := string(tok.Text)
	switch tok.Kind {
	case '0':
	case '"':
		switch text {
		case "NaN", "Infinity", "-Infinity":
		default:
			if strings.ContainsAny(text, "xX_pPnN") { // Go's spellings, not JSON's
				return w.errorf(tok.At, "double is a number, \"NaN\", \"Infinity\" or \"-Infinity\", not %s", tok)
			}
		}
	default:
		return w.errorf(tok.At, "double is a number, not %s", tok)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return w.errorf(tok.At, "%s does not fit a double", tok)
	}
	w.b = binary.BigEndian.AppendUint64(w.b, math.Float64bits(f))
	return nil
}
