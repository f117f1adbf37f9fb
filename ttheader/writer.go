package ttheader

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/limosa-rpc/limosa/rpc"
)

// A writer appends one TTHeader to b, from the magic on. Blocks come in
// Kitex's order: token, strings, integers.
type writer struct {
	b     []byte
	start int   // offset of the magic
	block int   // offset of the open block's count; 0: none is open
	count int   // entries of the open block
	kind  byte  // of the open block
	err   error // the first thing that a TTHeader cannot hold
}

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

func (w *writer) leave() {
	if w.block == 0 {
		return
	}
	w.check(w.count <= math.MaxUint16, "too many entries")
	binary.BigEndian.PutUint16(w.b[w.block:], uint16(w.count))
	w.block = 0
}

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

func (w *writer) decimal(n int64) {
	at := len(w.b)
	w.b = strconv.AppendInt(append(w.b, 0, 0), n, 10)
	binary.BigEndian.PutUint16(w.b[at:], uint16(len(w.b)-at-2))
}

func (w *writer) integer(key uint16, value string) {
	w.enter(blockInts)
	w.b = be16(w.b, key)
	w.text("", value)
}

func (w *writer) integerNumber(key uint16, n int64) {
	w.enter(blockInts)
	w.b = be16(w.b, key)
	w.decimal(n)
}

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
