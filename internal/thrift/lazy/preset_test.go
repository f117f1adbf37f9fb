package lazy_test

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/impl"
)

type presetInner struct {
	Name string `thrift:"name,1"`
}

type viewOfPresetInner struct {
	_ [0]presetInner
	thrift.Lazy
}

// A presetItem has a struct as its default, and is a byte on the wire.
type presetItem struct {
	Inner *presetInner `thrift:"inner,1,optional"`
	Next  *presetItem  `thrift:"next,2,optional"`
}

func (x *presetItem) SetDefaults() { x.Inner = &presetInner{Name: strings.Repeat("d", 200)} }

type viewOfPresetItem struct {
	_ [0]presetItem
	thrift.Lazy
}

func (x *viewOfPresetItem) Inner() *viewOfPresetInner {
	v := new(viewOfPresetInner)
	if !impl.LazyInner(&x.Lazy, &v.Lazy, 0) {
		return nil
	}
	return v
}

func (x *viewOfPresetItem) Next() *viewOfPresetItem {
	v := new(viewOfPresetItem)
	if !impl.LazyInner(&x.Lazy, &v.Lazy, 1) {
		return nil
	}
	return v
}

type presetList struct {
	Items []*presetItem `thrift:"items,1"`
	One   *presetItem   `thrift:"one,2,optional"`
}

type viewOfPresetList struct {
	_ [0]presetList
	thrift.Lazy
}

func (x *viewOfPresetList) Items() thrift.LazyStructs[viewOfPresetItem] {
	return impl.LazyStructList[viewOfPresetItem](&x.Lazy, 0)
}

func (x *viewOfPresetInner) Name() string     { return impl.LazyGet[string](&x.Lazy, 0) }
func (x *viewOfPresetInner) SetName(v string) { impl.LazySet(&x.Lazy, 0, v) }

