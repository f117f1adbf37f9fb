package pjson

import (
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// known reads a message that has a form of its own; false: it has none.
//
// Each form is strict in what it takes, as the official run time is: a text that one implementation
// understands and another one refuses is worse than an error in both.
func (d *decoder) known(pl *plan.Plan, p unsafe.Pointer, depth int) bool {
	switch specialOf(pl) {
	case plainObject:
		return false
	case timestamp:
		d.timestamp(pl, at[int64](pl, p, 1), at[int32](pl, p, 2))
	case duration:
		d.duration(pl, at[int64](pl, p, 1), at[int32](pl, p, 2))
	case fieldMask:
		d.fieldMask(pl, at[[]string](pl, p, 1))
	case anyObject:
		d.any(pl, p, depth)
	case anyValue:
		d.kind(pl, p, depth)
	default: // structObject, listValue, wrapped
		o := pl.ByNumber(1)
		d.field(o, unsafe.Add(p, o.Offset), depth) // Safety: p points to a pl.Go, o is one of its fields.
	}
	return true
}

// text reads the string that a message of pl is; at is where it begins.
func (d *decoder) text(pl *plan.Plan) (s string, at int, ok bool) {
	tok, bad := d.Scanner.Value()
	if !d.ok(bad) {
		return "", 0, false
	}
	if tok.Kind != '"' {
		d.failAt(tok.At, "invalid value for "+pl.Name+": "+tok.String())
		return "", 0, false
	}
	return string(tok.Text), tok.At, true
}

// timestamp reads RFC 3339 with any zone. time.Parse takes a comma as well, and more digits than nine;
// what it takes beyond the mapping is looked for here.
func (d *decoder) timestamp(pl *plan.Plan, seconds *int64, nanos *int32) {
	s, begin, ok := d.text(pl)
	if !ok {
		return
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	// Behind a fraction the last of these begins the zone; without one it may be of the date,
	// which nobody asks for then.
	dot, zone := strings.LastIndexByte(s, '.'), strings.LastIndexAny(s, "Z-+")
	if err != nil || t.Unix() < leastTime || t.Unix() > mostTime || dot >= 0 && zone >= dot && zone-dot > len(".999999999") {
		d.failAt(begin, "no time between the years 1 and 9999 as RFC 3339 writes it: "+strconv.Quote(s))
		return
	}
	*seconds, *nanos = t.Unix(), int32(t.Nanosecond())
}

// duration reads seconds with an s behind them.
func (d *decoder) duration(pl *plan.Plan, seconds *int64, nanos *int32) {
	s, begin, ok := d.text(pl)
	if !ok {
		return
	}
	// After a fault both are zero, as they were.
	if *seconds, *nanos, ok = parseDuration(s); !ok {
		d.failAt(begin, "no seconds within 10,000 years, with an s: "+strconv.Quote(s))
	}
}

// parseDuration reads [+-](digits)(.digits)s, with no needless zeros before and nine digits behind the
// point at most.
//
// It is written out because time.ParseDuration takes other units, and no more than 292 years.
func parseDuration(s string) (seconds int64, nanos int32, ok bool) {
	s, ok = strings.CutSuffix(s, "s")
	if !ok || s == "" {
		return 0, 0, false
	}
	sign := int64(1)
	if s[0] == '-' || s[0] == '+' {
		if s[0] == '-' {
			sign = -1
		}
		s = s[1:]
	}
	before, behind, point := strings.Cut(s, ".")
	if s == "" || before == "" && !point || len(before) > 1 && before[0] == '0' || len(behind) > 9 || strings.Trim(before+behind, "0123456789") != "" {
		return 0, 0, false
	}
	// The zero makes ".5" a number; digits are all that is left, so that only the range can
	// be wrong.
	n, err := strconv.ParseInt("0"+before, 10, 64)
	if err != nil || n > mostSeconds {
		return 0, 0, false
	}
	// Filled up to nine digits, which are nanoseconds.
	parts, _ := strconv.ParseInt((behind + "000000000")[:9], 10, 64)
	return sign * n, int32(sign * parts), true
}

// fieldMask reads paths with commas between them. Each costs memory by its length and by what a string in a
// list takes: a mask of many short paths is larger than its text.
func (d *decoder) fieldMask(pl *plan.Plan, paths *[]string) {
	s, begin, ok := d.text(pl)
	if s = strings.TrimSpace(s); !ok || s == "" {
		return
	}
	for name := range strings.SplitSeq(s, ",") {
		path, ok := snake(name)
		if !ok || !pathLike(path) {
			d.failAt(begin, "no path of a field mask: "+strconv.Quote(name))
			return
		}
		// Its bytes, and a string's header of 16 bytes in a list that may be half empty.
		if !d.pay(2*len(path) + 32) {
			return
		}
		*paths = append(*paths, path)
	}
}

// kind reads a google.protobuf.Value: which of its fields that is, the first character tells.
//
// Whatever follows is then held to the type of that field, with its own errors.
func (d *decoder) kind(pl *plan.Plan, p unsafe.Pointer, depth int) {
	// The fields of Value: 1 null, 2 number, 3 string, 4 bool, 5 struct, 6 list. What begins
	// as nothing known is read as a number, which has the error for it.
	number := uint32(2)
	switch d.Peek() {
	case 'n':
		o := pl.ByNumber(1)
		if d.isNull() && d.pay(o.OneSize()) {
			f, _ := o.One()
			*(*shape.Face)(unsafe.Add(p, o.Offset)) = f // Safety: p points to a pl.Go, o is its oneof.
		}
		return
	case '"':
		number = 3
	case 't', 'f':
		number = 4
	case '{':
		number = 5
	case '[':
		number = 6
	}
	o := pl.ByNumber(number)
	d.field(o, unsafe.Add(p, o.Offset), depth) // Safety: as above.
}

// any reads the message that a google.protobuf.Any holds. Its type may stand anywhere in the object.
//
// So the object is read twice: once for the type, passing over the rest, and once for what it says. The
// bytes of the message are made at once, since that is what an Any holds.
func (d *decoder) any(pl *plan.Plan, p unsafe.Pointer, depth int) {
	if !d.ok(d.Want('{')) {
		return
	}
	// Behind the brace: there the second reading begins.
	begin := d.At
	url, found := d.findType(depth)
	if d.err != nil {
		return
	}
	if !found {
		// Only an object without any member may lack a type.
		if d.At = begin; d.Peek() != '}' {
			d.fail("an Any without @type")
			return
		}
		d.At++
		return
	}
	inner, held, q, err := d.resolve(url)
	if err != nil {
		d.failAt(begin, "an Any of "+strconv.Quote(url)+": "+err.Error())
		return
	}
	// Before it is filled; what its fields take they pay for themselves.
	if !d.pay(held.Size) {
		return
	}
	d.At = begin
	if specialOf(held) == plainObject {
		d.members(held, q, depth-1, true)
	} else {
		d.boxed(held, q, depth-1)
	}
	if d.err != nil {
		return
	}
	var out buf.Out
	defer out.Reset()
	// Depth 0 is the default: how deep it may be was checked while it was read.
	if err := plan.Append(&out, inner, 0, true, false); err != nil {
		d.failAt(begin, err.Error())
		return
	}
	if d.pay(out.Len() + len(url)) {
		*at[string](pl, p, 1), *at[[]byte](pl, p, 2) = url, out.Bytes()
	}
}

// findType passes over an object and gives its @type.
//
// An object with two of them is refused: two readers could take it for two messages.
func (d *decoder) findType(depth int) (url string, found bool) {
	for first := true; ; first = false {
		more, bad := d.More(first, '}')
		if !d.ok(bad) || !more {
			return url, found
		}
		name, bad := d.Name()
		if !d.ok(bad) {
			return "", false
		}
		if string(name.Text) != "@type" {
			if d.skip(depth); d.err != nil {
				return "", false
			}
			continue
		}
		tok, bad := d.Scanner.Value()
		if !d.ok(bad) {
			return "", false
		}
		if found || tok.Kind != '"' || len(tok.Text) == 0 {
			d.failAt(tok.At, "@type is a name, once")
			return "", false
		}
		url, found = string(tok.Text), true
	}
}

// boxed reads the value of a message that has a form of its own, from an Any.
//
// Such a message is no object of its own, so that its text is the member "value" beside the type.
func (d *decoder) boxed(pl *plan.Plan, p unsafe.Pointer, depth int) {
	there := false
	for first := true; ; first = false {
		more, bad := d.More(first, '}')
		if !d.ok(bad) || !more {
			break
		}
		name, bad := d.Name()
		if !d.ok(bad) {
			return
		}
		switch text := string(name.Text); {
		case text == "@type":
			d.skip(depth)
		case text == "value" && !there:
			there = true
			d.message(pl, p, depth)
		case text != "value" && d.Discard:
			d.skip(depth)
		default:
			d.failAt(name.At, "unknown field "+strconv.Quote(text)+", or one that comes twice")
		}
		if d.err != nil {
			return
		}
	}
	if !there && d.err == nil {
		d.fail(raw.Missing.Why() + ": value")
	}
}
