package thrift_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/thrift"
)

type order struct {
	ID     int64                     `thrift:"id,1,required"`
	User   *Leaf                     `thrift:"user,2"`
	Items  []*Item                   `thrift:"items,3"`
	ByName map[string]*Leaf          `thrift:"by_name,4"`
	Pairs  thrift.Pairs[int8, *Leaf] `thrift:"pairs,5"`
	Either Either                    `thrift:"either,6"`
	Must   Either                    `thrift:"must,7,required"`
	Unions []Either                  `thrift:"unions,8"`
	UMap   map[string]Either         `thrift:"umap,9"`
	Tree   *Tree                     `thrift:"tree,10"`
	Opt    *int32                    `thrift:"opt,11,optional"`
	Lists  map[string][]Either       `thrift:"lists,12"`
	Rest   thrift.Unknown
}

func full() *order {
	return &order{
		ID: 1, User: &Leaf{2, "u"}, Items: []*Item{{ID: 3, Sku: "s", Price: 4}, nil, {ID: 5, Price: 6}},
		ByName: map[string]*Leaf{"a": {7, "x"}}, Pairs: thrift.Pairs[int8, *Leaf]{{1, &Leaf{8, "y"}}},
		Either: &EitherText{"t"}, Must: &EitherNumber{9},
		Unions: []Either{&EitherText{"1"}, &EitherNumber{2}, &EitherText{"3"}, &EitherTree{&Tree{Value: 4, Next: &Tree{Value: 5}}}},
		UMap:   map[string]Either{"n": &EitherNumber{1}, "t": &EitherText{"x"}},
		Tree:   &Tree{Value: 1, Children: []*Tree{{Value: 2, Either: &EitherText{"z"}}}}, Opt: new(int32(3)),
		Lists: map[string][]Either{"a": {&EitherNumber{1}, &EitherText{"x"}}},
		Rest:  thrift.Unknown{2, 0, 90, 1},
	}
}

func TestMask(t *testing.T) {
	must := &EitherNumber{9}
	kept := func(change func(*order)) *order {
		o := &order{ID: 1, Must: must}
		change(o)
		return o
	}
	without := func(change func(*order)) *order {
		o := full()
		change(o)
		return o
	}
	for _, c := range []struct {
		op, paths string
		want      *order
	}{
		{"keep", "", kept(func(o *order) {})},
		{"drop", " ", full()},
		{"keep", "user", kept(func(o *order) { o.User = &Leaf{2, "u"} })},
		{"keep", "user.name, opt", kept(func(o *order) { o.User, o.Opt = &Leaf{0, "u"}, new(int32(3)) })},
		{"keep", "user.name,user", kept(func(o *order) { o.User = &Leaf{2, "u"} })},
		{"keep", "user,user.name", kept(func(o *order) { o.User = &Leaf{2, "u"} })},
		{"keep", "items.price,items.id", kept(func(o *order) { o.Items = []*Item{{ID: 3, Price: 4}, nil, {ID: 5, Price: 6}} })},
		{"keep", "by_name.id", kept(func(o *order) { o.ByName = map[string]*Leaf{"a": {7, ""}} })},
		{"keep", "pairs.id", kept(func(o *order) { o.Pairs = thrift.Pairs[int8, *Leaf]{{1, &Leaf{8, ""}}} })},
		{"keep", "either.text", kept(func(o *order) { o.Either = &EitherText{"t"} })},
		{"keep", "either.number", kept(func(o *order) {})},
		{"keep", "must.text", kept(func(o *order) {})},
		{"keep", "unions.text", kept(func(o *order) { o.Unions = []Either{&EitherText{"1"}, &EitherText{"3"}} })},
		{"keep", "unions.tree.next.value", kept(func(o *order) { o.Unions = []Either{&EitherTree{&Tree{Next: &Tree{Value: 5}}}} })},
		{"keep", "umap.number", kept(func(o *order) { o.UMap = map[string]Either{"n": &EitherNumber{1}} })},
		{"keep", "lists.text", kept(func(o *order) { o.Lists = map[string][]Either{"a": {&EitherText{"x"}}} })},
		{"keep", "tree.children.either.text", kept(func(o *order) { o.Tree = &Tree{Children: []*Tree{{Either: &EitherText{"z"}}}} })},
		{"keep", "tree.children.children.value", kept(func(o *order) { o.Tree = &Tree{Children: []*Tree{{}}} })},
		{"drop", "user", without(func(o *order) { o.User = nil })},
		{"drop", "user.name,opt", without(func(o *order) { o.User.Name, o.Opt = "", nil })},
		{"drop", "items.price", without(func(o *order) { o.Items[0].Price, o.Items[2].Price = 0, 0 })},
		{"drop", "either.text", without(func(o *order) { o.Either = nil })},
		{"drop", "either.number", full()},
		{"drop", "must.number", full()},
		{"drop", "unions.text", without(func(o *order) { o.Unions = append(o.Unions[1:2:2], o.Unions[3]) })},
		{"drop", "umap.number,lists.number", without(func(o *order) { delete(o.UMap, "n"); o.Lists["a"] = o.Lists["a"][1:] })},
		{"drop", "by_name.name,pairs.name", without(func(o *order) { o.ByName["a"].Name, o.Pairs[0].Value.Name = "", "" })},
	} {
		mask, err := map[string]func(string) (*thrift.Mask[order], error){"keep": thrift.Keep[order], "drop": thrift.Drop[order]}[c.op](c.paths)
		if err != nil {
			t.Errorf("%s %s: %v", c.op, c.paths, err)
			continue
		}
		for range 2 {
			m := full()
			mask.Apply(m)
			mask.Apply(m) // there is nothing more to do
			if !reflect.DeepEqual(m, c.want) {
				t.Errorf("%s %s:\n%s\nwant\n%s", c.op, c.paths, thrift.String(m), thrift.String(c.want))
			}
			if err := thrift.Validate(m); err != nil && !strings.Contains(c.paths+" ", "items") && c.op == "keep" {
				t.Errorf("%s %s: %v", c.op, c.paths, err)
			}
		}
		mask.Apply(nil)
		mask.Apply(&order{})
	}
}