func openPresets(t *testing.T, n int, lim *rpc.Limits) *viewOfPresetList {
	t.Helper()
	x, err := thrift.OpenLazy[viewOfPresetList](buf.ViewOf(costly(1, n)), lim)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// A list of structs of one byte each has a default to be read for every byte: what views of
// them take counts as what is decoded does.
func TestDefaultsThatAreReadKeepTheBudget(t *testing.T) {
	const n = 50_000
	allowed := rpc.Limits{}.WithDefaults().DecodeBudget(n + 9)
	x := openPresets(t, n, nil)
	var got error
	read, want := 0, strings.Repeat("d", 200)
	if took := spent(func() {
		defer func() { got, _ = recover().(error) }()
		for _, item := range x.Items().All() {
			if item.Inner().Name() != want {
				t.Error("another default")
			}
			read++
		}
	}); took > allowed+allowed/2 { // the copies of the names are what the program asks for
		t.Errorf("%d bytes were allocated, allowed are %d", took, allowed)
	}
	if rpc.CodeOf(got) != rpc.InvalidArgument || !strings.Contains(got.Error(), "takes more memory than its size allows in presetItem.inner") {
		t.Errorf("behind %d of %d: %v", read, n, got)
	}
	if len(thrifttest.Encode(t, x)) != n+9 {
		t.Error("what was read is sent")
	}
	for _, item := range openPresets(t, 100, nil).Items().All() {
		item.Inner()
	}
	all := openPresets(t, n, &rpc.Limits{DecodeFactor: 2000, Depth: 64})
	for i, item := range all.Items().All() {
		if item.Inner().Name(); i%1000 == 0 {
			item.Inner().SetName("set")
		}
	}
	set := 0
	for _, item := range all.Items().All() {
		if item.Inner().Name() == "set" {
			set++
		}
	}
	if set != n/1000 {
		t.Errorf("%d were set, not %d", set, n/1000)
	}
}

// A mask that goes into a default writes it, where it was absent: no more of them than the
// message may take.
func TestMaskOfDefaultsKeepsTheBudget(t *testing.T) {
	const n = 50_000
	allowed := rpc.Limits{}.WithDefaults().DecodeBudget(n + 9)
	m, err := thrift.Keep[viewOfPresetList]("items.inner.name")
	if err != nil {
		t.Fatal(err)
	}
	x := openPresets(t, n, nil)
	if took := spent(func() { m.Apply(x) }); took > 16*allowed {
		t.Errorf("%d bytes were allocated, allowed are %d", took, allowed)
	}
	if err := thrifttest.Appends(x); err == nil || !strings.Contains(err.Error(), "takes more memory than its size allows") {
		t.Errorf("sending gives %v", err)
	}
	few := openPresets(t, 100, nil)
	m.Apply(few)
	got := new(presetList)
	if err := thrifttest.Decode(thrifttest.Encode(t, few), got); err != nil || len(got.Items) != 100 || got.Items[99].Inner.Name != strings.Repeat("d", 200) {
		t.Errorf("%v, %.200s", err, thrift.String(got))
	}
}

// A default may be read at the deepest level there is. What cannot be sent there is refused
// once it is to be sent.
func TestDefaultAtTheDeepestLevel(t *testing.T) {
	const depth = 64
	body := []byte(strings.Repeat("\x0c\x00\x02", depth-1) + strings.Repeat("\x00", depth))
	for level, fits := range map[int]bool{depth - 1: true, depth: false} {
		x, err := thrift.OpenLazy[viewOfPresetItem](buf.ViewOf(body), nil)
		if err != nil {
			t.Fatal(err)
		}
		v := x
		for range level - 1 {
			v = v.Next()
		}
		inner := v.Inner()
		if inner.Name() != strings.Repeat("d", 200) {
			t.Errorf("level %d: %q", level, inner.Name())
		}
		if got := thrifttest.Encode(t, x); string(got) != string(body) {
			t.Errorf("level %d: %x", level, got)
		}
		inner.SetName("set")
		if err := thrifttest.Appends(x); (err == nil) != fits || err != nil && !strings.Contains(err.Error(), "nested too deeply") {
			t.Errorf("level %d: sending what was set gives %v", level, err)
		}
	}
}

// A struct that is set takes the place of what was read within it, and of nothing else.
func TestDefaultsWithinWhatIsReplaced(t *testing.T) {
	// Two levels within the first, and one that stays.
	const body = "\x0c\x00\x02" + "\x0c\x00\x02" + "\x00\x00\x00"
	for _, n := range []int{0, 50} { // fewer presets than bytes that are replaced, and more
		list := costly(1, n)
		list = append(list[:len(list)-1], "\x0c\x00\x02"+body+"\x00"...)
		x, err := thrift.OpenLazy[viewOfPresetList](buf.ViewOf(list), nil)
		if err != nil {
			t.Fatal(err)
		}
		one := new(viewOfPresetItem)
		impl.LazyInner(&x.Lazy, &one.Lazy, 1)
		stays := make([]*viewOfPresetInner, n)
		for i := range stays {
			stays[i] = x.Items().At(i).Inner()
		}
		own, inner, last := one.Inner(), one.Next().Inner(), one.Next().Next().Inner()
		impl.LazySet(&one.Lazy, 1, &presetItem{})
		inner.SetName("lost")
		last.SetName("lost")
		own.SetName("set")
		for _, v := range stays {
			v.SetName("set")
		}
		got := new(presetList)
		if err := thrifttest.Decode(thrifttest.Encode(t, x), got); err != nil || got.One.Inner.Name != "set" || got.One.Next == nil || got.One.Next.Inner != nil && got.One.Next.Inner.Name != strings.Repeat("d", 200) {
			t.Errorf("%v, %s", err, thrift.String(got))
		}
		for i, item := range got.Items {
			if item.Inner.Name != "set" {
				t.Errorf("%d of %d: %s", i, n, thrift.String(item))
			}
		}
	}
}
