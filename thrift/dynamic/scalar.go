package dynamic

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/thrift"
)

// scalar writes a value that is one token.
func (w *writer) scalar(t *typ, tok json.Token) error {
	text, isText := tok.(string)
	switch t.kind {
	case idl.Bool:
		v, ok := tok.(bool)
		if !ok {
			return w.errorf("bool is true or false, not %s", describe(tok))
		}
		w.b = append(w.b, 0)
		if v {
			w.b[len(w.b)-1] = 1
		}
		return nil
	case idl.I8, idl.I16, idl.I32, idl.I64:
		return w.integer(t, tok)
	case idl.EnumRef:
		if n, ok := t.names[text]; isText && ok {
			w.b = binary.BigEndian.AppendUint32(w.b, uint32(n))
			return nil
		}
		if isText && !digits(text) {
			return w.errorf("the enum %s has no value %.40q; %s", t.enum.Name, text, values(t.enum))
		}
		return w.integer(t, tok)
	case idl.Double:
		return w.double(tok)
	}
	if !isText {
		return w.errorf("%s is a string, not %s", t.text, describe(tok))
	}
	switch t.kind {
	case idl.Binary:
		raw, err := unbase64(text)
		if err != nil {
			return w.errorf("binary is base64: %v", err)
		}
		w.b = append(binary.BigEndian.AppendUint32(w.b, uint32(len(raw))), raw...)
	case idl.UUID:
		id, err := thrift.ParseUUID(text)
		if err != nil {
			return w.errorf("%.40q is not a uuid", text)
		}
		w.b = append(w.b, id[:]...)
	default:
		w.b = append(binary.BigEndian.AppendUint32(w.b, uint32(len(text))), text...)
	}
	return w.fits()
}

func digits(s string) bool {
	_, err := strconv.ParseInt(s, 10, 64)
	return err == nil
}

func values(e *idl.Enum) string {
	var names []string
	for _, v := range e.Values[:min(20, len(e.Values))] {
		names = append(names, v.Name)
	}
	return "known are " + strings.Join(names, ", ")
}

func unbase64(s string) ([]byte, error) {
	s = strings.TrimRight(s, "=")
	if strings.ContainsAny(s, "-_") {
		return base64.RawURLEncoding.DecodeString(s)
	}
	return base64.RawStdEncoding.DecodeString(s)
}

var bitsOf = map[idl.Kind]int{idl.I8: 8, idl.I16: 16, idl.I32: 32, idl.EnumRef: 32, idl.I64: 64}

// integer takes numbers and their text. 1.0 and 1e3 are integers to JSON.
func (w *writer) integer(t *typ, tok json.Token) error {
	var text string
	switch x := tok.(type) {
	case json.Number:
		text = x.String()
	case string:
		text = x
	default:
		return w.errorf("%s is an integer, not %s", t.text, describe(tok))
	}
	bits := bitsOf[t.kind]
	n, err := strconv.ParseInt(text, 10, bits)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		f, ferr := strconv.ParseFloat(text, 64)
		if _, number := tok.(json.Number); ferr == nil && number && f == math.Trunc(f) && math.Abs(f) < 1<<53 {
			n, err = strconv.ParseInt(strconv.FormatFloat(f, 'f', 0, 64), 10, bits)
		}
	}
	switch {
	case errors.Is(err, strconv.ErrRange):
		return w.errorf("%.40s is out of range for %s", text, t.text)
	case err != nil:
		return w.errorf("%s is an integer, not %s", t.text, describe(tok))
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

func (w *writer) double(tok json.Token) error {
	var text string
	switch x := tok.(type) {
	case json.Number:
		text = x.String()
	case string:
		text = x
		switch x {
		case "NaN", "Infinity", "-Infinity":
		default:
			if strings.ContainsAny(x, "xX_pPnN") { // Go's spellings, not JSON's
				return w.errorf("double is a number, \"NaN\", \"Infinity\" or \"-Infinity\", not %s", describe(tok))
			}
		}
	default:
		return w.errorf("double is a number, not %s", describe(tok))
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return w.errorf("%s does not fit a double", describe(tok))
	}
	w.b = binary.BigEndian.AppendUint64(w.b, math.Float64bits(f))
	return nil
}
