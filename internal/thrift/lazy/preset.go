package lazy

import (
	"cmp"
	"reflect"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
)

// A preset is a default with structs in it, of a field that the message does not have. It
// is no edit: reading it changes nothing that is sent. The first change inside makes it one
// ([presets.sent]), and then all of it is sent, since the receiver's default may be another.
type preset struct {
	in    *lease // of the struct that has the field
	at    uint32 // where the field would be written
	head  uint32
	level uint16       // of the struct that has the field
	typ   reflect.Type // of the field
	sub   *lease       // the default, header and value
	next  *preset      // of another field of the same struct
}

// presets are what a lease has to do with defaults.
type presets struct {
	// read are those of its structs by their places, so that all views of one see what is
	// changed in it.
	read map[uint32]*preset
	// over is what the lease itself is over, as long as nothing was changed in it.
	over *preset

	// Of the root: the defaults that were asked for, nil for a field that has none, and what
	// the presets of all its leases take. A peer chooses how many there are: a list of
	// structs of one byte each has one for every byte.
	known map[*shape.Field]*lease
	spent codec.Budget
}

// presetBytes is what a preset takes: with its lease, what that has to do with defaults, and
// its entry among those that were read.
const presetBytes = plan.LeaseBytes + codec.Budget(unsafe.Sizeof(preset{})+unsafe.Sizeof(presets{})+
	codec.MapEntry*(unsafe.Sizeof(uint32(0))+unsafe.Sizeof((*preset)(nil))+codec.MapEntry))

// preset gives the default of a field that the message does not have, as decoding would.
// It panics as the getter of a value that is decoded does, if the presets of the message
// take more than decoding it had been allowed to.
func (x *Message) preset(field int) (*lease, int) {
	l, f, at := x.own, &x.pl.Fields[field], x.place(field)
	if l.presets != nil {
		for p := l.presets.read[at]; p != nil; p = p.next {
			if p.head == f.Tag {
				return p.sub, valueAt
			}
		}
	}
	fixed := x.fixed(f)
	switch {
	case fixed == nil:
		return l, 0
	case f.Kind != shape.Ref && !f.Type.Structs():
		return fixed, valueAt // nobody can change it
	}
	if all := l.defaults(true); all.spent+presetBytes > *l.budget() {
		panic((&plan.Decoder{B: l.b, Where: x.pl.Go.Name() + "." + x.pl.IDL(f)}).Failed(int(at), raw.TooCostly))
	} else {
		all.spent += presetBytes
	}
	own := l.defaults(false)
	if own.read == nil {
		own.read = map[uint32]*preset{}
	}
	p := &preset{in: l, at: at, head: f.Tag, level: x.level, typ: f.Type.Go, sub: l.over(fixed.b), next: own.read[at]}
	p.sub.presets = &presets{over: p}
	own.read[at] = p
	return p.sub, valueAt
}

// defaults gives what l, or the root of it, has to do with defaults.
func (l *lease) defaults(root bool) *presets {
	if root {
		l = cmp.Or(l.root, l)
	}
	if l.presets == nil {
		l.presets = new(presets)
	}
	return l.presets
}

// fixed gives header and value of the default of a field, nil if it has none. It is made
// once for a message: a struct's defaults are the same each time.
func (x *Message) fixed(f *shape.Field) *lease {
	all := x.own.defaults(true)
	if l, there := all.known[f]; there {
		return l
	}
	if all.known == nil {
		all.known = map[*shape.Field]*lease{}
	}
	var l *lease
	msg := reflect.New(x.pl.Go).UnsafePointer()
	x.pl.Preset(msg)
	// Safety: msg points to an x.pl.Go, which f is a field of.
	if q := unsafe.Add(msg, f.Offset); !f.Absent(q) && !zero(f, q) {
		// How deep the struct is does not matter before the default is sent. One that cannot
		// be sent is not there: reading changes nothing.
		if val, err := encoded(f, q, plan.DefaultDepth); err == nil {
			l = &lease{b: val, calm: true, mem: codec.Unlimited}
		}
	}
	all.known[f] = l
	return l
}

// forget drops the presets that an edit takes the place of: the field's own, and those of
// structs that it replaces. A view of one goes on reading it, and what is set there is
// set nowhere.
func (ps *presets) forget(from, to, head uint32) {
	ps.drop(from, func(p *preset) bool { return p.head == head || from < to })
	all := func(*preset) bool { return true }
	if int(to-from) <= len(ps.read) {
		for at := from; at < to; at++ {
			ps.drop(at, all)
		}
		return
	}
	for at := range ps.read {
		if at >= from && at < to {
			ps.drop(at, all)
		}
	}
}

// drop drops those presets of a place that gone tells.
func (ps *presets) drop(at uint32, gone func(*preset) bool) {
	var left *preset
	for p := ps.read[at]; p != nil; {
		next := p.next
		if gone(p) {
			p.sub.presets.over = nil
		} else {
			p.next, left = left, p
		}
		p = next
	}
	if left == nil {
		delete(ps.read, at)
	} else {
		ps.read[at] = left
	}
}

// sent makes what the lease is over an edit, now that something was changed in it.
func (ps *presets) sent() {
	p := ps.over
	if p == nil {
		return
	}
	ps.over = nil
	if _, flt := raw.SkipAt(p.sub.b, valueAt, raw.Type(p.head>>16), plan.DefaultDepth-int(p.level)); flt == raw.TooDeep && p.in.err == nil {
		p.in.err = &plan.TypeError{Type: p.typ, Why: shape.WhyDeep}
	}
	p.in.insert(edit{from: p.at, to: p.at, head: p.head, val: p.sub.b, sub: p.sub})
}
