package mux

import "testing"

// A large message goes whole while it is alone, and in pieces as soon as small
// ones are beside it; they are taken to be there for a while.
func TestMix(t *testing.T) {
	var m mix
	expect := func(what string, rest int, begun bool, n int, beside bool) {
		t.Helper()
		if gotN, got := m.next(rest, begun); gotN != n || got != beside {
			t.Errorf("%s: pieces of %d, beside %v, want %d, %v", what, gotN, got, n, beside)
		}
	}
	expect("alone", wholeBytes, false, 0, false)
	expect("alone and huge", wholeBytes+1, false, wholeBytes, false)
	expect("what is left of it", 100, true, wholeBytes, false)
	m.small()
	expect("what is left of one that a small one has come beside", wholeBytes, true, chunkBytes, true)
	for range besideFor {
		expect("beside", wholeBytes, false, chunkBytes, true)
	}
	expect("alone again", wholeBytes, false, 0, false)
}
