package dynamic

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strconv"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/thrift"
)

// A reader goes through Thrift and appends JSON. The first error stays; from
// then on nothing is done.
//
// What the peer sends bounds all of it: out by max, the stacks by the depth and the
// fields that came.
type reader struct {
	p   []byte // the message, borrowed
	o   int    // what was read of it
	out []byte // the JSON, a value's at a time
	max int    // how long out may become
	err *thrift.SyntaxError

	// Of a result: the last field, and its value in out.
	field *field
	value []byte
	odd   bool // an element had another type; the field around it is skipped

	within int // how many defaults are around what is read

	// Stacks, of the structs that are open: what became of their fields, and
	// for each field of the shape the index of its last member plus one. Beyond
	// its length last has zeros: a struct costs what it has, not what it could have.
	members []member
	last    []int
}

// enter makes room for n more fields on the stack last.
//
// The stack is not cleared when it grows: leave has put zeros where it was used.
func (r *reader) enter(n int) {
	r.last = slices.Grow(r.last, n)
	r.last = r.last[:len(r.last)+n]
}

// leave ends the struct whose members and fields begin at ours and base.
//
// The time is in proportion to the members that came: a list of a million empty structs
// of a thousand fields each costs a million steps, not a billion.
func (r *reader) leave(ours, base int) {
	for _, m := range r.members[ours:] {
		r.last[base+m.field] = 0
	}
	r.members, r.last = r.members[:ours], r.last[:base]
}

// maxWithin is how deeply defaults of structs that are defaults are filled in:
// an IDL can make that endless.
const maxWithin = 4

// fail notes the first error: that of at, which may lie behind the end.
func (r *reader) fail(at int, path, why string) {
	if r.err == nil {
		r.err = &thrift.SyntaxError{Offset: min(at, len(r.p)), Path: path, Why: why}
	}
}

// ok reports whether n bytes are there and the text is not too long.
//
// It is asked before each value is read, so that out outgrows max by one value at the
// most: a string, which is a part of the message, and its escapes.
func (r *reader) ok(n int) bool {
	switch {
	case r.err != nil || r.odd:
		return false
	case len(r.p)-r.o < n:
		r.fail(len(r.p), "", "truncated")
	case len(r.out) > r.max:
		r.fail(r.o, "", raw.TooCostly.Why())
	default:
		return true
	}
	return false
}

// u8 reads a byte, as the functions below read numbers: 0 after an error, which the caller looks at
// where it matters, once for many.
func (r *reader) u8() byte {
	if !r.ok(1) {
		return 0
	}
	r.o++
	return r.p[r.o-1]
}

// u16, and the functions below, read a number of Thrift's; behind the end it is 0, and the reader fails.
func (r *reader) u16() uint16 {
	if !r.ok(2) {
		return 0
	}
	r.o += 2
	return binary.BigEndian.Uint16(r.p[r.o-2:])
}

func (r *reader) u32() uint32 {
	if !r.ok(4) {
		return 0
	}
	r.o += 4
	return binary.BigEndian.Uint32(r.p[r.o-4:])
}

func (r *reader) u64() uint64 {
	if !r.ok(8) {
		return 0
	}
	r.o += 8
	return binary.BigEndian.Uint64(r.p[r.o-8:])
}

// text gives the bytes of a string, borrowed from the message.
func (r *reader) text() []byte {
	n := r.u32()
	if r.err != nil || r.odd {
		return nil
	}
	if int64(n) > int64(len(r.p)-r.o) {
		r.fail(r.o-4, "", "size beyond the end")
		return nil
	}
	r.o += int(n)
	return r.p[r.o-int(n) : r.o]
}

// decode reads the whole message.
func (r *reader) decode(sh *shape, depth int) {
	r.object(sh, depth)
	if r.err == nil && r.o != len(r.p) {
		r.fail(r.o, "", "bytes after the end")
	}
}

// A member is what one field became: out[from:to] is its name, value and comma,
// and the value begins at value.
type member struct{ field, from, value, to int }

