package thriftidl

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
)

// maxDepth bounds how deep types, values and fields nest in a file. Nobody writes
// this; it keeps a hostile file from the stack. The parser is the only place where
// nesting is made, so that nobody behind it has to count.
const maxDepth = 64

// keywords are the words that Apache's scanner never reads as an identifier. Those
// with true may still name a field (FieldName in thrifty.yy). Words that mean
// something in one place only, such as senum and stream, are no keywords: they were
// names before, and still are.
var keywords = map[string]bool{
	"namespace": true, "cpp_include": true, "cpp_type": false, "xsd_all": false, "xsd_optional": false,
	"xsd_nillable": false, "xsd_attrs": false, "include": true, "void": true, "bool": true, "byte": true, "i8": true,
	"i16": true, "i32": true, "i64": true, "double": true, "string": true, "binary": true, "uuid": true, "map": true,
	"list": true, "set": true, "oneway": true, "typedef": true, "struct": true, "union": true, "exception": true,
	"extends": true, "throws": true, "service": true, "enum": true, "const": true, "required": true, "optional": true,
	"async": true, "true": false, "false": false,
}

// baseTypes are the types that need no definition. byte is i8's old name.
var baseTypes = map[string]idl.Kind{
	"bool": idl.Bool, "byte": idl.I8, "i8": idl.I8, "i16": idl.I16, "i32": idl.I32, "i64": idl.I64, "double": idl.Double,
	"string": idl.String, "binary": idl.Binary, "uuid": idl.UUID,
}

// isKeyword reports whether s means something to Thrift, so that it can be no name.
func isKeyword(s string) bool {
	_, ok := keywords[s]
	return ok
}

// parser is a recursive descent parser of one file. It looks one token ahead, three
// where a method's argument may stream.
//
// An error is noted once a definition: after it, bad is set and the parser sees
// nothing but the end until recover skips to where the next definition seems to
// begin. So no production has to ask whether the one before it failed: it asks for
// its tokens, gets the end, and what it makes of that is thrown away.
//
//	definition ── production ── expect ── failf ── bad ── … ── recover ── definition
//	                              └ no error: the next token
type parser struct {
	file  *idl.File // is filled
	toks  []token   // of the whole file; the last one is its end
	at    int       // index of the next token; never behind the last one
	bad   bool      // the definition at hand has an error
	depth int       // of nest
	found *findings
	lost  bool // this file had a syntax error
}

// parseFile fills f from f.Text: all definitions that are right, with types and
// values as they are written. It reports false after any syntax error; names may
// be missing then, and the caller must not resolve any.
func parseFile(f *idl.File, found *findings) bool {
	p := &parser{file: f, toks: scan(f.Text), found: found}
	p.headers()
	for p.peek().kind != tokEOF {
		start := p.at
		p.definition()
		if p.bad {
			p.recover(start)
		}
	}
	return !p.lost
}

// peek gives the next token, the end if this definition has failed.
func (p *parser) peek() *token {
	if p.bad {
		return &p.toks[len(p.toks)-1]
	}
	return &p.toks[p.at]
}

// take gives the next token and goes on behind it. The end stays.
func (p *parser) take() *token {
	t := p.peek()
	if !p.bad && p.at < len(p.toks)-1 {
		p.at++
	}
	return t
}

// failf notes what is wrong at t, unless this definition has failed already: what a
// parser says second is mostly an echo. Of what is no token the scanner's text is
// the better one.
func (p *parser) failf(t *token, format string, args ...any) {
	if p.bad {
		return
	}
	p.bad, p.lost = true, true
	if t.kind == tokBad {
		p.found.errorf(p.file, t.pos, "%s", t.text)
		return
	}
	p.found.errorf(p.file, t.pos, format, args...)
}

// unexpected says what was wanted in place of the next token.
func (p *parser) unexpected(want string) {
	t := p.peek()
	what := fmt.Sprintf("%q", t.text)
	switch t.kind {
	case tokEOF:
		what = "the end of the file"
	case tokLiteral:
		what = "a string"
	}
	p.failf(t, "%s where %s is expected", what, want)
}

// recover goes on at the next token that looks like the begin of a definition:
// a keyword that begins a line not further right than the broken definition. A
// field that is called struct stands further right. start is the index of the first
// token of the broken one.
func (p *parser) recover(start int) {
	p.bad, p.depth = false, 0
	limit := max(p.toks[start].pos.Col, 1)
	for p.at = max(p.at, start); p.at < len(p.toks)-1; p.at++ {
		t := &p.toks[p.at]
		if p.at > start && t.kind == tokName && t.indent > 0 && t.indent <= limit {
			switch t.text {
			case "const", "typedef", "enum", "senum", "struct", "union", "exception", "service":
				return
			}
		}
	}
}

