package thriftidl

import (
	"math"

	"github.com/limosa-rpc/limosa/idl"
)

// The functions of this file are the productions of the grammar, in the notation of
// Thrift's own description of it; their names are those of the model.
//
//	Document   = Header* Definition*
//	Definition = Const | Typedef | Enum | Senum | Struct | Union | Exception | Service
//	Separator  = "," | ";"      anywhere between two things of a list, never needed

// definition takes one definition and hangs it into the file. One that has an error
// is left out; p.bad is set then.
func (p *parser) definition() {
	t, f := p.peek(), p.file
	if t.kind != tokName {
		p.unexpected("a definition")
		return
	}
	switch t.text {
	case "const":
		p.take()
		if c := p.constant(t.doc); !p.bad {
			f.Consts = append(f.Consts, c)
		}
	case "typedef":
		p.take()
		if d := p.typedef(t.doc); !p.bad {
			f.Typedefs = append(f.Typedefs, d)
		}
	case "enum":
		p.take()
		if e := p.enum(t.doc); !p.bad {
			f.Enums = append(f.Enums, e)
		}
	case "senum": // no keyword: see keywords
		p.take()
		if d := p.senum(t); !p.bad {
			f.Typedefs = append(f.Typedefs, d)
		}
	case "struct", "union", "exception":
		p.take()
		if s := p.structure(idl.StructKind(t.text), t.doc); !p.bad {
			f.Structs = append(f.Structs, s)
		}
	case "service":
		p.take()
		if s := p.service(t.doc); !p.bad {
			f.Services = append(f.Services, s)
		}
	case "include", "cpp_include", "namespace":
		p.failf(t, "%s must stand before the first definition", t.text)
	default:
		p.unexpected("a definition (const, typedef, enum, struct, union, exception or service)")
	}
}

// constant takes a constant, behind its first word.
//
//	Const = "const" FieldType Identifier "=" Value [Separator]
func (p *parser) constant(doc string) *idl.Const {
	typ := p.fieldType("a type")
	name := p.name("a constant's name")
	p.expect('=')
	c := &idl.Const{Name: name.text, Type: typ, Value: p.value(), Doc: doc, Pos: name.pos, File: p.file}
	p.separator()
	return c
}

// typedef takes a typedef, behind its first word.
//
//	Typedef = "typedef" FieldType Identifier [Annotations] [Separator]
func (p *parser) typedef(doc string) *idl.Typedef {
	typ := p.fieldType("a type")
	name := p.name("a type's name")
	d := &idl.Typedef{Name: name.text, Type: typ, Annotations: p.annotations(), Doc: doc, Pos: name.pos, File: p.file}
	p.separator()
	return d
}

// enum takes an enum, behind its first word. A value without a number is one more
// than the one before it, the first one 0.
//
//	Enum      = "enum" Identifier "{" EnumValue* "}" [Annotations]
//	EnumValue = Identifier ["=" Int] [Annotations] [Separator]
func (p *parser) enum(doc string) *idl.Enum {
	name := p.name("an enum's name")
	e := &idl.Enum{Name: name.text, Values: []*idl.EnumValue{}, Doc: doc, Pos: name.pos, File: p.file}
	p.expect('{')
	next := int64(0)
	for !p.is('}') && !p.is(tokEOF) {
		t := p.name("an enum value's name")
		v := &idl.EnumValue{Name: t.text, Doc: t.doc, Pos: t.pos}
		n, at := next, t
		if p.accept('=') {
			at = p.peek()
			if !p.is(tokInt) {
				p.unexpected("an integer")
				break
			}
			n = p.integer(p.take())
		}
		if n < math.MinInt32 || n > math.MaxInt32 {
			p.failf(at, "value %d of %s does not fit 32 bits", n, t.text)
		}
		v.Value, next = int32(n), n+1
		v.Annotations = p.annotations()
		p.separator()
		e.Values = append(e.Values, v)
	}
	p.expect('}')
	e.Annotations = p.annotations()
	return e
}

