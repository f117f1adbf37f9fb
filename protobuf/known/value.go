package known

import (
	"encoding/base64"
	"fmt"
	"unicode/utf8"
)

// maxNested is how deep a value may nest, as a message.
const maxNested = 100

// ValueOf makes a Value of what encoding/json would make the same JSON of: nil, bool,
// numbers, string, []byte (as base64), map[string]any and []any. Other types, text
// that is not UTF-8 and values that nest deeper than 100 are errors.
func ValueOf(v any) (*Value, error) { return valueOf(v, maxNested) }

// StructOf makes a Struct of a map; see [ValueOf].
func StructOf(m map[string]any) (*Struct, error) { return structOf(m, maxNested) }

// structOf is StructOf for what stands depth levels above the deepest allowed.
func structOf(m map[string]any, depth int) (*Struct, error) {
	x := &Struct{Fields: make(map[string]*Value, len(m))}
	for k, v := range m {
		if !utf8.ValidString(k) {
			return nil, fmt.Errorf("known: the name %q is not UTF-8", k)
		}
		value, err := valueOf(v, depth-1)
		if err != nil {
			return nil, err
		}
		x.Fields[k] = value
	}
	return x, nil
}

// valueOf is NewValue for what stands depth levels above the deepest allowed. It has a case for
// each Go type that JSON's values come in.
func valueOf(v any, depth int) (*Value, error) {
	if depth < 0 {
		return nil, fmt.Errorf("known: a value nests deeper than %d", maxNested)
	}
	number := func(n float64) (*Value, error) { return &Value{Kind: &ValueKindNumberValue{NumberValue: n}}, nil }
	switch v := v.(type) {
	case nil:
		return &Value{Kind: &ValueKindNullValue{}}, nil
	case bool:
		return &Value{Kind: &ValueKindBoolValue{BoolValue: v}}, nil
	case int:
		return number(float64(v))
	case int8:
		return number(float64(v))
	case int16:
		return number(float64(v))
	case int32:
		return number(float64(v))
	case int64:
		return number(float64(v))
	case uint:
		return number(float64(v))
	case uint8:
		return number(float64(v))
	case uint16:
		return number(float64(v))
	case uint32:
		return number(float64(v))
	case uint64:
		return number(float64(v))
	case float32:
		return number(float64(v))
	case float64:
		return number(v)
	case string:
		if !utf8.ValidString(v) {
			return nil, fmt.Errorf("known: the text %q is not UTF-8", v)
		}
		return &Value{Kind: &ValueKindStringValue{StringValue: v}}, nil
	case []byte:
		return &Value{Kind: &ValueKindStringValue{StringValue: base64.StdEncoding.EncodeToString(v)}}, nil
	case map[string]any:
		x, err := structOf(v, depth)
		return &Value{Kind: &ValueKindStructValue{StructValue: x}}, err
	case []any:
		x := &ListValue{Values: make([]*Value, len(v))}
		for i, elem := range v {
			var err error
			if x.Values[i], err = valueOf(elem, depth-1); err != nil {
				return nil, err
			}
		}
		return &Value{Kind: &ValueKindListValue{ListValue: x}}, nil
	}
	return nil, fmt.Errorf("known: a %T is no value of JSON", v)
}

// AsAny gives what encoding/json would decode into an any: nil, bool, float64, string,
// map[string]any or []any.
func (x *Value) AsAny() any {
	switch k := x.GetKind().(type) {
	case *ValueKindBoolValue:
		return k.BoolValue
	case *ValueKindNumberValue:
		return k.NumberValue
	case *ValueKindStringValue:
		return k.StringValue
	case *ValueKindStructValue:
		return k.StructValue.AsMap()
	case *ValueKindListValue:
		return k.ListValue.AsSlice()
	}
	return nil
}

// AsMap gives the fields as [Value.AsAny] does; of nil an empty map.
func (x *Struct) AsMap() map[string]any {
	m := map[string]any{}
	if x != nil {
		for k, v := range x.Fields {
			m[k] = v.AsAny()
		}
	}
	return m
}

// AsSlice gives the elements as [Value.AsAny] does; of nil an empty slice.
func (x *ListValue) AsSlice() []any {
	list := []any{}
	if x != nil {
		for _, v := range x.Values {
			list = append(list, v.AsAny())
		}
	}
	return list
}
