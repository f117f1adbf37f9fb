package shape_test

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

type order struct {
	ID     int64                                `thrift:"id,1,required"`
	User   *thrifttest.Leaf                     `thrift:"user,2"`
	Items  []*thrifttest.Item                   `thrift:"items,3"`
	ByName map[string]*thrifttest.Leaf          `thrift:"by_name,4"`
	Pairs  thrift.Pairs[int8, *thrifttest.Leaf] `thrift:"pairs,5"`
	Either thrifttest.Either                    `thrift:"either,6"`
	Must   thrifttest.Either                    `thrift:"must,7,required"`
	Unions []thrifttest.Either                  `thrift:"unions,8"`
	UMap   map[string]thrifttest.Either         `thrift:"umap,9"`
	Tree   *thrifttest.Tree                     `thrift:"tree,10"`
	Opt    *int32                               `thrift:"opt,11,optional"`
	Lists  map[string][]thrifttest.Either       `thrift:"lists,12"`
	Rest   thrift.Unknown
}

func full() *order {
	return &order{
		ID: 1, User: &thrifttest.Leaf{ID: 2, Name: "u"}, Items: []*thrifttest.Item{{ID: 3, Sku: "s", Price: 4}, nil, {ID: 5, Price: 6}},
		ByName: map[string]*thrifttest.Leaf{"a": {ID: 7, Name: "x"}}, Pairs: thrift.Pairs[int8, *thrifttest.Leaf]{{Key: 1, Value: &thrifttest.Leaf{ID: 8, Name: "y"}}},
		Either: &thrifttest.EitherText{Text: "t"}, Must: &thrifttest.EitherNumber{Number: 9},
		Unions: []thrifttest.Either{&thrifttest.EitherText{Text: "1"}, &thrifttest.EitherNumber{Number: 2}, &thrifttest.EitherText{Text: "3"}, &thrifttest.EitherTree{Tree: &thrifttest.Tree{Value: 4, Next: &thrifttest.Tree{Value: 5}}}},
		UMap:   map[string]thrifttest.Either{"n": &thrifttest.EitherNumber{Number: 1}, "t": &thrifttest.EitherText{Text: "x"}},
		Tree:   &thrifttest.Tree{Value: 1, Children: []*thrifttest.Tree{{Value: 2, Either: &thrifttest.EitherText{Text: "z"}}}}, Opt: new(int32(3)),
		Lists: map[string][]thrifttest.Either{"a": {&thrifttest.EitherNumber{Number: 1}, &thrifttest.EitherText{Text: "x"}}},
		Rest:  thrift.Unknown{2, 0, 90, 1},
	}
}

func TestMask(t *testing.T) {
	must := &thrifttest.EitherNumber{Number: 9}
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
		{"keep", "user", kept(func(o *order) { o.User = &thrifttest.Leaf{ID: 2, Name: "u"} })},
		{"keep", "user.name, opt", kept(func(o *order) { o.User, o.Opt = &thrifttest.Leaf{ID: 0, Name: "u"}, new(int32(3)) })},
		{"keep", "user.name,user", kept(func(o *order) { o.User = &thrifttest.Leaf{ID: 2, Name: "u"} })},
		{"keep", "user,user.name", kept(func(o *order) { o.User = &thrifttest.Leaf{ID: 2, Name: "u"} })},
		{"keep", "items.price,items.id", kept(func(o *order) { o.Items = []*thrifttest.Item{{ID: 3, Price: 4}, nil, {ID: 5, Price: 6}} })},
		{"keep", "by_name.id", kept(func(o *order) { o.ByName = map[string]*thrifttest.Leaf{"a": {ID: 7, Name: ""}} })},
		{"keep", "pairs.id", kept(func(o *order) {
			o.Pairs = thrift.Pairs[int8, *thrifttest.Leaf]{{Key: 1, Value: &thrifttest.Leaf{ID: 8, Name: ""}}}
		})},
		{"keep", "either.text", kept(func(o *order) { o.Either = &thrifttest.EitherText{Text: "t"} })},
		{"keep", "either.number", kept(func(o *order) {})},
		{"keep", "must.text", kept(func(o *order) {})},
		{"keep", "unions.text", kept(func(o *order) {
			o.Unions = []thrifttest.Either{&thrifttest.EitherText{Text: "1"}, &thrifttest.EitherText{Text: "3"}}
		})},
		{"keep", "unions.tree.next.value", kept(func(o *order) {
			o.Unions = []thrifttest.Either{&thrifttest.EitherTree{Tree: &thrifttest.Tree{Next: &thrifttest.Tree{Value: 5}}}}
		})},
		{"keep", "umap.number", kept(func(o *order) { o.UMap = map[string]thrifttest.Either{"n": &thrifttest.EitherNumber{Number: 1}} })},
		{"keep", "lists.text", kept(func(o *order) { o.Lists = map[string][]thrifttest.Either{"a": {&thrifttest.EitherText{Text: "x"}}} })},
		{"keep", "tree.children.either.text", kept(func(o *order) {
			o.Tree = &thrifttest.Tree{Children: []*thrifttest.Tree{{Either: &thrifttest.EitherText{Text: "z"}}}}
		})},
		{"keep", "tree.children.children.value", kept(func(o *order) { o.Tree = &thrifttest.Tree{Children: []*thrifttest.Tree{{}}} })},
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
	mask, err := thrift.Keep[thrifttest.Tree](strings.Repeat("next.", 100) + "value")
	if err != nil {
		t.Fatal(err)
	}
	m := thrifttest.Ring(3, "x")
	mask.Apply(m)
	// The hundredth is the second one, of which only the value stays.
	if m.Value != 0 || m.Children != nil || m.Next == nil || m.Next.Next != nil {
		t.Errorf("%s", thrift.String(m))
	}
}