// object reads a struct. Of a field that comes twice the last one counts: then
// the members are put together anew, once.
//
// It is one loop with many ways out, each of which is a rule of Thrift's about what peers
// of another version send; they share the stacks and the place in out, which is why they
// are not functions.
func (r *reader) object(sh *shape, depth int) {
	if r.odd { // the value to a key of another type: the whole map is skipped
		return
	}
	if depth <= 0 {
		r.fail(r.o, sh.name, "nested too deeply")
		return
	}
	r.out = append(r.out, '{')
	begin, ours, base := len(r.out), len(r.members), len(r.last)
	r.enter(len(sh.fields))
	// Fields come in the order of the IDL as a rule, so that the one behind the last is tried before
	// the table of ids.
	again, guess := false, 0
	for {
		t := raw.Type(r.u8())
		if r.err != nil {
			return
		}
		if t == raw.TypeStop {
			break
		}
		id, i, known := int16(r.u16()), guess, true
		if r.err != nil {
			return
		}
		if i >= len(sh.fields) || sh.fields[i].id != id {
			i, known = sh.byID[id]
		}
		if !known || sh.fields[i].t.wire != t {
			r.skip(t, depth-1)
			continue
		}
		guess = i + 1
		m, at := member{field: i, from: len(r.out)}, r.o
		m.value = r.member(&sh.fields[i], depth-1)
		if r.odd { // what was written of it goes, and it is skipped from its begin
			r.odd, r.o, r.out = false, at, r.out[:m.from]
			r.skip(t, depth-1)
			continue
		}
		if r.err != nil {
			return
		}
		m.to = len(r.out)
		again = again || r.last[base+i] != 0 || sh.union && len(r.members) > ours
		r.members = append(r.members, m)
		r.last[base+i] = len(r.members) - ours
	}
	members, last := r.members[ours:], r.last[base:]
	if again && !sh.single {
		r.rebuild(begin, members, last, sh.union)
	}
	r.absent(sh, last)
	if n := len(members); sh.single && n > 0 && r.err == nil {
		m := members[n-1] // of several results the last one counts
		r.field, r.value = &sh.fields[m.field], r.out[m.value:m.to-1]
	}
	r.leave(ours, base)
	if n := len(r.out); n > begin {
		r.out[n-1] = '}' // over the last comma
	} else {
		r.out = append(r.out, '}')
	}
}

// member reads the value of f and gives the place in out where it begins.
func (r *reader) member(f *field, depth int) (value int) {
	r.out = append(json.AppendString(r.out, f.name), ':')
	value = len(r.out)
	r.element(f.t, depth)
	r.out = append(r.out, ',')
	return value
}

// rebuild keeps the last member of each field; of a union's, the last one.
//
// It is a copy of the struct's text; a struct that is rebuilt within one that is rebuilt
// is copied at each level, at most depth times.
func (r *reader) rebuild(begin int, members []member, last []int, union bool) {
	var kept []byte
	for i, m := range members {
		if last[m.field] == i+1 && (!union || i == len(members)-1) {
			kept = append(kept, r.out[m.from:m.to]...)
		}
	}
	r.out = append(r.out[:begin], kept...)
}

// absent fills in defaults of fields that did not come, and misses required
// ones.
//
// Within defaults nothing is required: the IDL's author left it out.
func (r *reader) absent(sh *shape, last []int) {
	if sh.union || sh.single || r.within >= maxWithin {
		return
	}
	for _, i := range sh.due {
		f := &sh.fields[i]
		switch {
		case last[i] != 0:
		case f.def != nil:
			d := reader{p: f.def, out: r.out, max: r.max, within: r.within + 1}
			d.member(f, maxDepth)
			r.out = d.out
			if d.err != nil {
				r.fail(r.o, sh.name+"."+f.name, d.err.Why)
			}
		case f.required && r.within == 0:
			r.fail(r.o-1, sh.name+"."+f.name, "required field is missing")
		}
	}
}

// skip passes over a value that is not wanted, of a field that the IDL does not have or has with
// another type: a newer peer's.
func (r *reader) skip(t raw.Type, depth int) {
	n, err := raw.Skip(r.p[r.o:], t, depth)
	if err == nil {
		r.o += n
		return
	}
	if syntax, ok := errors.AsType[*thrift.SyntaxError](err); ok {
		r.fail(r.o+syntax.Offset, "", syntax.Why)
		return
	}
	r.fail(len(r.p), "", "truncated")
}

// element reads one value of type t.
func (r *reader) element(t *typ, depth int) {
	switch t.kind {
	case idl.List, idl.Set:
		r.list(t, depth)
	case idl.Map:
		r.entries(t, depth)
	case idl.StructRef:
		r.object(t.shape, depth)
	default:
		r.scalar(t)
	}
}

