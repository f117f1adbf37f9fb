package pjson

import (
	"math"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/json"
	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// Bounds of well-known types.
const (
	// In seconds: of a time since 1970, of a length of time in all.
	leastTime = -62135596800 // 0001-01-01T00:00:00Z
	mostTime  = 253402300799 // 9999-12-31T23:59:59Z
	// 10,000 years of 365.25 days, in either direction.
	mostSeconds = 315_576_000_000
	nano        = 1_000_000_000
)

// A special says what form a well-known type has.
type special uint8

const (
	plainObject special = iota
	// An object with @type, and what it holds beside it or as "value".
	anyObject
	timestamp
	duration
	fieldMask
	// Any JSON: an object, any value, a list.
	structObject
	anyValue
	listValue
	// One field, written as if it stood there without a message around it.
	wrapped
)

// specialOf tells which well-known type a message is.
//
// The name in the .proto file decides and not the Go type: programs may have generated the well-known
// types themselves.
func specialOf(pl *plan.Plan) special {
	name, ok := strings.CutPrefix(pl.Name, "google.protobuf.")
	if !ok {
		return plainObject
	}
	switch name {
	// As a switch and not as a map: a table would be state of the package, and is not faster.
	case "Any":
		return anyObject
	case "Timestamp":
		return timestamp
	case "Duration":
		return duration
	case "FieldMask":
		return fieldMask
	case "Struct":
		return structObject
	case "Value":
		return anyValue
	case "ListValue":
		return listValue
	case "DoubleValue", "FloatValue", "Int64Value", "UInt64Value", "Int32Value", "UInt32Value", "BoolValue", "StringValue", "BytesValue":
		return wrapped
	}
	return plainObject
}

// at gives where the field with that number is in the struct at p.
//
// It is for fields that are known to be there by the message's name: what a program generates under
// a name of google.protobuf has to have Google's fields.
func at[T any](pl *plan.Plan, p unsafe.Pointer, number uint32) *T {
	// Safety: p points to a pl.Go; a well-known type has this field, of this type.
	return (*T)(unsafe.Add(p, pl.ByNumber(number).Offset))
}

// known writes a message that has a form of its own; false: it has none.
//
// A wrapper, a Struct and a ListValue are written as their one field is.
func (e *encoder) known(pl *plan.Plan, p unsafe.Pointer, depth int) bool {
	switch specialOf(pl) {
	case plainObject:
		return false
	case timestamp:
		e.timestamp(pl, *at[int64](pl, p, 1), *at[int32](pl, p, 2))
	case duration:
		e.duration(pl, *at[int64](pl, p, 1), *at[int32](pl, p, 2))
	case fieldMask:
		e.fieldMask(pl, *at[[]string](pl, p, 1))
	case anyObject:
		e.any(pl, *at[string](pl, p, 1), *at[[]byte](pl, p, 2), depth)
	case anyValue:
		e.kind(pl, p, depth)
	default: // structObject, listValue, wrapped
		o := pl.ByNumber(1)
		e.field(pl, o, unsafe.Add(p, o.Offset), depth) // Safety: as in at.
	}
	return true
}

// kind writes a google.protobuf.Value.
//
// Numbers that JSON lacks are refused here, though a double field writes them in quotes: as a Value
// they would come back as strings.
func (e *encoder) kind(pl *plan.Plan, p unsafe.Pointer, depth int) {
	o := &pl.Ops()[0]
	// Safety: the one field of the struct at p is the oneof.
	f := *(*shape.Face)(unsafe.Add(p, o.Offset))
	one, v := o.Held(f)
	if one == nil {
		e.fail(pl, "has no value")
		return
	}
	q := unsafe.Add(f.Data, v.Offset)
	// The one variant of that form is number_value, a double.
	if v.Do == plan.Fixed64 {
		if x := *(*float64)(q); math.IsNaN(x) || math.IsInf(x, 0) {
			e.fail(pl, "has a number that JSON does not have")
			return
		}
	}
	e.field(one, v, q, depth)
}

// timestamp writes a time as RFC 3339 does, in UTC with a Z. Its years have four digits, which is why the
// range ends where it does.
func (e *encoder) timestamp(pl *plan.Plan, seconds int64, nanos int32) {
	if seconds < leastTime || seconds > mostTime || nanos < 0 || nanos >= nano {
		e.fail(pl, "is no time between the years 1 and 9999")
		return
	}
	e.b = append(e.b, '"')
	// The format has no fraction: time has forms with digits as needed, and none with 0, 3, 6
	// or 9.
	e.b = time.Unix(seconds, 0).UTC().AppendFormat(e.b, "2006-01-02T15:04:05")
	e.fraction(nanos)
	e.add(`Z"`)
}

// duration writes a length of time as seconds with an s. Seconds and nanoseconds have to have one sign; the
// sign is written once, before both.
func (e *encoder) duration(pl *plan.Plan, seconds int64, nanos int32) {
	if seconds < -mostSeconds || seconds > mostSeconds || nanos <= -nano || nanos >= nano || seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		e.fail(pl, "is no length of time within 10,000 years")
		return
	}
	e.add(`"`)
	if seconds < 0 || nanos < 0 {
		e.add("-")
		// Of both: they have one sign, or are zero.
		seconds, nanos = -seconds, -nanos
	}
	e.b = strconv.AppendInt(e.b, seconds, 10)
	e.fraction(nanos)
	e.add(`s"`)
}

