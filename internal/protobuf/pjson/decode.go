package pjson

import (
	"encoding"
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
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
	"github.com/limosa-rpc/limosa/rpc"
)

var errNoMessage = errors.New("the message is not known")

// Decode replaces what msg holds by what body says. lim may be nil.
//
// body is borrowed: strings and bytes are copied, so that nothing of msg refers to it afterwards. Strict
// is what the mapping asks for: no comments, no trailing commas, no text that is not UTF-8. The budget of
// lim bounds the memory that is made of a text, which may be a hundred times its size for empty messages.
//
// The error is an *rpc.Error with rpc.InvalidArgument around a *raw.SyntaxError, which names the offset in
// the text, or with rpc.Internal if msg cannot be a message.
func Decode(body buf.View, msg any, o Options, lim *rpc.Limits) error {
	pl, p, err := plan.Of(msg)
	if err != nil {
		return &rpc.Error{Code: rpc.Internal, Op: "decode", Err: err}
	}
	if lim == nil {
		lim = rpc.Limits{Depth: plan.DefaultDepth}.WithDefaults()
	}
	// Before the first byte is looked at: after an error msg holds what was read until
	// then, and nothing of what it held before.
	pl.Clear(p)
	b := body.Bytes()
	d := decoder{Options: o, Scanner: json.Scanner{Text: b, Strict: true}, Budget: codec.Budget(lim.DecodeBudget(len(b)))}
	d.message(pl, p, lim.Depth)
	if d.err == nil && d.Peek() != 0 {
		d.fail("bytes after the end")
	}
	// Peek gives 0 at the end, and for a NUL in the text, which is none.
	if d.err == nil && d.At < len(b) {
		d.fail("bytes after the end")
	}
	if d.err != nil {
		return &rpc.Error{Code: rpc.InvalidArgument, Op: "decode", Err: d.err}
	}
	return nil
}

// A decoder is the state of one decode. After the first error its methods do nothing that matters.
//
// The scanner's place and the budget are embedded: nearly every line moves the one or takes from the other.
type decoder struct {
	Options
	json.Scanner
	codec.Budget
	err error
	// The way to the value at hand. A fault takes its text at once, so that nobody has to
	// take steps back behind an error.
	path []step
}

// fail notes that something is wrong where the scanner is.
func (d *decoder) fail(why string) { d.failAt(d.At, why) }

// failAt notes that something is wrong at an offset of the text. Only the first fault is kept: it is the one
// that the sender has made, and what follows may be made by it.
func (d *decoder) failAt(at int, why string) {
	if d.err == nil {
		d.err = &raw.SyntaxError{Offset: min(at, len(d.Text)), Path: pathText(d.path), Why: why}
	}
}

// ok notes a fault of the scanner, and tells that there is none.
func (d *decoder) ok(bad *json.Fault) bool {
	if bad != nil {
		d.failAt(bad.At, bad.Why)
	}
	return d.err == nil
}

// pay takes memory from the budget.
//
// It is called before what it pays for is made. A text cannot be refused for what it asks for later.
func (d *decoder) pay(n int) bool {
	if !d.Charge(n) {
		d.fail(raw.TooCostly.Why())
	}
	return d.err == nil
}

// isNull takes a null, if there is one.
//
// null stands for absent everywhere but in the few places that takesNull knows.
func (d *decoder) isNull() bool {
	if d.Peek() != 'n' {
		return false
	}
	_, bad := d.Scanner.Value()
	// A word that only begins like null is a fault of the scanner, not an absent value.
	return d.ok(bad)
}

// message reads the struct at p, which is zero.
//
// Well-known types come first: their text is no object, or another one than their fields would make.
func (d *decoder) message(pl *plan.Plan, p unsafe.Pointer, depth int) {
	if depth <= 0 {
		d.fail(raw.TooDeep.Why())
		return
	}
	if d.known(pl, p, depth) {
		return
	}
	if d.ok(d.Want('{')) {
		d.members(pl, p, depth, false)
	}
}

