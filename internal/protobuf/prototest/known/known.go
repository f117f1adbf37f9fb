//lint:file-ignore U1000 unknown fields are read and written by the codec

// Package known has the well-known types as tests of JSON need them.
package known

import "errors"

// NullValue is the enum of that name.
type NullValue int32

// UnmarshalText takes its one name.
func (x *NullValue) UnmarshalText(p []byte) error {
	if string(p) != "NULL_VALUE" {
		return errors.New("no NullValue")
	}
	*x = 0
	return nil
}

// Timestamp is google.protobuf.Timestamp.
type Timestamp struct {
	Seconds int64 `proto:"1,int64,name=seconds"`
	Nanos   int32 `proto:"2,int32,name=nanos"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Timestamp) ProtoName() string { return "google.protobuf.Timestamp" }

// Duration is google.protobuf.Duration.
type Duration struct {
	Seconds int64 `proto:"1,int64,name=seconds"`
	Nanos   int32 `proto:"2,int32,name=nanos"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Duration) ProtoName() string { return "google.protobuf.Duration" }

// FieldMask is google.protobuf.FieldMask.
type FieldMask struct {
	Paths []string `proto:"1,string,name=paths"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*FieldMask) ProtoName() string { return "google.protobuf.FieldMask" }

// Struct is google.protobuf.Struct.
type Struct struct {
	Fields map[string]*Value `proto:"1,map(string,message),name=fields"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Struct) ProtoName() string { return "google.protobuf.Struct" }

// Value is google.protobuf.Value.
type Value struct {
	Kind ValueKind `proto:"oneof,name=kind"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Value) ProtoName() string { return "google.protobuf.Value" }

// ListValue is google.protobuf.ListValue.
type ListValue struct {
	Values []*Value `proto:"1,message,name=values"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*ListValue) ProtoName() string { return "google.protobuf.ListValue" }

