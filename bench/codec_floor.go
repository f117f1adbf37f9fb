package main

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/bench/codec/shapes"
)

// floorOps is what decoding costs without any decoding: the bytes are brought
// into a block, and a message with the same structs, lists, maps and strings is
// made from the one that is there already, with as few allocations as can be. No decoder
// whose messages outlive the block is below it by more than the noise.
func floorOps(s *shape) map[string]codecOp {
	switch m := s.msg.(type) {
	case *shapes.Echo:
		return floorOp(m, func() *shapes.Echo {
			return &shapes.Echo{ID: m.ID, Text: strings.Clone(m.Text), List: slices.Clone(m.List)}
		})
	case *shapes.Small:
		t := newTexts(m.Sku, m.Name, m.Owner, m.Note)
		return floorOp(m, func() *shapes.Small { return floorSmall(m, t.again()) })
	case *shapes.Medium:
		f := newFloorMedium(m)
		return floorOp(m, f.copy)
	case *shapes.Large:
		var parts []*floorMedium
		for _, p := range m.Parts {
			parts = append(parts, newFloorMedium(p))
		}
		return floorOp(m, func() *shapes.Large {
			x := &shapes.Large{ID: m.ID, Parts: make([]*shapes.Medium, len(parts))}
			for i, p := range parts {
				x.Parts[i] = p.copy()
			}
			return x
		})
	case *shapes.Numbers:
		t := newTexts(m.Item.Sku, m.Item.Name, m.Item.Note)
		return floorOp(m, func() *shapes.Numbers {
			x := &shapes.Numbers{ID: m.ID, Item: new(shapes.Item)}
			floorItem(x.Item, m.Item, t.again())
			x.Numbers = slices.Clone(m.Numbers)
			return x
		})
	case *shapes.Maps:
		f := newFloorMap(m.Pairs)
		return floorOp(m, func() *shapes.Maps { return &shapes.Maps{Pairs: f.copy()} })
	}
	return nil
}

func floorOp[T any](msg *T, build func() *T) map[string]codecOp {
	wire, err := wireOf(msg)
	if err != nil {
		return failing(err)
	}
	var in receiver
	var got *T
	return map[string]codecOp{"decode": {len(wire), func(n int) error {
		for range n {
			v := in.receive(wire)
			got = build()
			v.Release()
		}
		return nil
	}, func() error { return same(nil, reflect.DeepEqual(got, msg)) }}}
}

// texts are the strings of a message in one piece, so that copying them is one
// allocation for each 2 KB.
type texts struct {
	all  string
	ends []int

	left string // of the piece at hand
	next int
}

// newTexts has room for the strings of one message, so that all of them are one allocation.
func newTexts(list ...string) *texts {
	t := &texts{all: strings.Join(list, "")}
	n := 0
	for _, s := range list {
		n += len(s)
		t.ends = append(t.ends, n)
	}
	return t
}

// again begins to hand the strings out anew.
func (t *texts) again() *texts {
	t.left, t.next = "", 0
	return t
}

// take gives the next n bytes as a string.
func (t *texts) take(n int) string {
	if n > len(t.left) {
		from := t.next
		t.left = strings.Clone(t.all[from:min(from+2<<10, len(t.all))])
	}
	s := t.left[:n]
	t.left, t.next = t.left[n:], t.next+n
	return s
}

// floorSmall builds a message by hand as the best decoder would leave it: the floor under every codec.
func floorSmall(m *shapes.Small, t *texts) *shapes.Small {
	x := new(shapes.Small)
	x.ID, x.Kind, x.Price, x.Count, x.Live, x.Made = m.ID, m.Kind, m.Price, m.Count, m.Live, m.Made
	x.Sku, x.Name, x.Owner, x.Note = t.take(len(m.Sku)), t.take(len(m.Name)), t.take(len(m.Owner)), t.take(len(m.Note))
	return x
}

// floorItem fills x as m is; see floorSmall.
func floorItem(x, m *shapes.Item, t *texts) {
	x.ID, x.Price, x.Count, x.Live, x.Made = m.ID, m.Price, m.Count, m.Live, m.Made
	x.Sku, x.Name, x.Note = t.take(len(m.Sku)), t.take(len(m.Name)), t.take(len(m.Note))
}

// A floorMap is a map's entries in a list: going through a map costs more than
// reading bytes.
type floorMap struct {
	lens  [][2]int
	texts *texts
}

// newFloorMap notes keys and values of m as lengths in one text, as they come over the wire.
func newFloorMap(m map[string]string) *floorMap {
	f, all := new(floorMap), []string(nil)
	for _, k := range slices.Collect(maps.Keys(m)) {
		f.lens = append(f.lens, [2]int{len(k), len(m[k])})
		all = append(all, k, m[k])
	}
	f.texts = newTexts(all...)
	return f
}

// copy builds the map.
func (f *floorMap) copy() map[string]string {
	m, t := make(map[string]string, len(f.lens)), f.texts.again()
	for _, n := range f.lens {
		k := t.take(n[0])
		m[k] = t.take(n[1])
	}
	return m
}

// A floorMedium builds a medium message by hand, as floorSmall does a small one.
type floorMedium struct {
	m           *shapes.Medium
	head, words *texts
	items       *texts
	tags        *floorMap
}

// newFloorMedium takes m apart.
func newFloorMedium(m *shapes.Medium) *floorMedium {
	f := &floorMedium{m: m, tags: newFloorMap(m.Tags), words: newTexts(m.Words...)}
	f.head = newTexts(m.Head.Sku, m.Head.Name, m.Head.Owner, m.Head.Note)
	var all []string
	for _, i := range m.Items {
		all = append(all, i.Sku, i.Name, i.Note)
	}
	f.items = newTexts(all...)
	return f
}

// copy builds the message.
func (f *floorMedium) copy() *shapes.Medium {
	m := f.m
	x := &shapes.Medium{ID: m.ID, Head: floorSmall(m.Head, f.head.again()), Items: make([]*shapes.Item, len(m.Items))}
	slab, t := make([]shapes.Item, len(m.Items)), f.items.again()
	for i := range x.Items {
		x.Items[i] = &slab[i]
		floorItem(x.Items[i], m.Items[i], t)
	}
	x.Tags, x.Words = f.tags.copy(), make([]string, len(m.Words))
	t = f.words.again()
	for i := range x.Words {
		x.Words[i] = t.take(len(m.Words[i]))
	}
	x.Counts, x.Blob = slices.Clone(m.Counts), slices.Clone(m.Blob)
	return x
}
