package raw

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"
)

// compactStruct makes a random struct of the Compact protocol and what it is in Binary.
func compactStruct(r *rand.Rand, depth int) (compact, bin []byte) {
	last := int16(0)
	for range r.IntN(6) {
		kind := CompactKind(1 + r.IntN(int(CompactUUID)))
		id := last + int16(r.IntN(40)) - 3
		compact = AppendCompactHead(compact, kind, id, last)
		bin = binary.BigEndian.AppendUint16(append(bin, byte(CompactTypes[kind])), uint16(id))
		last = id
		switch kind {
		case CompactTrue, CompactFalse:
			bin = append(bin, byte(CompactFalse-kind))
			continue
		}
		c, b := compactValue(r, kind, depth)
		compact, bin = append(compact, c...), append(bin, b...)
	}
	return append(compact, 0), append(bin, 0)
}

// compactValue makes a random value, an element if it is a bool.
func compactValue(r *rand.Rand, kind CompactKind, depth int) (compact, bin []byte) {
	n := int64(r.Uint64()) >> r.IntN(64)
	switch kind {
	case CompactTrue, CompactFalse:
		v := byte(1 + r.IntN(2))
		return []byte{v}, []byte{2 - v}
	case CompactI8:
		return []byte{byte(n)}, []byte{byte(n)}
	case CompactI16:
		return binary.AppendUvarint(nil, Zigzag(int64(int16(n)))), binary.BigEndian.AppendUint16(nil, uint16(n))
	case CompactI32:
		return binary.AppendUvarint(nil, Zigzag(int64(int32(n)))), binary.BigEndian.AppendUint32(nil, uint32(n))
	case CompactI64:
		return binary.AppendUvarint(nil, Zigzag(n)), binary.BigEndian.AppendUint64(nil, uint64(n))
	case CompactDouble:
		return binary.LittleEndian.AppendUint64(nil, uint64(n)), binary.BigEndian.AppendUint64(nil, uint64(n))
	case CompactUUID:
		u := make([]byte, 16)
		binary.BigEndian.PutUint64(u, uint64(n))
		return u, u
	case CompactString:
		s := bytes.Repeat([]byte{'x'}, r.IntN(20))
		return append(binary.AppendUvarint(nil, uint64(len(s))), s...), append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
	case CompactStruct:
		if depth == 0 {
			return []byte{0}, []byte{0}
		}
		return compactStruct(r, depth-1)
	}
	elem, count := CompactKind(1+r.IntN(int(CompactUUID))), r.IntN(17)>>r.IntN(4)
	if depth == 0 {
		count = 0
	}
	key := CompactKind(0)
	if kind == CompactMap {
		key = CompactKind(1 + r.IntN(int(CompactUUID)))
		compact = binary.AppendUvarint(nil, uint64(count))
		if count == 0 { // without types
			return compact, []byte{0, 0, 0, 0, 0, 0}
		}
		compact = append(compact, byte(key)<<4|byte(elem))
		bin = []byte{byte(CompactTypes[key]), byte(CompactTypes[elem])}
	} else {
		if compact = []byte{byte(count)<<4 | byte(elem)}; count >= 15 {
			compact = binary.AppendUvarint([]byte{0xf0 | byte(elem)}, uint64(count))
		}
		bin = []byte{byte(CompactTypes[elem])}
	}
	bin = binary.BigEndian.AppendUint32(bin, uint32(count))
	for range count {
		for _, k := range []CompactKind{key, elem} {
			if k != CompactStop {
				c, b := compactValue(r, k, depth-1)
				compact, bin = append(compact, c...), append(bin, b...)
			}
		}
	}
	return compact, bin
}

