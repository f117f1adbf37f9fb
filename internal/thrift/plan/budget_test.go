package plan_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/codec"
	"github.com/limosa-rpc/limosa/internal/thrift/plan"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// A Sack has defaults of every kind that takes memory.
type Sack struct {
	Map    map[string]string                      `thrift:"map,1"`
	List   []*thrifttest.Leaf                     `thrift:"list,2"`
	Pairs  thrift.Pairs[*thrifttest.Leaf, string] `thrift:"pairs,3"`
	Either thrifttest.Either                      `thrift:"either,4"`
	Bytes  []byte                                 `thrift:"bytes,5"`
	Number *int64                                 `thrift:"number,6,optional"`
	Text   string                                 `thrift:"text,7"`
	Made   string                                 `thrift:"made,8"`
	Shared []int64                                `thrift:"shared,9"`
}

var sharedNumbers = make([]int64, 1000) // no default takes memory for it

func (s *Sack) SetDefaults() {
	s.Map = map[string]string{}
	for _, c := range "abcdefghijkl" {
		s.Map[string(c)] = "a text of the program"
	}
	s.List = []*thrifttest.Leaf{{ID: 1}, {ID: 2}}
	s.Pairs = thrift.Pairs[*thrifttest.Leaf, string]{{Key: &thrifttest.Leaf{}, Value: "x"}}
	s.Either = &thrifttest.EitherTree{Tree: &thrifttest.Tree{Children: []*thrifttest.Tree{{}, {}}}}
	s.Bytes = make([]byte, 100)
	s.Number = new(int64(7))
	s.Text = strings.TrimSpace(" a text of the program ")
	s.Made = strings.Repeat("x", 200)
	s.Shared = sharedNumbers
}

type Sacks struct {
	List  []*Sack          `thrift:"list,1"`
	Map   map[int32]*Sack  `thrift:"map,2"`
	One   *Sack            `thrift:"one,3"`
	Union thrift.Set[Hold] `thrift:"union,4"`
}

type Hold interface{ isUnion(*HoldSack) }
type HoldSack struct {
	Sack *Sack `thrift:"sack,1"`
}

func (*HoldSack) isUnion(*HoldSack) {}

// TestDefaultsAreCharged has the memory of defaults, which take nothing on the wire,
// bounded by the budget, with each codec and wherever a struct can be.
func TestDefaultsAreCharged(t *testing.T) {
	const n = 20_000
	var out buf.Out
	defer out.Reset()
	number := func(p []byte, i int) []byte { return binary.BigEndian.AppendUint32(p, uint32(i)) }
	binaries := map[string][]byte{"list": number([]byte{15, 0, 1, 12}, n), "map": number([]byte{13, 0, 2, 8, 12}, n), "union": number([]byte{14, 0, 4, 12}, n)}
	for i := range n {
		binaries["list"] = append(binaries["list"], 0)
		binaries["map"] = append(number(binaries["map"], i), 0)
		binaries["union"] = append(binaries["union"], 12, 0, 1, 0, 0)
		binaries["field"] = append(binaries["field"], 12, 0, 3, 0)
	}
	compact := binary.AppendUvarint([]byte{0x19, 0xfc}, n)
	compact = append(compact, make([]byte, n+1)...)
	text := `{"1":{"lst":["rec",` + "20000" + strings.Repeat(",{}", n) + `]}}`
	for _, tt := range []struct {
		name  string
		codec rpc.Codec
		body  []byte
		twice int // Compact's budget is that of a message twice as long
	}{
		{"list", thrift.Binary{}, append(binaries["list"], 0), 1}, {"map", thrift.Binary{}, append(binaries["map"], 0), 1},
		{"union", thrift.Binary{}, append(binaries["union"], 0), 1}, {"field", thrift.Binary{}, append(binaries["field"], 0), 1},
		{"compact", thrift.Compact{}, compact, 2}, {"JSON", thrift.JSON{}, []byte(text), 1},
	} {
		var err error
		decode := func() { err = tt.codec.Decode(buf.ViewOf(tt.body), new(Sacks), nil) }
		spent, allowed := thrifttest.Allocated(decode), rpc.Limits{}.WithDefaults().DecodeBudget(tt.twice*len(tt.body))
		allowed += 1 << 10 // the error
		if tt.name == "JSON" {
			allowed += 8 * len(tt.body) // errors and texts are not counted
		}
		var syntax *thrift.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(syntax.Why, "more memory") || spent > allowed {
			t.Errorf("%s: %v, %d bytes were allocated; allowed are %d", tt.name, err, spent, allowed)
		}
	}
}

// TestDefaultsCostWhatTheyTake compares what is charged with what is allocated.
func TestDefaultsCostWhatTheyTake(t *testing.T) {
	const n = 1000
	took := thrifttest.Allocated(func() {
		for range n {
			new(Sack).SetDefaults()
		}
	}) / n
	pl, _, err := plan.Of(new(Sack))
	if err != nil {
		t.Fatal(err)
	}
	cost := int(pl.PresetCost(codec.Allocation))
	t.Logf("%d bytes are allocated, %d charged", took, cost)
	if cost < took*7/8 || cost > 2*took {
		t.Errorf("%d bytes are allocated, %d charged", took, cost)
	}
}