// senum takes the enumerated string of Thrift's first versions, behind its first
// word t. Apache dropped it; it was a string on the wire and is read as one.
//
//	Senum = "senum" Identifier "{" (Literal [Separator])* "}" [Annotations]
func (p *parser) senum(t *token) *idl.Typedef {
	name := p.name("a type's name")
	p.found.warnf(p.file, t.pos, "senum is gone from Thrift: %s is read as a string", name.text)
	p.expect('{')
	for !p.is('}') && !p.is(tokEOF) {
		p.literal("a string")
		p.separator()
	}
	p.expect('}')
	return &idl.Typedef{
		Name: name.text, Type: &idl.Type{Kind: idl.String, Pos: t.pos}, Annotations: p.annotations(),
		Doc: t.doc, Pos: name.pos, File: p.file,
	}
}

// structure takes a struct, a union or an exception, behind its first word.
//
//	Struct    = "struct" Identifier ["xsd_all"] "{" Field* "}" [Annotations]
//	Union     = "union" Identifier ["xsd_all"] "{" Field* "}" [Annotations]
//	Exception = "exception" Identifier "{" Field* "}" [Annotations]
func (p *parser) structure(kind idl.StructKind, doc string) *idl.Struct {
	name := p.name("a type's name")
	s := &idl.Struct{Name: name.text, Kind: kind, Doc: doc, Pos: name.pos, File: p.file}
	if kind != idl.Exception {
		s.XsdAll = p.acceptWord("xsd_all")
	}
	s.Fields = p.fields('{', '}')
	if kind == idl.Union && !p.bad {
		p.unionFields(s)
	}
	s.Annotations = p.annotations()
	return s
}

// unionFields checks what only fields of a union must be. One of them is set, so
// that none is required, and at most one is there before anybody sets one. Apache's
// compiler turns required into optional with a warning; a program that was written
// against such a file expects what cannot be.
func (p *parser) unionFields(s *idl.Struct) {
	var with *idl.Field
	for _, f := range s.Fields {
		if f.Presence == idl.Required {
			p.found.errorf(p.file, f.Pos, "field %s of union %s cannot be required: one of a union's fields is set", f.Name, s.Name)
		}
		f.Presence = idl.Optional
		if f.Default != nil && with != nil {
			p.found.errorf(p.file, f.Pos, "union %s has two defaults: %s and %s", s.Name, with.Name, f.Name)
		}
		if f.Default != nil {
			with = f
		}
	}
}

// fields takes a list of fields in brackets, of a struct, a method's arguments
// or its exceptions. Fields may nest, by xsd_attrs; nobody has seen it used.
//
//	Fields = open Field* shut
func (p *parser) fields(open, shut tokenKind) []*idl.Field {
	p.nest()
	defer func() { p.depth-- }()
	p.expect(open)
	list := []*idl.Field{}
	auto := int32(-1)
	for !p.is(shut) && !p.is(tokEOF) {
		list = append(list, p.field(&auto))
	}
	p.expect(shut)
	if !p.bad {
		p.uniqueFields(list)
	}
	return list
}

// uniqueFields reports ids and names that a list has twice. Apache's compiler says
// so of ids and of names, too; an id below one that it gave itself counts.
func (p *parser) uniqueFields(list []*idl.Field) {
	ids, names := map[int32]*idl.Field{}, map[string]*idl.Field{}
	for _, f := range list {
		if old := ids[f.ID]; old != nil {
			p.found.errorf(p.file, f.Pos, "field %s: id %d is already that of %s in line %d", f.Name, f.ID, old.Name, old.Pos.Line)
		} else if old := names[f.Name]; old != nil {
			p.found.errorf(p.file, f.Pos, "field %s: there is one of this name in line %d", f.Name, old.Pos.Line)
		}
		ids[f.ID], names[f.Name] = f, f
	}
}

