package codec

import "unsafe"

// A Budget is how many bytes of memory a decode may still allocate. Everything
// that a message makes a decoder allocate is taken from it before, but strings:
// they have their bytes in the message. That goes for the defaults of its
// structs, which take nothing on the wire, and for what a lazy view would become
// when it is decoded. What is left at the end says what a message weighs.
type Budget int64

// WhyCostly is what codecs say of a message that would take more than its budget.
const WhyCostly = "takes more memory than its size allows"

// Unlimited is the budget for what is this program's own.
const Unlimited Budget = 1 << 62

// MapEntry is about what a map takes for an entry beside key and value, and
// that twice: groups are filled by 7/8 at most and their number is a power of two.
const MapEntry = 2

// Charge takes an allocation of n bytes from the budget, with what rounding up
// to a size class costs, and reports whether that was there.
func (m *Budget) Charge(n int) bool { return m.Charges(n, 1) }

// Charges is Charge for n things of size bytes; n is at most the message's
// length, so that the product fits.
func (m *Budget) Charges(n, size int) bool {
	all := int64(n) * int64(size)
	*m -= Budget(all + all>>3 + 16)
	return *m >= 0
}

// ChargeMap is Charge for a map of n entries of size bytes, key and value.
func (m *Budget) ChargeMap(n, size int) bool { return m.Charges(n, 2*(size+MapEntry)) }

// Allocation is what Charges takes.
func Allocation(n, size int) int64 {
	var m Budget
	m.Charges(n, size)
	return -int64(m)
}

// clearFrom is how many bytes of numbers there are at the least where it pays not
// to clear their memory, all of which is written next.
const clearFrom = 4 << 10

// Room makes a slice whose elements may be anything: all of it is to be written.
func Room[T uint16 | uint32 | uint64](n int) []T {
	size := n * int(unsafe.Sizeof(T(0)))
	if size < clearFrom {
		return make([]T, n)
	}
	// Safety: there are size bytes, aligned for any number.
	return unsafe.Slice((*T)(unsafe.Pointer(&Uncleared(size)[0])), n)
}
