package stub

import (
	"encoding"
	"encoding/base64"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// UnmarshalJSON reads text into the struct that msg points to, as encoding/json would if it
// could know which variant of a union {"card": "4000"} is. Generated structs that have unions
// call it in a method of the same name, for which encoding/json looks.
//
// The rules are those of encoding/json: names as the tags have them, in any case if no other
// fits; what text does not have stays as it is; null makes nil what can be; members that
// the struct does not have are passed over. A union is an object with one member. A variant
// that is not known leaves it nil, as on every wire; with two that are, the text does not say
// which is meant, and that is an error. An error names the field and the offset; what was read
// until then is in msg.
//
// It imports nothing of encoding/json, which a program that has no JSON need not link.
func UnmarshalJSON(msg any, text []byte) error {
	r := newJSONReader(reflect.ValueOf(msg).Elem(), text, codec.Unlimited)
	return r.whole(reflect.ValueOf(msg).Elem(), maxNested)
}

// newJSONReader makes the reader of a text for v; errors begin with the name of v's type, as they do for who
// reads Go. budget is what may be made of it besides strings, in bytes.
func newJSONReader(v reflect.Value, text []byte, budget codec.Budget) *jsonReader {
	of := v.Type()
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return &jsonReader{Scanner: json.Scanner{Text: text}, structs: map[reflect.Type]jsonStruct{}, path: []string{of.Name()}, budget: budget}
}

// whole reads all of the text into v.
func (r *jsonReader) whole(v reflect.Value, depth int) error {
	err := r.value(v, depth)
	if r.Peek(); err == nil && r.At != len(r.Text) {
		err = fmt.Errorf("json: more after the end at %d", r.At)
	}
	return err
}

// maxNested is how deep a text may nest: what encoding/json takes.
//
// It bounds the recursion: goroutines' stacks end at a gigabyte, and with that the
// process.
const maxNested = 10_000

// An unmarshaler is encoding/json's.
type unmarshaler interface{ UnmarshalJSON([]byte) error }

// A jsonReader reads one text.
//
// What it finds out about structs is kept for one text only: a cache would be package
// state.
type jsonReader struct {
	json.Scanner
	structs map[reflect.Type]jsonStruct
	// path leads to the value at hand, for errors: the type, then fields, [] and {}.
	// Nothing is made of it before there is one: of a text that nests deeply, a path for
	// each value would be its length times its depth.
	path []string

	budget  codec.Budget // of memory besides strings; below zero: the text wants more
	presets bool         // structs that are made have their defaults, as on other wires
}

// A jsonStruct is what the reader has to know of a struct, or of a union: its variants are
// fields then.
type jsonStruct struct {
	fields []jsonField
	own    bool // UnmarshalJSON is the generated one: there are unions in it

	// Indexes of fields, by name and by name in any case, where there are many; else nil.
	exact, like map[string]int
}

// A jsonField is a field by its name in JSON.
type jsonField struct {
	name   string
	step   string // of a path
	index  int    // of the struct's field, or of the variant
	quoted bool   // a number or a bool as a string
}

// structure looks at a struct once.
//
// A field without a tag has its Go name, one that is not exported is none of JSON's.
func (r *jsonReader) structure(t reflect.Type) jsonStruct {
	if s, ok := r.structs[t]; ok {
		return s
	}
	var s jsonStruct
	for i := range t.NumField() {
		f := t.Field(i)
		name, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.IsExported() || f.Tag.Get("json") == "-" {
			continue
		}
		if name == "" {
			name = f.Name
		}
		s.fields = append(s.fields, jsonField{name, "." + name, i, strings.Contains(","+opts+",", ",string,")})
		s.own = s.own || holdsUnion(f.Type)
	}
	s.indexed()
	r.structs[t] = s
	return s
}

// variants looks at a union once. Each variant has one field, whose name is the member's.
func (r *jsonReader) variants(union reflect.Type, variants []reflect.Type) jsonStruct {
	if s, ok := r.structs[union]; ok {
		return s
	}
	var s jsonStruct
	for i, t := range variants {
		if of := r.structure(t.Elem()).fields; len(of) > 0 { // none: a tag says "-"
			f := of[0]
			f.index = i
			s.fields = append(s.fields, f)
		}
	}
	s.indexed()
	r.structs[union] = s
	return s
}

// manyFields is from how many fields on a table finds them faster than a look at each.
// Whoever writes the text chooses how many members it has that no field is called by.
const manyFields = 16

// indexed makes the tables of a struct with many fields. Of two fields of one name the
// first one counts.
func (s *jsonStruct) indexed() {
	if len(s.fields) < manyFields {
		return
	}
	s.exact, s.like = make(map[string]int, len(s.fields)), make(map[string]int, len(s.fields))
	for i := len(s.fields) - 1; i >= 0; i-- {
		name := s.fields[i].name
		s.exact[name], s.like[string(fold(nil, []byte(name)))] = i, i
	}
}

// fold appends to b what is the same for all names that [strings.EqualFold] takes for equal.
func fold(b, name []byte) []byte {
	for _, r := range string(name) {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		b = utf8.AppendRune(b, least)
	}
	return b
}

// holdsUnion tells the types of fields for which a struct has a generated UnmarshalJSON.
//
// It has to say what the generator does when it decides which structs get the method:
// otherwise that would call itself here, for ever.
func holdsUnion(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Interface:
		_, ok := shape.Variants(t)
		return ok
	case reflect.Slice, reflect.Map:
		return holdsUnion(t.Elem())
	case reflect.Struct: // an element of Pairs; others have methods of their own
		return strings.HasPrefix(t.Name(), "Pair[") && t.NumField() == 2 && (holdsUnion(t.Field(0).Type) || holdsUnion(t.Field(1).Type))
	}
	return false
}