// members reads the fields of the struct at p up to the end of the object. inAny: its type is among them.
//
// It is one loop, whose many ways out are the rules of the JSON mapping for one name: an
// extension, unknown, twice, null, of a oneof that was set.
func (d *decoder) members(pl *plan.Plan, p unsafe.Pointer, depth int, inAny bool) {
	seen := map[int]bool{} // by offset in the struct: the fields of a oneof have one
	exts, err := d.extensions(pl)
	if err != nil {
		d.fail(err.Error())
		return
	}
	for first := true; ; first = false {
		more, bad := d.More(first, '}')
		if !d.ok(bad) || !more {
			break
		}
		name, bad := d.Name()
		if !d.ok(bad) {
			return
		}
		text := string(name.Text)
		o := pl.ByName(text)
		switch {
		case inAny && text == "@type":
			d.skip(depth)
			continue
		case o == nil && d.extension(text, exts, depth):
			if d.err != nil {
				return
			}
			continue
		case o == nil && d.Discard:
			d.skip(depth)
			continue
		case o == nil:
			d.failAt(name.At, noField(pl, text))
			return
		}
		// A null sets nothing, so that it does not count as the first of two either.
		if d.Peek() == 'n' && !takesNull(o) {
			d.isNull()
			continue
		}
		if seen[int(o.Offset)] {
			d.failAt(name.At, "the field "+strconv.Quote(text)+" or its oneof comes twice")
			return
		}
		seen[int(o.Offset)] = true
		d.path = append(d.path, step{name: text})
		d.field(o, unsafe.Add(p, o.Offset), depth) // Safety: p points to a pl.Go, and offset is that of its field.
		if d.err != nil {
			return
		}
		d.path = d.path[:len(d.path)-1]
	}
	// What was read of extensions becomes unknown fields only now: until here any of them
	// could still have come.
	d.keep(pl, p, exts)
	ops := pl.Ops()
	for i := range ops {
		if o := &ops[i]; d.err == nil && pl.Required(o) && !seen[int(o.Offset)] {
			d.fail(raw.Missing.Why() + ": " + pl.ProtoName(o))
		}
	}
}

// takesNull tells whether null is a value of the field.
//
// These are NullValue, whose only value it is, and Value, which has a field for it. A pointer or a oneof
// does not change that: it is the type of the field that counts.
func takesNull(o *plan.Op) bool {
	t := o.Type
	if o.Do == plan.Variant {
		_, one := o.One()
		t = one.Type
	}
	if t.Kind == shape.Pointer {
		t = t.Elem
	}
	return t.Kind == shape.Int32 && nullValue(t) || t.Kind == shape.Ref && specialOf(plan.At(t.Struct)) == anyValue
}

// field reads what the field of o at p is to hold.
//
// A scalar with presence gets memory of its own only when its value is right, so that a message that was
// refused has no field that points to half a value.
func (d *decoder) field(o *plan.Op, p unsafe.Pointer, depth int) {
	// Safety: for all stores: p points to a field of o.Type.Go.
	switch o.Do {
	case plan.Scalar:
		if d.pay(o.Type.Elem.Size) {
			q := o.Type.Elem.NewScalar()
			if d.value(o, o.Elem, o.Type.Elem, q, depth) {
				*(*unsafe.Pointer)(p) = q
			}
		}
	case plan.List, plan.Packed:
		d.list(o, p, depth)
	case plan.Map:
		d.entries(o, p, depth)
	case plan.Variant:
		if !d.pay(o.OneSize()) {
			return
		}
		// A struct of its own, which the oneof gets once its field is read: it never holds half.
		f, one := o.One()
		if d.value(one, one.Do, one.Type, unsafe.Add(f.Data, one.Offset), depth) {
			*(*shape.Face)(p) = f
		}
	default:
		d.value(o, o.Do, o.Type, p, depth)
	}
}

