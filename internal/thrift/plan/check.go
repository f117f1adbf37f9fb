package plan

import (
	"encoding/binary"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A lazy view keeps a message as bytes and promises that no getter fails later. So all of it
// is looked at once, when it is opened, by the same plan and with the same faults as
// decoding, but without memory: the typed skip. An untyped one would
// take messages that no getter can read.
//
// Most messages have their fields in the order of the plan, all of them there. Those are
// checked by runs (run.go), several fields with one comparison; the first field that is not
// as predicted goes the general way, Checker.Fields, which returns to the runs as soon as it can.

// A Checker goes through a message as the decoder does and stores nothing: the
// typed skip. It takes what the decoder takes.
type Checker struct {
	B     []byte
	Again bool // a field of the struct that is indexed comes twice, or once with elements of another type
	Odd   bool // a bool, known or not, is neither 0 nor 1; see tame
}

// straight goes through the runs of a plan from run i on, as long as the fields
// come in the order of the plan and none is left out, which is what most
// messages look like. It gives the required fields that it has seen, the op
// at which it ended, and its offset. at, unless it is nil, gets the offset of
// each field's value.
//
// A stretch of runs is gone through by pass, which knows offsets only, or by locate, which
// notes where each value is: most callers have no index to fill.
func (c *Checker) straight(pl *Plan, i, o, depth int, at []uint32) (seen uint64, next, end int, f raw.Fault) {
	for i < len(pl.Runs) {
		runs := pl.Runs[i : i+int(pl.Runs[i].stretch)]
		var n int
		if at == nil {
			n, o = pass(c.B, runs, o)
		} else {
			var again bool
			n, o, again = locate(c.B, runs, o, at)
			c.Again = c.Again || again
		}
		if n > 0 {
			last := &runs[n-1]
			seen |= (last.before | last.bits) &^ runs[0].before
		}
		if n < len(runs) {
			return seen, int(runs[n].from), o, raw.Fine
		}
		i += n
		if r := &runs[n-1]; r.last == endInner {
			there, begin := false, o
			if o, there, f = c.inner(&pl.Fields[r.to-1], o, depth, at != nil); f != raw.Fine {
				return seen, 0, o, f
			}
			if !there {
				seen &^= pl.Fields[r.to-1].Bit
			} else if at != nil {
				c.Again = c.Again || at[r.to-1] != 0
				at[r.to-1] = uint32(begin)
			}
		}
	}
	return seen, len(pl.Fields), o, raw.Fine
}

// alike goes through structs of a list that have all fields, in the order of
// the plan, and none with fields of its own. It gives how many there were.
//
// The first element that is otherwise ends it; list checks that one by its fields and
// comes back.
func (c *Checker) alike(pl *Plan, n, o int) (i, end int) {
	b := c.B
	for i = range n {
		k, at := pass(b, pl.Runs, o)
		if k != len(pl.Runs) || at >= len(b) || b[at] != byte(raw.TypeStop) {
			return i, o
		}
		o = at + 1
	}
	return n, o
}

// inner checks the value of a field. there: it is of the field's type.
func (c *Checker) inner(f *shape.Field, o, depth int, indexed bool) (end int, there bool, flt raw.Fault) {
	end, flt = c.Value(f.Type, o, depth-1)
	if flt != raw.WrongType {
		return end, true, flt
	}
	// The field's index would be that of a value that does not count. Who wants it has to
	// look for the one before.
	c.Again = c.Again || indexed
	end, flt = c.skip(o, WireOf(f), depth-1)
	return end, false, flt
}

// Fields checks the struct at b[o:] and gives its end, or the offset of a
// fault. at, unless it is nil, gets the offset of each field's value.
//
// It gives the same fault as the decoder, but not always at the same offset and never
// with the field's name: whoever refuses the message has the decoder find the words.
func (c *Checker) Fields(pl *Plan, o, depth int, at []uint32) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	b, begin, next := c.B, o, 0
	var seen uint64
	for {
		if r := int(pl.runAt[next]); r != 0 {
			more, _, end, flt := c.straight(pl, r-1, o, depth, at)
			if flt != raw.Fine {
				return end, flt
			}
			seen, o = seen|more, end
		}
		if len(b)-o < 4 {
			if o < len(b) && b[o] == byte(raw.TypeStop) {
				break
			}
			return o, raw.Short
		}
		head := binary.BigEndian.Uint32(b[o:]) >> 8
		if head>>16 == uint32(raw.TypeStop) {
			break
		}
		end, flt := 0, raw.WrongType
		f, after := pl.Find(head)
		if f != nil {
			end, flt = c.Value(f.Type, o+3, depth-1)
		}
		if flt == raw.WrongType {
			c.Again = c.Again || f != nil && at != nil
			if end, flt = c.skip(o+3, raw.Type(head>>16), depth-1); flt == raw.Fine {
				next, o = len(pl.Fields), end
				continue
			}
		}
		if flt != raw.Fine {
			return end, flt
		}
		if at != nil {
			c.Again = c.Again || at[after-1] != 0
			at[after-1] = uint32(o + 3)
		}
		seen |= f.Bit
		next, o = after, end
	}
	if seen != pl.Bits || pl.Wide {
		d := Decoder{B: b}
		return d.lacking(pl, seen, begin, o)
	}
	return o + 1, raw.Fine
}

