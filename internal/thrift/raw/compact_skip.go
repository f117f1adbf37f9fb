package raw

// compactFixed is the size of an element that always has the same, and 0 for
// others.
var compactFixed = [16]uint8{CompactTrue: 1, CompactFalse: 1, CompactI8: 1, CompactDouble: 8, CompactUUID: 16}

// compactLeast is the smallest number of bytes that an element can have, and 0
// for what is no kind of values.
var compactLeast = [16]uint8{
	CompactTrue: 1, CompactFalse: 1, CompactI8: 1, CompactI16: 1, CompactI32: 1, CompactI64: 1, CompactDouble: 8,
	CompactString: 1, CompactList: 1, CompactSet: 1, CompactMap: 1, CompactStruct: 1, CompactUUID: 16,
}

// SkipStruct finds the end of the struct at the begin of p, as the function
// SkipStruct does.
func (Compact) SkipStruct(p []byte, maxDepth int) (n int, err error) {
	n, f := skipCompact(p, 0, CompactStruct, maxDepth)
	switch f {
	case Fine:
		return n, nil
	case Short:
		return n, ErrShort
	}
	return 0, f.At(n)
}

// SkipCompactField finds the end of a field's value: that of a bool is in its
// header.
//
// It is where elements and fields differ: a bool in a list has a byte.
func SkipCompactField(p []byte, o int, kind CompactKind, depth int) (int, Fault) {
	if kind <= CompactFalse {
		return o, Fine
	}
	return skipCompact(p, o, kind, depth)
}

// skipCompact finds the end of an element at p[o:]; see skip.
//
// depth is how many levels are allowed below; a struct, list, set or map takes one, which
// bounds the recursion to what rpc.Limits has.
func skipCompact(p []byte, o int, kind CompactKind, depth int) (int, Fault) {
	switch kind {
	case CompactI16, CompactI32, CompactI64:
		_, end, f := Uvarint(p, o)
		return end, f
	case CompactTrue, CompactFalse, CompactI8, CompactDouble, CompactUUID:
		return bounded(p, o, int(compactFixed[kind]))
	case CompactString:
		n, end, f := CompactSize(p, o)
		if f != Fine {
			return end, f
		}
		return bounded(p, end, n)
	}
	if depth <= 0 {
		return o, TooDeep
	}
	switch kind {
	case CompactStruct:
		for {
			var h CompactHead
			end, f := h.Read(p, o)
			if f != Fine || h.Kind == CompactStop {
				return end, f
			}
			if o, f = SkipCompactField(p, end, h.Kind, depth-1); f != Fine {
				return o, f
			}
		}
	case CompactMap:
		key, elem, n, end, f := CompactMapHead(p, o)
		if f != Fine {
			return end, f
		}
		return skipCompactElems(p, end, key, elem, n, depth-1)
	case CompactList, CompactSet:
		elem, n, end, f := CompactListHead(p, o)
		if f != Fine {
			return end, f
		}
		return skipCompactElems(p, end, CompactStop, elem, n, depth-1)
	}
	return o, BadType
}

// skipCompactElems passes over n elements, or pairs if key is not compactStop.
//
// Elements of one size are passed over by a multiplication; n was held against the bytes
// that are there, so that it does not overflow.
func skipCompactElems(p []byte, o int, key, elem CompactKind, n, depth int) (int, Fault) {
	if (key == CompactStop || compactFixed[key] != 0) && compactFixed[elem] != 0 {
		return bounded(p, o, n*int(compactFixed[key]+compactFixed[elem]))
	}
	for range n {
		var f Fault
		if key != CompactStop {
			if o, f = skipCompact(p, o, key, depth); f != Fine {
				return o, f
			}
		}
		if o, f = skipCompact(p, o, elem, depth); f != Fine {
			return o, f
		}
	}
	return o, Fine
}

