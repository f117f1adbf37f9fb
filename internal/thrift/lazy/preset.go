package lazy

import (
	"reflect"
	"slices"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// A preset is a default with structs in it, of a field that the message does not have. It
// is no edit: reading it changes nothing that is sent. The first change inside makes it one
// ([presets.sent]), and then all of it is sent, since the receiver's default may be another.
type preset struct {
	in   *lease // of the struct that has the field
	at   uint32 // where the field would be written
	head uint32
	sub  *lease // the default, header and value
}

// presets are what a lease has to do with defaults.
type presets struct {
	// read are those of its structs, so that all views of one see what is changed in it.
	read []*preset
	// over is what the lease itself is over, as long as nothing was changed in it.
	over *preset
}

// preset gives the default of a field that the message does not have, as decoding would.
func (x *Message) preset(field int) (*lease, int) {
	l, f, at := x.own, &x.pl.Fields[field], x.place(field)
	if l.presets != nil {
		for _, p := range l.presets.read {
			if p.at == at && p.head == f.Tag {
				return p.sub, valueAt
			}
		}
	}
	msg := reflect.New(x.pl.Go).UnsafePointer()
	x.pl.Preset(msg)
	// Safety: msg points to an x.pl.Go, which f is a field of.
	q := unsafe.Add(msg, f.Offset)
	if f.Absent(q) || zero(f, q) {
		return l, 0
	}
	val := x.encode(f, q)
	if val == nil {
		return l, 0
	}
	if f.Kind != shape.Ref && !f.Type.Structs() {
		return &lease{b: val, calm: true, mem: codec.Unlimited}, valueAt // nobody can change it
	}
	p := &preset{in: l, at: at, head: f.Tag, sub: l.over(val)}
	p.sub.presets = &presets{over: p}
	if l.presets == nil {
		l.presets = new(presets)
	}
	l.presets.read = append(l.presets.read, p)
	return p.sub, valueAt
}

// forget drops the presets that an edit takes the place of: the field's own, and those of
// structs that it replaces. A view of one goes on reading it, and what is set there is
// set nowhere.
func (ps *presets) forget(from, to, head uint32) {
	ps.read = slices.DeleteFunc(ps.read, func(p *preset) bool {
		gone := p.at == from && p.head == head || p.at >= from && p.at < to
		if gone {
			p.sub.presets.over = nil
		}
		return gone
	})
}

// sent makes what the lease is over an edit, now that something was changed in it.
func (ps *presets) sent() {
	if p := ps.over; p != nil {
		ps.over = nil
		p.in.insert(edit{from: p.at, to: p.at, head: p.head, val: p.sub.b, sub: p.sub})
	}
}
