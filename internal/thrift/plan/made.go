package plan

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// An Output is where an encode goes, as it is handed to a generated method.
type Output struct{ Out *buf.Out }

// generated is what generated structs implement. These methods are called
// through an interface, and what is passed through one by reference lives on the
// heap; so what they need is passed as values, which fit in registers. The state
// begins on their stack and stays there, because from there on all calls are of
// known functions.
type generated interface {
	EncodeThrift(to Output, b []byte, depth int) ([]byte, error)
	DecodeThrift(in Input, depth int) Result
}

// madeFor gives the struct at p as what its generated methods are called on.
//
// An assertion to the interface would look the itab up for each struct; the plan has it.
func (pl *Plan) madeFor(p unsafe.Pointer) generated {
	f := shape.Face{Itab: pl.made, Data: p}
	// Safety: p points to a pl.Go, and made is the itab of *pl.Go for generated.
	return *(*generated)(unsafe.Pointer(&f))
}

// generated appends the struct at p by its generated methods.
//
// The encoder cannot be passed on, since it would move to the heap. That is why an error
// is returned, and everything else that the methods need goes with Output and the block.
func (e *Encoder) generated(b []byte, pl *Plan, p unsafe.Pointer, depth int) []byte {
	b, e.Err = pl.madeFor(p).EncodeThrift(Output{e.Out}, b, depth)
	return b
}

// An Input is what is decoded, as it is handed to a generated method: four
// words, which the compiler keeps in registers. What strings are copied to is not
// among them, so that a message is handed over once, at its begin.
type Input struct {
	B      string // a slice would be one word more
	Frame  *codec.Frame
	Budget codec.Budget
}

// A Result is what comes back, in four words too.
type Result struct {
	Code   uint64 // where the struct ended or the fault is, and below that eight bits of fault
	Budget codec.Budget
	Where  string
}

// End is where the struct ended, or where the fault is.
func (r Result) End() (int, raw.Fault) { return int(r.Code >> 8), raw.Fault(r.Code) }

// input is what is decoded from b, borrowed until the end.
//
// The string is of the bytes themselves, so it must not be kept: what is decoded has
// copies, or refers to the block by its Frame.
func input(b []byte, frame *codec.Frame, budget codec.Budget) Input {
	in := Input{Frame: frame, Budget: budget}
	if len(b) > 0 {
		// Safety: nobody writes the message while it is decoded.
		in.B = unsafe.String(&b[0], len(b))
	}
	return in
}

// generated decodes the struct at p, whose first field is at d.b[o:], by its
// generated methods.
func (d *Decoder) generated(pl *Plan, p unsafe.Pointer, o, depth int) (int, raw.Fault) {
	r := pl.madeFor(p).DecodeThrift(input(d.B[o:], d.Texts.Frame, d.Budget), depth)
	d.Budget = r.Budget
	if d.Where == "" {
		d.Where = r.Where
	}
	end, f := r.End()
	return o + end, f
}

// decodeGenerated decodes the message at p by its generated methods, and gives the
// memory that it took.
//
// The usual case is one comparison: Code is the length of the message and no fault.
func decodeGenerated(pl *Plan, p unsafe.Pointer, body buf.View, lim *rpc.Limits) (int, error) {
	b := body.Bytes()
	r := pl.madeFor(p).DecodeThrift(input(b, codec.NewFrame(body), codec.Budget(lim.DecodeBudget(len(b)))), lim.Depth)
	if r.Code == uint64(len(b))<<8 {
		return lim.DecodeBudget(len(b)) - int(r.Budget), nil
	}
	end, f := r.End()
	if f == raw.Fine {
		f = raw.Trailing
	}
	return 0, (&Decoder{B: b, Where: r.Where}).Failed(end, f)
}

// Failed makes the error for a fault.
//
// The offset and the names of the IDL are all that a peer is told; values of the message
// are not in the text, which may end in a log.
func (d *Decoder) Failed(o int, f raw.Fault) error {
	// With short, skip gives where the value would have ended.
	return &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: &raw.SyntaxError{Offset: min(o, len(d.B)), Path: d.Where, Why: f.Why()}}
}

// Offset is where b, which is a rest of the message, begins.
func (d *Decoder) Offset(b []byte) int { return len(d.B) - len(b) }

// Some decodes the fields from index i up to and without j where one follows the
// other; those that are not required may be absent. What else there may be, the
// rest of the struct is decoded by resume, and done is true, as it is after a fault.
//
// Generated code calls it for fields of kinds that it has no code of its own for.
func (d *Decoder) Some(pl *Plan, base unsafe.Pointer, o, depth, i, j int) (end int, flt raw.Fault, done bool) {
	b := d.B
	for ; i < j; i++ {
		f := &pl.Fields[i]
		if len(b)-o < 4 || binary.BigEndian.Uint32(b[o:])>>8 != f.Tag {
			if f.Bit == 0 {
				continue
			}
			end, flt = d.Resume(pl, base, o, depth, i, pl.BitsBefore(i))
			return end, flt, true
		}
		left := d.Budget
		// Safety: as in resume.
		end, flt := d.Value(f.Type, unsafe.Add(base, f.Offset), o+3, depth-1)
		if flt == raw.WrongType {
			d.Budget = left // it will be taken again
			end, flt = d.Resume(pl, base, o, depth, i, pl.BitsBefore(i))
			return end, flt, true
		}
		if flt != raw.Fine {
			end, flt = d.Blame(pl, f, end, flt)
			return end, flt, true
		}
		o = end
	}
	return o, raw.Fine, false
}

// BitsBefore has the bits of the required fields before that with index next.
func (pl *Plan) BitsBefore(next int) (seen uint64) {
	for _, f := range pl.Fields[:next] {
		seen |= f.Bit
	}
	return seen
}
