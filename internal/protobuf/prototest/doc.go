// Package prototest has messages for tests of the Protobuf codec. Those of package pb below it are
// the same ones as the official generator makes them.
package prototest
