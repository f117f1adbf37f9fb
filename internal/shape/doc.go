// Package shape describes Go types as codecs and walkers see them: which fields a struct
// has and where, when one of them is absent, what lists, maps and unions hold. It
// knows no wire. What an IDL and its wire add (tags, which types may be used, what is kept of
// unknown fields) comes in by [Rules], which a codec's package hands over with its [Memo].
//
//	Go type ── Memo.Of ──► *Struct ── Fields ──► *Type ── Struct, Elem, Key, Cases ──► …
//	               │           │
//	             Rules      walkers: Equal, Clone, Validate, Mask, Text, Clear
//
// One journey: Memo.Of looks the type of a message up by its type word, which takes 2 ns.
// A type that is new goes through the compiler, which asks the Rules about each
// field and makes a Struct of it, and of all that it refers to; they become known together
// or, if one of them has a fault, not at all. From then on a Struct is constant and safe for
// concurrent use. Codecs go along its Fields with loops of their own; the walkers here are what
// works on any message.
//
// A codec that needs more than a Struct has it in a larger struct, whose first field the
// Struct is: Rules.New makes that, so that the pointer leads from the one to the other.
package shape
