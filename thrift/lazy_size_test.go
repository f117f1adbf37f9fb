package thrift

import (
	"testing"
	"unsafe"
)

// What codecs charge for a view covers what it takes.
func TestLeaseIsCharged(t *testing.T) {
	if n := int(unsafe.Sizeof(lease{})); n > LeaseBytes || n < LeaseBytes/2 {
		t.Errorf("a lease has %d bytes, and %d are charged", n, LeaseBytes)
	}
}
