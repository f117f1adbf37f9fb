// Package invariant holds what debugging builds check: one constant, set by the
// build tag `invariants`, and the few helpers behind it.
//
// Code writes
//
//	if invariant.Enabled {
//		invariant.Check(n >= 0, "buf: negative length %d", n)
//	}
//
// so that without the tag neither the check nor its arguments are compiled in.
// The package imports only the standard library, keeps no state and is safe for
// concurrent use.
package invariant

import (
	"fmt"
	"runtime"
	"strings"
)

// Check panics with the formatted message if Enabled and not ok. Without the
// tag it does nothing, but its arguments are still evaluated: put them behind
// `if invariant.Enabled` where that costs.
func Check(ok bool, format string, args ...any) {
	if Enabled && !ok {
		panic("invariant: " + fmt.Sprintf(format, args...))
	}
}

// A Stack is where a goroutine was: up to 24 callers, innermost first. It is a
// value without pointers to frames, cheap enough to be taken on every acquire
// of a debugging build. The zero value is an unknown place.
type Stack struct {
	n   int
	pcs [24]uintptr
}

// Here returns the caller's stack; skip 0 starts with the caller of Here.
func Here(skip int) (s Stack) {
	s.n = runtime.Callers(skip+2, s.pcs[:])
	return s
}

// String renders the stack as a panic prints it: function, then file:line.
func (s Stack) String() string {
	if s.n == 0 {
		return "\tunknown\n"
	}
	var b strings.Builder
	frames := runtime.CallersFrames(s.pcs[:s.n])
	for {
		f, more := frames.Next()
		fmt.Fprintf(&b, "\t%s\n\t\t%s:%d\n", f.Function, f.File, f.Line)
		if !more {
			return b.String()
		}
	}
}
