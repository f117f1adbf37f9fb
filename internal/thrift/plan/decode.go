package plan

import (
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// A protocol is one of the two that are decoded and encoded by plans.
type protocol uint8

const (
	inBinary protocol = iota
	inCompact
)

// A Decoder is the state of one decode. It lives on the stack of Decode:
// nothing here may go through a function value, or it would be allocated.
//
// The methods give an offset and a Fault, not an error: of the many ways out only one is
// taken, and an error would be made, or at least carried as two words, on all of them.
// Failed makes the error in the end.
type Decoder struct {
	B      []byte
	body   buf.View    // b's if there is a view in what is decoded, else empty
	lim    *rpc.Limits // of the decode, if body is there
	Texts  codec.Texts
	wire   protocol
	hand   int    // depth at which a struct is handed to its generated methods
	handed int    // how many were
	Where  string // the field where a fault was found, innermost
	codec.Budget
}

// head reads the header of a field at b[o:]; with Compact it comes after h, which becomes
// it. 0 is the stop.
// It is for what is decoded by id alone, in either protocol: unions and required fields
// of wide structs. The loops over fields have their own.
func (d *Decoder) head(h *raw.CompactHead, o int) (head uint32, end int, f raw.Fault) {
	if d.wire == inCompact {
		if end, f = h.Read(d.B, o); h.Kind == raw.CompactStop {
			return 0, end, f
		}
		return h.Tag(), end, f
	}
	return d.binaryHead(o)
}

// pass passes over the value of a field whose header is head, and h with Compact.
func (d *Decoder) pass(head uint32, h *raw.CompactHead, o, depth int) (int, raw.Fault) {
	if d.wire == inCompact {
		return raw.SkipCompactField(d.B, o, h.Kind, depth)
	}
	return raw.SkipAt(d.B, o, raw.Type(head>>16), depth)
}

// Blame notes the field where a fault was found, unless a field further in was
// noted. The text reaches the peer: it has the IDL's names.
func (d *Decoder) Blame(pl *Plan, f *shape.Field, o int, flt raw.Fault) (int, raw.Fault) {
	if d.Where == "" {
		d.Where = pl.Go.Name() + "." + pl.IDL(f)
	}
	return o, flt
}

// lacking finds the first required field that was not seen. seen has no bits
// for those after the 64th; then the struct, which begins at begin and has its
// stop at o, is gone through again.
//
// It costs a pass over the struct and a map, for a struct with more than 64 required
// fields only, or for one that is refused anyway. So a peer cannot ask for it but by
// sending that many fields.
func (d *Decoder) lacking(pl *Plan, seen uint64, begin, o int) (int, raw.Fault) {
	there := map[uint32]bool{}
	var h raw.CompactHead
	for at := begin; pl.Wide && at < o; {
		var head uint32
		head, at, _ = d.head(&h, at)
		f, _ := pl.Find(head)
		there[head] = there[head] || f != nil && f.Bit == 0 && d.fits(f, at)
		at, _ = d.pass(head, &h, at, 1<<30) // its depth was checked before
	}
	for i := range pl.Fields {
		f := &pl.Fields[i]
		if f.Rule == shape.Required && (f.Bit != 0 && seen&f.Bit == 0 || f.Bit == 0 && !there[f.Tag]) {
			return d.Blame(pl, f, o, raw.Missing)
		}
	}
	return o + 1, raw.Fine
}

// fits tells whether the value at o is the field's, and no container with elements of another
// type, which was passed over. It was gone through before.
func (d *Decoder) fits(f *shape.Field, o int) bool {
	if f.Kind < shape.List || f.Kind == shape.Pointer {
		return true
	}
	var flt raw.Fault
	if d.wire == inBinary {
		c := Checker{B: d.B}
		_, flt = c.Value(f.Type, o, 1<<30)
	} else {
		again := Decoder{B: d.B, wire: d.wire, Budget: d.Budget}
		_, flt = again.Value(f.Type, reflect.New(f.Type.Go).UnsafePointer(), o, 1<<30)
	}
	return flt != raw.WrongType
}

// pointer decodes an optional scalar; kind is a bool's value with Compact.
//
// Each is an allocation of its own, so it is charged for one: a struct of many optional
// scalars takes several times the memory of its bytes.
func (d *Decoder) pointer(t *shape.Type, p *unsafe.Pointer, o int, kind raw.CompactKind) (int, raw.Fault) {
	if !d.Charge(t.Size) {
		return o, raw.TooCostly
	}
	q := t.NewScalar()
	f := raw.Fine
	if d.wire == inCompact && t.Kind == shape.Bool {
		// Safety: q points to a t.Go, a bool.
		*(*bool)(q) = kind == raw.CompactTrue
	} else if o, f = d.Value(t, q, o, 0); f != raw.Fine {
		return o, f
	}
	*p = q
	return o, raw.Fine
}

// Fresh allocates the struct of a plan, with its defaults.
//
// false means that the budget has no room for it, or for what its defaults refer to.
func (d *Decoder) Fresh(pl *Plan) (unsafe.Pointer, bool) {
	if !d.Charge(pl.Size) {
		return nil, false
	}
	q := reflect.New(pl.Go).UnsafePointer()
	if pl.HasPreset() && !d.Defaults(pl, q) {
		return nil, false
	}
	return q, true
}

// maxHanded is how many structs of a message are handed to their generated
// methods, which copy strings to memory of their own each. No method has more
// arguments worth it, but one can come any number of times.
const maxHanded = 16

// structure decodes a struct and makes p point to it.
func (d *Decoder) structure(pl *Plan, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	if pl.HasViews {
		return d.withViews(pl, p, o, depth)
	}
	if depth == d.hand && pl.made != 0 && d.handed < maxHanded {
		d.handed++
		if !d.Charge(pl.Size) {
			return o, raw.TooCostly
		}
		q := reflect.New(pl.Go).UnsafePointer() // ReadThrift sets the defaults
		// Safety: p points to a *pl.Go.
		*(*unsafe.Pointer)(p) = q
		return d.generated(pl, q, o, depth)
	}
	q, ok := d.Fresh(pl)
	if !ok {
		return o, raw.TooCostly
	}
	// Safety: p points to a *pl.Go.
	*(*unsafe.Pointer)(p) = q
	return d.Fields(pl, q, o, depth)
}

// union decodes a struct of which one field counts: the last one that is known.
// Without any, p becomes nil.
//
// A variant that is not known leaves the union unset, in all wires alike: a receiver with
// an older IDL sees that there is something it does not know. Every known variant that
// comes is decoded, since the last one counts; those before it are garbage, and were
// charged for.
func (d *Decoder) union(t *shape.Type, p *shape.Face, o, depth int) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	*p = shape.Face{}
	var h raw.CompactHead
	for {
		head, end, flt := d.head(&h, o)
		if o = end; flt != raw.Fine || head == 0 {
			return o, flt
		}
		flt = raw.WrongType
		if v := t.Variant(head); v != nil {
			q, ok := d.Fresh(At(v.Struct))
			if !ok {
				return o, raw.TooCostly
			}
			f := &v.Struct.Fields[0]
			// Safety: q points to a v.Struct.Go, whose one field f is; v.Itab is
			// that of *v.Struct.Go as the interface that p points to.
			end, flt = d.variant(f, unsafe.Add(q, f.Offset), o, depth-1, h.Kind)
			switch flt {
			case raw.Fine:
				*p = shape.Face{Itab: v.Itab, Data: q}
				o = end
			case raw.WrongType:
			default:
				return d.Blame(At(v.Struct), f, end, flt)
			}
		}
		if flt == raw.WrongType {
			if o, flt = d.pass(head, &h, o, depth-1); flt != raw.Fine {
				return o, flt
			}
		}
	}
}

// variant decodes the field of a variant. Views in it have bytes of their own.
func (d *Decoder) variant(f *shape.Field, p unsafe.Pointer, o, depth int, kind raw.CompactKind) (end int, flt raw.Fault) {
	if d.wire == inCompact {
		return d.compactField(f, p, o, depth, kind)
	}
	if d.lim == nil {
		return d.Value(f.Type, p, o, depth)
	}
	body := d.apart()
	end, flt = d.Value(f.Type, p, o, depth)
	d.body = body
	return end, flt
}
