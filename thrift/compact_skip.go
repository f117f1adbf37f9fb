package thrift

// compactFixed is the size of an element that always has the same, and 0 for
// others.
var compactFixed = [16]uint8{compactTrue: 1, compactFalse: 1, compactI8: 1, compactDouble: 8, compactUUID: 16}

// compactLeast is the smallest number of bytes that an element can have, and 0
// for what is no kind of values.
var compactLeast = [16]uint8{
	compactTrue: 1, compactFalse: 1, compactI8: 1, compactI16: 1, compactI32: 1, compactI64: 1, compactDouble: 8,
	compactString: 1, compactList: 1, compactSet: 1, compactMap: 1, compactStruct: 1, compactUUID: 16,
}

// SkipStruct finds the end of the struct at the begin of p, as the function
// SkipStruct does.
func (Compact) SkipStruct(p []byte, maxDepth int) (n int, err error) {
	n, f := skipCompact(p, 0, compactStruct, maxDepth)
	switch f {
	case fine:
		return n, nil
	case short:
		return n, ErrShort
	}
	return 0, f.at(n)
}

// skipCompactField finds the end of a field's value: that of a bool is in its
// header.
func skipCompactField(p []byte, o int, kind compactKind, depth int) (int, fault) {
	if kind <= compactFalse {
		return o, fine
	}
	return skipCompact(p, o, kind, depth)
}

// skipCompact finds the end of an element at p[o:]; see skip.
func skipCompact(p []byte, o int, kind compactKind, depth int) (int, fault) {
	switch kind {
	case compactI16, compactI32, compactI64:
		_, end, f := uvarint(p, o)
		return end, f
	case compactTrue, compactFalse, compactI8, compactDouble, compactUUID:
		return bounded(p, o, int(compactFixed[kind]))
	case compactString:
		n, end, f := compactSize(p, o)
		if f != fine {
			return end, f
		}
		return bounded(p, end, n)
	}
	if depth <= 0 {
		return o, tooDeep
	}
	switch kind {
	case compactStruct:
		for {
			var h compactHead
			end, f := h.read(p, o)
			if f != fine || h.kind == compactStop {
				return end, f
			}
			if o, f = skipCompactField(p, end, h.kind, depth-1); f != fine {
				return o, f
			}
		}
	case compactMap:
		key, elem, n, end, f := compactMapHead(p, o)
		if f != fine {
			return end, f
		}
		return skipCompactElems(p, end, key, elem, n, depth-1)
	case compactList, compactSet:
		elem, n, end, f := compactListHead(p, o)
		if f != fine {
			return end, f
		}
		return skipCompactElems(p, end, compactStop, elem, n, depth-1)
	}
	return o, badType
}

// skipCompactElems passes over n elements, or pairs if key is not compactStop.
func skipCompactElems(p []byte, o int, key, elem compactKind, n, depth int) (int, fault) {
	if (key == compactStop || compactFixed[key] != 0) && compactFixed[elem] != 0 {
		return bounded(p, o, n*int(compactFixed[key]+compactFixed[elem]))
	}
	for range n {
		var f fault
		if key != compactStop {
			if o, f = skipCompact(p, o, key, depth); f != fine {
				return o, f
			}
		}
		if o, f = skipCompact(p, o, elem, depth); f != fine {
			return o, f
		}
	}
	return o, fine
}

// compactListHead reads what precedes the elements of a list or a set. That
// the rest of b has room for them is checked; if not, the fault is short.
func compactListHead(b []byte, o int) (elem compactKind, n, end int, f fault) {
	if o >= len(b) {
		return 0, 0, o + 1, short
	}
	elem, n = compactKind(b[o]&15), int(b[o]>>4)
	if elem > compactUUID {
		return 0, 0, o, badType
	}
	at := o
	if o++; n == 15 {
		if n, o, f = compactSize(b, o); f != fine {
			return 0, 0, o, f
		}
	}
	if n > 0 && elem == compactStop {
		return 0, 0, at, badType
	}
	end, f = compactElems(b, o, compactStop, elem, n)
	return elem, n, end, f
}

