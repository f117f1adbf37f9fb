// Package codec holds what the codecs share: the window through which short
// strings are copied, and lists of numbers in big-endian order. It knows no
// wire format.
package codec

// Sizes of the string window, in bytes, measured in docs/codec.md: larger
// windows save little more and let a small string pin more memory.
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
		return string(msg[o : o+n])
	}
	w.text, w.at = string(msg[o:min(o+WindowSize, len(msg))]), o
	return w.text[:n]
}
