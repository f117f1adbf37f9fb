package lazy_test

import (
	"bytes"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/impl"
)

// Sets of structs are treated as lists of structs are: by the bytes of each.
type (
	setOfLeaves struct {
		Leaves thrift.Set[*thrifttest.Leaf] `thrift:"leaves,1"`
	}
	viewOfSet struct {
		_ [0]setOfLeaves
		thrift.Lazy
	}
	viewOfLeaf struct {
		_ [0]thrifttest.Leaf
		thrift.Lazy
	}
)

func (x *setOfLeaves) SetDefaults() { x.Leaves = thrift.Set[*thrifttest.Leaf]{{ID: 1}} }

// What is unknown in an element stays when a mask drops a field of it.
func TestMaskOfASetKeepsUnknownFields(t *testing.T) {
	body := thrifttest.Unhex(t, "0e 0001 0c 00000002  0a 0001 0000000000000005  0b 0009 00000008 756e6b6e6f776e21 00  0a 0001 0000000000000006 00  00")
	x, err := thrift.OpenLazy[viewOfSet](buf.ViewOf(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	mask, err := thrift.Drop[viewOfSet]("leaves.id")
	if err != nil {
		t.Fatal(err)
	}
	mask.Apply(x)
	var out buf.Out
	defer out.Reset()
	if err := (thrift.Binary{}).Append(&out, x); err != nil {
		t.Fatal(err)
	}
	want := thrifttest.Unhex(t, "0e 0001 0c 00000002  0b 0009 00000008 756e6b6e6f776e21 00  00  00")
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("%x; want %x", out.Bytes(), want)
	}
}

// What is set in an element of a default is sent, as if the message had it.
func TestWhatIsSetInADefaultSetIsSent(t *testing.T) {
	x, err := thrift.OpenLazy[viewOfSet](buf.ViewOf([]byte{0}), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Release()
	leaf := impl.LazyStructList[viewOfLeaf](&x.Lazy, 0).At(0)
	impl.LazySet(&leaf.Lazy, 0, int64(7))
	var out buf.Out
	defer out.Reset()
	got := new(setOfLeaves)
	if err := (thrift.Binary{}).Append(&out, x); err != nil {
		t.Fatal(err)
	}
	if err := thrifttest.Decode(out.Bytes(), got); err != nil || len(got.Leaves) != 1 || got.Leaves[0].ID != 7 {
		t.Errorf("%x: %v, %v", out.Bytes(), thrift.String(got), err)
	}
}
