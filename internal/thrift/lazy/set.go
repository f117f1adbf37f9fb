package lazy

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// moveFrom is from how many bytes on what was not changed is forwarded by
// reference. Below it one more piece costs as much as the copy.
const moveFrom = 4 << 10

// An edit replaces a part of a lease's bytes. Its val is header and value of a
// field, and is never written again: an Out may refer to it.
type edit struct {
	from, to uint32 // the field's bytes; the same, where its struct's stop is, for a field that was not there
	head     uint32 // 0 for what an earlier value of the same field took
	val      []byte // nil: left out
	sub      *lease // over val, once there is a view of something in it
}

// edit finds the edit of a field whose place is from.
func (l *lease) edit(from, head uint32) *edit {
	for i := l.editAt(from); i < len(l.edits) && l.edits[i].from == from; i++ {
		if l.edits[i].head == head {
			return &l.edits[i]
		}
	}
	return nil
}

// editAt is the index of the first edit at from or after it.
func (l *lease) editAt(from uint32) int {
	if len(l.edits) == 0 {
		return 0
	}
	i, _ := slices.BinarySearchFunc(l.edits, from, func(e edit, from uint32) int { return cmp.Compare(e.from, from) })
	return i
}

// Set sets a field of x to v, by the index of the field in the struct; for
// generated code. v is copied. A nil that Binary.Append would leave out removes
// the field. What cannot be encoded is an error of the Append that follows.
func Set[T any](x *Message, field int, v T) {
	if x.end == 0 || x.own.b == nil {
		x.index()
	}
	f := &x.pl.Fields[field]
	if !isType[T](f.Type) {
		panic(fmt.Sprintf("thrift: %s.%s is no %s", x.pl.Go, x.pl.Names[f.Index].Go, reflect.TypeFor[T]()))
	}
	// Safety: v is of the type that the op is for.
	p := unsafe.Pointer(&v)
	if f.Absent(p) {
		if f.Rule == shape.Required {
			x.fail(&plan.TypeError{Type: x.pl.Go, Field: x.pl.Names[f.Index].Go, Why: shape.WhyRequired})
		}
		x.put(field, nil)
		return
	}
	val := x.encode(f, p)
	if val != nil && f.Kind >= shape.Bytes {
		// What is this program's own does not count against what the peer may cost.
		*x.own.budget() += takes(f.Type, val[3:])
	}
	x.put(field, val)
}

// takes is what a decoder takes from its budget for b, an encoded value of type t.
// What the value takes in this program does not say that: a struct that a list has
// twice is decoded twice, and the decoder supposes more for a map, and defaults.
func takes(t *shape.Type, b []byte) codec.Budget {
	d := plan.Decoder{B: b, Budget: codec.Unlimited}
	switch {
	case t.Kind == shape.Bytes:
		d.Charge(len(b) - 4)
	case t.Kind == shape.Pointer:
		d.Charge(t.Elem.Size)
	case (t.Kind == shape.List || t.Kind == shape.Set) && raw.Fixed[plan.Wires[t.Elem.Kind]] != 0:
		d.Charges((len(b)-5)/int(raw.Fixed[plan.Wires[t.Elem.Kind]]), t.Elem.Size)
	default:
		d.Value(t, reflect.New(t.Go).UnsafePointer(), 0, 1<<30)
	}
	return codec.Unlimited - d.Budget
}

// fail keeps the first error of what was set, until Append asks for it: a setter gives none.
func (x *Message) fail(err error) {
	if x.own.err == nil {
		x.own.err = err
	}
}

// encode gives header and value of the field at p.
func (x *Message) encode(f *shape.Field, p unsafe.Pointer) []byte {
	// Safety: for all loads below: p points to an f.Type.Go, whose layout kind says.
	head := [3]byte{byte(f.Tag >> 16), byte(f.Tag >> 8), byte(f.Tag)}
	switch f.Kind {
	case shape.String:
		if s := *(*string)(p); len(s) <= raw.MaxSize {
			b := binary.BigEndian.AppendUint32(append(make([]byte, 0, 7+len(s)), head[:]...), uint32(len(s)))
			return append(b, s...)
		}
	case shape.Int64, shape.Float64:
		return binary.BigEndian.AppendUint64(append(x.own.bytes(11), head[:]...), *(*uint64)(p))
	case shape.Int32:
		return binary.BigEndian.AppendUint32(append(x.own.bytes(7), head[:]...), *(*uint32)(p))
	}
	val, err := encoded(f, p, plan.DefaultDepth-int(x.level))
	if err != nil {
		x.fail(err)
	}
	return val
}

