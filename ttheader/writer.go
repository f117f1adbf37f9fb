package ttheader

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/limosa-rpc/limosa/rpc"
)

// A writer appends one TTHeader to b, from the magic on; header.go has the layout. Blocks
// come in Kitex's order: token, strings, integers.
//
// It is used like this, entries of one block in a row, so that they share it:
//
//	w := writer{b: out.Block()}   // the room that is left in the last block of the output
//	w.open(flags, seq, protocol)
//	w.str("", key, value)         // any number of entries
//	w.close()                     // pads, and patches the size
//	out.Commit(w.b)               // moves what has outgrown the room
//
// It does not fail on the way: err has the first reason, and the frame is taken back.
type writer struct {
	b     []byte
	start int   // offset of the magic
	block int   // offset of the open block's count; 0: none is open
	count int   // entries of the open block
	kind  byte  // of the open block
	err   error // the first thing that a TTHeader cannot hold
}

// be16 and be32 append a number as all headers have it.
func be16(b []byte, n uint16) []byte { return binary.BigEndian.AppendUint16(b, n) }
func be32(b []byte, n uint32) []byte { return binary.BigEndian.AppendUint32(b, n) }

// open appends the fixed part; close patches its size.
func (w *writer) open(flags uint16, seq uint32, protocol byte) {
	w.start = len(w.b)
	w.b = be16(be16(w.b, magic), flags)
	w.b = append(be32(w.b, seq), 0, 0, protocol, 0)
}

// enter makes the open block one of kind.
func (w *writer) enter(kind byte) {
	if w.kind == kind && w.block != 0 {
		w.count++
		return
	}
	w.leave()
	w.b = append(w.b, kind)
	w.block, w.kind, w.count = len(w.b), kind, 1
	w.b = append(w.b, 0, 0)
}

// leave ends the open block: its number of entries is known now.
func (w *writer) leave() {
	if w.block == 0 {
		return
	}
	w.check(w.count <= math.MaxUint16, "too many entries")
	binary.BigEndian.PutUint16(w.b[w.block:], uint16(w.count))
	w.block = 0
}

// check keeps the first thing that goes wrong. What is written behind it is taken back
// with the rest: the error is End's.
func (w *writer) check(ok bool, why string) {
	if !ok && w.err == nil {
		w.err = &rpc.Error{Code: rpc.ResourceExhausted, Op: "encode header", Msg: why, Sent: rpc.NotSent}
	}
}

// text appends s with its length before it.
func (w *writer) text(prefix, s string) {
	n := len(prefix) + len(s)
	w.check(n <= math.MaxUint16, "metadata of more than 65535 bytes")
	if w.err == nil {
		w.b = append(append(be16(w.b, uint16(n)), prefix...), s...)
	}
}

// str writes a named key, wrapped in prefix. Both are copied: w.b is a block of the
// output, or grows beyond it.
func (w *writer) str(prefix, key, value string) {
	w.enter(blockStrings)
	w.text(prefix, key)
	w.text("", value)
}

// number is str for a decimal value.
func (w *writer) number(prefix, key string, n int64) {
	w.enter(blockStrings)
	w.text(prefix, key)
	w.decimal(n)
}

// decimal writes a number as text, with its length before it: all of Kitex's values are
// texts.
func (w *writer) decimal(n int64) {
	at := len(w.b)
	w.b = strconv.AppendInt(append(w.b, 0, 0), n, 10)
	binary.BigEndian.PutUint16(w.b[at:], uint16(len(w.b)-at-2))
}

// integer writes a numbered key.
func (w *writer) integer(key uint16, value string) {
	w.enter(blockInts)
	w.b = be16(w.b, key)
	w.text("", value)
}

// integerNumber is integer for a decimal value.
func (w *writer) integerNumber(key uint16, n int64) {
	w.enter(blockInts)
	w.b = be16(w.b, key)
	w.decimal(n)
}

// token writes the access token, which is a block of its own: it ends the one that is
// open.
func (w *writer) token(value string) {
	w.leave()
	w.b = append(w.b, blockToken)
	w.text("", value)
}

// close pads the header and patches its size; an empty one has one word, as
// Kitex does not take less.
func (w *writer) close() {
	w.leave()
	const fixed = fixedHead - 4 // from the magic on
	for (len(w.b)-w.start-fixed)%4 != 0 {
		w.b = append(w.b, 0)
	}
	words := (len(w.b) - w.start - fixed) / 4
	w.check(words <= math.MaxUint16, "header of more than 262140 bytes")
	binary.BigEndian.PutUint16(w.b[w.start+8:], uint16(words))
}
