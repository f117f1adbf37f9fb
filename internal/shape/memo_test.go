package shape

import (
	"testing"
	"unsafe"
)

func TestTableFindsAllThatWereAdded(t *testing.T) {
	keys := make([]byte, 1000)
	made := make([]Struct, len(keys))
	var tab *table
	for i := range keys {
		if tab != nil && tab.find(unsafe.Pointer(&keys[i])) != nil {
			t.Fatalf("%d is there before it was added", i)
		}
		old := tab
		tab = tab.with(unsafe.Pointer(&keys[i]), &made[i])
		if old != nil && old.find(unsafe.Pointer(&keys[i])) != nil {
			t.Fatal("a published table was written to")
		}
	}
	for i := range keys {
		if tab.find(unsafe.Pointer(&keys[i])) != &made[i] {
			t.Fatalf("%d is lost", i)
		}
	}
	if len(tab.slots) < 2*len(keys) || tab.taken != len(keys) {
		t.Errorf("%d of %d slots are taken", tab.taken, len(tab.slots))
	}
}

func TestFieldsStaySmall(t *testing.T) {
	if n := unsafe.Sizeof(Field{}); n > 32 {
		t.Errorf("a field has %d bytes", n)
	}
}