// compactMapHead is the same for a map, of which an empty one has no types.
func compactMapHead(b []byte, o int) (key, elem compactKind, n, end int, f fault) {
	if n, o, f = compactSize(b, o); f != fine || n == 0 {
		return 0, 0, 0, o, f
	}
	if o >= len(b) {
		return 0, 0, 0, o + 1, short
	}
	key, elem = compactKind(b[o]>>4), compactKind(b[o]&15)
	if compactTypes[key] == 0 || compactTypes[elem] == 0 {
		return 0, 0, 0, o, badType
	}
	end, f = compactElems(b, o+1, key, elem, n)
	return key, elem, n, end, f
}

// compactElems checks that the rest of b can hold n elements or pairs. If it
// can, end is o; with short it is where they end at the least.
func compactElems(b []byte, o int, key, elem compactKind, n int) (end int, f fault) {
	least := int64(n) * int64(compactLeast[key]+compactLeast[elem])
	if least > int64(maxSize) {
		return o, tooLarge
	}
	if end, f = bounded(b, o, int(least)); f != fine {
		return end, f
	}
	return o, fine
}

// stepCompact is step for the Compact protocol. The kinds of levels are
// compactKinds.
func (s *Skipper) stepCompact(p []byte) fault {
	top := &s.stack[len(s.stack)-1]
	o, kind := s.at, compactKind(top.elem)
	switch {
	case top.left == inFields:
		var h compactHead
		end, f := h.read(p, o)
		if f != fine {
			s.least = max(s.least, end)
			return f
		}
		switch o, kind = end, h.kind; kind {
		case compactStop:
			s.stack = s.stack[:len(s.stack)-1]
			fallthrough
		case compactTrue, compactFalse:
			s.at = o
			return fine
		}
	case top.left == 0:
		s.stack = s.stack[:len(s.stack)-1]
		return fine
	case compactKind(top.key) != compactStop && top.left&1 == 0:
		kind = compactKind(top.key)
	}
	if kind >= compactList && kind <= compactStruct && len(s.stack) >= s.MaxDepth {
		return tooDeep
	}
	next, inner, f := enterCompact(p, o, kind)
	if s.least = max(s.least, next); f != fine {
		return f
	}
	if top.left > 0 {
		top.left--
	}
	if s.at = next; inner.left != 0 {
		s.stack = append(s.stack, inner)
	}
	return fine
}

// enterCompact looks at the begin of an element at p[o:]: one with values of
// variable size gives the level to go through, which begins at next; anything
// else ends at next. With short next is the least length that p needs.
func enterCompact(p []byte, o int, kind compactKind) (next int, inner level, f fault) {
	var key, elem compactKind
	var n int
	switch kind {
	case compactStruct:
		return o, level{left: inFields}, fine
	case compactList, compactSet:
		elem, n, next, f = compactListHead(p, o)
	case compactMap:
		key, elem, n, next, f = compactMapHead(p, o)
	case compactString:
		if n, next, f = compactSize(p, o); f != fine {
			return next, inner, f
		}
		if next, f = bounded(p, next, n); f == short {
			f = fine // the end is beyond what has arrived: it is gone to at once
		}
		return next, inner, f
	default:
		next, f = skipCompact(p, o, kind, 0)
		return next, inner, f
	}
	switch {
	case f != fine || n == 0:
	case (key == compactStop || compactFixed[key] != 0) && compactFixed[elem] != 0:
		next += n * int(compactFixed[key]+compactFixed[elem])
	case key == compactStop:
		inner = level{elem: Type(elem), left: int64(n)}
	default:
		inner = level{key: Type(key), elem: Type(elem), left: 2 * int64(n)}
	}
	return next, inner, f
}