// wrong is the error of what is at at. Of a long path the middle is left out.
func (r *jsonReader) wrong(why string, at int) error {
	path := r.path
	if extra := len(path) - maxPath; extra > 0 {
		path = slices.Concat(path[:maxPath/2], []string{fmt.Sprintf("…(%d)…", extra)}, path[len(path)-maxPath/2:])
	}
	return fmt.Errorf("json: %s: %s at %d", strings.Join(path, ""), why, at)
}

// maxPath is how many steps of a path an error tells.
const maxPath = 32

// inner reads a value that is within the one at hand, behind a step of the path.
func (r *jsonReader) inner(v reflect.Value, step string, depth int) error {
	r.path = append(r.path, step)
	err := r.value(v, depth)
	r.path = r.path[:len(r.path)-1]
	return err
}

// value reads a value into v, which can be set.
func (r *jsonReader) value(v reflect.Value, depth int) error {
	if depth <= 0 {
		return r.wrong("the text nests too deeply", r.At)
	}
	if v.Kind() == reflect.Pointer {
		if r.null() {
			v.SetZero()
			return nil
		}
		if v.IsNil() {
			if err := r.charge(v.Type().Elem()); err != nil {
				return err
			}
			v.Set(reflect.New(v.Type().Elem()))
			if err := r.preset(v); err != nil {
				return err
			}
		}
		return r.value(v.Elem(), depth)
	}
	if done, err := r.byMethod(v, depth); done {
		return err
	}
	tok, bad := r.Value()
	switch {
	case bad != nil:
		return bad
	case tok.Kind == 'n':
		switch v.Kind() {
		case reflect.Interface, reflect.Map, reflect.Slice:
			v.SetZero()
		}
		return nil
	case tok.Kind == '{':
		return r.object(v, tok, depth-1)
	case tok.Kind == '[' && v.Kind() == reflect.Slice:
		return r.list(v, depth-1)
	}
	return r.scalar(v, tok)
}

// null passes over null if that comes next.
func (r *jsonReader) null() bool {
	if r.Peek() != 'n' {
		return false
	}
	at := r.At
	if _, bad := r.Value(); bad != nil {
		r.At = at // whoever reads on finds it
		return false
	}
	return true
}

// byMethod reads v by a method of its own, if it has one that reads JSON or text.
//
// The text of a value is found by passing over it, so that a method of the user's sees it
// whole, and never what follows.
func (r *jsonReader) byMethod(v reflect.Value, depth int) (done bool, err error) {
	if v.Kind() == reflect.Struct && r.structure(v.Type()).own {
		return false, nil // the generated method would do what this reader does
	}
	switch m := v.Addr().Interface().(type) {
	case unmarshaler:
		r.Peek()
		from := r.At
		if err := r.pass(depth); err != nil {
			return true, err
		}
		if err := m.UnmarshalJSON(r.Text[from:r.At]); err != nil {
			return true, r.wrong(err.Error(), from)
		}
		return true, nil
	case encoding.TextUnmarshaler:
		tok, bad := r.Value()
		switch {
		case bad != nil:
			return true, bad
		case tok.Kind == 'n':
			return true, nil
		case tok.Kind != '"':
			return true, r.wrong(tok.String()+" where a string is expected", tok.At)
		}
		if err := m.UnmarshalText(tok.Text); err != nil {
			return true, r.wrong(err.Error(), tok.At)
		}
		return true, nil
	}
	return false, nil
}

