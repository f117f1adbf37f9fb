package raw

import (
	"encoding/binary"
	"math"
)

// A Skipper finds the end of a struct that arrives in pieces, in time linear
// in its length: it remembers where it stopped. The zero value is at the begin
// of a struct and allows a depth of 64. One goroutine at a time may use it.
//
// Nothing is allocated but for levels of nesting, which are bounded by MaxDepth: 1 KiB at
// the default. Where no frame says how long a message is, as in Apache's buffered
// transport, the walk over it is the only way to find its end.
type Skipper struct {
	MaxDepth int  // 0: 64
	Compact  bool // the struct is one of the Compact protocol

	at int // where the next field, element or end is
	// It lets a reader refuse a message of 2 GB by its first bytes.
	least int // what the struct has at the least, as far as sizes were declared
	stack []level
}

// A level is a struct that was entered (left is inFields) or a container with
// that many values to come; of a map, keys and values count apart.
type level struct {
	key, elem Type // key is TypeStop but for maps
	left      int64
}

const inFields = -1

// levelBytes is the size of a level in memory.
const levelBytes = 16

// Held is the number of bytes of memory that s has besides its own size: what
// the nesting of the struct takes.
func (s *Skipper) Held() int { return cap(s.stack) * levelBytes }

// Feed looks at p, which begins where the struct begins and is no shorter than
// in the call before. It borrows p. done: n is the struct's length, and the
// Skipper is at the begin of a struct again. Not done: the struct has at least
// n > len(p) bytes; compare n with the limit for messages. An error is a
// *SyntaxError and final.
func (s *Skipper) Feed(p []byte) (done bool, n int, err error) {
	if s.MaxDepth == 0 {
		s.MaxDepth = 64
	}
	if len(s.stack) == 0 {
		s.at, s.least = 0, 0
		s.stack = append(s.stack, level{left: inFields})
	}
	for s.at < len(p) {
		f := Fine
		if s.Compact {
			f = s.stepCompact(p)
		} else {
			f = s.step(p)
		}
		if f == Short {
			return false, max(s.least, len(p)+1), nil
		} else if f != Fine {
			return false, 0, f.At(s.at)
		}
		if len(s.stack) == 0 {
			return true, s.at, nil
		}
	}
	// The end of the outermost struct is still to come, hence one more.
	return false, max(s.least, s.at+1), nil
}

// step passes over one field or element, or enters it, or leaves a level. It
// reads nothing unless all of the header is there, so that it can be repeated.
//
// Containers of values of fixed size are passed over whole. Others become a level, whose
// elements are a step each, since they may arrive one by one.
func (s *Skipper) step(p []byte) Fault {
	top := &s.stack[len(s.stack)-1]
	o, t := s.at, top.elem
	switch {
	case top.left == inFields:
		if t = Type(p[o]); t == TypeStop {
			s.at++
			s.stack = s.stack[:len(s.stack)-1]
			return Fine
		}
		o += 3
	case top.left == 0:
		s.stack = s.stack[:len(s.stack)-1]
		return Fine
	case top.key != TypeStop && top.left&1 == 0:
		t = top.key
	}
	if t >= TypeStruct && t <= TypeList && len(s.stack) >= s.MaxDepth {
		return TooDeep
	}
	next, end, inner, f := enter(p, o, t)
	s.least = max(s.least, end)
	if f != Fine {
		return f
	}
	if top.left > 0 {
		top.left--
	}
	if s.at = next; inner.left != 0 {
		s.stack = append(s.stack, inner)
	}
	return Fine
}

// enter looks at the header of a value of type t at p[o:]. A struct or a
// container of values of variable size gives the level to go through, which
// begins at next; anything else ends at next. end is what p must have at the
// least for the value to be whole.
//
// It is small enough to be the one place that knows how the values of Binary begin;
// stepCompact has its own for Compact.
func enter(p []byte, o int, t Type) (next, end int, inner level, f Fault) {
	head := int(Least[t])
	switch {
	case head == 0:
		return 0, 0, inner, BadType
	case o > math.MaxInt-head:
		return 0, 0, inner, TooLarge
	case Fixed[t] != 0:
		return o + head, o + head, inner, Fine
	case t == TypeStruct:
		return o, o + 1, level{left: inFields}, Fine
	case len(p)-o < head:
		return 0, o + head, inner, Short
	}
	n := binary.BigEndian.Uint32(p[o+head-4:])
	if n > math.MaxInt32 {
		return 0, 0, inner, Negative
	}
	var size int
	switch {
	case t == TypeString:
		size = int(n)
	case n > 0:
		inner.elem, inner.left = Type(p[o+head-5]), int64(n)
		if t == TypeMap {
			if Least[p[o]] == 0 {
				return 0, 0, level{}, BadType // 0 would pass for a list
			}
			inner.key, inner.left = Type(p[o]), 2*int64(n)
		}
		if size, f = elemsLeast(inner.key, inner.elem, n); f != Fine {
			return 0, 0, level{}, f
		}
		if Fixed[inner.elem] != 0 && (inner.key == TypeStop || Fixed[inner.key] != 0) {
			inner = level{}
		}
	}
	if o += head; size > math.MaxInt-o {
		return 0, 0, level{}, TooLarge
	}
	if end = o + size; inner.left != 0 {
		return o, end, inner, Fine
	}
	return end, end, inner, Fine
}
