package main

import (
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A screen is an output that somebody may look at in a terminal. Names, comments, errors
// and values come from servers and files: what a terminal would obey in them is written
// as JSON writes it, \u001b. For who reads JSON that is the same text.
type screen struct{ io.Writer }

// Write takes whole characters; it reports p as written, whatever became of it.
func (s screen) Write(p []byte) (int, error) {
	text := string(p)
	shown := shown(text)
	if shown == text {
		return s.Writer.Write(p)
	}
	if _, err := io.WriteString(s.Writer, shown); err != nil {
		return 0, err
	}
	return len(p), nil
}

// shown is s as a terminal shows it and does nothing else. Lines and tabs stay, and the
// colours of this tool, in which nobody can do more than colour a text.
func shown(s string) string {
	if strings.IndexFunc(s, obeyed) < 0 {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if c := colourAt(s); c > 0 {
			n = c
			b.WriteString(s[:n])
		} else if obeyed(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}

// obeyed tells the characters by which a text orders something: controls, and those that
// turn the direction in which others are read.
func obeyed(r rune) bool {
	return r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r))
}

// colourAt gives the length of the colour that s begins with, as sgr writes it; 0: none.
func colourAt(s string) int {
	for _, c := range []string{"\x1b[0m", "\x1b[1m", "\x1b[2m", "\x1b[32m"} {
		if strings.HasPrefix(s, c) {
			return len(c)
		}
	}
	return 0
}
