// Package protoidl gives what a set of Protobuf descriptors says as a schema of package
// idl: of proto2, proto3 and the editions 2023 and 2024, whose features it resolves.
//
//	protoc, buf ──┐                                 ┌── gen           Go source
//	              ├── FileDescriptorSet ── Reader ──┤
//	.proto files ─┘                                 └── idl/breaking  what a change breaks
//
// It reads no .proto text: whoever does (protoc, buf, the module cmd with protocompile)
// hands on descriptors. They are not trusted: the official run time checks that all names
// are there and all numbers are right before anything is made of them.
//
// What Protobuf has and the model of Thrift had not is in the model: unsigned and float,
// Type.Word for the ways to write an integer and for groups, Struct.Oneof, Enum.Closed,
// Extension, File.Compiled. docs/how/idl.md has the table.
//
// A file that another one imports for its options alone is not in the schema, since no
// code needs it: google/api/annotations.proto, buf/validate/validate.proto. What such
// options say is in Annotations, as JSON under the option's name in round brackets. Nor is
// google/protobuf/descriptor.proto for who defines options.
package protoidl