// pass goes past a value.
//
// What is passed over has to be JSON all the same.
func (r *jsonReader) pass(depth int) error {
	tok, bad := r.Value()
	if bad != nil {
		return bad
	}
	if tok.Kind != '{' && tok.Kind != '[' {
		return nil
	}
	if depth <= 0 {
		return r.wrong("the text nests too deeply", tok.At)
	}
	return r.each(tok.Kind+2, func() error {
		if tok.Kind == '{' {
			if _, bad := r.Name(); bad != nil {
				return bad
			}
		}
		return r.pass(depth - 1)
	})
}

// each calls read for every element of what ends with end.
func (r *jsonReader) each(end byte, read func() error) error {
	for first := true; ; first = false {
		more, bad := r.More(first, end)
		if bad != nil {
			return bad
		}
		if !more {
			return nil
		}
		if err := read(); err != nil {
			return err
		}
	}
}

// object reads the members of what begins with tok.
func (r *jsonReader) object(v reflect.Value, tok json.Token, depth int) error {
	switch v.Kind() {
	case reflect.Struct:
		return r.members(v, depth)
	case reflect.Map:
		return r.entries(v, depth)
	case reflect.Interface:
		if variants, ok := shape.Variants(v.Type()); ok {
			return r.union(v, variants, depth)
		}
	}
	return r.scalar(v, tok)
}

// find gives the field with a name: exactly, else in any case; nil if there is none.
func (s jsonStruct) find(name []byte) *jsonField {
	if s.exact != nil {
		i, ok := s.exact[string(name)]
		if !ok {
			var room [64]byte
			if i, ok = s.like[string(fold(room[:0], name))]; !ok {
				return nil
			}
		}
		return &s.fields[i]
	}
	var like *jsonField
	for i := range s.fields {
		f := &s.fields[i]
		if f.name == string(name) {
			return f
		}
		if like == nil && strings.EqualFold(f.name, string(name)) {
			like = f
		}
	}
	return like
}

// members reads the fields of a struct.
func (r *jsonReader) members(v reflect.Value, depth int) error {
	s := r.structure(v.Type())
	return r.each('}', func() error {
		name, bad := r.Name()
		if bad != nil {
			return bad
		}
		f := s.find(name.Text)
		if f == nil {
			return r.pass(depth)
		}
		if f.quoted {
			r.path = append(r.path, f.step)
			err := r.quoted(v.Field(f.index))
			r.path = r.path[:len(r.path)-1]
			return err
		}
		return r.inner(v.Field(f.index), f.step, depth)
	})
}

// quoted reads a scalar that stands in a string, as the option "string" of a tag has it.
//
// A tag has the option for 64-bit integers, which JavaScript would round.
func (r *jsonReader) quoted(v reflect.Value) error {
	tok, bad := r.Value()
	switch {
	case bad != nil:
		return bad
	case tok.Kind == 'n':
		if v.Kind() == reflect.Pointer {
			v.SetZero()
		}
		return nil
	case tok.Kind != '"' || len(tok.Text) == 0 || tok.Text[0] <= ' ':
		return r.wrong(tok.String()+" where a scalar in a string is expected", tok.At)
	case tok.Text[0] == '-' || tok.Text[0]-'0' <= 9: // not as strict as JSON: 02 is 2
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		return r.scalar(v, json.Token{Kind: '0', Text: tok.Text, At: tok.At})
	}
	in := jsonReader{Scanner: json.Scanner{Text: tok.Text}, structs: r.structs, path: r.path, budget: codec.Unlimited}
	if err := in.value(v, 1); err != nil || in.At != len(tok.Text) {
		return r.wrong(tok.String()+" does not hold its value", tok.At)
	}
	return nil
}