// field takes a field. auto is the id that one without an id gets; it is counted down
// when it is used. What stands behind the name is all optional:
//
//	Field = [Int ":"] ["required" | "optional"] FieldType ["&"] Identifier ["=" Value]
//	        ["xsd_optional"] ["xsd_nillable"] ["xsd_attrs" "{" Field* "}"] [Annotations] [Separator]
//
// "&" asks Apache's C++ for a pointer; in Go every struct is one.
func (p *parser) field(auto *int32) *idl.Field {
	first := p.peek()
	f := &idl.Field{Doc: first.doc, Presence: idl.Implicit}
	p.fieldID(f, auto)
	switch {
	case p.acceptWord("required"):
		f.Presence = idl.Required
	case p.acceptWord("optional"):
		f.Presence = idl.Optional
	}
	f.Type = p.fieldType("a field's type")
	f.Reference = p.accept('&')
	name := p.fieldName()
	f.Name, f.Pos = name.text, name.pos
	if f.AutoID {
		p.found.warnf(p.file, f.Pos, "field %s has no id: it gets %d, which changes with the order of the fields", f.Name, f.ID)
	}
	if p.accept('=') {
		f.Default = p.value()
	}
	f.XsdOptional = p.acceptWord("xsd_optional")
	f.XsdNillable = p.acceptWord("xsd_nillable")
	if p.acceptWord("xsd_attrs") {
		f.XsdAttrs = p.fields('{', '}')
	}
	f.Annotations = p.annotations()
	p.separator()
	return f
}

// fieldID takes "1:". Without it, and with a number that is not positive,
// Apache's compiler counts down from -1, and so do we: two programs that were made
// from one file must agree on the wire. An id is 16 bits there.
func (p *parser) fieldID(f *idl.Field, auto *int32) {
	t := p.peek()
	if t.kind == tokInt {
		p.take()
		n := p.integer(t)
		p.expect(':')
		if n > math.MaxInt16 {
			p.failf(t, "field id %d does not fit 16 bits", n)
		}
		if n > 0 {
			f.ID = int32(n)
			return
		}
		p.found.warnf(p.file, t.pos, "field id %d is not positive: as Apache's compiler does, %d is used", n, *auto)
	}
	if *auto < math.MinInt16 {
		p.failf(t, "too many fields without an id")
	}
	f.ID, f.AutoID = *auto, true
	*auto--
}

// fieldName takes a name; most keywords may name a field (see keywords): files that
// are older than a keyword use it as a name.
func (p *parser) fieldName() *token {
	if t := p.peek(); t.kind == tokName && keywords[t.text] {
		return p.take()
	}
	return p.name("a field's name")
}

// service takes a service, behind its first word.
//
//	Service = "service" Identifier ["extends" Identifier] "{" Method* "}" [Annotations]
func (p *parser) service(doc string) *idl.Service {
	name := p.name("a service's name")
	s := &idl.Service{Name: name.text, Methods: []*idl.Method{}, Doc: doc, Pos: name.pos, File: p.file}
	if p.acceptWord("extends") {
		parent := p.dotted("a service's name")
		s.Extends, s.ExtendsPos = parent.text, parent.pos
	}
	p.expect('{')
	for !p.is('}') && !p.is(tokEOF) {
		s.Methods = append(s.Methods, p.method())
	}
	p.expect('}')
	s.Annotations = p.annotations()
	return s
}

