package mux

import "testing"

// A large message goes whole while it is alone, and in pieces as soon as small
// ones are beside it; they are taken to be there for a while.
func TestMix(t *testing.T) {
	var m mix
	expect := func(what string, got, want pieces) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	expect("alone", m.begin(wholeBytes), pieces{})
	expect("alone and huge", m.begin(wholeBytes+1), pieces{size: wholeBytes})
	expect("what is left of it", m.goOn(), pieces{size: wholeBytes})
	m.small()
	expect("what is left of one that a small one has come beside", m.goOn(), pieces{size: pieceBytes, beside: true})
	for range besideFor {
		expect("beside", m.begin(wholeBytes), pieces{size: pieceBytes, beside: true})
	}
	expect("alone again", m.begin(wholeBytes), pieces{})
}
