//go:build invariants && linux

package buf

import (
	"runtime/debug"
	"strings"
	"testing"
)

// faultAt runs f and returns the address that it faulted at, 0 if it did not.
func faultAt(f func()) (addr uintptr) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e, ok := recover().(interface{ Addr() uintptr }); ok {
			addr = e.Addr()
		}
	}()
	f()
	return 0
}

var sink byte

func TestReleasedMemoryFaults(t *testing.T) {
	v := viewOf("hello")
	p := v.Bytes()
	if faultAt(func() { sink = p[1] }) != 0 {
		t.Fatal("memory in use faults")
	}
	v.Release()
	for name, use := range map[string]func(){"read": func() { sink = p[1] }, "write": func() { p[1] = 'x' }} {
		addr := faultAt(use)
		if addr == 0 {
			t.Errorf("%s after release did not fault", name)
			continue
		}
		got := Explain(addr)
		for _, part := range []string{"is byte 1 of a block of 4096 bytes, released", "acquired at", "buf.viewOf", "released at", "TestReleasedMemoryFaults"} {
			if !strings.Contains(got, part) {
				t.Errorf("%s: Explain lacks %q:\n%s", name, part, got)
			}
		}
	}
}

func TestGuardPages(t *testing.T) {
	b := Acquire(MinBlock)
	defer b.Release()
	v := View{p: &b.mem[MinBlock-1], n: 2} // one byte too long
	if got := Explain(faultAt(func() { sink = v.Bytes()[1] })); !strings.Contains(got, "0 bytes behind the end of a block of 4096 bytes, in use") {
		t.Errorf("read behind the end: %q", got)
	}
	if Explain(0) != "" || Explain(1) != "" {
		t.Error("Explain knows addresses that are no block's")
	}
}

func TestQuarantineIsBoundedAndMangles(t *testing.T) {
	v := viewOf("hello")
	p := v.Bytes()
	v.Release()
	for range quarantineBlocks {
		Acquire(MinBlock).Release()
	}
	if faultAt(func() { sink = p[0] }) != 0 {
		t.Fatal("memory left the quarantine but still faults")
	}
	if p[0] != 0xCC || p[4] != 0xCC {
		t.Errorf("memory out of quarantine holds % x", p[:5])
	}
	for range 100 {
		Acquire(MaxBlock).Release()
	}
	warden.Lock()
	defer warden.Unlock()
	if len(warden.quarantine) > quarantineBlocks || warden.bytes > quarantineBytes {
		t.Errorf("quarantine holds %d blocks, %d bytes", len(warden.quarantine), warden.bytes)
	}
}

func TestLargeBlocksAreMangled(t *testing.T) {
	b := Acquire(MaxBlock + 1)
	p := b.Mem()
	b.Release()
	if p[0] != 0xCC || p[MaxBlock] != 0xCC {
		t.Error("a released large block still shows its bytes")
	}
}

func TestLiveCounts(t *testing.T) {
	before := Live()
	v, w := viewOf("a"), viewOf("b")
	if Live() != before+2 {
		t.Errorf("Live rose by %d; want 2", Live()-before)
	}
	v.Release()
	w.Release()
	if Live() != before {
		t.Errorf("Live rose by %d after release", Live()-before)
	}
}