// is and isWord look at the next token, accept and acceptWord take it if it is
// the one.
func (p *parser) is(kind tokenKind) bool     { return p.peek().kind == kind }
func (p *parser) isWord(word string) bool    { t := p.peek(); return t.kind == tokName && t.text == word }
func (p *parser) acceptWord(w string) bool   { return p.isWord(w) && p.take() != nil }
func (p *parser) accept(kind tokenKind) bool { return p.is(kind) && p.take() != nil }

// expect takes a symbol, and fails if another token comes.
func (p *parser) expect(kind tokenKind) {
	if !p.accept(kind) {
		p.unexpected(fmt.Sprintf("%q", string(rune(kind))))
	}
}

// separator takes what may stand between two things of a list.
func (p *parser) separator() {
	if !p.accept(',') {
		p.accept(';')
	}
}

// literal takes a quoted string, and gives what its escapes stand for.
func (p *parser) literal(what string) string {
	if !p.is(tokLiteral) {
		p.unexpected(what)
		return ""
	}
	return p.take().text
}

// dotted takes an identifier that may have dots: a name of an included file, a
// namespace, an annotation's key. what says in an error what was wanted.
func (p *parser) dotted(what string) *token {
	t := p.peek()
	if t.kind != tokName || isKeyword(t.text) {
		if t.kind == tokName {
			p.failf(t, "%q is a word of the language where %s is expected", t.text, what)
		} else {
			p.unexpected(what)
		}
		return t
	}
	return p.take()
}

// name takes an identifier without dots: what is defined here has a simple name.
func (p *parser) name(what string) *token {
	t := p.dotted(what)
	if strings.Contains(t.text, ".") && t.kind == tokName {
		p.failf(t, "%q: %s cannot have a dot", t.text, what)
	}
	return t
}

// headers takes what comes before the definitions. The first doc comment of a
// file belongs to the file if a header follows it. A header with an error does not
// hide the next ones: each stands on a line of its own.
//
//	Header = "include" Literal | "cpp_include" Literal | Namespace
func (p *parser) headers() {
	for first := true; ; first = false {
		t := p.peek()
		if t.kind != tokName {
			return
		}
		switch t.text {
		case "include", "cpp_include", "namespace":
		default:
			return
		}
		if first {
			p.file.Doc = t.doc
		}
		start := p.at
		p.header(p.take())
		if p.bad { // the next header stands on a line of its own
			p.bad = false
			for p.at = max(p.at, start+1); p.at < len(p.toks)-1 && p.toks[p.at].indent == 0; p.at++ {
			}
		}
	}
}

// header takes one header, behind its first word t.
//
//	Namespace = "namespace" ( "*" Identifier | Identifier Identifier [Annotations] )
func (p *parser) header(t *token) {
	f := p.file
	switch t.text {
	case "include":
		pos := p.peek().pos
		f.Includes = append(f.Includes, &idl.Include{Path: p.literal("the path of a file in quotes"), Pos: pos})
		if p.bad {
			f.Includes = f.Includes[:len(f.Includes)-1]
		}
	case "cpp_include":
		f.CppInclude = append(f.CppInclude, p.literal("the path of a file in quotes"))
	case "namespace":
		n := idl.Namespace{Scope: "*"}
		star := p.accept('*')
		if !star {
			n.Scope = p.dotted("a language or *").text
		}
		n.Name = p.dotted("a namespace").text
		if !star {
			n.Annotations = p.annotations()
		}
		if !p.bad {
			f.Namespaces = append(f.Namespaces, n)
		}
	}
	// Apache's grammar has no separator here, but files have been seen with one.
	if p.is(',') || p.is(';') {
		p.found.warnf(f, p.peek().pos, "Apache's compiler does not accept a separator here")
		p.take()
	}
}

// annotations takes what stands in round brackets, nil if nothing does. Whoever
// reads a schema decides what a key means; here none is unknown.
//
//	Annotations = "(" (Identifier ["=" Literal] [Separator])* ")"
func (p *parser) annotations() idl.Annotations {
	if !p.accept('(') {
		return nil
	}
	list := idl.Annotations{}
	for !p.is(')') && !p.is(tokEOF) && !p.bad {
		key := p.dotted("an annotation")
		a := idl.Annotation{Key: key.text, Value: "1", Pos: key.pos}
		if p.accept('=') {
			a.Value = p.literal("a string")
		}
		p.separator()
		list = append(list, a)
	}
	p.expect(')')
	return list
}

// integer reads a token's number as Apache's scanner does: leading zeros are
// decimal, hex may be signed, anything beyond 64 bits is an error. The number has a
// sign of its own, so that 0xffffffffffffffff is none of 64 bits.
func (p *parser) integer(t *token) int64 {
	s, base := t.text, 10
	neg := strings.HasPrefix(s, "-")
	digits := strings.TrimLeft(s, "+-")
	if strings.HasPrefix(digits, "0x") {
		digits, base = digits[2:], 16
	}
	n, err := strconv.ParseUint(digits, base, 64)
	switch {
	case err == nil && n <= math.MaxInt64 && neg:
		return -int64(n)
	case err == nil && n <= math.MaxInt64:
		return int64(n)
	case err == nil && n == 1<<63 && neg:
		return math.MinInt64
	}
	p.failf(t, "integer %s does not fit 64 bits", s)
	return 0
}