// Value checks a value of type t at b[o:] and gives its end.
func (c *Checker) Value(t *shape.Type, o, depth int) (int, raw.Fault) {
	switch t.Kind {
	case shape.String, shape.Bytes:
		return c.texts(1, o)
	case shape.Ref:
		if At(t.Struct).Shown != nil {
			return c.Fields(At(t.Struct).Shown, o, depth, nil)
		}
		return c.Fields(At(t.Struct), o, depth, nil)
	case shape.Union:
		return c.union(t, o, depth)
	case shape.List, shape.Set:
		return c.list(t, o, depth)
	case shape.Map, shape.Pairs:
		return c.entries(t, o, depth)
	case shape.Pointer:
		return c.Value(t.Elem, o, 0)
	}
	if n := int(raw.Fixed[Wires[t.Kind]]); len(c.B)-o >= n {
		c.Odd = c.Odd || t.Kind == shape.Bool && c.B[o] > 1
		return o + n, raw.Fine
	}
	return o, raw.Short
}

// skip is the function skip for what goes out again with the message.
func (c *Checker) skip(o int, t raw.Type, depth int) (int, raw.Fault) {
	end, f := raw.SkipAt(c.B, o, t, depth)
	if f == raw.Fine && !c.Odd && raw.MayHoldBools(t) {
		c.Odd = raw.Odd(c.B, o, t)
	}
	return end, f
}

// texts checks n strings, one after the other.
//
// A map of strings is 2*n strings on the wire. Each length says where the next one is, so that
// nothing but a load, a swap and an addition may lie between two of them.
func (c *Checker) texts(n, o int) (int, raw.Fault) {
	b := c.B
	begin := unsafe.Pointer(unsafe.SliceData(b)) // Safety: of what is loaded see below.
	for ; n > 0; n-- {
		text := o + 4
		left := len(b) - text
		if left < 0 {
			return o, raw.Short
		}
		// Safety: four bytes from o on are there.
		size := binary.BigEndian.Uint32((*[4]byte)(unsafe.Add(begin, o))[:])
		if uint(size) > uint(left) {
			return o, raw.TooLarge
		}
		o = text + int(size)
	}
	return o, raw.Fine
}

