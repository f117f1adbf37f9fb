package tjson

import (
	"encoding/base64"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
)

// Decode replaces what msg holds by what body says. Of numbers that do not fit
// their type it makes errors. lim may be nil: then the defaults hold. Errors are *rpc.Error, of
// Code InvalidArgument what the text is to blame for (with a *raw.SyntaxError, its offset and
// the path to the field), of Internal what the type of msg is. Nothing in msg refers to body.
//
// The budget is that of a message of as many bytes, although text is longer than what it
// says: a peer gains nothing by it.
func Decode(body buf.View, msg any, lim *rpc.Limits) error {
	pl, p, err := plan.Of(msg)
	if err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
	}
	if lim == nil {
		lim = rpc.Limits{}.WithDefaults()
	}
	b := body.Bytes()
	// Strings of Thrift are bytes: what is not UTF-8 comes from a peer as it is, and stays.
	d := decoder{scanner: scanner{json.Scanner{Text: b, AnyBytes: true}}, mem: plan.Decoder{Budget: codec.Budget(lim.DecodeBudget(len(b)))}}
	switch {
	case pl.Shown != nil: // a view: it has bytes of Binary, whatever it came in
		pl.How.Reset(pl.ViewAt(p))
		err = d.view(pl, p, lim.Depth)
	case d.mem.Begin(pl, p):
		err = d.fields(pl, p, lim.Depth)
	default:
		err = d.wrong(raw.TooCostly.Why())
	}
	if err == nil {
		if d.Peek(); d.At != len(b) {
			err = d.wrong(raw.Trailing.Why())
		}
	}
	if err != nil {
		if e, ok := errors.AsType[*raw.SyntaxError](err); ok {
			e.Path = d.mem.Where
		}
		return &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: err}
	}
	return nil
}

// ParseMessage reads a whole message; body is borrowed from p and is an encoded
// struct, which is not looked into. Errors are a *SyntaxError. A message is an array, as Apache's
// TJSONProtocol writes it:
//
//	[1, "method", type, sequence, {…}]
//
// The walk over the struct is the price of a format without lengths; it allocates
// nothing.
func ParseMessage(p []byte) (name string, typ raw.MessageType, seq int32, body []byte, err error) {
	s := scanner{json.Scanner{Text: p, AnyBytes: true}}
	fail := func(err error) (string, raw.MessageType, int32, []byte, error) { return "", 0, 0, nil, err }
	if err := s.want('['); err != nil {
		return fail(err)
	}
	version, err := s.integer(32)
	if err == nil && version != 1 {
		err = s.wrong("unknown version " + strconv.FormatInt(version, 10))
	}
	if err == nil {
		err = s.want(',')
	}
	if err == nil {
		name, err = s.text()
	}
	var numbers [2]int64
	for i := range numbers {
		if err == nil {
			err = s.want(',')
		}
		if err == nil {
			numbers[i], err = s.integer(32)
		}
	}
	if err == nil {
		err = s.want(',')
	}
	if err != nil {
		return fail(err)
	}
	if t := numbers[0]; t < int64(raw.Call) || t > int64(raw.Oneway) {
		return fail(s.wrong("message type " + strconv.FormatInt(t, 10) + " is unknown"))
	}
	// The struct is passed over to find its end, so that the message has one; two levels of
	// text stand for one of Thrift: a field is an object within the struct's.
	s.Peek()
	from := s.At
	if err = s.skip(2 * plan.DefaultDepth); err != nil {
		return fail(err)
	}
	body = p[from:s.At:s.At]
	if err = s.want(']'); err != nil {
		return fail(err)
	}
	if s.Peek(); s.At != len(p) {
		return fail(s.wrong(raw.Trailing.Why()))
	}
	return name, raw.MessageType(numbers[0]), int32(numbers[1]), body, nil
}

// errOther is for a container of elements of another type: the field around it
// is skipped. It never leaves this package.
var errOther = errors.New("thrift: " + raw.WrongType.Why())

// A decoder is the state of one decode.
//
// It has a plan.Decoder for the two things that both share: the budget, and the name of
// the field at fault.
type decoder struct {
	scanner
	mem plan.Decoder // budget and place of a fault only
}

// charge takes the memory of n values of a size from the budget, before they are made: a short
// text must not be able to ask for much.
func (d *decoder) charge(n, size int) error {
	if !d.mem.Charges(n, size) {
		return d.wrong(raw.TooCostly.Why())
	}
	return nil
}