// method takes a method. "async" is oneway's old name.
//
//	Method = ["oneway" | "async"] ("void" | FieldType | Stream) Identifier "(" Field* ")"
//	         ["throws" "(" Field* ")"] [Annotations] [Separator]
//	Stream = "stream" "<" FieldType ">"      ours; stream is no keyword
func (p *parser) method() *idl.Method {
	first := p.peek()
	m := &idl.Method{Doc: first.doc}
	m.Oneway = p.acceptWord("oneway") || p.acceptWord("async")
	result := p.peek()
	if !p.acceptWord("void") {
		m.Result, m.ServerStream = p.streamType("a result's type or void")
	}
	if m.ServerStream {
		m.StreamPos = result.pos
	}
	name := p.name("a method's name")
	m.Name, m.Pos = name.text, name.pos
	p.arguments(m)
	if p.acceptWord("throws") {
		m.Throws = p.fields('(', ')')
	}
	m.Annotations = p.annotations()
	p.separator()
	if !p.bad {
		p.streaming(m)
	}
	return m
}

// arguments takes the arguments; the one of a client's stream may be
// stream<T>, and is the only one then: a frame of a stream has one struct.
func (p *parser) arguments(m *idl.Method) {
	if pos, id, ok := p.streamArgument(); ok {
		p.expect('(')
		f := &idl.Field{Presence: idl.Implicit, Doc: p.peek().doc, ID: -1, AutoID: !id}
		auto := int32(-1)
		if id {
			p.fieldID(f, &auto)
		}
		f.Type, _ = p.streamType("a type")
		name := p.fieldName()
		f.Name, f.Pos = name.text, name.pos
		f.Annotations = p.annotations()
		p.separator()
		if !p.is(')') {
			p.failf(p.peek(), "a stream must be a method's only argument")
		}
		p.expect(')')
		m.Args, m.ClientStream, m.StreamPos = []*idl.Field{f}, true, pos
		return
	}
	m.Args = p.fields('(', ')')
}

// streamArgument looks ahead for "( [id :] stream <": a type may be called stream,
// and is one where no "<" follows. id says whether there is one.
func (p *parser) streamArgument() (pos idl.Pos, id, ok bool) {
	if p.bad {
		return idl.Pos{}, false, false
	}
	t := p.toks[p.at:]
	if len(t) > 3 && t[1].kind == tokInt && t[2].kind == ':' {
		t, id = t[2:], true
	}
	if len(t) > 2 && t[1].kind == tokName && t[1].text == "stream" && t[2].kind == '<' {
		return t[1].pos, id, true
	}
	return idl.Pos{}, false, false
}

// streaming reads Kitex's annotation and checks what goes together. Kitex writes
//
//	Response chat(1: Request req) (streaming.mode = "bidirectional")
//
// for what is stream<Response> chat(1: stream<Request> req) here. Both give the
// same model; m.StreamPos is where the file says so.
func (p *parser) streaming(m *idl.Method) {
	for _, a := range m.Annotations {
		if a.Key != "streaming.mode" {
			continue
		}
		switch a.Value {
		case "unary":
			continue
		case "server":
			m.ServerStream = true
		case "client":
			m.ClientStream = true
		case "bidirectional":
			m.ServerStream, m.ClientStream = true, true
		default:
			p.found.errorf(p.file, a.Pos, "streaming.mode %q: it is server, client, bidirectional or unary", a.Value)
			continue
		}
		m.StreamPos = a.Pos
	}
	switch {
	case m.Oneway && (m.ServerStream || m.ClientStream):
		p.found.errorf(p.file, m.Pos, "oneway method %s cannot stream", m.Name)
	case m.Oneway && m.Result != nil:
		p.found.errorf(p.file, m.Result.Pos, "oneway method %s cannot have a result: make it void", m.Name)
	case m.Oneway && len(m.Throws) > 0:
		p.found.errorf(p.file, m.Throws[0].Pos, "oneway method %s cannot throw", m.Name)
	case m.ServerStream && m.Result == nil:
		p.found.errorf(p.file, m.Pos, "method %s streams void", m.Name)
	case m.ClientStream && len(m.Args) != 1:
		p.found.errorf(p.file, m.Pos, "method %s takes a stream: it must have one argument", m.Name)
	}
}
