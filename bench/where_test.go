package main

import (
	"strings"
	"testing"
)

func TestPartOf(t *testing.T) {
	for want, stack := range map[string][]string{
		"kernel: send":        {"syscall.RawSyscall6", "github.com/limosa-rpc/limosa/internal/sys.Writev", "github.com/limosa-rpc/limosa/mux.flush"},
		"allocation":          {"runtime.nextFreeFast", "runtime.mallocgc", "github.com/limosa-rpc/limosa/thrift.(*decoder).list"},
		"codec":               {"runtime.memmove", "github.com/limosa-rpc/limosa/thrift.(*decoder).fields", "github.com/limosa-rpc/limosa/mux.(*Conn).fill"},
		"engine":              {"sync.(*Mutex).Lock", "github.com/limosa-rpc/limosa/mux.(*Conn).send"},
		"scheduler":           {"runtime.findRunnable", "runtime.schedule", "runtime.mcall"},
		"garbage collection":  {"runtime.scanObject", "runtime.gcDrain", "runtime.gcBgMarkWorker.func2"},
		"buffers, connection": {"github.com/limosa-rpc/limosa/buf.(*Out).Append", "github.com/limosa-rpc/limosa/ttheader.(*Session).Begin"},
		"other":               {"time.Now", "main.main"},
	} {
		if got := partOf(stack); got != want {
			t.Errorf("partOf(%v) = %q, want %q", stack, got, want)
		}
	}
}

func TestDraw(t *testing.T) {
	var b strings.Builder
	draw(&b, "title", map[string]float64{"a": .25, "b": .75}, 8)
	want := "title\n" +
		"b                     75.0 %    6.00 us  " + strings.Repeat("█", 75) + "\n" +
		"a                     25.0 %    2.00 us  " + strings.Repeat("█", 25) + "\n"
	if b.String() != want {
		t.Errorf("drawn:\n%s", b.String())
	}
}
