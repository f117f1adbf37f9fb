package lazy_test

import (
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

type lentUnion interface{ isUnion(*lentCase) }
type lentCase struct {
	In *lentIn `thrift:"in,1"`
}

func (*lentCase) isUnion(*lentCase) {}

type lentIn struct {
	Leaf *lazy.LazyLeaf `thrift:"leaf,1"`
	Back *lentArgs      `thrift:"back,2"`
}

type lentArgs struct {
	Leaf  *lazy.LazyLeaf                   `thrift:"leaf,1"`
	In    *lentIn                          `thrift:"in,2"`
	List  []*lentIn                        `thrift:"list,3"`
	Map   map[string]*lentIn               `thrift:"map,4"`
	Pairs thrift.Pairs[*lentIn, []*lentIn] `thrift:"pairs,5"`
	Union lentUnion                        `thrift:"union,6"`
	Nest  []map[string]thrift.Set[*lentIn] `thrift:"nest,7"`
	Last  string                           `thrift:"last,8"`
}

// TestNoViewKeepsItsBlock decodes messages with views in a block whose end is seen. A
// view that nobody can release must not hold it: one of a field that comes twice, also
// by a struct around it, and all of a message that is refused.
func TestNoViewKeepsItsBlock(t *testing.T) {
	const leaf = "0a0001 0000000000000007 0b0002 00000000 02000a 00 00"
	const in, inNone = "0c0001" + leaf + "00", "00"
	for _, tt := range []struct {
		name, body string
		refused    bool
	}{
		{"once", "0c0001" + leaf + "00", false},
		{"twice", "0c0001" + leaf + "0c0001" + leaf + "00", false},
		{"twice, and then a fault", "0c0001" + leaf + "0c0001" + leaf + "0b0008 7fffffff 00", true},
		{"once, and then a fault", "0c0001" + leaf + "0b0008 7fffffff", true},
		{"once, and bytes after the end", "0c0001" + leaf + "00 00", true},
		{"the second one is no struct", "0c0001" + leaf + "0c0001 07", true},
		{"in a struct", "0c0002" + in + "00", false},
		{"in a struct that comes twice", "0c0002" + in + "0c0002" + in + "00", false},
		{"in a struct that comes again without", "0c0002" + in + "0c0002" + inNone + "00", false},
		{"in a struct that is not whole", "0c0002 0c0001" + leaf, true},
		{"in a circle", "0c0002 0c0002 0c0002" + in + "0c0001" + leaf + "00 00 0c0002 00 00", false},
		{"in a list", "0f0003 0c 00000002" + in + in + "00", false},
		{"in a list that comes twice", "0f0003 0c 00000001" + in + "0f0003 0c 00000000 00", false},
		{"in a list, and then a fault", "0f0003 0c 00000001" + in + "0b0008 7fffffff", true},
		{"in a map", "0d0004 0b0c 00000002 00000000" + in + "00000000" + in + "00", false},
		{"in pairs", "0d0005 0c0f 00000001" + in + "0c 00000001" + in + "00", false},
		{"in a union", "0c0006 0c0001" + in + "0c0001" + in + "00 00", false},
		{"in a nest", "0f0007 0d 00000001 0b0e 00000001 00000000 0c 00000001" + in + "00", false},
		{"a list before and a view after", "0f0003 0c 00000001" + in + "0c0001" + leaf + "00", false},
	} {
		mem, freed := thrifttest.Unhex(t, tt.body), false
		var block buf.Block
		block.Init(mem, func(*buf.Block) { freed = true })
		v := block.View(0, len(mem))
		block.Release()
		var args lentArgs
		err := thrift.Binary{}.Decode(v, &args, rpc.Limits{}.WithDefaults())
		if (err != nil) != tt.refused {
			t.Fatalf("%s: %v", tt.name, err)
		}
		if v.Release(); !tt.refused && (tt.name == "once" || tt.name == "twice") && freed {
			t.Errorf("%s: the view has nothing", tt.name)
		}
		args.release(t)
		if !freed {
			t.Errorf("%s: the block is still held", tt.name)
		}
		if tt.refused && args.Leaf != nil {
			t.Errorf("%s: there is a view of a message that was refused", tt.name)
		}
	}
}

// release releases what a handler can see that is not in a container.
func (a *lentArgs) release(t *testing.T) {
	for a != nil {
		if a.Leaf != nil {
			if id := a.Leaf.ID(); id != 7 {
				t.Errorf("the view shows %d", id)
			}
			a.Leaf.Release()
		}
		for _, in := range a.List {
			if id := in.Leaf.ID(); id != 7 {
				t.Errorf("a view in a list shows %d", id)
			}
		}
		in := a.In
		if in != nil && in.Leaf != nil {
			in.Leaf.Release()
		}
		if a = nil; in != nil {
			a = in.Back
		}
	}
}
