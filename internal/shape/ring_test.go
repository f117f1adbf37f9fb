package shape_test

import (
	"errors"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

// Types of Go that are containers of themselves, which no IDL can make but a
// user can write.
type (
	listRing []listRing
	mapRing  map[string]mapRing
	setRing  []thrift.Set[setRing]
	holder   struct {
		List listRing             `thrift:"list,1"`
		Map  mapRing              `thrift:"map,2"`
		Set  thrift.Set[setRing]  `thrift:"set,3"`
		All  map[string][]*holder `thrift:"all,4"`
	}
)

func rings(key string) *holder {
	h := &holder{List: listRing{nil, nil}, Map: mapRing{"x": nil}, Set: thrift.Set[setRing]{{nil}, {nil, nil}}}
	h.List[0], h.List[1] = h.List, h.List
	h.Map["x"], h.Map[key] = h.Map, h.Map
	h.Set[0][0], h.Set[1][1] = h.Set, h.Set
	h.All = map[string][]*holder{"a": {h, h}}
	return h
}

// Lists, sets and maps that lead back to themselves without a struct on the way:
// everything ends.
func TestContainersOfThemselves(t *testing.T) {
	h := rings("y")
	if !thrift.Equal(h, rings("y")) || thrift.Equal(h, rings("z")) {
		t.Error("Equal")
	}
	other := rings("y")
	other.Set[0], other.Set[1] = other.Set[1], other.Set[0]
	thrift.Equal(h, other) // the answer is no matter: hashes depend on where one begins
	c := thrift.Clone(h)
	if !thrift.Equal(h, c) || &c.List[0] == &h.List[0] {
		t.Error("Clone")
	}
	c.Map["new"] = nil
	if h.Map["new"] != nil || len(h.Map) != 2 {
		t.Error("the copy's map is the original's")
	}
	var bad *thrift.InvalidError
	if err := thrift.Validate(h); !errors.As(err, &bad) || thrifttest.Appends(h) == nil {
		t.Errorf("Validate: %v", err)
	}
	if s := thrift.String(h); len(s) > 1024 {
		t.Error(s)
	}
	mask, err := thrift.Keep[holder]("all.all.set")
	if err != nil {
		t.Fatal(err)
	}
	mask.Apply(h)
	if h.List != nil {
		t.Error("the mask did nothing")
	}
	var wrong *thrift.MaskError
	if _, err := thrift.Keep[holder]("list.x"); !errors.As(err, &wrong) {
		t.Errorf("a path into a list of itself: %v", err)
	}
	// Each level twice, 50 levels: 2^50 ways.
	var list listRing
	for range 50 {
		list = listRing{list, list}
	}
	if err := thrift.Validate(&holder{List: list}); err != nil {
		t.Error(err)
	}
	if !thrift.Equal(thrift.Clone(&holder{List: list}), &holder{List: list}) {
		t.Error("lists that are shared")
	}
}
