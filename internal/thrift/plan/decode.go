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

// Begin makes the message at p ready to be decoded into: what it held is gone, so
// that a message that is used again does not keep what the new one leaves out, and
// its defaults are set. false: there is not enough memory for these.
func (d *Decoder) Begin(pl *Plan, p unsafe.Pointer) bool {
	pl.Clear(p)
	return !pl.HasPreset() || d.Defaults(pl, p)
}

// Defaults takes the memory for the defaults of a struct, which has some, and
// sets them in the fresh one at p.
//
// The cost is measured by the shape when the type is first used, not taken from the
// message. Without it a list of empty structs, one byte each, would make the defaults of
// all of them for nothing: 262,160 bytes had made 157 MB.
func (d *Decoder) Defaults(pl *Plan, p unsafe.Pointer) bool {
	if cost := pl.PresetCost(codec.Allocation); cost != 0 {
		if d.Budget -= codec.Budget(cost); d.Budget < 0 {
			return false
		}
	}
	pl.Preset(p)
	return true
}