// encoded gives header and value of the field f at p, which may nest depth levels.
func encoded(f *shape.Field, p unsafe.Pointer, depth int) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	e := plan.Encoder{Out: &out}
	b := e.Value(append(out.Block(), byte(f.Tag>>16), byte(f.Tag>>8), byte(f.Tag)), f.Type, p, depth)
	out.Commit(b)
	if e.Err != nil {
		return nil, e.Err
	}
	return out.Bytes(), nil
}

// bytes gives room for a value of n bytes.
func (l *lease) bytes(n int) []byte {
	if at := int(l.taken); n <= len(l.small)-at {
		l.taken += uint8(n)
		return l.small[at : at : at+n]
	}
	return make([]byte, 0, n)
}

// put replaces a field by val, header and value, or removes it.
func (x *Message) put(field int, val []byte) {
	l, head := x.own, x.pl.Fields[field].Tag
	from := x.place(field)
	if x.again {
		x.dropEarlier(head, from)
	}
	if e := l.edit(from, head); e != nil {
		e.val, e.sub = val, nil
		return
	}
	to := from
	if o := int(x.at.of(field)); o != 0 {
		end, _ := raw.SkipAt(l.b, o, raw.Type(head>>16), 1<<30)
		to = uint32(end)
	}
	l.insert(edit{from: from, to: to, head: head, val: val})
}

// insert adds an edit, after others of its place. What was changed within the
// bytes that it replaces is gone with them.
func (l *lease) insert(e edit) {
	i := l.editAt(e.from)
	if e.from == e.to {
		for i < len(l.edits) && l.edits[i].from == e.from {
			i++
		}
	}
	j := i
	for j < len(l.edits) && l.edits[j].from < e.to {
		j++
	}
	if l.edits == nil {
		l.edits = l.one[:0]
	}
	l.edits, l.calm = slices.Replace(l.edits, i, j, e), false
	if l.presets != nil {
		l.presets.forget(e.from, e.to, e.head)
		l.presets.sent()
	}
}

// dropEarlier removes all values of a field but the one whose header is at
// last: the peer would see them, and one that is wrong for us may be right
// for it.
func (x *Message) dropEarlier(head, last uint32) {
	b := x.own.b
	for o := int(x.from); b[o] != byte(raw.TypeStop); {
		have := binary.BigEndian.Uint32(b[o:]) >> 8
		end, _ := raw.SkipAt(b, o+3, raw.Type(have>>16), 1<<30)
		if have == head && uint32(o) != last && x.own.edit(uint32(o), 0) == nil {
			x.own.insert(edit{from: uint32(o), to: uint32(end)})
		}
		o = end
	}
}

// append writes x with its changes at the end of out.
func (x *Message) append(out *buf.Out) error {
	if x.end == 0 || x.own.b == nil {
		x.index()
	}
	return x.own.append(out, x.from, x.end)
}

// append writes the bytes from begin to end with what replaces parts of them, all
// that can be encoded also with an error.
func (l *lease) append(out *buf.Out, begin, end uint32) error {
	at, err := begin, l.err
	for i := l.editAt(begin); i < len(l.edits) && l.edits[i].from < end; i++ {
		e := &l.edits[i]
		if e.from < at {
			continue // set through a view of what was replaced later
		}
		l.share(out, at, e.from)
		at = e.to
		switch {
		case e.sub != nil:
			if in := e.sub.append(out, 0, uint32(len(e.val))); err == nil {
				err = in
			}
		case len(e.val) >= moveFrom:
			out.Move(buf.ViewOf(e.val))
		default:
			out.Append(e.val)
		}
	}
	l.share(out, at, end)
	return err
}

// share appends bytes that were not changed.
func (l *lease) share(out *buf.Out, from, to uint32) {
	if to-from >= moveFrom {
		out.Move(l.view.Slice(int(from), int(to)))
	} else {
		out.Append(l.b[from:to])
	}
}

// Plain decodes x, with its changes, into a T, the struct that x is a view
// of; for generated code. It refers to nothing of the message. An error is that
// of a value that was set and cannot be encoded.
func Plain[T any](x *Message) (*T, error) {
	b, err := x.bytes()
	if err != nil {
		return nil, err
	}
	msg := new(T)
	if pl, _, err := plan.Of(msg); err != nil || pl != x.pl {
		panic(fmt.Sprintf("thrift: a view of %s is no view of %T", x.pl.Go, *msg))
	}
	// Safety: msg points to an x.pl.Go.
	if f := x.pl.Read(unsafe.Pointer(msg), b, *x.own.budget()); f != raw.Fine {
		return nil, f.At(0)
	}
	return msg, nil
}
