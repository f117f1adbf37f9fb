package thriftidl

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// traceTokens writes tokens as "line:col kind text", with the comment before one in
// brackets; names and symbols stand for themselves.
func traceTokens(text string) string {
	var parts []string
	for _, t := range scan(text) {
		s := fmt.Sprintf("%d:%d ", t.pos.Line, t.pos.Col)
		switch t.kind {
		case tokEOF:
			s += "end"
		case tokName:
			s += t.text
		case tokInt:
			s += "int " + t.text
		case tokDouble:
			s += "double " + t.text
		case tokLiteral:
			s += fmt.Sprintf("%q", t.text)
		case tokBad:
			s += "bad: " + t.text
		default:
			s += t.text
		}
		if t.doc != "" {
			s += fmt.Sprintf(" [%s]", t.doc)
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, ", ")
}

func TestTokens(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "1:1 end",
		" \t\r\n ":            "2:2 end",
		"\ufeffa":             "1:1 a, 1:2 end", // a byte order mark is no column
		"a\ufeff":             `1:1 a, 1:2 bad: unexpected character "\ufeff", 1:5 end`,
		"struct A{}":          "1:1 struct, 1:8 A, 1:9 {, 1:10 }, 1:11 end",
		"a\r\nb":              "1:1 a, 2:1 b, 2:2 end",
		"_a9 b.c.d e. .f":     "1:1 _a9, 1:5 b.c.d, 1:11 e, 1:12 bad: unexpected character \".\", 1:14 bad: unexpected character \".\", 1:15 f, 1:16 end",
		":;,{}()=<>[]*&":      "1:1 :, 1:2 ;, 1:3 ,, 1:4 {, 1:5 }, 1:6 (, 1:7 ), 1:8 =, 1:9 <, 1:10 >, 1:11 [, 1:12 ], 1:13 *, 1:14 &, 1:15 end",
		"0 -1 +2 098":         "1:1 int 0, 1:3 int -1, 1:6 int +2, 1:9 int 098, 1:12 end",
		"0x1F -0xa 0xg 0x":    "1:1 int 0x1F, 1:6 int -0xa, 1:11 int 0, 1:12 xg, 1:15 int 0, 1:16 x, 1:17 end",
		"1.5 .5 1. -1.5e10":   "1:1 double 1.5, 1:5 double .5, 1:8 int 1, 1:9 bad: unexpected character \".\", 1:11 double -1.5e10, 1:18 end",
		"1e10 e10 1e 1e+ 2E-": "1:1 double 1e10, 1:6 e10, 1:10 int 1, 1:11 e, 1:13 int 1, 1:14 e, 1:15 bad: unexpected character \"+\", 1:17 int 2, 1:18 E, 1:19 bad: unexpected character \"-\", 1:20 end",
		"- 1":                 "1:1 bad: unexpected character \"-\", 1:3 int 1, 1:4 end",
		"é":                   "1:1 bad: unexpected character \"é\", 1:3 end",
		"\xff\xfe":            "1:1 bad: unexpected character \"\\xff\", 1:2 bad: unexpected character \"\\xfe\", 1:3 end",
		"\xff\n\n a":          "1:1 bad: unexpected character \"\\xff\", 3:2 a, 3:3 end", // one byte, whatever follows
		"@a":                  "1:1 bad: unexpected character \"@\", 1:2 a, 1:3 end",
	} {
		if got := traceTokens(text); got != want {
			t.Errorf("%q\n gives %s\n want  %s", text, got, want)
		}
	}
}