// list reads an array.
//
// Twice the size of an element is taken for each: a slice that grows holds up to twice its length. A name of
// an enum that is passed over leaves no gap.
func (d *decoder) list(o *plan.Op, p unsafe.Pointer, depth int) {
	if !d.ok(d.Want('[')) {
		return
	}
	// Safety: p points to a slice of that type.
	s, t := reflect.NewAt(o.Type.Go, p).Elem(), o.Type.Elem
	// One value for all elements: Append copies it.
	x := reflect.New(t.Go)
	d.path = append(d.path, step{kind: byIndex})
	for i := 0; ; i++ {
		more, bad := d.More(i == 0, ']')
		if !d.ok(bad) {
			return
		}
		if !more {
			d.path = d.path[:len(d.path)-1]
			return
		}
		d.path[len(d.path)-1].index = i
		x.Elem().SetZero()
		set := d.value(o, o.Elem, t, x.UnsafePointer(), depth)
		if d.err != nil || !d.pay(2*t.Size) {
			return
		}
		if set {
			s.Set(reflect.Append(s, x.Elem()))
		}
	}
}

// entries reads an object into a map.
//
// A key that comes twice is refused, as the mapping says, by the key and not by its text: "1" and "01" are
// one. Four times the sizes is what a map takes with its groups half full.
func (d *decoder) entries(o *plan.Op, p unsafe.Pointer, depth int) {
	if !d.ok(d.Want('{')) {
		return
	}
	// Safety: p points to a map of that type.
	m, t := reflect.NewAt(o.Type.Go, p).Elem(), o.Type
	// An empty object makes an empty map, not nil: it was there.
	m.Set(reflect.MakeMap(t.Go))
	k, v := reflect.New(t.Key.Go).Elem(), reflect.New(t.Elem.Go)
	for first := true; ; first = false {
		more, bad := d.More(first, '}')
		if !d.ok(bad) || !more {
			return
		}
		name, bad := d.Name()
		if !d.ok(bad) {
			return
		}
		if !setKey(k, string(name.Text)) || m.MapIndex(k).IsValid() {
			d.failAt(name.At, "the key "+strconv.Quote(string(name.Text))+" comes twice, or is none of that type")
			return
		}
		v.Elem().SetZero()
		d.path = append(d.path, step{kind: byKey, name: string(name.Text)})
		set := d.value(o.Value(), o.Value().Do, t.Elem, v.UnsafePointer(), depth)
		if d.err != nil || !d.pay(4*(t.Key.Size+t.Elem.Size)) {
			return
		}
		d.path = d.path[:len(d.path)-1]
		if set {
			m.SetMapIndex(k, v.Elem())
		}
	}
}

// setKey makes k the key that is written as text.
//
// A reflect.Value of the key's type is reused for all entries: MapIndex and SetMapIndex copy it.
func setKey(k reflect.Value, text string) bool {
	switch {
	case k.CanInt():
		n, err := strconv.ParseInt(text, 10, k.Type().Bits())
		k.SetInt(n)
		return err == nil
	case k.CanUint():
		n, err := strconv.ParseUint(text, 10, k.Type().Bits())
		k.SetUint(n)
		return err == nil
	case k.Kind() == reflect.Bool:
		k.SetBool(text == "true")
		return text == "true" || text == "false"
	}
	k.SetString(text)
	return true
}