// name takes the name of a type, such as "i32". An unknown one is an error, as it
// is in Binary.
func (d *decoder) name() (raw.Type, error) {
	d.Peek()
	from := d.At
	p, err := d.quoted()
	if err != nil {
		return 0, err
	}
	t, ok := typeOf(string(p))
	if !ok {
		d.At = from
		return 0, d.wrong("unknown type " + strconv.Quote(string(p[:min(len(p), 20)])))
	}
	return t, nil
}

// fields decodes a struct into the pl.Go at base. depth is how many levels are
// allowed, this struct included. A field that comes twice is decoded twice, and the last one counts,
// as on the other wires.
//
// The fields come through a function, for which this protocol is slow enough; unions use
// it too.
func (d *decoder) fields(pl *plan.Plan, base unsafe.Pointer, depth int) error {
	var seen map[uint32]bool // required fields by their headers; most structs have none
	err := d.eachField(depth, func(head uint32) (bool, error) {
		f, _ := pl.Find(head)
		if f == nil {
			return false, nil
		}
		// Safety: base points to a pl.Go, and offset and kind are those of one
		// of its fields: compile took them from reflection.
		err := d.value(f.Type, unsafe.Add(base, f.Offset), depth-1)
		if err == nil && f.Rule == shape.Required {
			if seen == nil {
				seen = map[uint32]bool{}
			}
			seen[head] = true
		}
		if err != nil && err != errOther {
			d.mem.Blame(pl, f, 0, raw.Fine)
		}
		return true, err
	})
	if err != nil {
		return err
	}
	for i := range pl.Fields {
		if f := &pl.Fields[i]; f.Rule == shape.Required && !seen[f.Tag] {
			d.mem.Blame(pl, f, 0, raw.Fine)
			d.At-- // the bracket that ends the struct: there it could have stood
			return d.wrong(raw.Missing.Why())
		}
	}
	return nil
}

// eachField goes through the fields of a struct. known decodes the value of one
// of them; what it does not know, or finds to be of another type, is skipped. A field is
//
//	"id": {"type": value}
//
// with the id in quotes, since it is a name in JSON.
func (d *decoder) eachField(depth int, known func(head uint32) (bool, error)) error {
	if d.Peek(); depth <= 0 {
		return d.wrong(raw.TooDeep.Why())
	}
	if err := d.want('{'); err != nil {
		return err
	}
	for first := true; ; first = false {
		if d.Peek() == '}' {
			d.At++
			return nil
		}
		if !first {
			if err := d.want(','); err != nil {
				return err
			}
		}
		id, err := d.integer(16)
		for _, c := range [...]byte{':', '{'} {
			if err == nil {
				err = d.want(c)
			}
		}
		var t raw.Type
		if err == nil {
			t, err = d.name()
		}
		if err == nil {
			err = d.want(':')
		}
		if err != nil {
			return err
		}
		at := d.At // a value of another type may have been read half: it is skipped from its begin
		took, err := known(uint32(t)<<16 | uint32(uint16(id)))
		if err == errOther || !took {
			d.At = at
			err = d.skip(2 * (depth - 1))
		}
		if err == nil {
			err = d.want('}')
		}
		if err != nil {
			return err
		}
	}
}

// value decodes a value into p, which points to a t.Go. depth is how many
// levels are allowed for it.
//
// What p held is replaced. errOther says that a container within is of another type.
func (d *decoder) value(t *shape.Type, p unsafe.Pointer, depth int) (err error) {
	// Safety: for all stores below: p points to a t.Go, whose layout kind says.
	var n int64
	switch t.Kind {
	case shape.String:
		if *(*string)(p), err = d.text(); err == nil {
			err = d.charge(1, len(*(*string)(p)))
		}
	case shape.Ref:
		err = d.structure(plan.At(t.Struct), p, depth)
	case shape.Int64, shape.Float64:
		if t.Kind == shape.Float64 {
			*(*float64)(p), err = d.double()
		} else {
			*(*int64)(p), err = d.integer(64)
		}
	case shape.Int32:
		n, err = d.integer(32)
		*(*int32)(p) = int32(n)
	case shape.Int16:
		n, err = d.integer(16)
		*(*int16)(p) = int16(n)
	case shape.Int8:
		n, err = d.integer(8)
		*(*int8)(p) = int8(n)
	case shape.Bool:
		n, err = d.integer(32)
		*(*bool)(p) = n != 0
	case shape.UUID:
		err = d.uuid((*[16]byte)(p))
	case shape.Bytes:
		err = d.bytes((*[]byte)(p))
	case shape.Pointer:
		if err = d.charge(1, t.Elem.Size); err == nil {
			q := reflect.New(t.Elem.Go).UnsafePointer()
			if err = d.value(t.Elem, q, 0); err == nil {
				*(*unsafe.Pointer)(p) = q
			}
		}
	case shape.List, shape.Set:
		err = d.list(t, p, depth)
	case shape.Map, shape.Pairs:
		err = d.entries(t, p, depth)
	default: // shape.Union
		err = d.union(t, (*shape.Face)(p), depth)
	}
	return err
}

