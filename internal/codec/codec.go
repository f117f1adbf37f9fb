// Package codec holds what the codecs share: how short strings are copied, many
// with one allocation, and lists of numbers in big-endian order. It knows no
// wire format.
package codec

import (
	"math"
	"strings"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
)

// Sizes of the string window, in bytes. Larger windows were measured to save
// little more, and let a small string pin more memory.
const (
	WindowSize = 2 << 10
	Alone      = 1 << 10 // strings from here on are copied one by one
)

// A Window copies the strings of one message: many short ones with one
// allocation. It copies a stretch of the message, and strings within that
// stretch share the copy. The zero value is ready; one goroutine at a time.
type Window struct {
	text string // a copy of the message from byte at on
	at   int

	Frame *Frame // set before the first String: long strings may refer to it; nil: they are copied
}

// String gives a copy of msg[o:o+n], which must lie within msg. msg is the same
// in every call; calls with growing offsets are the cheap ones.
func (w *Window) String(msg []byte, o, n int) string {
	if r := uint(o - w.at); r <= uint(len(w.text)) && n <= len(w.text)-int(r) {
		return w.text[r:][:n]
	}
	return w.slow(msg, o, n)
}

// slow stays out of String, so that String stays small where it is inlined.
//
//go:noinline
func (w *Window) slow(msg []byte, o, n int) string {
	switch {
	case n == 0:
		return ""
	case n >= Alone:
		return w.Frame.text(msg[o : o+n])
	}
	w.text, w.at = string(msg[o:min(o+WindowSize, len(msg))]), o
	return w.text[:n]
}

// A Frame is a message whose long strings may refer to its bytes, which are then
// left to the garbage collector. One goroutine at a time.
type Frame struct {
	view  buf.View
	least int // length from which a string refers to the frame
	kept  bool
}

// NewFrame gives the Frame of a message, which is borrowed for the decode; nil if
// nothing may refer to it. A block that a string refers to is lost to who would use it
// next, which costs another one of fresh memory: always more than a copy. Above
// buf.MaxPooled nobody uses the block again; but so that a string never pins much more
// than itself it has at least an eighth.
func NewFrame(v buf.View) *Frame {
	if v.Len() <= buf.MaxPooled {
		return nil
	}
	return &Frame{view: v, least: v.Footprint() / 8}
}

// text gives p, which lies in the frame, as a string: a reference if it is long
// enough and there is a frame, else a copy.
func (f *Frame) text(p []byte) string {
	if f != nil && f.refer(len(p)) {
		// Safety: the frame's block is left to the collector, and nobody writes
		// what a View refers to.
		return unsafe.String(&p[0], len(p))
	}
	return string(p)
}

// refer tells whether a string of n bytes may refer to the frame.
func (f *Frame) refer(n int) bool {
	if n < f.least {
		return false
	}
	if !f.kept && !f.view.LeaveToGC() {
		f.least = math.MaxInt // shared memory for example
		return false
	}
	f.kept = true
	return true
}

// Uncleared gives n bytes that were not set to zero, for who lets nobody see what
// it has not written; there may be some more, up to the capacity. They are aligned for
// numbers of any size.
func Uncleared(n int) []byte {
	// A Builder grows without clearing, which make cannot be asked for.
	var b strings.Builder
	b.Grow(n)
	b.WriteByte(0)
	// Safety: the memory of the builder, which nobody else has, holds its Cap, which is
	// n and more. The builder is not used again, so that nothing takes it for a string.
	return unsafe.Slice(unsafe.StringData(b.String()), b.Cap())[:n]
}
