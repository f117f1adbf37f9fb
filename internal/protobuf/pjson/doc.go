// Package pjson is Protobuf's JSON mapping for Go structs with plans, both ways, with the forms of
// well-known types. Package protobuf is its face.
//
// Well-known types are known by their full name, which generated messages have (ProtoName), and their
// fields by number: any Go struct can be one.
package pjson
