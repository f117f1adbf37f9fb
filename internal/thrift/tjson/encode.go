package tjson

import (
	"encoding/base64"
	"reflect"
	"strconv"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// names are the types as the protocol spells them.
var names = [...]string{
	raw.TypeBool: "tf", raw.TypeI8: "i8", raw.TypeI16: "i16", raw.TypeI32: "i32", raw.TypeI64: "i64", raw.TypeDouble: "dbl",
	raw.TypeString: "str", raw.TypeStruct: "rec", raw.TypeMap: "map", raw.TypeSet: "set", raw.TypeList: "lst", raw.TypeUUID: "uid",
}

// typeOf is the way back; ok is false for what is no type. A dozen names are found as fast by going
// through them as in a map.
func typeOf(name string) (t raw.Type, ok bool) {
	for t, n := range names {
		if n == name && n != "" {
			return raw.Type(t), true
		}
	}
	return 0, false
}

// Append encodes msg at the end of out, in one piece. depth is how deeply it may nest, 0
// the default. Errors are *rpc.Error of Code Internal: what cannot be encoded is a mistake of this
// program. Then out has what was written until the error.
//
// It is one piece, since nothing of text has a length in front that would have to be
// patched, and a block grows as append does.
func Append(out *buf.Out, msg any, depth int) error {
	pl, p, err := plan.Of(msg)
	if err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: err}
	}
	if depth == 0 {
		depth = plan.DefaultDepth
	}
	e := encoder{}
	out.Commit(e.fields(out.Block(), pl, p, depth))
	if e.err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "encode", Sent: rpc.NotSent, Err: plan.Placed(pl, p, e.err)}
	}
	return nil
}

// AppendMessage appends a whole message around body, which is an encoded
// struct.
//
// name is quoted as any string; body goes as it is, and must be whole.
func AppendMessage(b []byte, name string, typ raw.MessageType, seq int32, body []byte) []byte {
	b = json.AppendString(append(b, "[1,"...), name)
	b = strconv.AppendUint(append(b, ','), uint64(typ), 10)
	b = strconv.AppendInt(append(b, ','), int64(seq), 10)
	return append(append(append(b, ','), body...), ']')
}

// An encoder keeps the first error of an encode.
type encoder struct{ err error }

// fail notes the first error; the path to it is found afterwards (plan.Placed).
func (e *encoder) fail(rt reflect.Type, field, why string) {
	if e.err == nil {
		e.err = &plan.TypeError{Type: rt, Field: field, Why: why}
	}
}