// uuid takes the text form, with dashes.
func (d *decoder) uuid(p *[16]byte) error {
	d.Peek()
	from := d.At
	s, err := d.text()
	if err != nil {
		return err
	}
	u, ok := shape.ParseUUID(s)
	if *p = u; !ok {
		d.At = from
		return d.wrong("no UUID")
	}
	return nil
}

// bytes takes base64, with or without padding: C++ writes none.
func (d *decoder) bytes(p *[]byte) error {
	d.Peek()
	from := d.At
	s, err := d.text()
	if err != nil {
		return err
	}
	s = strings.TrimRight(s, "=")
	// Charged by the text, a third more than the bytes that come of it.
	if err := d.charge(1, len(s)); err != nil {
		return err
	}
	if *p, err = base64.RawStdEncoding.DecodeString(s); err != nil {
		d.At = from
		return d.wrong("no base64")
	}
	return nil
}

// structure decodes a struct and makes p point to it.
//
// Unlike Binary's it takes no generated methods: they read Binary only.
func (d *decoder) structure(pl *plan.Plan, p unsafe.Pointer, depth int) error {
	q, ok := d.mem.Fresh(pl)
	if !ok {
		return d.wrong(raw.TooCostly.Why())
	}
	// Safety: p points to a *pl.Go. It is set before the fields are there, so that a fault
	// further in leaves what was read until then.
	*(*unsafe.Pointer)(p) = q
	if pl.Shown != nil {
		return d.view(pl, q, depth)
	}
	return d.fields(pl, q, depth)
}

// union decodes a struct of which one field counts; see decoder.union.
func (d *decoder) union(t *shape.Type, p *shape.Face, depth int) error {
	*p = shape.Face{}
	return d.eachField(depth, func(head uint32) (bool, error) {
		v := t.Variant(head)
		if v == nil {
			return false, nil
		}
		q, ok := d.mem.Fresh(plan.At(v.Struct))
		if !ok {
			return true, d.wrong(raw.TooCostly.Why())
		}
		f := &v.Struct.Fields[0]
		// Safety: q points to a v.Struct.Go, whose one field f is; v.Itab is that
		// of *v.Struct.Go as the interface that p points to.
		err := d.value(f.Type, unsafe.Add(q, f.Offset), depth-1)
		switch {
		case err == nil:
			*p = shape.Face{Itab: v.Itab, Data: q}
		case err != errOther:
			d.mem.Blame(plan.At(v.Struct), f, 0, raw.Fine)
		}
		return true, err
	})
}

// count takes a number of elements, each of which takes two bytes at least, itself and a comma. A
// number that the rest of the text cannot hold is refused before memory is taken for it.
func (d *decoder) count() (int, error) {
	if err := d.want(','); err != nil {
		return 0, err
	}
	d.Peek()
	from := d.At
	n, err := d.integer(64)
	switch {
	case err != nil:
		return 0, err
	case n < 0:
		d.At = from
		return 0, d.wrong(raw.Negative.Why())
	case n > math.MaxInt32 || n > int64(len(d.Text)-d.At)/2:
		d.At = from
		return 0, d.wrong(raw.TooLarge.Why())
	}
	return int(n), nil
}