// A key that is no number is never found, but masked.
func TestMaskOfKeysThatAreNoNumbers(t *testing.T) {
	type nanMaps struct {
		Unions  map[float64]thrifttest.Either  `thrift:"unions,1"`
		Leaves  map[float64]*thrifttest.Leaf   `thrift:"leaves,2"`
		Lists   map[float64][]*thrifttest.Leaf `thrift:"lists,3"`
		Nothing map[float64]thrifttest.Either  `thrift:"nothing,4"`
	}
	nan := math.NaN()
	m := &nanMaps{
		Unions: map[float64]thrifttest.Either{nan: &thrifttest.EitherText{Text: "x"}, 1: &thrifttest.EitherNumber{Number: 1}, 2: &thrifttest.EitherText{Text: "y"}},
		Leaves: map[float64]*thrifttest.Leaf{nan: {ID: 1, Name: "x"}, 2: {ID: 2, Name: "y"}},
		Lists:  map[float64][]*thrifttest.Leaf{nan: {{ID: 1, Name: "x"}}},
	}
	mask, err := thrift.Keep[nanMaps]("unions.text,leaves.name,lists.name,nothing.text")
	if err != nil {
		t.Fatal(err)
	}
	mask.Apply(m)
	want := &nanMaps{
		Unions: map[float64]thrifttest.Either{nan: &thrifttest.EitherText{Text: "x"}, 2: &thrifttest.EitherText{Text: "y"}},
		Leaves: map[float64]*thrifttest.Leaf{nan: {ID: 0, Name: "x"}, 2: {ID: 0, Name: "y"}},
		Lists:  map[float64][]*thrifttest.Leaf{nan: {{ID: 0, Name: "x"}}},
	}
	if !thrift.Equal(m, want) || m.Nothing != nil {
		t.Errorf("%s", thrift.String(m))
	}
}

// A path leads through a set as through a list, and through containers of containers.
func TestMaskThroughContainers(t *testing.T) {
	type all struct {
		Set   thrift.Set[*thrifttest.Leaf]                     `thrift:"set,1"`
		Lists [][]*thrifttest.Leaf                             `thrift:"lists,2"`
		Sets  map[string]thrift.Set[*thrifttest.Leaf]          `thrift:"sets,3"`
		Pairs thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf] `thrift:"pairs,4"`
	}
	leaf := func() *thrifttest.Leaf { return &thrifttest.Leaf{ID: 1, Name: "x"} }
	for _, path := range []string{"set.name", "lists.name", "sets.name", "pairs.name"} {
		m := &all{Set: thrift.Set[*thrifttest.Leaf]{leaf(), nil}, Lists: [][]*thrifttest.Leaf{{leaf()}, nil}, Sets: map[string]thrift.Set[*thrifttest.Leaf]{"a": {leaf()}},
			Pairs: thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf]{{Key: leaf(), Value: leaf()}}}
		drop, err := thrift.Drop[all](path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		drop.Apply(m)
		for at, l := range map[string]*thrifttest.Leaf{"set.name": m.Set[0], "lists.name": m.Lists[0][0], "sets.name": m.Sets["a"][0], "pairs.name": m.Pairs[0].Value} {
			if want := (&thrifttest.Leaf{ID: 1, Name: "x"}); at == path {
				want.Name = ""
				if *l != *want {
					t.Errorf("%s: %+v", path, l)
				}
			} else if *l != *want {
				t.Errorf("%s changed %s: %+v", path, at, l)
			}
		}
		if *m.Pairs[0].Key != *leaf() {
			t.Errorf("%s changed a key: %+v", path, m.Pairs[0].Key)
		}
	}
}