// count reads the number of elements and holds it against what is left: each
// element takes at least a byte.
func (r *reader) count() int {
	n := r.u32()
	switch {
	case r.err != nil || r.odd:
		return 0
	case n > math.MaxInt32:
		r.fail(r.o-4, "", "negative size")
		return 0
	case int(n) > len(r.p)-r.o:
		r.fail(r.o-4, "", "size beyond the end")
		return 0
	}
	return int(n)
}

// list reads a list or a set as an array. Elements of another type than the IDL's are found before the
// first one is read, unless there are none, which fits every type.
func (r *reader) list(t *typ, depth int) {
	if depth <= 0 {
		r.fail(r.o, "", "nested too deeply")
		return
	}
	have := raw.Type(r.u8())
	n := r.count()
	r.out = append(r.out, '[')
	if n > 0 && have != t.elem.wire {
		r.odd = true
	}
	for i := 0; i < n && r.ok(1); i++ {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		r.element(t.elem, depth-1)
	}
	r.out = append(r.out, ']')
}

// entries reads a map: as an object if its keys can be names, else as an array of objects with key and
// value. A key that comes twice stands there twice.
//
// A key with a structure, if it is odd, leaves the reader odd for the value too: nothing
// is read of either, and the field around them is skipped.
func (r *reader) entries(t *typ, depth int) {
	if depth <= 0 {
		r.fail(r.o, "", "nested too deeply")
		return
	}
	key, elem := raw.Type(r.u8()), raw.Type(r.u8())
	n := r.count()
	if n > 0 && (key != t.key.wire || elem != t.elem.wire) {
		r.odd = true
	}
	ends := "[]"
	if t.key.scalar() {
		ends = "{}"
	}
	r.out = append(r.out, ends[0])
	for i := 0; i < n && r.ok(1); i++ {
		if i > 0 {
			r.out = append(r.out, ',')
		}
		if t.key.scalar() {
			r.name(t.key)
			r.out = append(r.out, ':')
			r.element(t.elem, depth-1)
			continue
		}
		r.out = append(r.out, `{"key":`...)
		r.element(t.key, depth-1)
		r.out = append(r.out, `,"value":`...)
		r.element(t.elem, depth-1)
		r.out = append(r.out, '}')
	}
	r.out = append(r.out, ends[1])
}

// name reads a key as the name of a member: its JSON text, in quotes if it has
// none.
//
// It is put between quotes where it stands: numbers and bools are short.
func (r *reader) name(t *typ) {
	at := len(r.out)
	r.scalar(t)
	if len(r.out) > at && r.out[at] != '"' {
		r.out = append(r.out, 0, '"')
		copy(r.out[at+1:], r.out[at:len(r.out)-2])
		r.out[at] = '"'
	}
}

// scalar reads what has no structure. An enum's number that the IDL does not name stays a number; what
// is no UTF-8 in a string becomes U+FFFD, since JSON has no form for it.
func (r *reader) scalar(t *typ) {
	switch t.kind {
	case idl.Bool:
		r.out = strconv.AppendBool(r.out, r.u8() == 1)
	case idl.I8:
		r.out = strconv.AppendInt(r.out, int64(int8(r.u8())), 10)
	case idl.I16:
		r.out = strconv.AppendInt(r.out, int64(int16(r.u16())), 10)
	case idl.I32:
		r.out = strconv.AppendInt(r.out, int64(int32(r.u32())), 10)
	case idl.I64:
		r.out = strconv.AppendInt(r.out, int64(r.u64()), 10)
	case idl.EnumRef:
		n := int32(r.u32())
		if name, ok := t.nums[n]; ok {
			r.out = json.AppendString(r.out, name)
			return
		}
		r.out = strconv.AppendInt(r.out, int64(n), 10)
	case idl.Double:
		r.out = json.AppendDouble(r.out, math.Float64frombits(r.u64()))
	case idl.Binary:
		r.out = append(base64.StdEncoding.AppendEncode(append(r.out, '"'), r.text()), '"')
	case idl.UUID:
		if r.ok(16) {
			r.out = json.AppendString(r.out, thrift.UUID(r.p[r.o:]).String())
			r.o += 16
		}
	default:
		r.out = json.AppendString(r.out, r.text())
	}
}
