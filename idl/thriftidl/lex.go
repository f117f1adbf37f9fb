package thriftidl

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/limosa-rpc/limosa/idl"
)

// tokenKind is a symbol's own character, or one of these. The words of thriftl.ll:
//
//	identifier  [a-zA-Z_](\.[a-zA-Z_0-9]|[a-zA-Z_0-9])*
//	int         [+-]?[0-9]+ | [+-]?"0x"[0-9A-Fa-f]+
//	double      [+-]?[0-9]*(\.[0-9]+)?([eE][+-]?[0-9]+)?
//	literal     "…" or '…' on one line, with \r \n \t \" \' \\
//	symbol      : ; , { } ( ) = < > [ ] * &
//	comment     // or # to the end of the line, /* … */; /** … */ documents
//
// Where the pattern for doubles would take an integer or nothing at all, ours does
// not.
type tokenKind byte

const (
	tokEOF     tokenKind = 0
	tokName    tokenKind = 'n' // identifier or keyword
	tokInt     tokenKind = 'i'
	tokDouble  tokenKind = 'd'
	tokLiteral tokenKind = 's'
	tokBad     tokenKind = '!' // text says what is wrong
)

// A token is a word, a number, a literal or a sign of a .thrift file, with its place.
type token struct {
	kind   tokenKind
	text   string // a literal's value; else the spelling
	pos    idl.Pos
	indent int    // column, if the token is the first one of its line; else 0. See recover
	doc    string // the last /** */ comment since the token before
}

// lexer cuts a file into tokens. It never fails: what is no token becomes
// tokBad, and the parser says so when it comes by. Each call of next moves on by at
// least a byte, so that it ends, and looks at each byte a bounded number of times.
type lexer struct {
	text      string
	off       int    // of the next byte
	line      int    // from 1
	lineStart int    // offset of the line's first byte: columns are bytes
	fresh     bool   // no token on this line yet
	doc       string // of the token to come
}

// scan gives all tokens, the last one tokEOF. The memory is in proportion to the
// text: each token takes a byte of it at least.
func scan(text string) []token {
	l := lexer{text: text, line: 1, fresh: true}
	if strings.HasPrefix(text, "\ufeff") { // a byte order mark, as Apache's compiler skips it
		l.off, l.lineStart = 3, 3
	}
	toks := make([]token, 0, len(text)/5+1)
	for {
		t := l.next()
		toks = append(toks, t)
		if t.kind == tokEOF {
			return toks
		}
	}
}

// pos is where the lexer is; lines and columns count from 1, columns in bytes.
func (l *lexer) pos() idl.Pos { return idl.Pos{Line: l.line, Col: l.off - l.lineStart + 1} }

// newline counts a line; off is behind its end.
func (l *lexer) newline() {
	l.line++
	l.lineStart = l.off
	l.fresh = true
}

// next cuts off one token. Tokens are cut as long as they can be, so that 0x1g is
// 0x1 and g, and 1.5.2 is 1.5 and .2, as in Apache's scanner.
func (l *lexer) next() token {
	if bad, ok := l.space(); !ok {
		return bad
	}
	t := token{pos: l.pos(), doc: l.doc}
	l.doc = ""
	if l.fresh {
		t.indent = t.pos.Col
		l.fresh = false
	}
	if l.off >= len(l.text) {
		return t
	}
	switch c := l.text[l.off]; {
	case isLetter(c):
		if t.kind, t.text = tokName, l.name(); len(t.text) > maxName {
			t.kind, t.text = tokBad, fmt.Sprintf("a name of %d bytes; %d are allowed", len(t.text), maxName)
		}
	case c >= '0' && c <= '9' || c == '+' || c == '-' || c == '.':
		t.kind, t.text = l.number()
	case c == '"' || c == '\'':
		t.kind, t.text = l.literal(c)
	case strings.IndexByte(":;,{}()=<>[]*&", c) >= 0:
		t.kind, t.text = tokenKind(c), l.text[l.off:l.off+1]
		l.off++
	default:
		t.kind, t.text = tokBad, fmt.Sprintf("unexpected character %q", firstRune(l.text[l.off:]))
		l.off += len(firstRune(l.text[l.off:]))
	}
	return t
}

// space skips blanks and comments and keeps the last doc comment. A comment that
// does not end is the one thing here that is wrong: the rest of the file is gone
// with it, and bad says where it began.
func (l *lexer) space() (bad token, ok bool) {
	for l.off < len(l.text) {
		rest := l.text[l.off:]
		switch c := rest[0]; {
		case c == '\n':
			l.off++
			l.newline()
		case c == ' ' || c == '\t' || c == '\r':
			l.off++
		case c == '#' || strings.HasPrefix(rest, "//"):
			if i := strings.IndexByte(rest, '\n'); i >= 0 {
				l.off += i
			} else {
				l.off = len(l.text)
			}
		case strings.HasPrefix(rest, "/*"):
			end := strings.Index(rest[2:], "*/")
			if end < 0 {
				bad := token{kind: tokBad, text: "comment does not end", pos: l.pos()}
				l.off = len(l.text)
				return bad, false
			}
			body := rest[2 : 2+end]
			// /** and more than stars: a doc comment. "/**/" is none.
			if strings.HasPrefix(body, "*") && strings.Trim(body, "*") != "" {
				l.doc = cleanDoc(body[1:])
			}
			l.skipLines(2 + end + 2)
		default:
			return token{}, true
		}
	}
	return token{}, true
}

