package plan

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// What generated methods ask of the plan, by package protobuf/impl.

// Begin makes a Decoder ready, and gives the message.
func (d *Decoder) Begin(in Input) []byte {
	// Safety: these are the bytes of a slice that are only read.
	d.all = unsafe.Slice(unsafe.StringData(in.B), len(in.B))
	d.Texts.Frame, d.Budget = in.Frame, in.Budget
	return d.all
}

// Judge looks, at the end of the message at p, whether required fields did not come, unless there is a fault already.
func (d *Decoder) Judge(pl *Plan, p unsafe.Pointer, end int, f raw.Fault) (int, raw.Fault) {
	return d.judged(pl, p, end, f)
}

// Result makes the Result of a message that ended, or has a fault, at an offset.
func (d *Decoder) Result(end int, f raw.Fault) Result {
	return Result{Code: uint64(end)<<8 | uint64(f), Budget: d.Budget, Where: d.where}
}

// All is the whole message.
func (d *Decoder) All() []byte { return d.all }

// Rest decodes the fields at b[o:] into the struct at base, whose fields before that were decoded.
func (d *Decoder) Rest(pl *Plan, base unsafe.Pointer, b []byte, o, depth int) (int, raw.Fault) {
	return d.fields(pl, base, b, o, depth, 0)
}

// Field decodes the field with that index, by number, whose value is at b[o:] and whose tag is
// at b[from:]; of a list or map, all elements that follow each other.
func (d *Decoder) Field(pl *Plan, i int, base unsafe.Pointer, b []byte, from, o, depth int) (int, raw.Fault) {
	op := &pl.fields[i]
	// Safety: base points to a pl.Go, and offset is that of one of its fields.
	o, f := d.other(pl, op, unsafe.Add(base, op.Offset), b, from, o, depth)
	if f != raw.Fine {
		return d.blame(pl, op, o, f)
	}
	return o, f
}

// In notes that a fault was found in the field with that index, by number, unless one further in was noted.
func (d *Decoder) In(pl *Plan, i int) { d.blame(pl, &pl.fields[i], 0, raw.Fine) }

// Packed decodes the numbers at b[o:], their length in bytes first, to the end of the slice at s, where they are of
// a form other than Bool and Closed.
func (d *Decoder) Packed(form Form, s *shape.Slice, b []byte, o int) (int, raw.Fault) {
	op := Op{Elem: form}
	return d.packed(nil, &op, s, b, o)
}

// Run counts the values at b[o:] with a length in front, of which each but the first follows a tag, which is n bytes on the wire.
func Run(b []byte, o int, tag uint64, n int) int { return head{tag, n}.run(b, o, raw.Bytes) }

// NewEncoder gives an Encoder for what generated code leaves to the plan. inside: the message that it is in must
// not leave its block.
func NewEncoder(to Output, inside bool) Encoder {
	return Encoder{Out: to.Out, sorted: to.Sorted, inside: inside}
}

// Some appends the fields of the struct at base from index i up to and without j, in the order of
// numbers, a oneof at its first one. fine: all is well, and there is room for a field.
func (e *Encoder) Some(b []byte, pl *Plan, base unsafe.Pointer, depth, i, j int) (block []byte, fine bool) {
	b = e.some(b, pl, pl.ops[i:j], base, depth)
	return b, !e.halt
}

// Tail appends the elements of s, which are the last of the list with that index.
func (e *Encoder) Tail(b []byte, pl *Plan, i int, s shape.Slice, depth int) (block []byte, fine bool) {
	b = e.list(b, &pl.ops[i], s, depth)
	return b, !e.halt
}

// Unknown appends what the struct at base kept.
func (e *Encoder) Unknown(b []byte, pl *Plan, base unsafe.Pointer, depth int) (block []byte, fine bool) {
	b = e.unknown(b, pl, base, depth)
	return b, !e.halt
}

// Outer appends length and fields of a message that is in no other one, whose tag is there. It has been tried to write it
// behind b, where it had no room. wide is how many bytes its length took.
func (e *Encoder) Outer(b []byte, pl *Plan, p unsafe.Pointer, depth, guess int) (block []byte, wide, last int, fine bool) {
	b = e.outer(b, part{pl: pl, p: p, depth: depth, guess: guess}, nil)
	return b, e.wide, e.last, !e.halt
}

// PutNumbers appends n numbers of a form, each as long as it is, for which there is room for raw.MaxVarint bytes each.
func PutNumbers(b []byte, form Form, p unsafe.Pointer, n int) []byte {
	return putNumbers(b, form, p, n)
}

// Lacks tells whether required fields may not have come.
func (d *Decoder) Lacks() bool { return len(d.lacks) > 0 }
