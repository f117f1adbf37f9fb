package pjson

import (
	"strconv"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
)

// Extensions are unknown fields to the struct of their message. A struct of their own has them as fields, whose names in
// JSON are their full names in brackets; it is decoded from the unknown fields, and encoded to them.

// An extension is such a struct of the message at hand.
type extension struct {
	msg  any
	pl   *plan.Plan
	p    unsafe.Pointer
	seen map[int]bool // its fields that were read, by offset
}

// extensions gives fresh ones for a message.
func (o *Options) extensions(pl *plan.Plan) (all []extension, err error) {
	if o.Extensions == nil || pl.Name == "" || !pl.HasKept() {
		return nil, nil
	}
	for _, msg := range o.Extensions(pl.Name) {
		x, p, err := plan.Of(msg)
		if err != nil {
			return nil, err
		}
		all = append(all, extension{msg: msg, pl: x, p: p})
	}
	return all, nil
}

// extend writes the extensions that the struct at p has among its unknown fields.
func (e *encoder) extend(pl *plan.Plan, p unsafe.Pointer, depth int, first bool) {
	if e.Extensions == nil || !pl.HasKept() || len(*pl.Kept(p)) == 0 {
		return
	}
	all, err := e.extensions(pl)
	for _, x := range all {
		// Each struct is made of all unknown fields and takes those that it has: a field of two
		// structs would be written twice, which is the fault of who gave both.
		if err == nil {
			_, err = plan.Decode(buf.ViewOf(*pl.Kept(p)), x.msg, nil, false)
		}
		if err == nil {
			n := len(e.b)
			e.members(x.pl, x.p, depth, first)
			// Nothing was written if the message has none of this struct.
			first = first && len(e.b) == n
		}
	}
	if err != nil {
		e.fail(pl, "has wrong extensions: "+err.Error())
	}
}

// extension reads the value of an extension with that name, in brackets. all holds what was read of the message's
// extensions so far. found is false if there is none of that name.
func (d *decoder) extension(name string, all []extension, depth int) (found bool) {
	for i := range all {
		x := &all[i]
		o := x.pl.ByName(name)
		if o == nil {
			continue
		}
		if d.Peek() == 'n' && !takesNull(o) {
			d.isNull()
			return true
		}
		if x.seen[int(o.Offset)] {
			d.fail("the extension " + strconv.Quote(name) + " comes twice")
			return true
		}
		// Made when the first one comes: most messages have none.
		if x.seen == nil {
			x.seen = map[int]bool{}
		}
		x.seen[int(o.Offset)] = true
		// Safety: the struct is an x.pl.Go, and offset is that of its field.
		d.field(o, unsafe.Add(x.p, o.Offset), depth)
		return true
	}
	return false
}

// keep adds what was read of extensions to the unknown fields of the struct at p.
func (d *decoder) keep(pl *plan.Plan, p unsafe.Pointer, all []extension) {
	for _, x := range all {
		if x.seen == nil || d.err != nil {
			continue
		}
		var out buf.Out
		// In the binary format, since that is what unknown fields are.
		if err := plan.Append(&out, x.msg, 0, true, false); err != nil {
			d.fail(err.Error())
		} else if d.pay(2 * out.Len()) {
			u := pl.Kept(p)
			*u = append(*u, out.Bytes()...)
		}
		out.Reset()
	}
}