// Any is google.protobuf.Any.
type Any struct {
	TypeUrl string `proto:"1,string,name=type_url"`
	Value   []byte `proto:"2,bytes,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Any) ProtoName() string { return "google.protobuf.Any" }

// Empty is google.protobuf.Empty.
type Empty struct {
	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Empty) ProtoName() string { return "google.protobuf.Empty" }

// DoubleValue is google.protobuf.DoubleValue.
type DoubleValue struct {
	Value float64 `proto:"1,double,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*DoubleValue) ProtoName() string { return "google.protobuf.DoubleValue" }

// FloatValue is google.protobuf.FloatValue.
type FloatValue struct {
	Value float32 `proto:"1,float,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*FloatValue) ProtoName() string { return "google.protobuf.FloatValue" }

// Int64Value is google.protobuf.Int64Value.
type Int64Value struct {
	Value int64 `proto:"1,int64,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Int64Value) ProtoName() string { return "google.protobuf.Int64Value" }

// UInt64Value is google.protobuf.UInt64Value.
type UInt64Value struct {
	Value uint64 `proto:"1,uint64,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*UInt64Value) ProtoName() string { return "google.protobuf.UInt64Value" }

// Int32Value is google.protobuf.Int32Value.
type Int32Value struct {
	Value int32 `proto:"1,int32,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*Int32Value) ProtoName() string { return "google.protobuf.Int32Value" }

// UInt32Value is google.protobuf.UInt32Value.
type UInt32Value struct {
	Value uint32 `proto:"1,uint32,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*UInt32Value) ProtoName() string { return "google.protobuf.UInt32Value" }

// BoolValue is google.protobuf.BoolValue.
type BoolValue struct {
	Value bool `proto:"1,bool,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*BoolValue) ProtoName() string { return "google.protobuf.BoolValue" }

// StringValue is google.protobuf.StringValue.
type StringValue struct {
	Value string `proto:"1,string,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*StringValue) ProtoName() string { return "google.protobuf.StringValue" }

// BytesValue is google.protobuf.BytesValue.
type BytesValue struct {
	Value []byte `proto:"1,bytes,name=value"`

	unknown []byte `proto:"unknown"`
}

// ProtoName gives the full name.
func (*BytesValue) ProtoName() string { return "google.protobuf.BytesValue" }

// ValueKind is what a Value is.
type ValueKind interface {
	isUnion(*ValueNull, *ValueNumber, *ValueString, *ValueBool, *ValueStruct, *ValueList)
}

// ValueNull is one of ValueKind.
type ValueNull struct {
	Value NullValue `proto:"1,enum,name=null_value"`
}

func (*ValueNull) isUnion(*ValueNull, *ValueNumber, *ValueString, *ValueBool, *ValueStruct, *ValueList) {
}

// ValueNumber is one of ValueKind.
type ValueNumber struct {
	Value float64 `proto:"2,double,name=number_value"`
}

func (*ValueNumber) isUnion(*ValueNull, *ValueNumber, *ValueString, *ValueBool, *ValueStruct, *ValueList) {
}

// ValueString is one of ValueKind.
type ValueString struct {
	Value string `proto:"3,string,name=string_value"`
}

func (*ValueString) isUnion(*ValueNull, *ValueNumber, *ValueString, *ValueBool, *ValueStruct, *ValueList) {
}

// ValueBool is one of ValueKind.
type ValueBool struct {
	Value bool `proto:"4,bool,name=bool_value"`
}

func (*ValueBool) isUnion(*ValueNull, *ValueNumber, *ValueString, *ValueBool, *ValueStruct, *ValueList) {
}

// ValueStruct is one of ValueKind.
type ValueStruct struct {
	Value *Struct `proto:"5,message,name=struct_value"`
}

func (*ValueStruct) isUnion(*ValueNull, *ValueNumber, *ValueString, *ValueBool, *ValueStruct, *ValueList) {
}

// ValueList is one of ValueKind.
type ValueList struct {
	Value *ListValue `proto:"6,message,name=list_value"`
}

func (*ValueList) isUnion(*ValueNull, *ValueNumber, *ValueString, *ValueBool, *ValueStruct, *ValueList) {
}

// Known has all of them.
type Known struct {
	Time    *Timestamp        `proto:"1,message,name=time"`
	Length  *Duration         `proto:"2,message,name=length"`
	Mask    *FieldMask        `proto:"3,message,name=mask"`
	Object  *Struct           `proto:"4,message,name=object"`
	Value   *Value            `proto:"5,message,name=value"`
	List    *ListValue        `proto:"6,message,name=list"`
	Any     *Any              `proto:"7,message,name=any"`
	Empty   *Empty            `proto:"8,message,name=empty"`
	Null    NullValue         `proto:"9,enum,name=null"`
	WDouble *DoubleValue      `proto:"11,message,name=w_double"`
	WFloat  *FloatValue       `proto:"12,message,name=w_float"`
	WInt64  *Int64Value       `proto:"13,message,name=w_int64"`
	WUInt64 *UInt64Value      `proto:"14,message,name=w_uint64"`
	WInt32  *Int32Value       `proto:"15,message,name=w_int32"`
	WUInt32 *UInt32Value      `proto:"16,message,name=w_uint32"`
	WBool   *BoolValue        `proto:"17,message,name=w_bool"`
	WString *StringValue      `proto:"18,message,name=w_string"`
	WBytes  *BytesValue       `proto:"19,message,name=w_bytes"`
	Values  []*Value          `proto:"21,message,name=values"`
	Named   map[string]*Value `proto:"22,map(string,message),name=named"`
	Times   []*Timestamp      `proto:"23,message,name=times"`
	Nulls   []NullValue       `proto:"24,enum,packed,name=nulls"`
	Anys    []*Any            `proto:"25,message,name=anys"`
	One     One               `proto:"oneof,name=one"`
}

// One is a oneof.
type One interface {
	isUnion(*OneNull, *OneValue, *OneInt64, *OneText)
}

// OneNull is one of One.
type OneNull struct {
	Value NullValue `proto:"31,enum,name=one_null"`
}

func (*OneNull) isUnion(*OneNull, *OneValue, *OneInt64, *OneText) {}

// OneValue is one of One.
type OneValue struct {
	Value *Value `proto:"32,message,name=one_value"`
}

func (*OneValue) isUnion(*OneNull, *OneValue, *OneInt64, *OneText) {}

// OneInt64 is one of One.
type OneInt64 struct {
	Value *Int64Value `proto:"33,message,name=one_int64"`
}

func (*OneInt64) isUnion(*OneNull, *OneValue, *OneInt64, *OneText) {}

// OneText is one of One.
type OneText struct {
	Value string `proto:"34,string,name=one_text,json=OTHER"`
}

func (*OneText) isUnion(*OneNull, *OneValue, *OneInt64, *OneText) {}
