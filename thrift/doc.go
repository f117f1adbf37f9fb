// Package thrift turns Go structs into Thrift messages and back.
//
//	b, err := thrift.Marshal(user)          // for who stores messages
//	err = thrift.Unmarshal(b, &hello.User{})
//
// A message is a pointer to a struct that limosa-gen has made, or to one with tags of its own
// ([Binary] says how they look). [Binary], [Compact] and [JSON] are the codecs of Thrift's three
// protocols, for the same structs; a service gets its codec from generated code. [Equal],
// [Clone], [Validate], [String] and masks ([Keep], [Drop]) work on any message. A [Lazy] view is
// read and changed where its bytes lie.
//
// What is here is what programs use. Generated code calls package thrift/impl, framings use
// internal/thrift/raw; thrift/dynamic works from a parsed IDL. docs/how/thrift.md tells how
// it works.
//
// Source: doc/specs/thrift-binary-protocol.md of Apache Thrift 0.25.
package thrift

import (
	"fmt"

	"github.com/limosa-rpc/limosa/internal/shape"
)

// A UUID is Thrift's uuid: 16 bytes in the order of RFC 9562.
type UUID [16]byte

// String gives the form 00112233-4455-6677-8899-aabbccddeeff.
func (u UUID) String() string {
	return shape.UUIDText(u)
}

// ParseUUID reads what String gives; upper case is taken too.
func ParseUUID(s string) (u UUID, err error) {
	if text, ok := shape.ParseUUID(s); ok {
		return text, nil
	}
	return UUID{}, fmt.Errorf("thrift: %.40q is not a UUID", s)
}

// MarshalText gives what String gives, so that JSON and other text show it so.
func (u UUID) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads what [ParseUUID] reads.
func (u *UUID) UnmarshalText(p []byte) (err error) {
	*u, err = ParseUUID(string(p))
	return err
}

// A Set is Thrift's set<T>: the elements as they came, in their order. The
// codec does not look for duplicates.
type Set[T any] []T

// Pairs is Thrift's map for keys that Go's maps cannot have, or not usefully:
// structs, containers, binary. The codec does not look for duplicates.
type Pairs[K, V any] []Pair[K, V]

// A Pair is one entry of Pairs.
type Pair[K, V any] struct {
	Key   K `json:"key"`
	Value V `json:"value"`
}

// Unknown is the type of a field, at most one of a struct and without an id,
// that keeps what Binary or Compact passed over while it decoded the struct:
// fields with ids that the struct does not have, and those with another type
// than it has.
//
//	type Order struct {
//		ID   int64 `thrift:"id,1"`
//		Rest thrift.Unknown
//	}
//
// They are whole fields of the Binary protocol, header and value, one behind the
// other in the order in which they came. Both protocols write them back behind the
// known ones, so that a program passes on what only newer ones know, whichever of
// the two it reads and writes. Of Binary's bytes Compact has no place for the types
// of an empty map: that is all that does not come through. A bool that is neither 0 nor
// 1, which says false to some and true to others, becomes 0, which says it to all.
//
// Decode replaces what was there before. What is in an Unknown is checked when it
// is written: anything but whole fields gives a *TypeError. A struct without such a
// field drops what it does not know; so does a union, whose variants have one field
// each.
//
// JSON keeps nothing and writes none of it: it has one name for strings, which are
// text there, and binary, which is base64. Who does not know the field cannot tell
// which of the two it is, and would pass on wrong bytes.
type Unknown []byte
