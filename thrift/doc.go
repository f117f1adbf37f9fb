// Package thrift speaks Thrift's strict Binary protocol: Binary is the codec
// that generated code names and that works on any tagged Go struct, by a plan
// that is made at run time. Beside it are the parts that framings need: message
// envelopes, finding the end of a struct, and application exceptions. Compact
// and JSON are the codecs of Thrift's other protocols, for the same structs.
//
// It knows no sockets, no frames and no IDL. Package ttheader puts messages on
// connections, thrift/dynamic works from a parsed IDL.
//
// Source: doc/specs/thrift-binary-protocol.md of Apache Thrift 0.25.
package thrift

import (
	"encoding/hex"
	"fmt"
)

// A UUID is Thrift's uuid: 16 bytes in the order of RFC 9562.
type UUID [16]byte

// String gives the form 00112233-4455-6677-8899-aabbccddeeff.
func (u UUID) String() string {
	b := make([]byte, 0, 36)
	b = append(hex.AppendEncode(b, u[:4]), '-')
	b = append(hex.AppendEncode(b, u[4:6]), '-')
	b = append(hex.AppendEncode(b, u[6:8]), '-')
	b = append(hex.AppendEncode(b, u[8:10]), '-')
	return string(hex.AppendEncode(b, u[10:]))
}

// ParseUUID reads what String gives; upper case is taken too.
func ParseUUID(s string) (u UUID, err error) {
	if len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' {
		digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
		if _, err := hex.Decode(u[:], []byte(digits)); err == nil {
			return u, nil
		}
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

// set and pairs are how the plans tell these types from other slices.
func (Set[T]) set()        {}
func (Pairs[K, V]) pairs() {}