// nest counts nesting in, up to maxDepth; the caller counts out by p.depth--.
func (p *parser) nest() {
	if p.depth++; p.depth > maxDepth {
		p.failf(p.peek(), "nested deeper than %d levels", maxDepth)
	}
}

// fieldType takes a type. A name is looked up later, so that definitions may
// stand in any order; until then the type is idl.Invalid, with the name as written.
//
//	FieldType = ( BaseType | Container | Identifier ) [Annotations]      a name has none
//
// what says in an error what was wanted.
func (p *parser) fieldType(what string) *idl.Type {
	p.nest()
	defer func() { p.depth-- }()
	t := p.peek()
	typ := &idl.Type{Pos: t.pos}
	if t.kind != tokName || p.bad {
		p.unexpected(what)
		return typ
	}
	kind, base := baseTypes[t.text]
	switch {
	case base:
		p.take()
		typ.Kind = kind
		typ.Annotations = p.annotations()
	case t.text == "map" || t.text == "set" || t.text == "list":
		p.take()
		p.container(typ, t.text)
		typ.Annotations = p.annotations()
	case t.text == "void":
		p.failf(t, "void is only a result")
	case t.text == "stream" && p.toks[p.at+1].kind == '<':
		p.failf(t, "stream<> stands only for a method's result or its only argument")
	default:
		typ.Name = p.dotted(what).text
	}
	return typ
}

// container takes the rest of a container, behind its first word. cpp_type stands
// before the brackets, behind them where list had it first.
//
//	Container = "map" [CppType] "<" FieldType "," FieldType ">"
//	          | "set" [CppType] "<" FieldType ">"
//	          | "list" [CppType] "<" FieldType ">" [CppType]
func (p *parser) container(typ *idl.Type, word string) {
	typ.CppType = p.cppType()
	p.expect('<')
	switch word {
	case "map":
		typ.Kind = idl.Map
		typ.Key = p.fieldType("a type")
		p.expect(',')
	case "set":
		typ.Kind = idl.Set
	case "list":
		typ.Kind = idl.List
	}
	typ.Elem = p.fieldType("a type")
	p.expect('>')
	if word == "list" { // the old place of cpp_type
		if late := p.cppType(); late != "" {
			typ.CppType = late
		}
	}
}

// cppType takes the type that Apache's C++ is to use: kept for plug-ins.
//
//	CppType = "cpp_type" Literal
func (p *parser) cppType() string {
	if p.acceptWord("cpp_type") {
		return p.literal("a string")
	}
	return ""
}

// streamType takes a type, or stream<type>. stream is a type's name where no bracket
// follows, and says then and there only that there are many messages.
func (p *parser) streamType(what string) (t *idl.Type, stream bool) {
	if p.isWord("stream") && p.toks[p.at+1].kind == '<' {
		p.take()
		p.expect('<')
		t = p.fieldType("a type")
		p.expect('>')
		return t, true
	}
	return p.fieldType(what), false
}

// value takes a constant's value, as it is written: what it means is found out when
// its type is known (fit). true and false are 1 and 0, as for Apache's compiler.
//
//	Value = Int | Double | Literal | Identifier | "true" | "false"
//	      | "[" (Value [Separator])* "]"
//	      | "{" (Value ":" Value [Separator])* "}"
func (p *parser) value() *idl.Value {
	p.nest()
	defer func() { p.depth-- }()
	t := p.peek()
	v := &idl.Value{Pos: t.pos, Text: t.text}
	switch t.kind {
	case tokInt:
		p.take()
		v.Kind, v.Int, v.Text = idl.IntValue, p.integer(t), ""
	case tokDouble:
		p.take()
		v.Kind = idl.DoubleValue
	case tokLiteral:
		p.take()
		v.Kind = idl.StringValue
	case tokName:
		v.Kind = idl.NameValue
		if t.text == "true" || t.text == "false" {
			p.take()
			v.Kind, v.Text = idl.IntValue, ""
			if t.text == "true" {
				v.Int = 1
			}
			break
		}
		p.dotted("a value")
	case '[':
		p.take()
		v.Kind, v.Text, v.List = idl.ListValue, "", []*idl.Value{}
		for !p.is(']') && !p.is(tokEOF) {
			v.List = append(v.List, p.value())
			p.separator()
		}
		p.expect(']')
	case '{':
		p.take()
		v.Kind, v.Text, v.Map = idl.MapValue, "", []idl.Entry{}
		for !p.is('}') && !p.is(tokEOF) {
			e := idl.Entry{Key: p.value()}
			p.expect(':')
			e.Value = p.value()
			p.separator()
			v.Map = append(v.Map, e)
		}
		p.expect('}')
	default:
		p.unexpected("a value")
	}
	return v
}
