package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A mapRun is the entries of a map that follow each other.
type mapRun struct {
	pl    *Plan
	op    *Op
	field unsafe.Pointer // of the map in its struct
	head  head
	b     []byte
	n     int // entries, as far as they are whole
	depth int // what is left for the message that the map is in
}

// entries decodes the entries of a map that follow each other. The first one is at b[o:], its tag at b[from:].
func (d *Decoder) entries(pl *Plan, op *Op, p unsafe.Pointer, b []byte, _, o, depth int) (int, raw.Fault) {
	r := mapRun{pl: pl, op: op, field: p, head: op.headOf(op.Tag), b: b, depth: depth}
	r.n = r.head.run(b, o, raw.Bytes)
	t := op.Type
	if !d.ChargeMap(r.n, t.Key.Size+t.Elem.Size) {
		return o, raw.TooCostly
	}
	switch t.Maps {
	case shape.StringString:
		return d.stringMap(&r, o)
	case shape.StringPointer:
		return readMap[string, unsafe.Pointer](d, &r, o)
	case shape.StringSlice:
		return readMap[string, []byte](d, &r, o)
	case shape.String8:
		return readMap[string, uint64](d, &r, o)
	case shape.String4:
		return readMap[string, uint32](d, &r, o)
	case shape.String1:
		return readMap[string, uint8](d, &r, o)
	case shape.Map4String:
		return readMap[uint32, string](d, &r, o)
	case shape.Map4Pointer:
		return readMap[uint32, unsafe.Pointer](d, &r, o)
	case shape.Map4Slice:
		return readMap[uint32, []byte](d, &r, o)
	case shape.Map4x8:
		return readMap[uint32, uint64](d, &r, o)
	case shape.Map4x4:
		return readMap[uint32, uint32](d, &r, o)
	case shape.Map8String:
		return readMap[uint64, string](d, &r, o)
	case shape.Map8Pointer:
		return readMap[uint64, unsafe.Pointer](d, &r, o)
	case shape.Map8Slice:
		return readMap[uint64, []byte](d, &r, o)
	case shape.Map8x8:
		return readMap[uint64, uint64](d, &r, o)
	case shape.Map8x4:
		return readMap[uint64, uint32](d, &r, o)
	}
	return d.anyMap(&r, o)
}

// entry decodes the entry at r.b[o:], its length first, into k and v, which are zero. ok is false if it was
// put aside: its value is a number that a closed enum has no name for.
func (d *Decoder) entry(r *mapRun, k, v unsafe.Pointer, o int) (end int, ok bool, f raw.Fault) {
	begin := o
	n, o, f := raw.Length(r.b, o)
	if f != raw.Fine {
		return o, false, f
	}
	in, b := r.op.in, r.b[:o+n]
	ok = true
	for o < len(b) {
		tag, at, f := raw.ReadTag(b, o)
		if f != raw.Fine {
			return at, false, f
		}
		switch tag {
		case in.key.Tag:
			o, f = d.value(&in.key, in.key.Do, k, b, at, 0)
		case in.value.Tag:
			if in.value.Do == Closed {
				var number uint64
				number, _, _ = raw.Uvarint(b, at)
				ok = known(in.value.Type, number)
			}
			o, f = d.value(&in.value, in.value.Do, v, b, at, r.depth)
		default:
			o, f = raw.Skip(b, at, tag, r.depth-1)
		}
		if f != raw.Fine {
			return o, false, f
		}
	}
	if !ok {
		// Safety: field is that of op in a pl.Go.
		o, f = d.keep(r.pl, unsafe.Add(r.field, -int(r.op.Offset)), r.b[begin:o], o, r.op.Tag)
		return o, false, f
	}
	if in.value.Do == Message && *(*unsafe.Pointer)(v) == nil {
		q, there := d.fresh(in.value.Plan)
		if !there {
			return o, false, raw.TooCostly
		}
		*(*unsafe.Pointer)(v) = q // Safety: v points to a pointer to such a struct.
		o, f = d.fields(in.value.Plan, q, r.b[:o], o, r.depth-1, 0)
	}
	return o, true, f
}