// union checks a struct of which one field counts. Fields that are no variant, and variants
// of another type, are passed over, as the decoder does; none at all is right too.
func (c *Checker) union(t *shape.Type, o, depth int) (int, raw.Fault) {
	if depth <= 0 {
		return o, raw.TooDeep
	}
	b := c.B
	for {
		if o < len(b) && b[o] == byte(raw.TypeStop) {
			return o + 1, raw.Fine
		}
		if len(b)-o < 4 {
			return o, raw.Short
		}
		head := binary.BigEndian.Uint32(b[o:]) >> 8
		o += 3
		end, flt := 0, raw.WrongType
		if v := t.Variant(head); v != nil {
			end, flt = c.Value(v.Struct.Fields[0].Type, o, depth-1)
		}
		if flt == raw.WrongType {
			end, flt = c.skip(o, raw.Type(head>>16), depth-1)
		}
		if flt != raw.Fine {
			return end, flt
		}
		o = end
	}
}

// elems reads the header of a list or set; end is where its elements begin.
func (c *Checker) elems(t *shape.Type, o, depth int) (n, end int, f raw.Fault) {
	b := c.B
	if depth <= 0 {
		return 0, o, raw.TooDeep
	}
	if len(b)-o < 5 {
		return 0, o, raw.Short
	}
	have, count := raw.Type(b[o]), binary.BigEndian.Uint32(b[o+1:])
	if count == 0 {
		return 0, o + 5, raw.Fine
	}
	if have != Wires[t.Elem.Kind] {
		return 0, o, raw.WrongType
	}
	d := Decoder{B: b}
	n, f = d.count(count, raw.Least[have], o+5)
	return n, o + 5, f
}

// list checks a list or a set and gives its end. Elements of fixed size need no look but for
// bools, structs that are alike are checked by their runs.
func (c *Checker) list(t *shape.Type, o, depth int) (int, raw.Fault) {
	n, o, f := c.elems(t, o, depth)
	if f != raw.Fine || n == 0 {
		return o, f
	}
	e := t.Elem
	if size := int(raw.Fixed[Wires[e.Kind]]); size != 0 {
		c.Odd = c.Odd || e.Kind == shape.Bool && raw.AnyAbove1(c.B[o:o+n])
		return o + n*size, raw.Fine // count has held that against the rest
	}
	switch e.Kind {
	case shape.Ref:
		for n > 0 {
			if At(e.Struct).Plain && depth > 1 {
				var same int
				if same, o = c.alike(At(e.Struct), n, o); same == n {
					break
				}
				n -= same
			}
			if o, f = c.Fields(At(e.Struct), o, depth-1, nil); f != raw.Fine {
				return o, f
			}
			n--
		}
	case shape.String, shape.Bytes:
		return c.texts(n, o)
	default:
		for range n {
			if o, f = c.Value(e, o, depth-1); f != raw.Fine {
				return o, f
			}
		}
	}
	return o, raw.Fine
}

// entries checks a map. Keys that come twice are right: the last one counts, as in a decoded
// map.
func (c *Checker) entries(t *shape.Type, o, depth int) (int, raw.Fault) {
	b := c.B
	if depth <= 0 {
		return o, raw.TooDeep
	}
	if len(b)-o < 6 {
		return o, raw.Short
	}
	key, elem, count := raw.Type(b[o]), raw.Type(b[o+1]), binary.BigEndian.Uint32(b[o+2:])
	if count == 0 {
		return o + 6, raw.Fine
	}
	if key != Wires[t.Key.Kind] || elem != Wires[t.Elem.Kind] {
		return o, raw.WrongType
	}
	d := Decoder{B: b}
	n, f := d.count(count, raw.Least[key]+raw.Least[elem], o+6)
	if f != raw.Fine {
		return o, f
	}
	o += 6
	if Wires[t.Key.Kind] == raw.TypeString && Wires[t.Elem.Kind] == raw.TypeString {
		return c.texts(2*n, o)
	}
	for range n {
		if o, f = c.Value(t.Key, o, depth-1); f != raw.Fine {
			return o, f
		}
		if o, f = c.Value(t.Elem, o, depth-1); f != raw.Fine {
			return o, f
		}
	}
	return o, raw.Fine
}