// value reads a value of type t into p. set is false if there is an error, or if the value is an enum's name that is
// not known and may be passed over.
//
// A message is made and paid for before it is read, since its depth decides whether it is read at all.
// Numbers may be in quotes, whatever their size, and integers may have a point or an exponent as long as
// their value is whole.
func (d *decoder) value(o *plan.Op, form plan.Form, t *shape.Type, p unsafe.Pointer, depth int) (set bool) {
	// Safety: for all stores: p points to a t.Go, whose layout kind says.
	if form == plan.Message || form == plan.Group {
		pl := plan.At(t.Struct)
		if !d.pay(pl.Size) {
			return false
		}
		q := pl.New()
		d.message(pl, q, depth-1)
		*(*unsafe.Pointer)(p) = q
		return d.err == nil
	}
	tok, bad := d.Scanner.Value()
	if !d.ok(bad) {
		return false
	}
	if o.Enum() {
		return d.enum(t, (*int32)(p), tok)
	}
	fine := false
	switch t.Kind {
	case shape.Bool:
		*(*bool)(p), fine = tok.Kind == 't', tok.Kind == 't' || tok.Kind == 'f'
	case shape.Int32, shape.Int64:
		var n int64
		n, fine = integer(tok, t.Size*8)
		if t.Kind == shape.Int32 {
			*(*int32)(p) = int32(n)
		} else {
			*(*int64)(p) = n
		}
	case shape.Uint32, shape.Uint64:
		var n uint64
		n, fine = unsigned(tok, t.Size*8)
		if t.Kind == shape.Uint32 {
			*(*uint32)(p) = uint32(n)
		} else {
			*(*uint64)(p) = n
		}
	case shape.Float32:
		var f float64
		f, fine = float(tok, 32)
		*(*float32)(p) = float32(f)
	case shape.Float64:
		*(*float64)(p), fine = float(tok, 64)
	case shape.String:
		*(*string)(p), fine = string(tok.Text), tok.Kind == '"'
	case shape.Bytes:
		*(*[]byte)(p), fine = d.bytes(tok)
	}
	if !fine {
		d.failAt(tok.At, "invalid value for "+typeName(t)+": "+tok.String())
	}
	return d.err == nil
}

// bytes reads base64 in either alphabet, with and without padding.
//
// Encoders in the field use all four forms. A text that mixes both alphabets is none of them.
func (d *decoder) bytes(tok json.Token) ([]byte, bool) {
	if tok.Kind != '"' || !d.pay(len(tok.Text)) {
		return nil, false
	}
	enc, text := base64.StdEncoding, string(tok.Text)
	if strings.ContainsAny(text, "-_") {
		enc = base64.URLEncoding
	}
	if len(text)%4 != 0 {
		enc = enc.WithPadding(base64.NoPadding)
	}
	b, err := enc.DecodeString(text)
	return b, err == nil
}

// enum reads a name or a number.
//
// A name that is not known is an error, unless Discard passes over it; a number that has no name is kept:
// enums are open in JSON, also those that are closed on the wire.
func (d *decoder) enum(t *shape.Type, p *int32, tok json.Token) (set bool) {
	switch {
	case tok.Kind == '0':
		n, fine := integer(tok, 32)
		if *p = int32(n); !fine {
			d.failAt(tok.At, "invalid number of an enum: "+tok.String())
		}
		return fine
	case tok.Kind == 'n' && nullValue(t):
		*p = 0
		return true
	// What begins as a number does is no name: "1" in quotes is neither.
	case tok.Kind == '"' && len(tok.Text) > 0 && tok.Text[0] != '-' && tok.Text[0] != '+' && tok.Text[0]-'0' > 9:
		if enumNamed(t, p, tok.Text) {
			return true
		}
		if d.Discard {
			*p = 0
			return false
		}
	}
	d.failAt(tok.At, noValue(t, tok))
	return false
}

// enumNamed makes p the value of an enum that has that name, if there is one.
func enumNamed(t *shape.Type, p *int32, name []byte) bool {
	if t.Enum != nil {
		n, ok := t.Enum.Numbers[string(name)]
		if ok {
			*p = n
		}
		return ok
	}
	// Safety: p points to a t.Go.
	u, ok := reflect.TypeAssert[encoding.TextUnmarshaler](reflect.NewAt(t.Go, unsafe.Pointer(p)))
	return ok && u.UnmarshalText(name) == nil
}