// batch is how many entries of a map of strings are read before they are put into it. A
// string that was written a moment ago is hashed slowly, since the processor cannot
// hand over what several stores have written to one load before they are through.
const batch = 8

// stringMap decodes entries into a map of strings, the most common one.
func (d *Decoder) stringMap(r *mapRun, o int) (int, raw.Fault) {
	// Safety: field points to a map of that layout.
	m := *(*map[string]string)(r.field)
	if m == nil {
		m = make(map[string]string, r.n)
		*(*map[string]string)(r.field) = m
	}
	var some [2 * batch]string
	for left := r.n; left > 0; left -= batch {
		s := some[:2*min(left, batch)]
		for i := 0; i < len(s); i += 2 {
			end, fine := d.stringEntry(r, s[i:], o)
			if !fine {
				var f raw.Fault
				s[i], s[i+1] = "", ""
				if end, _, f = d.entry(r, unsafe.Pointer(&s[i]), unsafe.Pointer(&s[i+1]), o); f != raw.Fine {
					return end, f
				}
			}
			if o = end; left > i/2+1 {
				o += r.head.n
			}
		}
		for ; len(s) >= 2; s = s[2:] {
			m[s[0]] = s[1]
		}
	}
	return o, raw.Fine
}

// stringEntry decodes an entry of less than 128 bytes that is written as all writers do: key and value,
// once, in that order. fine is false for others.
func (d *Decoder) stringEntry(r *mapRun, s []string, o int) (end int, fine bool) {
	b, in := r.b, r.op.in
	if len(b)-o < 5 || b[o] >= 0x80 || b[o+1] != byte(in.key.Head) {
		return 0, false
	}
	end = o + 1 + int(b[o])
	k := int(b[o+2])
	if o += 3; k >= 0x80 || end > len(b) || end-o-k < 2 || b[o+k] != byte(in.value.Head) || int(b[o+k+1]) != end-o-k-2 {
		return 0, false
	}
	v := o + k + 2
	if in.key.utf8 && !(codec.UTF8Bytes(b[o:o+k]) && codec.UTF8Bytes(b[v:end])) {
		return 0, false // entry will say so
	}
	s[0], s[1] = d.text(o, k), d.text(v, end-v)
	return end, true
}

// readMap decodes entries into a map with the layout of map[K]V.
func readMap[K comparable, V any](d *Decoder, r *mapRun, o int) (int, raw.Fault) {
	// Safety: field points to a map whose keys and values have these layouts and whose keys
	// are hashed alike; a map does not know its type.
	m := *(*map[K]V)(r.field)
	if m == nil {
		m = make(map[K]V, r.n)
		*(*map[K]V)(r.field) = m
	}
	var k, noKey K
	var v, noValue V
	for i := range r.n {
		if i > 0 {
			o += r.head.n
		}
		k, v = noKey, noValue
		end, ok, f := d.entry(r, unsafe.Pointer(&k), unsafe.Pointer(&v), o)
		if f != raw.Fine {
			return end, f
		}
		if o = end; ok {
			m[k] = v
		}
	}
	return o, raw.Fine
}

// anyMap decodes entries by reflection.
func (d *Decoder) anyMap(r *mapRun, o int) (int, raw.Fault) {
	t := r.op.Type
	// Safety: field points to a t.Go, and a map is a pointer.
	at := *(*unsafe.Pointer)(r.field)
	m := reflect.NewAt(t.Go, unsafe.Pointer(&at)).Elem()
	if at == nil {
		m = reflect.MakeMapWithSize(t.Go, r.n)
		*(*unsafe.Pointer)(r.field) = m.UnsafePointer()
	}
	k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
	for i := range r.n {
		if i > 0 {
			o += r.head.n
		}
		k.Elem().SetZero()
		v.Elem().SetZero()
		end, ok, f := d.entry(r, k.UnsafePointer(), v.UnsafePointer(), o)
		if f != raw.Fine {
			return end, f
		}
		if o = end; ok {
			m.SetMapIndex(k.Elem(), v.Elem())
		}
	}
	return o, raw.Fine
}
