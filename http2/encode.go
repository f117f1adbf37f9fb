package http2

import (
	"golang.org/x/net/http2/hpack"
)

// A Head is a list of fields that is sent again and again: of the requests to one
// method, of answers, of the usual trailers. Make it once with [NewHead]; it is
// constant, and may be shared by all connections.
type Head struct {
	fields []Field
	size   int // as RFC 9113, section 6.5.2 counts it
	slot   uint32
	fault  string
}

// NewHead makes a Head of a copy of the fields. Pseudo-header fields come first.
func NewHead(fields ...Field) *Head {
	h := &Head{fields: append([]Field(nil), fields...)}
	for _, f := range h.fields {
		h.slot = h.slot*31 + slotOf([]byte(f.Value))
		if h.size += f.size(); h.fault == "" {
			h.fault = sendFault(f)
		}
	}
	return h
}

// Fields is a copy of the head's fields.
func (h *Head) Fields() []Field { return append([]Field(nil), h.fields...) }

// sendFault says why a field cannot be sent.
func sendFault(f Field) string {
	name := f.Name
	if len(name) > 0 && name[0] == ':' {
		name = name[1:]
	}
	switch {
	case !validName(name):
		return "a field's name is none"
	case !validValue(f.Value):
		return "control characters in the value of " + clip(f.Name)
	}
	return ""
}

const (
	headSlots = 64  // of encoded Heads that a connection keeps
	headBlock = 512 // bytes of one that is kept
)

// An encoder writes header blocks: RFC 7541. Heads are kept as they were encoded
// until the table changes; what is not of a Head goes without indexing, so that it
// changes nothing. The table is filled until it is full and nothing is ever evicted
// from it: a method that is called first stays cheap, and a block that is taken
// back leaves no trace but fewer entries.
//
// It is guarded by the output lock.
type encoder struct {
	encoderState
	fields []Field                 // of the dynamic table, oldest first
	turn   uint64                  // another number after each change of the table
	heads  *[headSlots]encodedHead // each in one of two places that its fields choose; nil until the first
}

// encoderState is what is put back when a block is taken back.
type encoderState struct {
	entries int // of fields that count
	size    int // of the table, as RFC 7541, section 4.1 counts it
	most    int // that it may have
	updated bool
}

// An encodedHead is the block that a Head was encoded to, to be sent again as long as the table has not turned.
type encodedHead struct {
	head  *Head
	turn  uint64
	block []byte
}

// init begins with the table that a peer has before it has said anything.
func (e *encoder) init() { e.most, e.updated = defaultTable, true }

// setMost bounds the table as the peer wants it. A change empties the table:
// it comes once in a connection's life.
func (e *encoder) setMost(n uint32) {
	if most := int(min(n, defaultTable)); most != e.most {
		e.most, e.updated = most, false
		e.fields, e.entries, e.size = e.fields[:0], 0, 0
		e.turn++
	}
}

// undo takes back what was encoded since state was taken.
func (e *encoder) undo(state encoderState) {
	if e.entries != state.entries || e.updated != state.updated {
		e.turn++
	}
	e.encoderState = state
	e.fields = e.fields[:state.entries]
}

// open appends what has to stand at the beginning of a block: size updates that
// the peer's settings ask for.
func (e *encoder) open(b []byte) []byte {
	if e.updated {
		return b
	}
	e.updated = true
	if b = append(b, 0x20); e.most > 0 { // empty first: RFC 7541, section 4.2, wants the smallest too
		b = appendInt(b, 0x20, 5, uint64(e.most))
	}
	return b
}

// appendHead appends the fields of h.
func (e *encoder) appendHead(b []byte, h *Head) []byte {
	i := h.slot % headSlots
	if e.heads != nil {
		for range 2 {
			if k := &e.heads[i]; k.head == h && k.turn == e.turn {
				return append(b, k.block...)
			}
			i ^= 1
		}
	}
	at, turn := len(b), e.turn
	for _, f := range h.fields {
		b = e.appendIndexed(b, f)
	}
	if turn != e.turn || len(b)-at > headBlock {
		return b
	}
	if e.heads == nil {
		e.heads = new([headSlots]encodedHead)
	}
	if k := &e.heads[i]; k.head != nil && k.head != h && k.turn == e.turn {
		i ^= 1
	}
	k := &e.heads[i]
	k.head, k.turn, k.block = h, turn, append(k.block[:0], b[at:]...)
	return b
}

// appendIndexed appends a field by its index, or so that it gets one.
func (e *encoder) appendIndexed(b []byte, f Field) []byte {
	index, same := e.lookup(f)
	switch {
	case same:
		return appendInt(b, 0x80, 7, uint64(index))
	case secret(f.Name):
		b = appendInt(b, 0x10, 4, uint64(index))
	case e.size+f.size() > e.most:
		b = appendInt(b, 0, 4, uint64(index))
	default:
		b = appendInt(b, 0x40, 6, uint64(index))
		e.fields = append(e.fields[:e.entries], f)
		e.entries++
		e.size += f.size()
		e.turn++
	}
	if index == 0 {
		b = appendText(b, f.Name)
	}
	return appendText(b, f.Value)
}

// lookup gives the index of a field, or of one with its name, or 0.
func (e *encoder) lookup(f Field) (index int, same bool) {
	for i := e.entries - 1; i >= 0; i-- {
		if e.fields[i] == f {
			return len(staticTable) + e.entries - i, true
		}
	}
	for i := range staticTable {
		if staticTable[i].Name != f.Name {
			continue
		}
		if staticTable[i].Value == f.Value {
			return i + 1, true
		}
		if index == 0 {
			index = i + 1
		}
	}
	return index, false
}

// appendPlain appends a field without indexing and without Huffman's code: it
// costs both sides a copy.
func appendPlain(b []byte, name, value string) []byte {
	first := byte(0)
	if secret(name) {
		first = 0x10
	}
	b = appendInt(append(b, first), 0, 7, uint64(len(name)))
	b = appendInt(append(b, name...), 0, 7, uint64(len(value)))
	return append(b, value...)
}

// secret names fields that no table on the way may hold: RFC 7541, section 7.1.3.
func secret(name string) bool {
	return name == "authorization" || name == "proxy-authorization" || name == "cookie" || name == "set-cookie"
}

// appendText appends a string in its shorter form.
func appendText(b []byte, s string) []byte {
	if n := hpack.HuffmanEncodeLength(s); n < uint64(len(s)) {
		return hpack.AppendHuffmanString(appendInt(b, 0x80, 7, n), s)
	}
	return append(appendInt(b, 0, 7, uint64(len(s))), s...)
}

// appendInt appends an integer with a prefix of so many bits, whose first byte
// begins with first: RFC 7541, section 5.1.
func appendInt(b []byte, first byte, bits uint, n uint64) []byte {
	most := uint64(1)<<bits - 1
	if n < most {
		return append(b, first|byte(n))
	}
	b = append(b, first|byte(most))
	for n -= most; n >= 0x80; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}