// TestTranscoderMakesBinary holds random structs against what they are in the other protocol,
// and all that finds an end against each other: at every prefix, and whole.
func TestTranscoderMakesBinary(t *testing.T) {
	for seed := range uint64(100) {
		compact, want := compactStruct(rand.New(rand.NewPCG(seed, 9)), 2)
		tr := Transcoder{P: compact, Max: 1 << 30}
		end, f := tr.Value(0, CompactStruct, 64)
		if f != Fine || end != len(compact) || !bytes.Equal(tr.B, want) {
			t.Fatalf("seed %d: %x became %x, %s; want %x", seed, compact, tr.B, f.Why(), want)
		}
		if n, err := SkipStruct(want, 64); n != len(want) || err != nil {
			t.Fatalf("seed %d: it ends at %d of %d, %v", seed, n, len(want), err)
		}
		if n, err := (Compact{}).SkipStruct(compact, 64); n != len(compact) || err != nil {
			t.Fatalf("seed %d: it ends at %d of %d, %v", seed, n, len(compact), err)
		}
		s := Skipper{Compact: true}
		for i := range compact {
			n, err := (Compact{}).SkipStruct(compact[:i], 64)
			if !errors.Is(err, ErrShort) || n <= i || n > len(compact) {
				t.Fatalf("seed %d: the first %d of %d bytes: %d, %v", seed, i, len(compact), n, err)
			}
			tr := Transcoder{P: compact[:i], Max: 1 << 30}
			if _, f := tr.Value(0, CompactStruct, 64); f != Short {
				t.Fatalf("seed %d: the first %d bytes are rewritten: %s", seed, i, f.Why())
			}
			if done, n, err := s.Feed(compact[:i]); done || err != nil || n <= i || n > len(compact) {
				t.Fatalf("seed %d: fed %d of %d: %v, %d, %v", seed, i, len(compact), done, n, err)
			}
		}
		if done, n, err := s.Feed(compact); !done || n != len(compact) || err != nil || s.Held() < 0 {
			t.Fatalf("seed %d: %v, %d, %v", seed, done, n, err)
		}
	}
}

// What is rewritten is bounded, by more than one value at the most, and so is its depth.
func TestTranscoderIsBounded(t *testing.T) {
	list := append([]byte{1<<4 | byte(CompactList), 0xf0 | byte(CompactI64), 0xe8, 0x07}, make([]byte, 1000)...) // 1,000 numbers of a byte each
	tr := Transcoder{P: append(list, 0), Max: 100}
	if _, f := tr.Value(0, CompactStruct, 64); f != TooCostly || len(tr.B) > 116 {
		t.Errorf("%d bytes, %s", len(tr.B), f.Why())
	}
	deep := bytes.Repeat([]byte{1<<4 | byte(CompactStruct)}, 100)
	tr = Transcoder{P: deep, Max: 1 << 20}
	if end, f := tr.Value(0, CompactStruct, 64); f != TooDeep || end != 64 {
		t.Errorf("%d, %s", end, f.Why())
	}
	if n, err := (Compact{}).SkipStruct(deep, 64); n != 0 || err == nil || errors.Is(err, ErrShort) {
		t.Errorf("%d, %v", n, err)
	}
}

// Tame makes odd bools 0 wherever they are, and Odd finds them.
func TestTame(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 10))
		_, p := compactStruct(r, 2)
		if Odd(p, 0, TypeStruct) {
			t.Fatalf("seed %d: %x has no odd bool", seed, p)
		}
		want, odd := bytes.Clone(p), false
		eachBool(p, 0, TypeStruct, func(bools []byte) bool {
			for i := range bools {
				if at := cap(p) - cap(bools) + i; r.IntN(3) == 0 {
					bools[i], want[at], odd = byte(2+r.IntN(254)), 0, true
				}
			}
			return true
		})
		if Odd(p, 0, TypeStruct) != odd {
			t.Fatalf("seed %d: odd is %v", seed, !odd)
		}
		if end := Tame(p, 0, TypeStruct); end != len(p) || odd && !bytes.Equal(p, want) {
			t.Fatalf("seed %d: %x; want %x", seed, p, want)
		}
	}
}

func FuzzTranscoder(f *testing.F) {
	for seed := range uint64(20) {
		compact, _ := compactStruct(rand.New(rand.NewPCG(seed, 11)), 2)
		f.Add(compact)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		end, fault := skipCompact(p, 0, CompactStruct, 64)
		tr := Transcoder{P: p, Max: 1 << 30}
		at, other := tr.Value(0, CompactStruct, 64)
		if fault != other || fault != Short && at != end {
			t.Fatalf("%x: %s at %d, rewritten %s at %d", p, fault.Why(), end, other.Why(), at)
		}
		if fault != Fine {
			return
		}
		if n, err := SkipStruct(tr.B, 64); n != len(tr.B) || err != nil || len(tr.B) > 8*end+8 {
			t.Fatalf("%x became %x: %d, %v", p[:end], tr.B, n, err)
		}
	})
}
