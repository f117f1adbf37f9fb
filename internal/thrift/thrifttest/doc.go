// Package thrifttest has the messages that tests of Thrift's rooms share, and what fills,
// encodes and compares them. Only tests import it.
package thrifttest
