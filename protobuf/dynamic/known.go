package dynamic

import (
	"slices"

	"github.com/limosa-rpc/limosa/internal/protobuf/plan"
	"github.com/limosa-rpc/limosa/internal/shape"
)

// wellKnown makes the well-known types, by their full names: what an Any holds need not be named in the schema. Those
// that refer to each other are in one file, and in a schema all or none.
func wellKnown() map[string]*plan.Draft {
	field := func(tag string) plan.DraftField { return plan.DraftField{Tag: tag} }
	all := map[string]*plan.Draft{}
	add := func(name string, fields ...plan.DraftField) *plan.Draft {
		d := &plan.Draft{Name: "google.protobuf." + name, Fields: fields}
		all[d.Name] = d
		return d
	}
	add("Any", field("1,string,name=type_url"), field("2,bytes,name=value"))
	add("Empty")
	add("Timestamp", field("1,int64,name=seconds"), field("2,int32,name=nanos"))
	add("Duration", field("1,int64,name=seconds"), field("2,int32,name=nanos"))
	add("FieldMask", plan.DraftField{Tag: "1,string,name=paths", Repeated: true})
	for name, word := range map[string]string{
		"DoubleValue": "double", "FloatValue": "float", "Int64Value": "int64", "UInt64Value": "uint64", "Int32Value": "int32",
		"UInt32Value": "uint32", "BoolValue": "bool", "StringValue": "string", "BytesValue": "bytes",
	} {
		add(name, field("1,"+word+",name=value"))
	}
	value := add("Value")
	object := add("Struct", plan.DraftField{Tag: "1,map(string,message),name=fields", Of: value})
	array := add("ListValue", plan.DraftField{Tag: "1,message,name=values", Of: value, Repeated: true})
	null := &shape.Enum{Title: "google.protobuf.NullValue", Names: map[int32]string{0: "NULL_VALUE"}, Numbers: map[string]int32{"NULL_VALUE": 0}}
	value.Fields = []plan.DraftField{{Tag: "oneof,name=kind", Cases: []plan.DraftField{
		{Tag: "1,enum,name=null_value", Enum: null}, field("2,double,name=number_value"), field("3,string,name=string_value"),
		field("4,bool,name=bool_value"), {Tag: "5,message,name=struct_value", Of: object}, {Tag: "6,message,name=list_value", Of: array},
	}}}
	return all
}

// alike tells whether a message of a schema is the well-known one: what writes its JSON counts on its fields.
func alike(have, want *plan.Draft) bool {
	return slices.EqualFunc(have.Fields, want.Fields, alikeField)
}

// alikeField compares fields. What messages they refer to are goes by their names: those are compared, too.
func alikeField(a, b plan.DraftField) bool {
	return a.Tag == b.Tag && a.Repeated == b.Repeated && slices.EqualFunc(a.Cases, b.Cases, alikeField) &&
		(a.Of == nil) == (b.Of == nil) && (a.Of == nil || a.Of.Name == b.Of.Name) &&
		(a.Enum == nil) == (b.Enum == nil) && (a.Enum == nil || a.Enum.Title == b.Enum.Title)
}