// list decodes a list or a set into the slice at p: ["i32", count, element, …]. The count is the
// sender's word and must be true. An empty list may name any type.
//
// All elements are made at once, which the count and the budget have allowed.
func (d *decoder) list(t *shape.Type, p unsafe.Pointer, depth int) error {
	if d.Peek(); depth <= 0 {
		return d.wrong(raw.TooDeep.Why())
	}
	if err := d.want('['); err != nil {
		return err
	}
	have, err := d.name()
	if err != nil {
		return err
	}
	n, err := d.count()
	if err != nil {
		return err
	}
	if n > 0 && have != plan.Wires[t.Elem.Kind] {
		return errOther
	}
	if err := d.charge(n, t.Elem.Size); err != nil {
		return err
	}
	s := reflect.MakeSlice(t.Go, n, n).UnsafePointer()
	for i := range n {
		if err = d.want(','); err == nil {
			// Safety: s points to n elements of that size.
			err = d.value(t.Elem, unsafe.Add(s, i*t.Elem.Size), depth-1)
		}
		if err != nil {
			return err
		}
	}
	// Safety: p points to a t.Go, a slice.
	*(*shape.Slice)(p) = shape.Slice{Data: s, Len: n, Cap: n}
	return d.want(']')
}

// entries decodes a map into the map or Pairs at p: ["i32", "str", count, {key: value, …}]. A key may
// be anything: a number stands in quotes then, a struct as it is.
func (d *decoder) entries(t *shape.Type, p unsafe.Pointer, depth int) error {
	if d.Peek(); depth <= 0 {
		return d.wrong(raw.TooDeep.Why())
	}
	err := d.want('[')
	var key, elem raw.Type
	if err == nil {
		key, err = d.name()
	}
	if err == nil {
		err = d.want(',')
	}
	if err == nil {
		elem, err = d.name()
	}
	if err != nil {
		return err
	}
	n, err := d.count()
	if err != nil {
		return err
	}
	if n > 0 && (key != plan.Wires[t.Key.Kind] || elem != plan.Wires[t.Elem.Kind]) {
		return errOther
	}
	for _, c := range [...]byte{',', '{'} {
		if err := d.want(c); err != nil {
			return err
		}
	}
	if err = d.charge(n, 2*(t.Key.Size+t.Elem.Size+codec.MapEntry)); err != nil {
		return err
	}
	if err = d.fill(t, p, n, depth-1); err != nil {
		return err
	}
	if err = d.want('}'); err != nil {
		return err
	}
	return d.want(']')
}

// fill decodes n entries into a fresh map or Pairs at p. Of a key that comes twice the last
// value counts in a map, and Pairs keep both.
//
// Key and value are made for each entry: Pairs and maps of containers keep what they
// refer to.
func (d *decoder) fill(t *shape.Type, p unsafe.Pointer, n, depth int) error {
	var m, pairs reflect.Value
	if t.Kind == shape.Pairs {
		pairs = reflect.MakeSlice(t.Go, n, n)
	} else {
		m = reflect.MakeMapWithSize(t.Go, n)
	}
	for i := range n {
		k, v := reflect.New(t.Key.Go), reflect.New(t.Elem.Go)
		var err error
		if i > 0 {
			err = d.want(',')
		}
		if err == nil {
			err = d.value(t.Key, k.UnsafePointer(), depth)
		}
		if err == nil {
			err = d.want(':')
		}
		if err == nil {
			err = d.value(t.Elem, v.UnsafePointer(), depth)
		}
		if err != nil {
			return err
		}
		if t.Kind == shape.Pairs {
			pairs.Index(i).Field(0).Set(k.Elem())
			pairs.Index(i).Field(1).Set(v.Elem())
		} else {
			m.SetMapIndex(k.Elem(), v.Elem())
		}
	}
	// Safety: p points to a t.Go.
	if into := reflect.NewAt(t.Go, p).Elem(); t.Kind == shape.Pairs {
		into.Set(pairs)
	} else {
		into.Set(m)
	}
	return nil
}

// view makes the view at q one of the struct that comes next: decoded, encoded as Binary and shown.
// What the plan does not know is lost on the way. The budget that is left to the view is the one
// from before, since reading it may take as much again.
func (d *decoder) view(pl *plan.Plan, q unsafe.Pointer, depth int) error {
	mem := d.mem.Budget
	p, ok := d.mem.Fresh(pl.Shown)
	if !ok || !d.mem.Charge(plan.LeaseBytes) {
		return d.wrong(raw.TooCostly.Why())
	}
	if err := d.fields(pl.Shown, p, depth); err != nil {
		return err
	}
	var out buf.Out
	defer out.Reset()
	e := plan.Encoder{Out: &out}
	if out.Commit(e.Structure(out.Block(), pl.Shown, p, depth)); e.Err != nil {
		return d.wrong("a view cannot show it: " + e.Err.Error()) // a union in a list of a variant that is not known
	}
	pl.How.Show(pl, pl.ViewAt(q), buf.ViewOf(out.Bytes()), mem, false)
	return nil
}
