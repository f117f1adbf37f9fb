// Package tjson encodes and decodes Go structs in Thrift's JSON protocol (TJSONProtocol), by
// the plans of package plan. Package thrift is its face. It is for tools and for peers of old, and
// allocates freely; memory is charged to the same budget as in the other protocols.
package tjson
