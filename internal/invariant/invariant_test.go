package invariant_test

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/internal/invariant"
)

func TestCheckPanicsOnlyUnderTheTag(t *testing.T) {
	for _, ok := range []bool{true, false} {
		got := func() (v any) {
			defer func() { v = recover() }()
			invariant.Check(ok, "n is %d", 7)
			return nil
		}()
		switch want := invariant.Enabled && !ok; {
		case want && got != "invariant: n is 7":
			t.Errorf("Check(%v) panicked with %v; want the message", ok, got)
		case !want && got != nil:
			t.Errorf("Check(%v) panicked with %v; want nothing", ok, got)
		}
	}
}

func TestStackNamesItsCaller(t *testing.T) {
	s := here()
	first, _, _ := strings.Cut(s.String(), "\n")
	if !strings.HasSuffix(first, "invariant_test.here") {
		t.Errorf("first frame is %q; want the caller of Here", first)
	}
	if s = skipOne(); !strings.Contains(s.String(), "TestStackNamesItsCaller") || strings.Contains(s.String(), "skipOne") {
		t.Errorf("Here(1) in skipOne:\n%s", s)
	}
	if got := (invariant.Stack{}).String(); got != "\tunknown\n" {
		t.Errorf("zero stack is %q", got)
	}
}

//go:noinline
func here() invariant.Stack { return invariant.Here(0) }

//go:noinline
func skipOne() invariant.Stack { return invariant.Here(1) }

// A stack is a value: two of one place are equal, and it can be a key.
func TestStacksAreValues(t *testing.T) {
	var at [2]invariant.Stack
	for i := range at {
		at[i] = here()
	}
	if at[0] != at[1] {
		t.Error("one place, and two stacks")
	}
	if other := here(); other == at[0] {
		t.Error("two places, and one stack")
	}
}

// However deep a goroutine is, its innermost 24 callers are what is kept.
func TestStackIsBounded(t *testing.T) {
	var s invariant.Stack
	var down func(n int)
	down = func(n int) {
		if n == 0 {
			s = here()
			return
		}
		down(n - 1)
	}
	down(100)
	lines := strings.Split(strings.TrimSuffix(s.String(), "\n"), "\n")
	if len(lines) != 2*24 {
		t.Errorf("%d lines", len(lines))
	}
	for i, line := range lines {
		if place := strings.HasPrefix(line, "\t\t"); place != (i%2 == 1) || place && !strings.Contains(line, "_test.go:") {
			t.Errorf("line %d is %q", i, line)
		}
	}
	if strings.Contains(s.String(), "tRunner") {
		t.Error("the outermost caller is kept, and an inner one is not")
	}
}

// A message without arguments is not mistaken for a format with some missing, nor is
// what its arguments hold taken for a format.
func TestCheckFormatsOnce(t *testing.T) {
	if !invariant.Enabled {
		t.Skip("without the tag there is no message")
	}
	defer func() {
		if got := recover(); got != "invariant: %d is text" {
			t.Errorf("%q", got)
		}
	}()
	invariant.Check(false, "%s is text", "%d")
}
