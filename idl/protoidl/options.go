package protoidl

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/limosa-rpc/limosa/idl"
)

// annotations gives the options of a definition that mean something to who generates
// code: deprecated, whether a method may be called again, and all that files define
// themselves, as JSON under the option's name in round brackets.
//
//	rpc Get(Key) returns (Item) { option idempotency_level = NO_SIDE_EFFECTS; option (google.api.http) = {get: "/v1/items"}; }
//
//	idempotent       1
//	no_side_effects  1
//	(google.api.http)  {"get":"/v1/items"}
func (b *builder) annotations(d protoreflect.Descriptor) idl.Annotations {
	var list idl.Annotations
	o := d.Options()
	if x, ok := o.(interface{ GetDeprecated() bool }); ok && x.GetDeprecated() {
		list = append(list, idl.Annotation{Key: "deprecated", Value: "1"})
	}
	if x, ok := o.(*descriptorpb.MethodOptions); ok && x.GetIdempotencyLevel() != descriptorpb.MethodOptions_IDEMPOTENCY_UNKNOWN {
		list = append(list, idl.Annotation{Key: "idempotent", Value: "1"})
		if x.GetIdempotencyLevel() == descriptorpb.MethodOptions_NO_SIDE_EFFECTS {
			list = append(list, idl.Annotation{Key: "no_side_effects", Value: "1"})
		}
	}
	return append(list, b.custom(o)...)
}

// custom gives the options that files define. They are read anew, with the definitions
// of the files: what has read the descriptors did not know them. Options that no file
// here defines are left out.
func (b *builder) custom(o proto.Message) idl.Annotations {
	m := o.ProtoReflect()
	extended := len(m.GetUnknown()) > 0
	m.Range(func(d protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		extended = extended || d.IsExtension()
		return !extended
	})
	if !extended {
		return nil
	}
	raw, err := proto.MarshalOptions{AllowPartial: true}.Marshal(o)
	if err != nil {
		return nil
	}
	known := m.New().Interface()
	if err := (proto.UnmarshalOptions{AllowPartial: true, Resolver: b.types}).Unmarshal(raw, known); err != nil {
		return nil
	}
	text, err := protojson.MarshalOptions{AllowPartial: true, Resolver: b.types}.Marshal(known)
	if err != nil {
		return nil
	}
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return nil
	}
	var list idl.Annotations
	for _, key := range slices.Sorted(maps.Keys(all)) {
		name, ok := strings.CutPrefix(key, "[")
		var value bytes.Buffer
		if ok && json.Compact(&value, all[key]) == nil { // protojson varies its blanks
			list = append(list, idl.Annotation{Key: "(" + strings.TrimSuffix(name, "]") + ")", Value: value.String()})
		}
	}
	return list
}

// spelled writes a floating-point number as a .proto file would, with inf and nan.
func spelled(x float64, bits int) string {
	switch {
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	case math.IsNaN(x):
		return "nan"
	}
	return strconv.FormatFloat(x, 'g', -1, bits)
}
