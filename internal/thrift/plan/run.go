package plan

import (
	"encoding/binary"
	"math"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A run is a part of a plan that is checked at once: up to four fields of fixed
// size, of which the last may be one of another kind, and at the end perhaps a text. It has
// the headers as little-endian loads have them, and where they are; those that are not
// needed repeat the first one, so that no loop counts them.
// On bytes such as (i32 1)(i64 2)(string 3) a run is 3+4 + 3+8 + 3+4 = 25 bytes and the
// text: headers are compared at the offsets 0, 7 and 18.
type run struct {
	want     [runFields]uint32 // headers of all but a text
	rel      [runFields]uint8
	bools    [runFields]uint8 // where the bytes of bools are
	flags    uint8            // how many bools there are in it
	look     uint8            // where a byte is that tells, by being more than most, that bools have to be looked at
	most     uint8
	heads    uint8  // how many headers there are in want
	size     uint16 // bytes of it; a text counts with its length, another value only with its header
	last     runEnd
	values   uint8  // how many of the headers are those of fields of fixed size
	text     uint32 // a text's header
	from, to uint32 // ops
	stretch  uint32 // how many runs there are from this one to one that ends in another kind, both included
	bits     uint64 // of the required fields in it
	before   uint64 // of those in runs before it
}

// A runEnd says what a run ends with.
type runEnd uint8

const (
	endFixed runEnd = iota // a value of fixed size
	endText                // a string or binary
	endInner               // a value of another kind
)

const runFields = 4

// The headers of a run's fields, up to four, are compared with one branch; one field at a time
// would be a branch each. Texts end a run, since what is behind them has no fixed place.

// makeRuns fills in pl.runs and pl.runAt.
//
// want has a header as a little-endian load of four bytes gives it, of which the highest
// is the first byte of the value and is masked away.
func (pl *Plan) makeRuns() {
	pl.runAt = make([]uint32, len(pl.Fields)+1)
	pl.Plain = true
	open := false
	for i := range pl.Fields {
		f := &pl.Fields[i]
		n, text := raw.Fixed[WireOf(f)], WireOf(f) == raw.TypeString
		// What may well be absent begins a run, so that the fields before it are
		// not looked at again.
		if !open || f.Rule == shape.Free || pl.Runs[len(pl.Runs)-1].heads == runFields && !text {
			pl.Runs = append(pl.Runs, run{from: uint32(i)})
			pl.runAt[i] = uint32(len(pl.Runs))
		}
		r := &pl.Runs[len(pl.Runs)-1]
		r.addBool(f)
		r.to, r.bits, open = uint32(i+1), r.bits|f.Bit, n != 0
		head := f.Tag>>16 | f.Tag&0xff00 | f.Tag<<16&0xff0000
		if text {
			r.size, r.last, r.text = r.size+7, endText, head
			continue
		}
		if r.heads == 0 {
			r.want = [runFields]uint32{head, head, head, head}
		}
		r.want[r.heads], r.rel[r.heads] = head, uint8(r.size)
		r.heads++
		r.size += 3 + uint16(n)
		if n != 0 {
			r.values = r.heads
		} else {
			r.last, pl.Plain = endInner, false
		}
	}
	for i := len(pl.Runs) - 1; i >= 0; i-- {
		r := &pl.Runs[i]
		if r.stretch = 1; r.last != endInner && i+1 < len(pl.Runs) {
			r.stretch = pl.Runs[i+1].stretch + 1
		}
	}
	for i := 1; i < len(pl.Runs); i++ {
		pl.Runs[i].before = pl.Runs[i-1].before | pl.Runs[i-1].bits
	}
}

// addBool notes where a bool's byte is: behind its header, at what the run's size
// is so far.
//
// A message with a bool that is neither 0 nor 1 must not pass for one that is fine
// (raw.Tame). To look at each bool would be a load for each; so one byte is chosen that
// is above most exactly if they have to be looked at. With one bool it is that bool. With
// several every message has to look, so any byte that is above 1 does: a field's type.
func (r *run) addBool(f *shape.Field) {
	if WireOf(f) == raw.TypeBool {
		r.bools[r.flags] = uint8(r.size + 3)
		r.flags++
	}
	switch r.flags {
	case 0:
		r.most = math.MaxUint8 // no byte tells
	case 1:
		r.look, r.most = r.bools[0], 1 // it is odd itself
	default:
		r.look = r.bools[0] - 3 // the type of the field, which is more than 1
	}
}

// odd tells whether one of the run's bools, whose first header is at p, is neither
// 0 nor 1.
func (r *run) odd(p unsafe.Pointer) bool {
	for _, at := range r.bools[:r.flags] {
		// Safety: the run's bytes are there.
		if *(*byte)(unsafe.Add(p, at)) > 1 {
			return true
		}
	}
	return false
}

// differ gives zero in its lower three bytes if the headers of the run are at p. The highest
// byte is that of a value. It has to be inlined.
func (r *run) differ(p unsafe.Pointer) uint32 {
	return (le32(p, r.rel[0]) ^ r.want[0]) | (le32(p, r.rel[1]) ^ r.want[1]) | (le32(p, r.rel[2]) ^ r.want[2]) | (le32(p, r.rel[3]) ^ r.want[3])
}

// suspect tells whether some bool of the run, which is at p, may be odd.
func (r *run) suspect(p unsafe.Pointer) bool {
	return *(*byte)(unsafe.Add(p, r.look)) > r.most // Safety: it is a byte of the run.
}

// pass passes over runs from o on. It gives the first one that is not there as it
// should be, or len(runs), and where that begins.
//
// It is the loop of the typed skip and does without checks of bounds: of each run the
// size is held against what is left before anything of it is loaded. Between one text's
// length and the next one's lie a load, a swap and an addition, and nothing else.
func pass(b []byte, runs []run, o int) (k, end int) {
	begin := unsafe.Pointer(unsafe.SliceData(b)) // Safety: see below.
	for k = range runs {
		r := &runs[k]
		after := o + int(r.size)
		left := len(b) - after
		// Safety: after the run there is a stop at the least, so that size+1 bytes are
		// there, and among them are 4 of every field.
		if left <= 0 {
			return k, o
		}
		if p := unsafe.Add(begin, o); r.heads == 1 && r.flags == 0 {
			if (le32(p, 0)^r.want[0])&0xffffff != 0 {
				return k, o
			}
		} else if r.heads != 0 && (r.differ(p)&0xffffff != 0 || r.suspect(p) && r.odd(p)) {
			return k, o
		}
		if r.last != endText {
			o = after
			continue
		}
		n := binary.BigEndian.Uint32((*[4]byte)(unsafe.Add(begin, after-4))[:])
		if (le32(unsafe.Add(begin, after-7), 0)^r.text)&0xffffff != 0 || uint(n) > uint(left) {
			return k, o
		}
		o = after + int(n)
	}
	return len(runs), o
}

// locate is pass that notes in at where the values of the fields are, but for a last one of
// another kind, which is yet to be looked at; again: one was noted there before.
//
// Two loops that differ in what they store are two functions: at as an optional result
// would be a branch for each field.
func locate(b []byte, runs []run, o int, at []uint32) (k, end int, again bool) {
	begin, had := unsafe.Pointer(unsafe.SliceData(b)), uint32(0) // Safety: as in pass.
	for k = range runs {
		r := &runs[k]
		after := o + int(r.size)
		left := len(b) - after
		if left <= 0 {
			return k, o, had != 0
		}
		if p := unsafe.Add(begin, o); r.heads != 0 && (r.differ(p)&0xffffff != 0 || r.suspect(p) && r.odd(p)) {
			return k, o, had != 0
		}
		n := uint32(0)
		if r.last == endText {
			n = binary.BigEndian.Uint32((*[4]byte)(unsafe.Add(begin, after-4))[:])
			if (le32(unsafe.Add(begin, after-7), 0)^r.text)&0xffffff != 0 || uint(n) > uint(left) {
				return k, o, had != 0
			}
			had |= at[r.to-1]
			at[r.to-1] = uint32(after) - 4
		}
		for i := range at[r.from:][:r.values] {
			had |= at[int(r.from)+i]
			at[int(r.from)+i] = uint32(o) + 3 + uint32(r.rel[i&(runFields-1)])
		}
		o = after + int(n)
	}
	return len(runs), o, had != 0
}

// Element is for one struct of a list whose plan is plain: it fills at, which is
// all zero, and gives the struct's end, or 0 if the struct is not what most are.
func Element(b []byte, runs []run, o int, at []uint32) int {
	k, o, again := locate(b, runs, o, at)
	if k < len(runs) || again || o >= len(b) || b[o] != byte(raw.TypeStop) {
		return 0
	}
	return o + 1
}

// le32 loads a little-endian number.
func le32(p unsafe.Pointer, rel uint8) uint32 {
	// Safety: the caller says that 4 bytes are there.
	return binary.LittleEndian.Uint32((*[4]byte)(unsafe.Add(p, rel))[:])
}
