package json

import (
	"math"
	"strconv"
	"unicode/utf8"
)

// AppendDouble appends a number, or what stands for one that is none: JSON has neither infinities
// nor NaN, and Apache's TJSONProtocol writes them as these strings. The shortest form that
// gives the same bits back is written.
func AppendDouble(b []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(b, `"NaN"`...)
	case math.IsInf(f, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(f, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, 64)
}

// AppendString appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD: JSON has no form for them. What needs no escape is copied in runs; of control characters
// all are written as \u00XX, which is longer than \n and one case less.
func AppendString[S string | []byte](b []byte, s S) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0 // what was not copied yet
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c >= utf8.RuneSelf {
			// A rune ends within four bytes: no more is turned into a string.
			r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
			if r != utf8.RuneError || n > 1 {
				i += n
				continue
			}
		}
		b = append(b, s[from:i]...)
		switch {
		case c >= utf8.RuneSelf:
			b = utf8.AppendRune(b, utf8.RuneError)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			b = append(b, '\\', c)
		}
		i++
		from = i
	}
	return append(append(b, s[from:]...), '"')
}
