package http2

// A blockScan is what can be told of a header block without its tables: where its
// fields begin and end, and what it does to the dynamic table. It bounds what
// the decoder is given, and says where a fault is.
type blockScan struct {
	updates []byte // the size updates at its beginning
	size    uint64 // the smallest and the last size that they ask for
	least   uint64
	head    int  // the block's first bytes that are indexed fields only, size updates excluded
	fields  int  // representations of fields
	inserts bool // it adds to the table
	bad     int  // with why: where it is wrong
	why     string
}

// scanBlock walks a header block: RFC 7541, sections 5 and 6.
func scanBlock(p []byte) (s blockScan) {
	i, leading := 0, true
	for i < len(p) {
		at := i
		b := p[i]
		literal, prefix := true, uint(4)
		switch {
		case b&0x80 != 0:
			literal, prefix = false, 7
		case b&0xc0 == 0x40:
			s.inserts, prefix = true, 6
		case b&0xe0 == 0x20:
			n, next, ok := scanInt(p, i, 5)
			if !ok || s.fields > 0 {
				return s.fail(at, "size update that is cut off or not at the beginning")
			}
			if len(s.updates) == 0 || n < s.least {
				s.least = n
			}
			s.size, i = n, next
			s.updates = p[:i]
			continue
		}
		n, next, ok := scanInt(p, i, prefix)
		if !ok || !literal && n == 0 {
			return s.fail(at, "index that is none")
		}
		if i = next; literal {
			leading = false
			if n == 0 {
				if i, ok = scanString(p, i); !ok {
					return s.fail(at, "name that is cut off")
				}
			}
			if i, ok = scanString(p, i); !ok {
				return s.fail(at, "value that is cut off")
			}
		}
		if s.fields++; leading {
			s.head = i - len(s.updates)
		}
	}
	return s
}

// fail is s with the place and the reason of its first fault.
func (s blockScan) fail(at int, why string) blockScan {
	s.bad, s.why = at, why
	return s
}

// fault is why the connection ends for a block where a list may have so many entries.
func (s *blockScan) fault(entries int) *Error {
	switch {
	case s.why != "":
		return &Error{Code: CompressionError, Offset: int64(s.bad), Why: s.why}
	case s.fields > rawFactor*entries:
		return &Error{Code: EnhanceYourCalm, Why: "header block of too many fields"}
	}
	return nil
}

// scanInt reads an integer with a prefix of so many bits; one beyond 32 bits is none.
func scanInt(p []byte, i int, bits uint) (n uint64, next int, ok bool) {
	if i >= len(p) {
		return 0, i, false
	}
	most := uint64(1)<<bits - 1
	n = uint64(p[i]) & most
	if i++; n < most {
		return n, i, true
	}
	for shift := uint(0); i < len(p) && shift < 35; shift += 7 {
		b := p[i]
		i++
		n += uint64(b&0x7f) << shift
		if b&0x80 == 0 {
			return n, i, n <= 1<<32-1
		}
	}
	return 0, i, false
}

// scanString passes over a string.
func scanString(p []byte, i int) (next int, ok bool) {
	n, i, ok := scanInt(p, i, 7)
	if !ok || n > uint64(len(p)-i) {
		return i, false
	}
	return i + int(n), true
}
