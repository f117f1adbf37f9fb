package stub

import (
	"bytes"
	"encoding"
	"encoding/base64"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/limosa-rpc/limosa/internal/json"
)

// AppendJSON appends v as JSON to b, as [UnmarshalJSON] reads it: names and options as the
// tags have them, bytes in base64, enums by their names, a union as an object with the one
// member that is set. It is what encoding/json writes, but for two things: an empty list or
// map is one whether it is nil or not, as on every other wire, and nothing is escaped for HTML.
// Entries of maps are in the order of their keys.
//
// An error is that of a value that JSON has no form for: a number that is none, a type that is
// no message, values that nest as deeply as only those do that refer to themselves. b has a part of the text then.
func AppendJSON(b []byte, v any) ([]byte, error) {
	w := jsonWriter{b: b}
	err := w.value(reflect.ValueOf(v), maxWritten)
	return w.b, err
}

// maxWritten is how deep a value may nest: more than any limit lets messages.
const maxWritten = 1000

// A marshaler is encoding/json's.
type marshaler interface{ MarshalJSON() ([]byte, error) }

// A jsonWriter writes one text.
type jsonWriter struct{ b []byte }

// add appends s as it is.
func (w *jsonWriter) add(s string) { w.b = append(w.b, s...) }

// value writes a value of any kind; the zero Value is null.
func (w *jsonWriter) value(v reflect.Value, depth int) error {
	if depth <= 0 {
		return fmt.Errorf("json: the value nests too deeply")
	}
	if !v.IsValid() {
		w.add("null")
		return nil
	}
	if v.Kind() == reflect.Pointer || v.Kind() == reflect.Interface {
		if v.IsNil() {
			w.add("null")
			return nil
		}
	}
	if done, err := w.byMethod(v); done {
		return err
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return w.value(v.Elem(), depth-1)
	case reflect.Struct:
		return w.members(v, depth-1)
	case reflect.Map:
		return w.entries(v, depth-1)
	case reflect.Slice, reflect.Array:
		return w.list(v, depth-1)
	}
	return w.scalar(v)
}

// byMethod writes v by a method of its own, if it has one that writes JSON or text.
func (w *jsonWriter) byMethod(v reflect.Value) (done bool, err error) {
	if !v.CanInterface() {
		return false, nil
	}
	x := v.Interface()
	if v.Kind() != reflect.Pointer && v.CanAddr() {
		x = v.Addr().Interface() // it has the methods of both
	}
	switch m := x.(type) {
	case marshaler:
		text, err := m.MarshalJSON()
		w.b = append(w.b, text...)
		return true, err
	case encoding.TextMarshaler:
		text, err := m.MarshalText()
		w.b = json.AppendString(w.b, text)
		return true, err
	}
	return false, nil
}

// members writes the fields of a struct.
func (w *jsonWriter) members(v reflect.Value, depth int) error {
	w.add("{")
	first := true
	for f, field := range v.Fields() {
		tag := f.Tag.Get("json")
		name, opts, _ := strings.Cut(tag, ",")
		if !f.IsExported() || tag == "-" || strings.Contains(opts, "omitempty") && empty(field) {
			continue
		}
		if name == "" {
			name = f.Name
		}
		if !first {
			w.add(",")
		}
		first = false
		w.b = append(json.AppendString(w.b, name), ':')
		if err := w.field(field, strings.Contains(","+opts+",", ",string,"), depth); err != nil {
			return err
		}
	}
	w.add("}")
	return nil
}

// field writes the value of a member, as a string if its tag says so and it is a scalar.
func (w *jsonWriter) field(v reflect.Value, quoted bool, depth int) error {
	of := v
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if !quoted || !of.IsValid() {
		return w.value(v, depth)
	}
	at := len(w.b)
	switch of.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Float32, reflect.Float64:
		w.add("\"")
		err := w.scalar(of)
		w.add("\"")
		return err
	case reflect.String:
		err := w.value(v, depth)
		text := string(w.b[at:])
		w.b = json.AppendString(w.b[:at], text)
		return err
	}
	return w.value(v, depth)
}

// empty is what the option omitempty leaves out.
func empty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// list writes the elements of a slice, and bytes in base64.
func (w *jsonWriter) list(v reflect.Value, depth int) error {
	if v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Uint8 {
		w.add("\"")
		w.b = base64.StdEncoding.AppendEncode(w.b, v.Bytes())
		w.add("\"")
		return nil
	}
	w.add("[")
	for i := range v.Len() {
		if i > 0 {
			w.add(",")
		}
		if err := w.value(v.Index(i), depth); err != nil {
			return err
		}
	}
	w.add("]")
	return nil
}

// entries writes a map. Keys are strings in JSON, whatever they are in Go.
func (w *jsonWriter) entries(v reflect.Value, depth int) error {
	type entry struct {
		key   []byte
		value reflect.Value
	}
	all := make([]entry, 0, v.Len())
	for k, value := range v.Seq2() {
		key, err := keyText(k)
		if err != nil {
			return err
		}
		all = append(all, entry{key, value})
	}
	slices.SortFunc(all, func(a, b entry) int { return bytes.Compare(a.key, b.key) })
	w.add("{")
	for i, e := range all {
		if i > 0 {
			w.add(",")
		}
		w.b = append(json.AppendString(w.b, e.key), ':')
		if err := w.value(e.value, depth); err != nil {
			return err
		}
	}
	w.add("}")
	return nil
}

// keyText gives the key of a map as text.
func keyText(k reflect.Value) ([]byte, error) {
	if k.Kind() == reflect.String {
		return []byte(k.String()), nil
	}
	if m, ok := k.Interface().(encoding.TextMarshaler); ok {
		return m.MarshalText()
	}
	var w jsonWriter
	err := w.scalar(k)
	return w.b, err
}

// scalar writes a number, a bool or a string.
func (w *jsonWriter) scalar(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Bool:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		w.b = strconv.AppendInt(w.b, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		w.b = strconv.AppendUint(w.b, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		f := v.Float()
		if math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("json: %v is no number of JSON", f)
		}
		w.b = strconv.AppendFloat(w.b, f, 'g', -1, v.Type().Bits())
	case reflect.String:
		w.b = json.AppendString(w.b, v.String())
	default:
		return fmt.Errorf("json: %v has no form in JSON", v.Type())
	}
	return nil
}