// fields appends the struct at base, which may nest depth levels, itself included. What is absent is
// left out.
func (e *encoder) fields(b []byte, pl *plan.Plan, base unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		e.fail(pl.Go, "", shape.WhyDeep)
		return b
	}
	if pl.Shown != nil {
		return e.view(b, pl, base, depth)
	}
	b = append(b, '{')
	first := true
	for i := range pl.Fields {
		f := &pl.Fields[i]
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		p := unsafe.Add(base, f.Offset)
		if f.Absent(p) {
			if f.Rule == shape.Required {
				e.fail(pl.Go, pl.Names[f.Index].Go, shape.WhyRequired)
			}
			continue
		}
		if !first {
			b = append(b, ',')
		}
		first = false
		b = strconv.AppendInt(append(b, '"'), int64(int16(f.Tag)), 10)
		b = append(append(append(b, `":{"`...), names[plan.WireOf(f)]...), `":`...)
		if b = e.value(b, f.Type, p, depth-1); e.err != nil {
			return b
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

// value appends the value of type t at p.
func (e *encoder) value(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: for all loads below: p points to a t.Go, whose layout kind says.
	switch t.Kind {
	case shape.String:
		return json.AppendString(b, *(*string)(p))
	case shape.Ref:
		q := *(*unsafe.Pointer)(p)
		if q == nil {
			e.fail(t.Go, "", shape.WhyNil)
			return b
		}
		return e.fields(b, plan.At(t.Struct), q, depth)
	case shape.Int64, shape.Float64:
		if t.Kind == shape.Float64 {
			return json.AppendDouble(b, *(*float64)(p))
		}
		return strconv.AppendInt(b, *(*int64)(p), 10)
	case shape.Int32:
		return strconv.AppendInt(b, int64(*(*int32)(p)), 10)
	case shape.Int16:
		return strconv.AppendInt(b, int64(*(*int16)(p)), 10)
	case shape.Int8:
		return strconv.AppendInt(b, int64(*(*int8)(p)), 10)
	case shape.Bool:
		return append(b, '0'+*(*uint8)(p))
	case shape.UUID:
		return append(append(append(b, '"'), shape.UUIDText(*(*[16]byte)(p))...), '"')
	case shape.Bytes:
		return append(base64.StdEncoding.AppendEncode(append(b, '"'), *(*[]byte)(p)), '"')
	case shape.Pointer: // to an optional scalar, which nests no further
		return e.value(b, t.Elem, *(*unsafe.Pointer)(p), 0)
	case shape.List, shape.Set:
		return e.list(b, t, p, depth)
	case shape.Map, shape.Pairs:
		return e.entries(b, t, p, depth)
	default: // shape.Union
		return e.union(b, t, (*shape.Face)(p), depth)
	}
}

// union appends the variant that f holds; see encoder.union.
func (e *encoder) union(b []byte, t *shape.Type, f *shape.Face, depth int) []byte {
	if f.Itab == 0 || f.Data == nil {
		e.fail(t.Go, "", shape.WhyNil)
		return b
	}
	v := t.Holds(*f)
	if v == nil {
		e.fail(t.Go, "", shape.WhyForeign)
		return b
	}
	o := &v.Struct.Fields[0]
	// Safety: data points to the variant's struct, whose only field o is.
	if o.Absent(unsafe.Add(f.Data, o.Offset)) {
		e.fail(v.Struct.Go, v.Struct.Names[o.Index].Go, shape.WhyNil)
		return b
	}
	return e.fields(b, plan.At(v.Struct), f.Data, depth)
}

// list appends a list or a set: type, number and elements. A nil one is as empty.
func (e *encoder) list(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	// Safety: p points to a slice of t.Elem.Go; each element is where its size
	// puts it.
	s := *(*shape.Slice)(p)
	if depth <= 0 {
		e.fail(t.Go, "", shape.WhyDeep)
		return b
	}
	b = append(append(append(b, `["`...), names[plan.Wires[t.Elem.Kind]]...), `",`...)
	b = strconv.AppendInt(b, int64(s.Len), 10)
	for i := range s.Len {
		if b = e.value(append(b, ','), t.Elem, unsafe.Add(s.Data, i*t.Elem.Size), depth-1); e.err != nil {
			return b
		}
	}
	return append(b, ']')
}

// entries appends a map or Pairs: types, number, and an object.
//
// The number stands before the entries, as in Binary: Apache's reader allocates by it.
func (e *encoder) entries(b []byte, t *shape.Type, p unsafe.Pointer, depth int) []byte {
	if depth <= 0 {
		e.fail(t.Go, "", shape.WhyDeep)
		return b
	}
	b = append(append(append(b, `["`...), names[plan.Wires[t.Key.Kind]]...), `","`...)
	b = append(append(b, names[plan.Wires[t.Elem.Kind]]...), `",`...)
	// Safety: p points to a t.Go.
	v := reflect.NewAt(t.Go, p).Elem()
	b = append(strconv.AppendInt(b, int64(v.Len()), 10), `,{`...)
	if t.Kind == shape.Pairs {
		// Safety: v is a slice of structs of which the key is the first field,
		// and ValueAt is the offset of the second.
		for i := range v.Len() {
			q := v.Index(i).Addr().UnsafePointer()
			b = e.entry(b, i > 0, t, q, unsafe.Add(q, t.ValueAt), depth-1)
		}
		return append(b, "}]"...)
	}
	// One key and one value are taken out after the other: they are written at once.
	k, x := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	more := false
	for it := v.MapRange(); it.Next() && e.err == nil; more = true {
		k.Elem().SetIterKey(it)
		x.Elem().SetIterValue(it)
		b = e.entry(b, more, t, k.UnsafePointer(), x.UnsafePointer(), depth-1)
	}
	return append(b, "}]"...)
}

// entry appends key and value. A scalar key becomes a string, as JSON has it; a struct or a list stays
// what it is.
func (e *encoder) entry(b []byte, more bool, t *shape.Type, k, v unsafe.Pointer, depth int) []byte {
	if e.err != nil {
		return b
	}
	if more {
		b = append(b, ',')
	}
	at := len(b)
	b = e.value(b, t.Key, k, depth)
	if t.Key.Kind < shape.UUID && b[at] != '"' { // NaN has its quotes
		b = append(b, 0)
		copy(b[at+1:], b[at:])
		b[at] = '"'
		b = append(b, '"')
	}
	return e.value(append(b, ':'), t.Elem, v, depth)
}

// view appends what the view at base shows, decoded: there is no way from its bytes to text without.
func (e *encoder) view(b []byte, pl *plan.Plan, base unsafe.Pointer, depth int) []byte {
	p, why := pl.How.Plain(pl.ViewAt(base))
	if p == nil {
		e.fail(pl.Go, "", why)
		return b
	}
	return e.fields(b, pl.Shown, p, depth)
}