// fraction writes parts of a second with 0, 3, 6 or 9 digits.
//
// That is what the official run times write, so that texts can be compared.
func (e *encoder) fraction(nanos int32) {
	if nanos == 0 {
		return
	}
	// With a one in front, which is cut off, Itoa keeps leading zeros.
	text := strconv.Itoa(nano + int(nanos))[1:]
	text = strings.TrimSuffix(strings.TrimSuffix(text, "000"), "000")
	e.add("." + text)
}

// fieldMask writes paths in lowerCamelCase, with commas between them. A path whose way back leads to another
// one is refused here, where its owner is, rather than read wrongly there.
func (e *encoder) fieldMask(pl *plan.Plan, paths []string) {
	var all []string
	for _, p := range paths {
		name := plan.JSONName(p)
		if back, ok := snake(name); !ok || back != p || !pathLike(p) {
			e.fail(pl, "has the path "+strconv.Quote(p)+", which does not come back from JSON")
			return
		}
		all = append(all, name)
	}
	e.b = json.AppendString(e.b, strings.Join(all, ","))
}

// pathLike tells whether p is names with dots between them.
//
// A name begins with a letter or an underscore; digits may follow.
func pathLike(p string) bool {
	for name := range strings.SplitSeq(p, ".") {
		for i, c := range []byte(name) {
			if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c-'0' > 9) {
				return false
			}
		}
		if name == "" {
			return false
		}
	}
	return true
}

// snake is the way back of plan.JSONName; false: there is none.
//
// An underscore cannot come from a name that was turned into lowerCamelCase, and so is no part of one.
func snake(name string) (string, bool) {
	var b strings.Builder
	for _, c := range []byte(name) {
		switch {
		case c == '_':
			return "", false
		// Bytes will do: pathLike takes ASCII alone.
		case 'A' <= c && c <= 'Z':
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// any writes a google.protobuf.Any as the message that it holds, with its type.
//
// What it holds is decoded for that, with default limits: it was in a message that was decoded within
// limits already, or made by this program.
func (e *encoder) any(pl *plan.Plan, url string, value []byte, depth int) {
	// An Any that holds nothing is the empty object; one that has bytes and no type cannot be
	// written.
	if url == "" && len(value) == 0 {
		e.add("{}")
		return
	}
	inner, held, p, err := e.resolve(url)
	if err == nil {
		_, err = plan.Decode(buf.ViewOf(value), inner, nil, false)
	}
	if err != nil {
		e.fail(pl, "holds "+strconv.Quote(url)+": "+err.Error())
		return
	}
	e.add(`{"@type":`)
	e.b = json.AppendString(e.b, url)
	if specialOf(held) == plainObject {
		// false: @type stands before them.
		e.members(held, p, depth-1, false)
	} else {
		e.add(`,"value":`)
		e.message(held, p, depth-1)
	}
	e.add("}")
}

// resolve makes a message of the type that a URL names, which p points to.
//
// Only what stands behind the last slash counts, as the specification says; who serves the URL is not asked.
func (o *Options) resolve(url string) (msg any, pl *plan.Plan, p unsafe.Pointer, err error) {
	name := url[strings.LastIndexByte(url, '/')+1:]
	if o.Any == nil || name == "" {
		return nil, nil, nil, errNoMessage
	}
	if msg = o.Any(name); msg == nil {
		return nil, nil, nil, errNoMessage
	}
	pl, p, err = plan.Of(msg)
	return msg, pl, p, err
}
