package rpc

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// A Scope says how far a pair of metadata travels.
type Scope uint8

const (
	// Transient pairs reach the next hop and end there.
	Transient Scope = iota
	// Persistent pairs are passed on at every hop: a call made with a
	// handler's ctx carries those of the call being handled.
	Persistent
	// Leading pairs of an answer's metadata are sent before its first message, where
	// the protocol has a place for them there, as HTTP has; else with the others.
	Leading
)

// A Pair is one entry of metadata.
type Pair struct {
	Key, Value string
	Scope      Scope
}

// Metadata is an ordered list of pairs, several per key if need be; nil when
// empty, so that absent metadata costs nothing. Keys are ASCII, at most 256
// bytes; those that end in -bin carry bytes. It is not safe for concurrent
// change.
type Metadata []Pair

// MaxKeyBytes is the longest key of a pair.
const MaxKeyBytes = 256

// Get gives the last value of key, or "".
func (m Metadata) Get(key string) string {
	for _, p := range slices.Backward(m) {
		if equalKey(p.Key, key) {
			return p.Value
		}
	}
	return ""
}

// Has reports whether there is a pair with key.
func (m Metadata) Has(key string) bool {
	return slices.ContainsFunc(m, func(p Pair) bool { return equalKey(p.Key, key) })
}

// Values yields all values of key in order.
func (m Metadata) Values(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, p := range m {
			if equalKey(p.Key, key) && !yield(p.Value) {
				return
			}
		}
	}
}

// Add appends a transient pair.
func (m *Metadata) Add(key, value string) { *m = append(*m, Pair{Key: key, Value: value}) }

// Set makes value the only one of key, transient.
func (m *Metadata) Set(key, value string) {
	m.Del(key)
	m.Add(key, value)
}

// SetPersistent makes value the only one of key, passed on at every hop.
func (m *Metadata) SetPersistent(key, value string) {
	m.Del(key)
	*m = append(*m, Pair{Key: key, Value: value, Scope: Persistent})
}

// AddLeading appends a pair of an answer that is sent before its first message, and so is
// of no use once that was sent.
func (m *Metadata) AddLeading(key, value string) {
	*m = append(*m, Pair{Key: key, Value: value, Scope: Leading})
}

// Del removes all pairs with key. The slice's memory may be shared with a
// copy, so it makes a new one.
func (m *Metadata) Del(key string) {
	if !m.Has(key) {
		return
	}
	var kept Metadata
	for _, p := range *m {
		if !equalKey(p.Key, key) {
			kept = append(kept, p)
		}
	}
	*m = kept
}

// Clone copies the list.
func (m Metadata) Clone() Metadata { return slices.Clone(m) }

// reserved are the prefixes of keys that belong to protocols.
var reserved = [...]string{"limosa-", "grpc-", "connect-", ":"}

// Reserved reports whether key belongs to a protocol; such keys are neither
// taken from a user nor shown to one.
func Reserved(key string) bool {
	for _, p := range reserved {
		if len(key) >= len(p) && strings.EqualFold(key[:len(p)], p) {
			return true
		}
	}
	return false
}

// Check reports the first pair that a protocol could not carry: a key that is
// empty, too long, not printable ASCII or reserved, too many entries or bytes.
// The error's code is InvalidArgument, or ResourceExhausted beyond a limit.
func (m Metadata) Check(lim *Limits) error {
	for _, p := range m {
		if why := badKey(p.Key); why != "" {
			return &Error{Code: InvalidArgument, Op: "metadata", Sent: NotSent, Msg: fmt.Sprintf("key %q %s", p.Key, why)}
		}
	}
	return m.Fits(lim)
}

// Fits reports too many entries or bytes, as ResourceExhausted.
func (m Metadata) Fits(lim *Limits) error {
	if len(m) > lim.HeaderEntries {
		return &Error{Code: ResourceExhausted, Op: "metadata", Sent: NotSent,
			Msg: fmt.Sprintf("%d entries, Limits.HeaderEntries is %d", len(m), lim.HeaderEntries)}
	}
	total := 0
	for _, p := range m {
		total += len(p.Key) + len(p.Value)
	}
	if total > lim.HeaderBytes {
		return &Error{Code: ResourceExhausted, Op: "metadata", Sent: NotSent,
			Msg: fmt.Sprintf("%d bytes, Limits.HeaderBytes is %d", total, lim.HeaderBytes)}
	}
	return nil
}

// badKey says why k is no key, "" if it is one.
func badKey(k string) string {
	switch {
	case k == "":
		return "is empty"
	case len(k) > MaxKeyBytes:
		return "is longer than 256 bytes"
	case Reserved(k):
		return "has a reserved prefix"
	}
	for i := range len(k) {
		if k[i] <= ' ' || k[i] >= 0x7f {
			return "is not printable ASCII"
		}
	}
	return ""
}

// equalKey compares as HTTP does, where keys arrive in lower case.
func equalKey(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
