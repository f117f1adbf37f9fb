package lazy

import (
	"testing"
	"unsafe"

	"github.com/limosa-rpc/limosa/internal/thrift/plan"
)

// What codecs charge for a view covers what it takes.
func TestLeaseIsCharged(t *testing.T) {
	if n := int(unsafe.Sizeof(lease{})); n > plan.LeaseBytes || n < plan.LeaseBytes/2 {
		t.Errorf("a lease has %d bytes, and %d are charged", n, plan.LeaseBytes)
	}
}
