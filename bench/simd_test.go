package main

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// Each peer does what it is measured for, on every type, and a list that is not
// brought over is an error of the row.
func TestSIMDPeers(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for _, typ := range simdTypes {
		for _, peer := range simdNames {
			for _, n := range []int{1, 4, 7, 16, 1000} {
				list, r := newSIMDList(typ, n, n%64, random), &simdRow{Peer: peer}
				if measureSIMD(r, list, time.Millisecond); r.Errors != 0 || r.Read <= 0 || r.Write <= 0 || r.GBPerS < min(r.Read, r.Write) || r.GBPerS > max(r.Read, r.Write) {
					t.Errorf("%s, %d of %s: %+v", peer, n, typ, r)
				}
				list.clear()
				if list.readErrors(peer) == 0 || list.writeErrors() != 0 {
					t.Errorf("%s, %d of %s: numbers that were not read are right", peer, n, typ)
				}
				clear(list.wire)
				if list.writeErrors() == 0 {
					t.Errorf("%s, %d of %s: a list that was not written is right", peer, n, typ)
				}
			}
		}
	}
}

func TestSIMDFlags(t *testing.T) {
	for _, args := range [][]string{
		{"simd", "-peers", "gcc"}, {"simd", "-peers", "loop,loop"}, {"simd", "-types", "double"}, {"simd", "-elements", "0"}, {"simd", "-elements", "x"},
		{"simd", "-rounds", "0"}, {"simd", "-d", "0s"}, {"simd", "-o", "xml"}, {"simd", "more"},
	} {
		if err := run(t.Context(), args); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
}