// A literal's text is what its escapes stand for; one that is broken is one token,
// and what follows is read on.
func TestLiterals(t *testing.T) {
	for text, want := range map[string]string{
		`"a" 'b'`:         `1:1 "a", 1:5 "b", 1:8 end`,
		`"" ''`:           `1:1 "", 1:4 "", 1:6 end`,
		`"it's" '"'`:      `1:1 "it's", 1:8 "\"", 1:11 end`,
		`"\r\n\t\"\'\\"`:  `1:1 "\r\n\t\"'\\", 1:15 end`,
		"\"tab\tin\"":     `1:1 "tab\tin", 1:9 end`,
		"\"\x00\xff\"":    `1:1 "\x00\xff", 1:5 end`,
		`"ü" a`:           `1:1 "ü", 1:6 a, 1:7 end`,
		`"\x41"`:          `1:1 bad: unknown escape \x in string: use \\ for a backslash, 1:3 x41, 1:6 bad: string does not end, 1:7 end`,
		`"\ü"`:            `1:1 bad: unknown escape \ü in string: use \\ for a backslash, 1:3 bad: unexpected character "ü", 1:5 bad: string does not end, 1:6 end`,
		`"a`:              `1:1 bad: string does not end, 1:3 end`,
		`"a\`:             `1:1 bad: string does not end on its line, 1:4 end`,
		"\"a\nb\"":        `1:1 bad: string does not end on its line, 2:1 b, 2:2 bad: string does not end, 2:3 end`,
		"\"a\\\nb":        `1:1 bad: string does not end on its line, 2:1 b, 2:2 end`,
		`"a" "b"c`:        `1:1 "a", 1:5 "b", 1:8 c, 1:9 end`,
		"'a'\n  'b' // c": `1:1 "a", 2:3 "b", 2:11 end`,
	} {
		if got := traceTokens(text); got != want {
			t.Errorf("%q\n gives %s\n want  %s", text, got, want)
		}
	}
}

// Comments are no tokens. The last doc comment before a token is that token's.
func TestComments(t *testing.T) {
	for text, want := range map[string]string{
		"# a\nb":                       "2:1 b, 2:2 end",
		"// a\nb":                      "2:1 b, 2:2 end",
		"// a":                         "1:5 end",
		"a // b\nc":                    "1:1 a, 2:1 c, 2:2 end",
		"/* a */ b":                    "1:9 b, 1:10 end",
		"/* a\n * b\n */ c":            "3:5 c, 3:6 end",
		"/* /* */ a":                   "1:10 a, 1:11 end",
		"/**/ a":                       "1:6 a, 1:7 end",
		"/***/ a":                      "1:7 a, 1:8 end",
		"/****/ a":                     "1:8 a, 1:9 end",
		"/** a */ b":                   "1:10 b [a], 1:11 end",
		"/** a */ /** b */ c d":        "1:19 c [b], 1:21 d, 1:22 end",
		"/** a */ // b\n c":            "2:2 c [a], 2:3 end",
		"/** a */":                     "1:9 end [a]",
		"/** a\n * b\n *   c\n */ d":   "4:5 d [a\nb\n  c], 4:6 end",
		"/**\n * a\n *\n * b\n */ d":   "5:5 d [a\n\nb], 5:6 end",
		"/**\n   a\n     b\n */ c":     "4:5 c [a\n  b], 4:6 end",
		"/** a\r\n * b\r\n */ c":       "3:5 c [a\nb], 3:6 end",
		"/**a*b**/ c":                  "1:11 c [a*b*], 1:12 end",
		"/**\n * a\n not starred\n*/b": "4:3 b [* a\nnot starred], 4:4 end",
		"/* a":                         "1:1 bad: comment does not end, 1:5 end",
		"a /** b":                      "1:1 a, 1:3 bad: comment does not end, 1:8 end",
		"/*/ a":                        "1:1 bad: comment does not end, 1:6 end",
	} {
		if got := traceTokens(text); got != want {
			t.Errorf("%q\n gives %q\n want  %q", text, got, want)
		}
	}
}

// indent is the column of a line's first token, and 0 for the others: recovery
// after an error looks at it.
func TestIndent(t *testing.T) {
	var got []int
	for _, x := range scan("a b\n  c /* x\n */ d\n\te") {
		got = append(got, x.indent)
	}
	if fmt.Sprint(got) != "[1 0 3 5 2 0]" {
		t.Error(got)
	}
}

// FuzzScan: whatever the text, the tokens stand in it in order and end with its end,
// and what is no comment, blank or literal is in them.
func FuzzScan(f *testing.F) {
	f.Add("struct A { 1: i32 x = -0x1F } // c\n/** d */ 'e' \"f\\n\"")
	f.Add("\ufeff1.5e-3 .5 1. @ /*")
	f.Fuzz(func(t *testing.T, text string) {
		toks := scan(text)
		last, lines := toks[0].pos, strings.Count(text, "\n")+1
		for i, x := range toks {
			if x.pos.Line < last.Line || x.pos.Line == last.Line && x.pos.Col <= last.Col && i > 0 || x.pos.Line > lines || x.pos.Col < 1 {
				t.Fatalf("token %d at %v behind %v", i, x.pos, last)
			}
			if (x.kind == tokEOF) != (i == len(toks)-1) || x.kind != tokEOF && x.kind != tokLiteral && x.text == "" {
				t.Fatalf("token %d: %+v", i, x)
			}
			if utf8.ValidString(text) && x.kind != tokLiteral && x.kind != tokBad && !strings.Contains(text, x.text) {
				t.Fatalf("token %d is not in the text: %+v", i, x)
			}
			last = x.pos
		}
	})
}