// union reads an object with one member, whose name says which variant it is.
//
// Members that no variant has are passed over: a newer writer's.
func (r *jsonReader) union(v reflect.Value, variants []reflect.Type, depth int) error {
	v.SetZero()
	s := r.variants(v.Type(), variants)
	var set *jsonField
	return r.each('}', func() error {
		name, bad := r.Name()
		if bad != nil {
			return bad
		}
		f := s.find(name.Text)
		if f == nil {
			return r.pass(depth)
		}
		if set != nil && set != f {
			return r.wrong(fmt.Sprintf("a union has one member, not %s and %s,", set.name, f.name), name.At)
		}
		set = f
		of := variants[f.index].Elem()
		if err := r.charge(of); err != nil {
			return err
		}
		variant := reflect.New(of)
		v.Set(variant)
		return r.inner(variant.Elem().Field(r.structure(of).fields[0].index), f.step, depth)
	})
}

// list reads the elements of a slice into a fresh one.
//
// Elements are read into one place and copied: append may move the slice. What an element
// refers to is made for each, as the place is zero before it.
func (r *jsonReader) list(v reflect.Value, depth int) error {
	s := reflect.MakeSlice(v.Type(), 0, 0)
	elem := reflect.New(v.Type().Elem()).Elem()
	if err := r.each(']', func() error {
		if !r.budget.Charge(2 * int(elem.Type().Size())) { // what append moves out of is garbage, and has been memory
			return errBudget
		}
		elem.SetZero()
		if err := r.inner(elem, "[]", depth); err != nil {
			return err
		}
		s = reflect.Append(s, elem)
		return nil
	}); err != nil {
		return err
	}
	v.Set(s)
	return nil
}

// entries reads the members of an object into a map, in which others stay.
func (r *jsonReader) entries(v reflect.Value, depth int) error {
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	key, elem := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	return r.each('}', func() error {
		name, bad := r.Name()
		if bad != nil {
			return bad
		}
		key.SetZero()
		if m, ok := key.Addr().Interface().(encoding.TextUnmarshaler); ok {
			if err := m.UnmarshalText(name.Text); err != nil {
				return r.wrong(err.Error(), name.At)
			}
		} else if number := (json.Token{Kind: '0', Text: name.Text, At: name.At}); key.Kind() == reflect.String {
			key.SetString(string(name.Text))
		} else if err := r.scalar(key, number); err != nil {
			return err
		}
		if !r.budget.ChargeMap(1, int(key.Type().Size()+elem.Type().Size())) {
			return errBudget
		}
		elem.SetZero()
		if err := r.inner(elem, "{}", depth); err != nil {
			return err
		}
		v.SetMapIndex(key, elem)
		return nil
	})
}

// scalar sets v to what tok says, if that is what v can be.
//
// The switch is over what Go has, the text says what JSON has: an error names both.
func (r *jsonReader) scalar(v reflect.Value, tok json.Token) error {
	want := ""
	switch v.Kind() {
	case reflect.Bool:
		if tok.Kind == 't' || tok.Kind == 'f' {
			v.SetBool(tok.Kind == 't')
			return nil
		}
		want = "true or false"
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Int:
		if n, err := strconv.ParseInt(string(tok.Text), 10, v.Type().Bits()); tok.Kind == '0' && err == nil {
			v.SetInt(n)
			return nil
		}
		want = fmt.Sprintf("a whole number of %d bits", v.Type().Bits())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uint:
		if n, err := strconv.ParseUint(string(tok.Text), 10, v.Type().Bits()); tok.Kind == '0' && err == nil {
			v.SetUint(n)
			return nil
		}
		want = fmt.Sprintf("a whole number of %d bits that is not below 0", v.Type().Bits())
	case reflect.Float32, reflect.Float64:
		if n, err := strconv.ParseFloat(string(tok.Text), v.Type().Bits()); tok.Kind == '0' && err == nil {
			v.SetFloat(n)
			return nil
		}
		want = "a number"
	case reflect.String:
		if tok.Kind == '"' {
			v.SetString(string(tok.Text))
			return nil
		}
		want = "a string"
	case reflect.Slice:
		want = "an array"
		if v.Type().Elem().Kind() == reflect.Uint8 {
			want = "base64 in a string"
			if b, err := base64.StdEncoding.AppendDecode([]byte{}, tok.Text); tok.Kind == '"' && err == nil {
				v.SetBytes(b)
				return nil
			}
		}
	case reflect.Interface, reflect.Struct, reflect.Map:
		want = "an object"
	default:
		want = "no " + v.Type().String()
	}
	return r.wrong(tok.String()+" where "+want+" is expected", tok.At)
}
