package codec

import "testing"

func TestBudgetEnds(t *testing.T) {
	m := Budget(1000)
	if !m.Charge(800) || m != 1000-800-100-16 {
		t.Fatalf("%d are left", m)
	}
	if m.Charges(10, 8) || m >= 0 {
		t.Errorf("more was given than there is: %d", m)
	}
	if m.Charge(0) {
		t.Error("a budget that is overdrawn gives something")
	}
}

// An honest map must pass, and the largest declared number must not wrap around.
func TestBudgetOfMaps(t *testing.T) {
	const n, size = 1000, 32
	m := Budget(3 * n * size)
	if !m.ChargeMap(n, size) {
		t.Errorf("a map of %d entries is refused: %d", n, m)
	}
	m = Budget(1 << 30)
	if m.Charges(1<<31-1, 1<<20) || m > 0 {
		t.Errorf("2^31 things of a megabyte were given: %d", m)
	}
	m = Unlimited
	if !m.Charges(1<<31-1, 1<<20) {
		t.Error("no limit is one")
	}
}

func TestAllocationIsWhatIsCharged(t *testing.T) {
	for _, c := range [][2]int{{0, 0}, {1, 1}, {7, 9}, {1000, 24}} {
		m := Budget(1 << 40)
		m.Charges(c[0], c[1])
		if got := Allocation(c[0], c[1]); got != 1<<40-int64(m) {
			t.Errorf("%v: %d", c, got)
		}
	}
}

func TestRoomHasItsSize(t *testing.T) {
	for _, n := range []int{0, 1, 7, clearFrom / 8, clearFrom, 10 * clearFrom} {
		a, b, c := Room[uint16](n), Room[uint32](n), Room[uint64](n)
		for i := range n {
			a[i], b[i], c[i] = uint16(i), uint32(i), uint64(i)
		}
		for i := range n {
			if a[i] != uint16(i) || b[i] != uint32(i) || c[i] != uint64(i) {
				t.Fatalf("%d of %d", i, n)
			}
		}
		if len(a) != n || len(b) != n || len(c) != n {
			t.Errorf("%d: %d, %d, %d", n, len(a), len(b), len(c))
		}
	}
}
