// Package lazy reads and changes Thrift messages where their bytes lie. Generated views
// embed a [Message]; package thrift has its face, thrift/impl what views call, and docs/how/lazy.md
// tells how it works.
//
//	Open ──► check of the whole message (plan.Checker) ──► index of the outermost struct
//	                                                          │
//	getters ── find ── index ──► offset in the bytes ◄─────────┘
//	setters ── put  ── edit  ──► what replaces a part of the bytes
//	Append  ── the bytes, with the edits in their places
//
// All views of one message share a lease: the bytes, their block, the edits, and the memory that
// decoding parts of the message may take. To codecs and walkers a view is what it says by
// [plan.Views] and [shape.View].
package lazy
