package thrift

import "unsafe"

// A budget is how many bytes of memory a decode may still allocate. Everything
// that a message makes a decoder allocate is taken from it before, but strings:
// they have their bytes in the message. That goes for the defaults of its
// structs, which take nothing on the wire, and for what a lazy view would become
// when it is decoded.
type budget int64

// unlimited is the budget for what is this program's own.
const unlimited budget = 1 << 62

// charge takes an allocation of n bytes from the budget, with what rounding up
// to a size class costs, and reports whether that was there.
func (m *budget) charge(n int) bool { return m.charges(n, 1) }

// charges is charge for n things of size bytes; n is at most the message's
// length, so that the product fits.
func (m *budget) charges(n, size int) bool {
	all := int64(n) * int64(size)
	*m -= budget(all + all>>3 + 16)
	return *m >= 0
}

// defaults takes the memory for the defaults of a struct, which has some, and
// sets them in the fresh one at p.
func (m *budget) defaults(pl *plan, p unsafe.Pointer) bool {
	if cost := pl.PresetCost(allocation); cost != 0 {
		if *m -= budget(cost); *m < 0 {
			return false
		}
	}
	pl.Preset(p)
	return true
}

// begin makes the message at p ready to be decoded into: what it held is gone, so
// that a message that is used again does not keep what the new one leaves out, and
// its defaults are set. false: there is not enough memory for these.
func (m *budget) begin(pl *plan, p unsafe.Pointer) bool {
	pl.Clear(p)
	return !pl.HasPreset() || m.defaults(pl, p)
}

// allocation is what n things of size bytes, allocated together, are charged.
func allocation(n, size int) int64 {
	var m budget
	m.charges(n, size)
	return -int64(m)
}
