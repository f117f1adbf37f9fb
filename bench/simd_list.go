package main

import (
	"encoding/binary"
	"math/rand/v2"

	"github.com/limosa-rpc/limosa/internal/codec"
)

// A simdList is one list as the peers see it: the same numbers on the wire and
// in memory. Those of its own type are as many as elements, the others none.
type simdList struct {
	offset int    // where wire begins within a cache line
	wire   []byte // big-endian
	want   []byte // what belongs there
	copied []byte // where memcpy brings it: a place like that of the numbers
	i16    []uint16
	i32    []uint32
	i64    []uint64
}

// newSIMDList makes a list of random numbers, and its bytes on the wire, offset bytes into a cache line.
func newSIMDList(typ string, elements, offset int, random *rand.Rand) *simdList {
	l := &simdList{offset: offset}
	size := map[string]int{"i16": 2, "i32": 4, "i64": 8}[typ] * elements
	switch typ {
	case "i16":
		l.i16 = make([]uint16, elements)
	case "i32":
		l.i32 = make([]uint32, elements)
	case "i64":
		l.i64 = make([]uint64, elements)
	}
	// From 64 bytes on the allocator's memory begins at a cache line.
	l.wire, l.copied, l.want = make([]byte, size+64)[offset:][:size], make([]byte, size), make([]byte, size)
	for i := range l.want {
		l.want[i] = byte(random.Uint32())
	}
	return l
}

// clear puts the list on the wire, and nothing in memory.
func (l *simdList) clear() {
	copy(l.wire, l.want)
	clear(l.copied)
	clear(l.i16)
	clear(l.i32)
	clear(l.i64)
}

// readErrors tells whether the numbers in memory are those of the list.
func (l *simdList) readErrors(peer string) int64 {
	have := l.copied
	if peer != "memcpy" {
		have = make([]byte, 0, len(l.want))
		for _, v := range l.i16 {
			have = binary.BigEndian.AppendUint16(have, v)
		}
		for _, v := range l.i32 {
			have = binary.BigEndian.AppendUint32(have, v)
		}
		for _, v := range l.i64 {
			have = binary.BigEndian.AppendUint64(have, v)
		}
	}
	return differ(have, l.want)
}

// writeErrors tells whether the wire has the list.
func (l *simdList) writeErrors() int64 { return differ(l.wire, l.want) }

// differ is how many bytes differ: a conversion that is fast and wrong is none.
func differ(have, want []byte) int64 {
	if string(have) != string(want) {
		return 1
	}
	return 0
}

// ways gives what a peer does n times: fill the numbers from the wire, and the
// wire from the numbers. Each is called by name, as generated code would:
// through a function value four elements would take a third longer.
//
// It has a case for each peer and direction; the length is that of the table.
func (l *simdList) ways(peer string) (read, write func(n int)) {
	wire := l.wire
	switch {
	case peer == "memcpy":
		read = func(n int) {
			for range n {
				copy(l.copied, wire)
			}
		}
		write = func(n int) {
			for range n {
				copy(wire, l.copied)
			}
		}
	case peer == "limosa" && l.i16 != nil:
		read = func(n int) {
			for range n {
				codec.From16(l.i16, wire)
			}
		}
		write = func(n int) {
			for range n {
				codec.To16(wire, l.i16)
			}
		}
	case peer == "loop" && l.i16 != nil:
		read = func(n int) {
			for range n {
				codec.LoopFrom16(l.i16, wire)
			}
		}
		write = func(n int) {
			for range n {
				codec.LoopTo16(wire, l.i16)
			}
		}
	case peer == "limosa" && l.i32 != nil:
		read = func(n int) {
			for range n {
				codec.From32(l.i32, wire)
			}
		}
		write = func(n int) {
			for range n {
				codec.To32(wire, l.i32)
			}
		}
	case peer == "loop" && l.i32 != nil:
		read = func(n int) {
			for range n {
				codec.LoopFrom32(l.i32, wire)
			}
		}
		write = func(n int) {
			for range n {
				codec.LoopTo32(wire, l.i32)
			}
		}
	case peer == "limosa" && l.i64 != nil:
		read = func(n int) {
			for range n {
				codec.From64(l.i64, wire)
			}
		}
		write = func(n int) {
			for range n {
				codec.To64(wire, l.i64)
			}
		}
	case peer == "loop" && l.i64 != nil:
		read = func(n int) {
			for range n {
				codec.LoopFrom64(l.i64, wire)
			}
		}
		write = func(n int) {
			for range n {
				codec.LoopTo64(wire, l.i64)
			}
		}
	}
	return read, write
}