// CompactListHead reads what precedes the elements of a list or a set. That
// the rest of b has room for them is checked; if not, the fault is short.
//
// One byte has the number, up to 14, and the kind; 15 says that the number follows.
func CompactListHead(b []byte, o int) (elem CompactKind, n, end int, f Fault) {
	if o >= len(b) {
		return 0, 0, o + 1, Short
	}
	elem, n = CompactKind(b[o]&15), int(b[o]>>4)
	if elem > CompactUUID {
		return 0, 0, o, BadType
	}
	at := o
	if o++; n == 15 {
		if n, o, f = CompactSize(b, o); f != Fine {
			return 0, 0, o, f
		}
	}
	if n > 0 && elem == CompactStop {
		return 0, 0, at, BadType
	}
	end, f = compactElems(b, o, CompactStop, elem, n)
	return elem, n, end, f
}

// CompactMapHead is the same for a map, of which an empty one has no types.
func CompactMapHead(b []byte, o int) (key, elem CompactKind, n, end int, f Fault) {
	if n, o, f = CompactSize(b, o); f != Fine || n == 0 {
		return 0, 0, 0, o, f
	}
	if o >= len(b) {
		return 0, 0, 0, o + 1, Short
	}
	key, elem = CompactKind(b[o]>>4), CompactKind(b[o]&15)
	if CompactTypes[key] == 0 || CompactTypes[elem] == 0 {
		return 0, 0, 0, o, BadType
	}
	end, f = compactElems(b, o+1, key, elem, n)
	return key, elem, n, end, f
}

// compactElems checks that the rest of b can hold n elements or pairs. If it
// can, end is o; with short it is where they end at the least.
//
// A declared number of two billion is held against what is there at once, and not when
// that many elements were looked for.
func compactElems(b []byte, o int, key, elem CompactKind, n int) (end int, f Fault) {
	least := int64(n) * int64(compactLeast[key]+compactLeast[elem])
	if least > int64(MaxSize) {
		return o, TooLarge
	}
	if end, f = bounded(b, o, int(least)); f != Fine {
		return end, f
	}
	return o, Fine
}

// stepCompact is step for the Compact protocol. The kinds of levels are
// compactKinds.
func (s *Skipper) stepCompact(p []byte) Fault {
	top := &s.stack[len(s.stack)-1]
	o, kind := s.at, CompactKind(top.elem)
	switch {
	case top.left == inFields:
		var h CompactHead
		end, f := h.Read(p, o)
		if f != Fine {
			s.least = max(s.least, end)
			return f
		}
		switch o, kind = end, h.Kind; kind {
		case CompactStop:
			s.stack = s.stack[:len(s.stack)-1]
			fallthrough
		case CompactTrue, CompactFalse:
			s.at = o
			return Fine
		}
	case top.left == 0:
		s.stack = s.stack[:len(s.stack)-1]
		return Fine
	case CompactKind(top.key) != CompactStop && top.left&1 == 0:
		kind = CompactKind(top.key)
	}
	if kind >= CompactList && kind <= CompactStruct && len(s.stack) >= s.MaxDepth {
		return TooDeep
	}
	next, inner, f := enterCompact(p, o, kind)
	if s.least = max(s.least, next); f != Fine {
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

// enterCompact looks at the begin of an element at p[o:]: one with values of
// variable size gives the level to go through, which begins at next; anything
// else ends at next. With short next is the least length that p needs.
func enterCompact(p []byte, o int, kind CompactKind) (next int, inner level, f Fault) {
	var key, elem CompactKind
	var n int
	switch kind {
	case CompactStruct:
		return o, level{left: inFields}, Fine
	case CompactList, CompactSet:
		elem, n, next, f = CompactListHead(p, o)
	case CompactMap:
		key, elem, n, next, f = CompactMapHead(p, o)
	case CompactString:
		if n, next, f = CompactSize(p, o); f != Fine {
			return next, inner, f
		}
		if next, f = bounded(p, next, n); f == Short {
			f = Fine // the end is beyond what has arrived: it is gone to at once
		}
		return next, inner, f
	default:
		next, f = skipCompact(p, o, kind, 0)
		return next, inner, f
	}
	switch {
	case f != Fine || n == 0:
	case (key == CompactStop || compactFixed[key] != 0) && compactFixed[elem] != 0:
		next += n * int(compactFixed[key]+compactFixed[elem])
	case key == CompactStop:
		inner = level{elem: Type(elem), left: int64(n)}
	default:
		inner = level{key: Type(key), elem: Type(elem), left: 2 * int64(n)}
	}
	return next, inner, f
}
