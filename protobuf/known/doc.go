// Package known has the well-known types of Protobuf, google/protobuf/*.proto, for all
// generated code: a Timestamp of one package is a Timestamp of every other one. They are
// plain structs like all messages, with some functions to and from what Go has for them:
//
//	order.Created = known.TimestampOf(time.Now())
//	order.Took.AsDuration()
//	detail, err := known.AnyOf(&errdetails.RetryInfo{…})
//	attributes, err := known.StructOf(map[string]any{"size": 5})
//
// # Groups
//
//   - Times: [Timestamp], [Duration].
//   - What may be anything: [Any], [Struct], [Value], [ListValue], [NullValue]; ValueKind and its types are what a Value holds.
//   - Scalars that may be absent: BoolValue, BytesValue, DoubleValue, FloatValue, Int32Value, Int64Value, StringValue,
//     UInt32Value, UInt64Value, for files that are older than optional in proto3.
//   - Small things: [Empty], [FieldMask].
//   - Descriptions of types and services, which few need: Type, Field, Enum, EnumValue, Option, Syntax, API, Method, Mixin,
//     SourceContext, with FieldKind and FieldCardinality.
//
// Each of the functions whose name ends with IDL gives the source of one file.
//
// Everything but this package's functions is generated from the files in idl.
package known

//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -out ../protobuf ../protobuf/known/idl"
