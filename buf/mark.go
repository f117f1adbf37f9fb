package buf

import (
	"fmt"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

// Mark is the position after the last byte held. It is valid until bytes before
// it are Sent, moved or taken away.
func (o *Out) Mark() Mark {
	if invariant.Enabled {
		o.check()
	}
	return Mark{o.base + uint64(o.n)}
}

// Reserve appends n contiguous zero bytes, n at most 64, to be patched, and
// returns their position.
func (o *Out) Reserve(n int) Mark {
	if n < 0 || n > maxReserve {
		panic(fmt.Sprintf("buf: Reserve(%d), at most %d", n, maxReserve))
	}
	m := o.Mark()
	if n == 0 {
		return m
	}
	if o.cur == nil || len(o.cur.mem)-o.w < n {
		o.grow(n)
	}
	clear(o.cur.mem[o.w : o.w+n])
	o.extend(n)
	return m
}

// Patch overwrites the bytes at m with a copy of p. They must lie within what
// one Reserve appended, and must not have been Sent.
func (o *Out) Patch(m Mark, p []byte) {
	if len(p) == 0 {
		return
	}
	end := o.base + uint64(o.n)
	for i := len(o.pieces) - 1; i >= o.head; i-- {
		at := o.pieces[i]
		start := end - uint64(at.n)
		if m.pos >= start && m.pos < end {
			if off := m.pos - start; off+uint64(len(p)) <= uint64(at.n) {
				copy(at.Bytes()[off:], p)
				return
			}
			break
		}
		end = start
	}
	panic(fmt.Sprintf("buf: Patch of %d bytes at %d, held are %d to %d", len(p), m.pos, o.base, o.base+uint64(o.n)))
}

// Since is the number of bytes appended after m.
func (o *Out) Since(m Mark) int {
	n := o.base + uint64(o.n) - m.pos
	if n > uint64(o.n) {
		panic(fmt.Sprintf("buf: Mark %d, held are %d to %d", m.pos, o.base, o.base+uint64(o.n)))
	}
	return int(n)
}

// Truncate takes back all bytes appended after m. A lent Block is void then, so
// that an encoder that failed or panicked midway can be taken back.
func (o *Out) Truncate(m Mark) {
	o.lent = false
	n := o.Since(m)
	o.n -= n
	for n > 0 {
		last := len(o.pieces) - 1
		p := &o.pieces[last]
		cut := min(n, int(p.n))
		if o.cur != nil && p.b == nil && inside(o.cur.mem, p.p) && offset(o.cur.mem, p.p)+int(p.n) == o.w {
			// Nobody else has seen these bytes: their room is free again.
			o.w -= cut
		}
		n -= cut
		if p.n -= uint32(cut); p.n > 0 {
			break
		}
		v := *p
		*p = View{}
		o.pieces = o.pieces[:last]
		if v.b != nil {
			o.handDown(v, last)
		}
	}
	if o.n == 0 {
		o.emptied()
	}
}

// Take removes all bytes appended after m and gives them as one contiguous,
// owned View: without copying if they are contiguous already.
func (o *Out) Take(m Mark) View {
	n := o.Since(m)
	if n == 0 {
		return View{}
	}
	v, ok := o.tail(n)
	if !ok {
		v = o.gather(n)
	}
	o.Truncate(m)
	return v
}

// tail is an owned View of the last n bytes if they are part of one piece.
func (o *Out) tail(n int) (View, bool) {
	p := &o.pieces[len(o.pieces)-1]
	if n > int(p.n) {
		return View{}, false
	}
	if p.b != nil || o.cur == nil || !inside(o.cur.mem, p.p) {
		return p.Slice(int(p.n)-n, int(p.n)), true // counted, or the collector's
	}
	// The piece gives the bytes up without their room becoming free, as
	// Truncate would have it.
	end := offset(o.cur.mem, p.p) + int(p.n)
	v := o.cur.View(end-n, end)
	if p.n -= uint32(n); p.n == 0 {
		*p = View{}
		o.pieces = o.pieces[:len(o.pieces)-1]
	}
	o.n -= n
	return v, true
}

// gather copies the last n bytes into a block of their own.
func (o *Out) gather(n int) View {
	b := Acquire(n)
	at := n
	for i := len(o.pieces) - 1; at > 0; i-- {
		p := o.pieces[i].Bytes()
		k := min(at, len(p))
		copy(b.mem[at-k:at], p[len(p)-k:])
		at -= k
	}
	v := b.View(0, n)
	b.Release()
	return v
}

// Cut moves all bytes appended after m behind those of dst, without copying them (or
// with, where that is cheaper). o is as if they had been truncated.
func (o *Out) Cut(m Mark, dst *Out) {
	if invariant.Enabled {
		o.check()
		dst.check()
	}
	n := o.Since(m)
	if n == 0 {
		return
	}
	o.leave()
	at := len(o.pieces)
	for left := n; left > 0; left -= int(o.pieces[at].n) {
		at--
		if p := &o.pieces[at]; left < int(p.n) {
			at = o.split(at, int(p.n)-left)
			break
		}
	}
	o.keepBefore(at)
	for i := range o.pieces[at:] {
		dst.push(o.pieces[at+i])
	}
	clear(o.pieces[at:])
	o.pieces = o.pieces[:at]
	if o.n -= n; o.n == 0 {
		o.emptied()
	}
}

// split makes two pieces of the one at index i, the first of n bytes, and returns the
// index of the second. A reference stays with the second: it is the last in its block.
func (o *Out) split(i, n int) int {
	p := o.pieces[i]
	o.pieces = append(o.pieces, View{})
	copy(o.pieces[i+1:], o.pieces[i:])
	first := p
	if first.n = uint32(n); p.b != nil {
		first = first.Retain()
	}
	o.pieces[i], o.pieces[i+1] = first, p.from(n)
	return i + 1
}

// keepBefore gives the pieces before index i a reference of their own to blocks in which
// they are, where theirs is that of a piece behind.
func (o *Out) keepBefore(i int) {
	for _, q := range o.pieces[i:] {
		if q.b == nil {
			continue
		}
		for j := i - 1; j >= o.head; j-- {
			if p := &o.pieces[j]; p.b == nil && p.gen != collectors && inside(q.b.mem, p.p) {
				q = q.Retain()
				p.b, p.gen = q.b, q.gen
				break
			}
		}
	}
}