// skipLines moves n bytes on and counts the lines: a comment's.
func (l *lexer) skipLines(n int) {
	end := l.off + n
	for l.off < end {
		i := strings.IndexByte(l.text[l.off:end], '\n')
		if i < 0 {
			break
		}
		l.off += i + 1
		l.newline()
	}
	l.off = end
}

// isLetter tells what an identifier may begin with. Apache's scanner knows ASCII only,
// and so do most of the languages that code is generated for.
func isLetter(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// name takes an identifier: dots inside are part of it, but not at its end. What
// they separate is the resolver's to say, since a file's name may have dots too.
func (l *lexer) name() string {
	start := l.off
	word := func(i int) bool { return i < len(l.text) && (isLetter(l.text[i]) || isDigit(l.text[i])) }
	for {
		switch {
		case word(l.off):
			l.off++
		case l.off < len(l.text) && l.text[l.off] == '.' && word(l.off+1):
			l.off += 2
		default:
			return l.text[start:l.off]
		}
	}
}

// number takes the longest integer, hex integer or double. Whether it fits 64 bits
// is looked at where it is used. A sign or a dot alone is no token.
func (l *lexer) number() (tokenKind, string) {
	s := l.text[l.off:]
	i := 0
	if s[0] == '+' || s[0] == '-' {
		i++
	}
	if end := i + 2 + span(s[min(i+2, len(s)):], isHex); strings.HasPrefix(s[i:], "0x") && end > i+2 {
		l.off += end
		return tokInt, s[:end]
	}
	kind, end := tokInt, i+span(s[i:], isDigit)
	whole := end > i
	if end+1 < len(s) && s[end] == '.' && isDigit(s[end+1]) {
		kind, whole, end = tokDouble, true, end+1+span(s[end+1:], isDigit)
	}
	if !whole {
		l.off++
		return tokBad, fmt.Sprintf("unexpected character %q", s[:1])
	}
	if n := exponent(s[end:]); n > 0 {
		kind, end = tokDouble, end+n
	}
	l.off += end
	return kind, s[:end]
}

// exponent gives the length of the exponent that s begins with, 0 if there is none.
func exponent(s string) int {
	if s == "" || s[0] != 'e' && s[0] != 'E' {
		return 0
	}
	sign := 0
	if len(s) > 1 && (s[1] == '+' || s[1] == '-') {
		sign = 1
	}
	n := span(s[1+sign:], isDigit)
	if n == 0 {
		return 0
	}
	return 1 + sign + n
}

// span gives how many bytes of s, from its begin, are in a class.
func span(s string, class func(byte) bool) int {
	for i := range len(s) {
		if !class(s[i]) {
			return i
		}
	}
	return len(s)
}

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// literal takes a quoted string of one line. The escapes are those of Apache's
// compiler; it has none for arbitrary bytes, since the text may hold them. What is
// wrong in it ends the token there: what follows is read on, on the same line or the
// next one, so that one missing quote does not eat the file.
func (l *lexer) literal(quote byte) (tokenKind, string) {
	s := l.text[l.off:]
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch c := s[i]; c {
		case quote:
			l.off += i + 1
			return tokLiteral, b.String()
		case '\n':
			l.off += i
			return tokBad, "string does not end on its line"
		case '\\':
			i++
			if i == len(s) || s[i] == '\n' {
				l.off += i
				return tokBad, "string does not end on its line"
			}
			at := strings.IndexByte(`rnt"'\`, s[i])
			if at < 0 {
				l.off += i
				return tokBad, fmt.Sprintf(`unknown escape \%s in string: use \\ for a backslash`, firstRune(s[i:]))
			}
			b.WriteByte("\r\n\t\"'\\"[at])
		default:
			b.WriteByte(c)
		}
	}
	l.off = len(l.text)
	return tokBad, "string does not end"
}

// firstRune gives the first character, of text that is no UTF-8 the first byte.
func firstRune(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return s[:n]
}

// cleanDoc takes a comment's decoration away: the stars that begin its lines, if all
// of them but the first do, and the indentation that all lines share. So
//
//	/** Adds.
//	 *
//	 *    add(1, 2)
//	 */
//
// becomes "Adds.", an empty line, and "add(1, 2)" as far to the right as it stood
// behind the least indented line.
func cleanDoc(body string) string {
	lines := strings.Split(strings.ReplaceAll(body, "\r", ""), "\n")
	starred := true
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " \t")
		rest := strings.TrimLeft(lines[i], " \t")
		starred = starred && (i == 0 || rest == "" || rest[0] == '*')
	}
	indent := -1
	for i, line := range lines {
		if i == 0 {
			lines[i] = strings.TrimLeft(line, " \t")
			continue
		}
		if starred {
			line = strings.TrimPrefix(strings.TrimLeft(line, " \t"), "*")
			lines[i] = line
		}
		if rest := strings.TrimLeft(line, " \t"); rest != "" && (indent < 0 || len(line)-len(rest) < indent) {
			indent = len(line) - len(rest)
		}
	}
	for i, line := range lines {
		if i > 0 && indent > 0 && len(line) >= indent {
			lines[i] = line[indent:]
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n \t")
}
