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