func TestMaskErrors(t *testing.T) {
	for _, c := range []struct{ op, paths, path, why string }{
		{"keep", "nobody", "nobody", `there is no field "nobody"`},
		{"keep", "user.", "user.", `there is no field ""`},
		{"keep", "user,", "", `there is no field ""`},
		{"keep", "user,,opt", "", `there is no field ""`},
		{"keep", "user.name.first", "user.name.first", "there are no fields in what is before the last dot"},
		{"keep", "opt.x", "opt.x", "there are no fields"},
		{"keep", "items.prize", "items.prize", `there is no field "prize"`},
		{"keep", "User", "User", `there is no field "User"`},
		{"keep", "either.nothing", "either.nothing", "there is no field"},
		{"drop", "id", "id", "a required field cannot be dropped"},
		{"drop", "must", "must", "a required field cannot be dropped"},
	} {
		_, err := map[string]func(string) (*thrift.Mask[order], error){"keep": thrift.Keep[order], "drop": thrift.Drop[order]}[c.op](c.paths)
		var bad *thrift.MaskError
		if !errors.As(err, &bad) || bad.Path != c.path || !strings.HasPrefix(bad.Why, c.why) {
			t.Errorf("%s %s: %v", c.op, c.paths, err)
		}
	}
	var typ *thrift.TypeError
	if _, err := thrift.Keep[int]("x"); !errors.As(err, &typ) {
		t.Errorf("no message: %v", err)
	}
}

// A mask ends where its paths end, even in what refers to itself.
func TestMaskOfRing(t *testing.T) {
	mask, err := thrift.Keep[Tree](strings.Repeat("next.", 100) + "value")
	if err != nil {
		t.Fatal(err)
	}
	m := ring(3, "x")
	mask.Apply(m)
	// The hundredth is the second one, of which only the value stays.
	if m.Value != 0 || m.Children != nil || m.Next == nil || m.Next.Next != nil {
		t.Errorf("%s", thrift.String(m))
	}
}

// A key that is no number is never found, but masked.
func TestMaskOfKeysThatAreNoNumbers(t *testing.T) {
	type nanMaps struct {
		Unions  map[float64]Either  `thrift:"unions,1"`
		Leaves  map[float64]*Leaf   `thrift:"leaves,2"`
		Lists   map[float64][]*Leaf `thrift:"lists,3"`
		Nothing map[float64]Either  `thrift:"nothing,4"`
	}
	nan := math.NaN()
	m := &nanMaps{
		Unions: map[float64]Either{nan: &EitherText{"x"}, 1: &EitherNumber{1}, 2: &EitherText{"y"}},
		Leaves: map[float64]*Leaf{nan: {1, "x"}, 2: {2, "y"}},
		Lists:  map[float64][]*Leaf{nan: {{1, "x"}}},
	}
	mask, err := thrift.Keep[nanMaps]("unions.text,leaves.name,lists.name,nothing.text")
	if err != nil {
		t.Fatal(err)
	}
	mask.Apply(m)
	want := &nanMaps{
		Unions: map[float64]Either{nan: &EitherText{"x"}, 2: &EitherText{"y"}},
		Leaves: map[float64]*Leaf{nan: {0, "x"}, 2: {0, "y"}},
		Lists:  map[float64][]*Leaf{nan: {{0, "x"}}},
	}
	if !thrift.Equal(m, want) || m.Nothing != nil {
		t.Errorf("%s", thrift.String(m))
	}
}
