package impl

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// Output is where an encode goes: what EncodeProto is given.
type Output = plan.Output

// Input is what is decoded: what DecodeProto is given.
type Input = plan.Input

// Result is what DecodeProto gives.
type Result = plan.Result

const (
	// Room is how many bytes of room generated code makes sure of before what it does not
	// count: tags, lengths, optional numbers.
	Room = 64
	// Whole bounds what generated code appends at once: strings may be large enough to be
	// sent by reference where there is more.
	Whole = buf.RefMin
)

// An Encoder is the state of one encode by generated code, which is its only user. b, the block
// that is being filled, is passed along as a value, so that it stays in registers.
//
// A message within another one has its length in front, so it must stay in its block. If it would
// leave it, Halt is set, everything returns, and [Encoder.Close] has the plan write the outermost
// of the messages that were begun.
type Encoder struct {
	to   Output
	top  int  // depth of the message that the encode begins with; with less of it one is inside
	bad  bool // something cannot be encoded: the plan finds out what
	Halt bool // everything returns
	Wide int  // bytes that the length took of the message that was closed last
	last int  // bytes that the outermost message took that was closed last
}

// Begin gives what AppendProto takes.
func (e *Encoder) Begin(to Output, b []byte, depth int) (*Encoder, []byte, int) {
	e.to, e.top = to, depth
	if to.Inside {
		e.top++
	}
	return e, b, depth
}

// End gives what AppendProto gave, and whether all of it could be encoded.
func (e *Encoder) End(b []byte) ([]byte, bool) { return b, !e.bad && !e.Halt }

// Wrong notes that a message is nil or nested too deeply.
func (e *Encoder) Wrong(b []byte) []byte {
	e.bad = true
	return b
}

// halt has everything return.
func (e *Encoder) halt(b []byte) []byte {
	e.Halt = true
	return b[:0]
}

// Next makes room in another block. Inside of a message it halts.
func (e *Encoder) Next(b []byte, depth int) []byte {
	if depth < e.top {
		return e.halt(b)
	}
	return e.to.Out.Next(b)
}

// Fresh makes room for n bytes, of which b has less, in another block if they are not many; for more the plan goes
// from block to block. Inside of a message it halts.
func (e *Encoder) Fresh(b []byte, n, depth int) []byte {
	if depth >= e.top && n > buf.MinBlock/2 {
		return b
	}
	return e.Next(b, depth)
}

// Between makes room for one more message of a list whose messages are long: for as many bytes as the
// last one took, and Room at the least.
func (e *Encoder) Between(b []byte, depth int) []byte {
	if room := cap(b) - len(b); room < Room || depth == e.top && room < e.last && len(b) > Room {
		return e.Next(b, depth)
	}
	return b
}

// Close writes the length of x, which is behind b[at:], where its last wide bytes are left for it. If x has
// left its block, the plan writes it, unless it is inside of another one. depth is that of
// the message that x is in.
func (e *Encoder) Close(b []byte, x any, at, wide, depth int) []byte {
	n := len(b) - at
	if e.Halt || n < 0 {
		return e.again(b, x, at, wide, depth)
	}
	if depth == e.top {
		e.last = n
	}
	if e.Wide = raw.Size(uint64(n)); e.Wide != wide {
		if cap(b)-len(b) < raw.MaxVarint {
			return e.again(b, x, at, wide, depth)
		}
		body := b[at:]
		b = b[:at-wide+e.Wide+n]
		copy(b[at-wide+e.Wide:], body)
	}
	raw.Append(b[at-wide:at-wide], uint64(n))
	return b
}

// again has the plan write a message that has left its block.
func (e *Encoder) again(b []byte, x any, at, wide, depth int) []byte {
	if depth < e.top || e.bad {
		return e.halt(b)
	}
	e.Halt = false
	pl, p, err := plan.Of(x)
	if err != nil {
		e.bad = true
		return e.halt(b)
	}
	s, fine := plan.NewEncoder(e.to, false), false
	if b, e.Wide, e.last, fine = s.Outer(b[:at-wide], pl, p, depth-1, wide); !fine {
		e.bad = true
		return e.halt(b)
	}
	return b
}

// Fields appends the fields of x from index i up to and without j by its plan: those of kinds that
// generated code has no words for, and what has no room in the block.
func (e *Encoder) Fields(b []byte, x any, depth, i, j int) []byte {
	pl, p, err := plan.Of(x)
	if err != nil || e.bad {
		return e.failed(b)
	}
	s := plan.NewEncoder(e.to, depth < e.top)
	b, fine := s.Some(b, pl, p, depth, i, j)
	return e.after(b, depth, fine)
}

