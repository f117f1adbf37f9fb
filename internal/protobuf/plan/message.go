package plan

import (
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/protobuf/raw"
)

// sizes are the lengths of the messages that are to come, in their order, once a message was
// measured that does not stay in a block.
type sizes struct {
	list []int
	next int
	on   bool // messages have their length here
}

// A part is a message whose length is to be found: one behind its tag or the entry of a
// map whose value it is.
type part struct {
	pl    *Plan
	p     unsafe.Pointer
	depth int
	guess int // how many bytes its length is likely to take

	entry *Op // the map's
}

// Its key is handed over beside the part: what is in a part escapes, since generated methods get the message, and a
// key is a variable of a loop.

// message appends length and fields of a message, whose tag is there. guess is how many bytes its length is
// likely to take.
func (e *Encoder) message(b []byte, pl *Plan, p unsafe.Pointer, depth, guess int) []byte {
	if e.inside {
		return e.guessed(b, pl, p, depth, guess)
	}
	return e.part(b, part{pl: pl, p: p, depth: depth, guess: guess})
}

// part is message for one that may leave its block.
func (e *Encoder) part(b []byte, x part) []byte {
	if e.known.on {
		n := e.known.list[e.known.next]
		e.known.next++
		e.wide = raw.Size(uint64(n))
		return e.fields(e.room(raw.Append(b, uint64(n))), x.pl, x.p, x.depth)
	}
	return e.outer(b, x, nil)
}

// guessed appends the message behind as many bytes as its length is guessed to take, and moves
// it if that was wrong. All of it is in one block.
func (e *Encoder) guessed(b []byte, pl *Plan, p unsafe.Pointer, depth, guess int) []byte {
	begin := len(b)
	if cap(b)-begin < headroom+guess {
		e.halt = true
		return b
	}
	if pl.made != 0 && !e.plain {
		made, fine := pl.madeFor(p).EncodeProto(Output{e.Out, e.sorted, true}, b[:begin+guess], depth)
		if !fine {
			e.halt = true
			return b
		}
		b = made
	} else if b = e.fields(b[:begin+guess], pl, p, depth); e.halt {
		return b
	}
	return e.close(b, begin, guess)
}

// entryInside is guessed for the entry of a map.
func (e *Encoder) entryInside(b []byte, x part, key unsafe.Pointer) []byte {
	begin := len(b)
	if cap(b)-begin < headroom+x.guess {
		e.halt = true
		return b
	}
	if b = e.pair(b[:begin+x.guess], x, key); e.halt {
		return b
	}
	return e.close(b, begin, x.guess)
}

// pair appends key and value of an entry.
func (e *Encoder) pair(b []byte, x part, key unsafe.Pointer) []byte {
	in := x.entry.in
	if b = e.value(b, &in.key, in.key.Do, key, 0); e.halt {
		return b
	}
	if b = e.room(b); e.halt {
		return b
	}
	return e.message(in.value.head(b), x.pl, x.p, x.depth, x.guess)
}

// close writes the length of what is behind b[begin+guess:] to b[begin:].
func (e *Encoder) close(b []byte, begin, guess int) []byte {
	n := len(b) - begin - guess
	if n < 0x80 && guess == 1 {
		b[begin], e.wide = byte(n), 1
		return b
	}
	e.wide = raw.Size(uint64(n))
	if e.wide != guess {
		if cap(b)-len(b) < raw.MaxVarint {
			e.halt = true
			return b
		}
		body := b[begin+guess:]
		b = b[:begin+e.wide+n]
		copy(b[begin+e.wide:], body)
	}
	raw.Append(b[begin:begin], uint64(n))
	return b
}

// outer appends a message that is in no other one whose length is to be found. It is written as
// if it stayed in the block; if it does not, in a fresh block if that has more room; and if
// that is too small as well it is measured. So it is at once if the one before was too long.
func (e *Encoder) outer(b []byte, x part, key unsafe.Pointer) []byte {
	for {
		begin, had := len(b), cap(b)-len(b)
		if e.last < had {
			e.inside = true
			if x.entry == nil {
				b = e.guessed(b, x.pl, x.p, x.depth, x.guess)
			} else {
				b = e.entryInside(b, x, key)
			}
			e.inside = false
			if !e.halt {
				e.last = len(b) - begin
				return b
			}
			if e.Err != nil {
				return b
			}
			e.halt, b = false, b[:begin]
		}
		if had >= buf.MinBlock && (begin <= headroom || cap(b) < 4*buf.MinBlock) {
			return e.measured(b, x, key)
		}
		b = e.Out.Next(b)
	}
}

// measured appends a message whose size, and that of all that is in it, is found first.
func (e *Encoder) measured(b []byte, x part, key unsafe.Pointer) []byte {
	around := e.known
	e.known = sizes{on: true}
	n := e.size(x.pl, x.p, x.depth)
	e.last = n
	if n > maxSize-maxSize>>4 {
		return e.stop(b, errTooLong)
	}
	if o := x.entry; o != nil {
		b = raw.Append(b, uint64(e.sizeValue(&o.in.key, o.in.key.Do, key, 0)+int(o.in.value.HeadN)+prefixed(n)))
		if b = e.value(e.room(b), &o.in.key, o.in.key.Do, key, 0); e.halt {
			return b
		}
		b = o.in.value.head(e.room(b))
	}
	e.wide = raw.Size(uint64(n))
	b = e.fields(e.room(raw.Append(b, uint64(n))), x.pl, x.p, x.depth)
	e.known = around
	return b
}
