package raw

import "encoding/binary"

// A Transcoder rewrites values of the Compact protocol in the Binary protocol,
// by their types on the wire: no struct needs to know them. It takes and refuses
// what skipCompact does, with the same offsets, and makes at most max bytes and
// one value more.
//
// A value becomes at most eight times as long (an i64 of one byte), so that a
// budget for memory is what bounds it. Not kept are what the types of an empty
// map would be, since Compact does not have them, and bytes of bools other than
// 1, all of which say false.
type Transcoder struct {
	P   []byte // Compact
	B   []byte // Binary, appended to
	Max int64
}

// Field appends the field behind the header h; its value begins at o.
func (t *Transcoder) Field(h CompactHead, o, depth int) (int, Fault) {
	t.B = binary.BigEndian.AppendUint16(append(t.B, byte(CompactTypes[h.Kind])), uint16(h.id))
	if h.Kind <= CompactFalse {
		t.B = append(t.B, byte(CompactFalse-h.Kind)) // 1 for true, 0 for false
		return o, Fine
	}
	return t.Value(o, h.Kind, depth)
}

// Value appends the element at p[o:]; see skipCompact.
//
// Numbers of fewer bits than were sent are cut off as the decoder does, so that a message
// says the same whichever way it is read.
func (t *Transcoder) Value(o int, kind CompactKind, depth int) (int, Fault) {
	switch kind {
	case CompactI16, CompactI32, CompactI64:
		v, end, f := Uvarint(t.P, o)
		switch kind {
		case CompactI16:
			t.B = binary.BigEndian.AppendUint16(t.B, uint16(Unzigzag(uint64(uint32(v)))))
		case CompactI32:
			t.B = binary.BigEndian.AppendUint32(t.B, uint32(Unzigzag(uint64(uint32(v)))))
		default:
			t.B = binary.BigEndian.AppendUint64(t.B, uint64(Unzigzag(v)))
		}
		return end, f
	case CompactTrue, CompactFalse, CompactI8, CompactDouble, CompactUUID:
		end, f := bounded(t.P, o, int(compactFixed[kind]))
		if f == Fine {
			t.fixed(t.P[o:end], kind)
		}
		return end, f
	case CompactString:
		n, end, f := CompactSize(t.P, o)
		if f != Fine {
			return end, f
		}
		o = end
		if end, f = bounded(t.P, o, n); f != Fine {
			return end, f
		}
		if int64(len(t.B))+int64(n) > t.Max {
			return o, TooCostly
		}
		t.B = append(binary.BigEndian.AppendUint32(t.B, uint32(n)), t.P[o:end]...)
		return end, Fine
	}
	if depth <= 0 {
		return o, TooDeep
	}
	switch kind {
	case CompactStruct:
		return t.fields(o, depth)
	case CompactMap:
		key, elem, n, end, f := CompactMapHead(t.P, o)
		if f != Fine {
			return end, f
		}
		t.B = append(t.B, byte(CompactTypes[key]), byte(CompactTypes[elem]))
		return t.elems(end, key, elem, n, depth-1)
	case CompactList, CompactSet:
		elem, n, end, f := CompactListHead(t.P, o)
		if f != Fine {
			return end, f
		}
		t.B = append(t.B, byte(CompactTypes[elem]))
		return t.elems(end, CompactStop, elem, n, depth-1)
	}
	return o, BadType
}

// fixed appends a value of a size that is always the same.
//
// Doubles are the one thing in which the protocols differ by the order of bytes: the
// specification said big-endian at first, all libraries write little-endian, and now it
// does too.
func (t *Transcoder) fixed(p []byte, kind CompactKind) {
	switch kind {
	case CompactTrue, CompactFalse:
		v := byte(0)
		if p[0] == byte(CompactTrue) {
			v = 1
		}
		t.B = append(t.B, v)
	case CompactDouble:
		t.B = binary.BigEndian.AppendUint64(t.B, binary.LittleEndian.Uint64(p))
	default:
		t.B = append(t.B, p...)
	}
}

// fields appends the struct at p[o:], which is at a level that is allowed.
//
// The budget is looked at behind each field, so that B outgrows Max by one value at the
// most.
func (t *Transcoder) fields(o, depth int) (int, Fault) {
	var h CompactHead
	for {
		end, f := h.Read(t.P, o)
		if f != Fine {
			return end, f
		}
		if h.Kind == CompactStop {
			t.B = append(t.B, byte(TypeStop))
			return end, Fine
		}
		if o, f = t.Field(h, end, depth-1); f != Fine {
			return o, f
		}
		if int64(len(t.B)) > t.Max {
			return o, TooCostly
		}
	}
}

// elems appends n elements, or pairs if key is not compactStop, and their number.
//
// The number is right although elements may still be refused: then all of B is thrown
// away.
func (t *Transcoder) elems(o int, key, elem CompactKind, n, depth int) (int, Fault) {
	t.B = binary.BigEndian.AppendUint32(t.B, uint32(n))
	for range n {
		if int64(len(t.B)) > t.Max {
			return o, TooCostly
		}
		var f Fault
		if key != CompactStop {
			if o, f = t.Value(o, key, depth); f != Fine {
				return o, f
			}
		}
		if o, f = t.Value(o, elem, depth); f != Fine {
			return o, f
		}
	}
	return o, Fine
}