// after makes sure of Room behind what the plan has written.
func (e *Encoder) after(b []byte, depth int, fine bool) []byte {
	if !fine {
		if depth >= e.top {
			e.bad = true
		}
		return e.halt(b)
	}
	if cap(b)-len(b) < Room {
		return e.Next(b, depth)
	}
	return b
}

func (e *Encoder) failed(b []byte) []byte {
	e.bad = true
	return e.halt(b)
}

// Unknown appends the fields that x kept.
func (e *Encoder) Unknown(b []byte, x any, depth int) []byte {
	pl, p, err := plan.Of(x)
	if err != nil || e.bad {
		return e.failed(b)
	}
	s := plan.NewEncoder(e.to, depth < e.top)
	b, fine := s.Unknown(b, pl, p, depth)
	return e.after(b, depth, fine)
}

// Zigzag puts the sign of a number into its lowest bit.
func Zigzag(n int64) uint64 { return raw.Zigzag(n) }

// Bool is the byte of a bool.
func Bool(v bool) byte {
	// Safety: a bool is a byte that is 0 or 1.
	return *(*byte)(unsafe.Pointer(&v))
}

// Texts appends a list of strings, the field with index i, each behind the tag, which is one or two bytes.
func (e *Encoder) Texts(b []byte, x any, depth, i int, tag uint32, list []string) []byte {
	for k, s := range list {
		if len(s)+Room > min(cap(b)-len(b), Whole) {
			return e.tail(b, x, depth, i, list[k:])
		}
		w := End(b)
		if tag >= 0x80 {
			w = w.Byte(byte(tag))
			w = e.Text(w, byte(tag>>8), s)
		} else {
			w = e.Text(w, byte(tag), s)
		}
		b = w.Upto(b)
	}
	return b
}

// tail appends the rest of a list of strings by the plan.
func (e *Encoder) tail(b []byte, x any, depth, i int, list []string) []byte {
	if cap(b)-len(b) < Room {
		if b = e.Next(b, depth); e.Halt {
			return b
		}
	}
	pl, _, err := plan.Of(x)
	if err != nil || e.bad {
		return e.failed(b)
	}
	s := plan.NewEncoder(e.to, depth < e.top)
	// Safety: a slice is a slice.
	b, fine := s.Tail(b, pl, i, *(*shape.Slice)(unsafe.Pointer(&list)), depth)
	return e.after(b, depth, fine)
}

// The forms of packed numbers.
const (
	Int32   = plan.Int32
	Uint32  = plan.Uint32
	Sint32  = plan.Sint32
	Int64   = plan.Int64
	Sint64  = plan.Sint64
	Fixed32 = plan.Fixed32
	Fixed64 = plan.Fixed64
)

// A number is what lists have packed.
type number interface {
	~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// Packed appends a list of numbers of a form, the field with index i, behind the tag, which is one or two bytes.
func Packed[S ~[]T, T number](e *Encoder, b []byte, x any, depth, i int, tag uint32, form plan.Form, list S) []byte {
	// Safety: form says what the numbers are.
	return e.packed(b, x, depth, i, tag, form, unsafe.Pointer(unsafe.SliceData(list)), len(list))
}

// packed is Packed without the type.
func (e *Encoder) packed(b []byte, x any, depth, i int, tag uint32, form plan.Form, p unsafe.Pointer, n int) []byte {
	if n == 0 {
		return b
	}
	if form == Fixed32 || form == Fixed64 || n > (cap(b)-len(b)-Room)/raw.MaxVarint {
		if cap(b)-len(b) < Room {
			if b = e.Next(b, depth); e.Halt {
				return b
			}
		}
		return e.Fields(b, x, depth, i, i+1)
	}
	b = append(b, byte(tag))
	if tag >= 0x80 {
		b = append(b, byte(tag>>8))
	}
	begin, guess := len(b), raw.Size(uint64(n))
	b = plan.PutNumbers(b[:begin+guess], form, p, n)
	size := len(b) - begin - guess
	if size < 0x80 {
		b[begin] = byte(size)
		return b
	}
	if wide := raw.Size(uint64(size)); wide != guess {
		body := b[begin+guess:]
		b = b[:begin+wide+size]
		copy(b[begin+wide:], body)
	}
	raw.Append(b[begin:begin], uint64(size))
	return b
}