// number gives the spelling of a number, which may be in quotes.
//
// Within quotes it must be a number of JSON to the letter: no spaces, no sign before it, no "NaN".
func number(tok json.Token) (string, bool) {
	if tok.Kind != '"' {
		return string(tok.Text), tok.Kind == '0'
	}
	s := json.Scanner{Text: tok.Text}
	if len(tok.Text) == 0 || tok.Text[0] != '-' && tok.Text[0]-'0' > 9 {
		return "", false
	}
	in, bad := s.Value()
	return string(in.Text), bad == nil && s.At == len(tok.Text) && in.Kind == '0'
}

// whole gives the digits of an integer that may be written with a point or an exponent.
//
// It works on text and never by way of a float: 2^63-1 has more digits than a float64 keeps. An exponent is
// bounded before zeros are added, so that 1e999999999 does not cost memory.
func whole(tok json.Token) (string, bool) {
	text, ok := number(tok)
	if !ok || !strings.ContainsAny(text, ".eE") {
		return text, ok
	}
	mantissa, e, has := strings.Cut(strings.ToLower(text), "e")
	exp := 0
	if has {
		var err error
		if exp, err = strconv.Atoi(e); err != nil || exp > 1000 || exp < -1000 {
			return "0", strings.Trim(mantissa, "-0.") == "" // whatever it is multiplied with
		}
	}
	sign := ""
	if mantissa[0] == '-' {
		sign, mantissa = "-", mantissa[1:]
	}
	before, behind, _ := strings.Cut(mantissa, ".")
	digits := before + behind
	point := len(before) + exp
	switch {
	case point >= len(digits):
		digits += strings.Repeat("0", point-len(digits))
	case strings.Trim(digits[max(point, 0):], "0") != "":
		return "", false
	default:
		digits = digits[:max(point, 0)]
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	return sign + digits, true
}

// integer gives the value of a token as an integer of so many bits, and whether it is one.
func integer(tok json.Token, bits int) (int64, bool) {
	text, ok := whole(tok)
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, bits)
	return n, err == nil
}

// unsigned is integer for types without a sign. -0 is 0: other implementations write it.
func unsigned(tok json.Token, bits int) (uint64, bool) {
	text, ok := whole(tok)
	if !ok {
		return 0, false
	}
	if text == "-0" {
		text = "0"
	}
	n, err := strconv.ParseUint(text, 10, bits)
	return n, err == nil
}

// float gives the value of a token as a float of so many bits. What is beyond its range is refused, not
// rounded to an infinity: that has a name of its own.
func float(tok json.Token, bits int) (float64, bool) {
	if tok.Kind == '"' {
		switch string(tok.Text) {
		case "NaN":
			return math.NaN(), true
		case "Infinity":
			return math.Inf(1), true
		case "-Infinity":
			return math.Inf(-1), true
		}
	}
	text, ok := number(tok)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(text, bits)
	return f, err == nil
}

// skip passes over any value.
//
// It checks what it passes over as strictly as what it reads: whether a text is JSON does not depend on
// which fields are known. depth counts objects and lists.
func (d *decoder) skip(depth int) {
	if depth <= 0 {
		d.fail(raw.TooDeep.Why())
		return
	}
	tok, bad := d.Scanner.Value()
	if !d.ok(bad) || tok.Kind != '{' && tok.Kind != '[' {
		return
	}
	for first := true; ; first = false {
		// In ASCII a closing brace is two behind its opening one, as is a bracket.
		more, bad := d.More(first, tok.Kind+2)
		if !d.ok(bad) || !more {
			return
		}
		if tok.Kind == '{' {
			if _, bad := d.Name(); !d.ok(bad) {
				return
			}
		}
		if d.skip(depth - 1); d.err != nil {
			return
		}
	}
}
