package mux

import (
	"math/rand/v2"
	"testing"
)

// TestTable compares a table with a map, with ids as clients of ours number
// them, as others do, and as an attacker might.
func TestTable(t *testing.T) {
	for name, id := range map[string]func(i uint64) uint64{
		"counted":       func(i uint64) uint64 { return i },
		"slots":         func(i uint64) uint64 { return i&0x3ff | i>>10<<16 },
		"high bits":     func(i uint64) uint64 { return i << 32 },
		"highest bits":  func(i uint64) uint64 { return i << 50 },
		"all the same":  func(uint64) uint64 { return 7 },
		"a few of them": func(i uint64) uint64 { return i % 9 },
	} {
		t.Run(name, func(t *testing.T) {
			// The multiplier is chosen by chance: one table may have a bad one, not three in turn.
			for range 3 {
				if longest := longestChain(t, id); longest <= 32 {
					return
				}
			}
			t.Error("chains of more than 32")
		})
	}
}

// longestChain uses a table with ids that id makes, and gives the length of its longest
// chain while it is full.
func longestChain(t *testing.T, id func(i uint64) uint64) (longest int) {
	var tab table
	found := map[uint64]*request{}
	var all []*request
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range uint64(20000) {
		if len(all) < 8192 && rnd.IntN(3) > 0 {
			r := &request{id: id(i)}
			tab.add(r)
			all = append(all, r)
			if found[id(i)] == nil {
				found[id(i)] = r
			}
		} else if len(all) > 0 {
			k := rnd.IntN(len(all))
			r := all[k]
			all[k], all = all[len(all)-1], all[:len(all)-1]
			tab.remove(r)
			if found[r.id] == r {
				delete(found, r.id)
			}
		}
		probe := id(rnd.Uint64N(i + 1))
		if got := tab.find(probe); got != found[probe] {
			t.Fatalf("step %d: find(%d) = %p, want %p", i, probe, got, found[probe])
		}
	}
	n := 0
	for r := tab.first; r != nil; r = r.next {
		n++
	}
	if n != len(all) || tab.n != n || tab.found != len(found) {
		t.Errorf("%d in the list, n %d, found %d; want %d, %d", n, tab.n, tab.found, len(all), len(found))
	}
	for _, r := range tab.chains {
		n := 0
		for ; r != nil; r = r.chained {
			n++
		}
		longest = max(longest, n)
	}
	for _, r := range all {
		tab.remove(r)
	}
	if tab.n != 0 || tab.found != 0 || tab.first != nil || len(tab.chains) > tableKeep {
		t.Errorf("left: %d, %d, %d chains", tab.n, tab.found, len(tab.chains))
	}
	return longest
}
