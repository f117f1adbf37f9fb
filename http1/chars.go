package http1

import (
	"math"
	"net/netip"
	"strings"
)

// lengthMost is the longest body with a length that is known beforehand: ten digits, or what an
// int holds where that is less.
const lengthMost = min(9_999_999_999, math.MaxInt)

// The functions here say what bytes a part of a message may have. They are as strict as
// the strictest of the parsers that they are compared with, see docs/how/http1.md, and
// take what clients in use send.

// isToken reports whether s is a token: RFC 9110, section 5.6.2.
func isToken[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if !tokenByte(s[i]) {
			return false
		}
	}
	return len(s) > 0
}

// tokenByte reports a byte of a token. Those of most names are found without a search.
func tokenByte(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.':
		return true
	}
	return c != 0 && strings.IndexByte("!#$%&'*+^`|~", c) >= 0
}

// validValue reports whether a value has no control characters but tabs.
func validValue[T string | []byte](s T) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// trim takes white space off both ends.
func trim[T string | []byte](s T) T {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// parseLength reads a content-length: digits and nothing else, 18 at most, which cannot
// overflow. Signs, hexadecimal digits, commas and spaces are read in several ways.
func parseLength[T string | []byte](s T) (n int64, ok bool) {
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, true
}

// parseStatus reads a status of three digits; 0 is none.
func parseStatus(v string) (n int) {
	if len(v) != 3 || v[0] < '1' {
		return 0
	}
	for i := 0; i < len(v); i++ {
		if v[i] < '0' || v[i] > '9' {
			return 0
		}
		n = n*10 + int(v[i]-'0')
	}
	return n
}

// hexDigit is the value of a hexadecimal digit, in either case.
func hexDigit(c byte) (n int64, ok bool) {
	switch {
	case c >= '0' && c <= '9':
		return int64(c - '0'), true
	case c >= 'a' && c <= 'f':
		return int64(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return int64(c-'A') + 10, true
	}
	return 0, false
}

// validPath reports whether s is an origin-form target: RFC 9112, section 3.2.1. A few
// bytes pass that the RFC wants escaped and every client sends. A fragment is never
// sent; some cut it off. Escapes are checked and left as they are.
func validPath(s string) bool {
	if len(s) == 0 || s[0] != '/' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c <= ' ' || c >= 0x7f {
			return false
		}
		switch c {
		case '"', '#', '<', '>', '\\':
			return false
		case '%':
			if i+2 >= len(s) {
				return false
			}
			_, a := hexDigit(s[i+1])
			_, b := hexDigit(s[i+2])
			if !a || !b {
				return false
			}
		}
	}
	return true
}

// validHost reports whether s is a host with or without a port: a name or an IPv4
// address, or an IPv6 address in brackets. In a name, escaped also allows what RFC
// 3986 does besides letters, digits, dots, dashes and underscores.
func validHost(s string, escaped bool) bool {
	name, port := s, ""
	if len(s) > 0 && s[0] == '[' {
		end := strings.IndexByte(s, ']')
		if end < 3 || !validIPv6(s[1:end]) {
			return false
		}
		name, port = "", s[end+1:]
		if port != "" && port[0] != ':' {
			return false
		}
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		name, port = s[:i], s[i:]
		if name == "" {
			return false
		}
	}
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
		case c == 0 || !escaped || strings.IndexByte("~%!$&'()*+,;=", c) < 0:
			return false
		}
	}
	for i := 1; i < len(port); i++ {
		if port[i] < '0' || port[i] > '9' {
			return false
		}
	}
	return len(port) <= len(":65535")
}

func validIPv6(s string) bool {
	a, err := netip.ParseAddr(s)
	return err == nil && a.Is6() && a.Zone() == ""
}

// methods are those that all implementations know: what is not is refused, since
// some refuse it. CONNECT is not for an origin.
var methods = [...]string{"GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "PROPFIND", "PROPPATCH",
	"MKCOL", "COPY", "MOVE", "LOCK", "UNLOCK", "SEARCH", "REPORT", "PURGE"}

// knownMethod is a constant for a method that is known, or "".
func knownMethod(m string) string {
	for i := range methods {
		if methods[i] == m {
			return methods[i]
		}
	}
	return ""
}

// Sniff judges the first bytes of a connection, which it borrows: it tells HTTP/1 apart from
// what else may begin on the same port. A method and a space are in the first bytes of
// nothing else that is spoken there, and HTTP/2's preface begins with a method that does
// not exist. It looks at ten bytes at most. ok says that a
// request of HTTP/1 may begin so, and need, if not 0, how many bytes more would tell.
func Sniff(prefix []byte) (need int, ok bool) {
	for i := range methods {
		m := methods[i]
		n := min(len(prefix), len(m))
		if string(prefix[:n]) != m[:n] {
			continue
		}
		if len(prefix) <= len(m) {
			return len(m) + 1 - len(prefix), true
		}
		if prefix[len(m)] == ' ' {
			return 0, true
		}
	}
	return 0, false
}
