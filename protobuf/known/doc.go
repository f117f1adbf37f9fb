// Package known has the well-known types of Protobuf, google/protobuf/*.proto, for all
// generated code: a Timestamp of one package is a Timestamp of every other one. They are
// plain structs like all messages, with some functions to and from what Go has for them:
//
//	order.Created = known.TimestampOf(time.Now())
//	order.Took.AsDuration()
//	detail, err := known.AnyOf(&errdetails.RetryInfo{…})
//	attributes, err := known.StructOf(map[string]any{"size": 5})
//
// Everything but this package's functions is generated from the files in idl.
package known

//go:generate sh -c "cd ../../cmd && go run ./limosa-gen -q -out ../protobuf ../protobuf/known/idl"
