package grpc

import "strings"

const hex = "0123456789ABCDEF"

// plain reports a byte of a grpc-message that stands for itself.
func plain(c byte) bool { return c >= ' ' && c < 0x7f && c != '%' }

// EscapeMessage gives a text as the value of a grpc-message: what is no printable
// ASCII is percent-encoded.
func EscapeMessage(s string) string {
	bad := 0
	for i := range len(s) {
		if !plain(s[i]) {
			bad++
		}
	}
	if bad == 0 {
		return s
	}
	b := make([]byte, 0, len(s)+2*bad)
	for i := range len(s) {
		if c := s[i]; plain(c) {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}

// UnescapeMessage gives the text of a grpc-message. What is no percent-encoding stays as
// it is: an error's text is not worth another error. The result is UTF-8.
func UnescapeMessage(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := digit(s[i+1]), digit(s[i+2])
			if hi < 16 && lo < 16 {
				b = append(b, hi<<4|lo)
				i += 2
				continue
			}
		}
		b = append(b, s[i])
	}
	return strings.ToValidUTF8(string(b), "\uFFFD")
}

// digit is the value of a hexadecimal digit; 16 and more: it is none.
func digit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 16
}
