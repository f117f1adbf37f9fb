package codec

import (
	"testing"

	"golang.org/x/sys/unix"
)

// Nothing is read or written beyond the ends, not even bytes that would be
// dropped: here, pages that nobody may touch lie before and behind.
func TestSwapStaysWithin(t *testing.T) {
	src, dst := fenced(t), fenced(t)
	copy(src, randomBytes(len(src), 5))
	for _, d := range directions {
		for n := range 301 {
			size := n * d.size
			for name, place := range map[string]int{"begin": 0, "end": len(src) - size} {
				want, got, from := make([]byte, size), dst[place:][:size], src[place:][:size]
				d.loop(want, from, n)
				d.swap(got, from, n)
				if at := firstOther(got, want); at < size {
					t.Fatalf("%s, %d elements at the %s: byte %d is %x; want %x", d.name, n, name, at, got[at], want[at])
				}
			}
		}
	}
}

// fenced gives some memory between two pages that nobody may touch.
func fenced(t *testing.T) []byte {
	page := unix.Getpagesize()
	all, err := unix.Mmap(-1, 0, 3*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(all) })
	for _, fence := range [][]byte{all[:page], all[2*page:]} {
		if err := unix.Mprotect(fence, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return all[page : 2*page]
}
