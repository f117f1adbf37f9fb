package main

import (
	"fmt"
	"reflect"
	"strings"

	apache "github.com/limosa-rpc/limosa/bench/codec/apache"
	"github.com/limosa-rpc/limosa/bench/codec/pb"
	"github.com/limosa-rpc/limosa/bench/codec/shapes"
	"github.com/limosa-rpc/limosa/thrift"
)

// A shape is one message, as the types of each peer.
type shape struct {
	name string
	load func() // makes the message: only the one at hand lives, since the collector walks through all

	// Set by load, nil before and after drop.
	msg any // as Limosa's type: a pointer to one of codec/shapes
	// What a group of peers does with it.
	limosa   func(plan bool) map[string]codecOp
	apache   func() map[string]codecOp
	protobuf func(vt bool) map[string]codecOp
}

// newShape makes a shape of a message; that of the other peers is copied
// from it, field by field.
func newShape[L, A, P any, AP apacheMessage[A], PP protoMessage[P]](name string, message func() *L) *shape {
	s := &shape{name: name}
	s.load = func() {
		msg := message()
		s.msg = msg
		s.limosa = func(plan bool) map[string]codecOp { return limosaOps(msg, thrift.Binary{Plan: plan}) }
		s.apache = func() map[string]codecOp {
			m := AP(new(A))
			copyFields(reflect.ValueOf(m).Elem(), reflect.ValueOf(msg).Elem())
			return apacheOps[A](m)
		}
		s.protobuf = func(vt bool) map[string]codecOp {
			m := PP(new(P))
			copyFields(reflect.ValueOf(m).Elem(), reflect.ValueOf(msg).Elem())
			return protoOps[P](m, vt)
		}
	}
	return s
}

// drop gives the messages back: those of other shapes are not to be collected while one is measured.
func (s *shape) drop() { s.msg, s.limosa, s.apache, s.protobuf = nil, nil, nil, nil }

// copyFields fills a struct, a slice, a map or a scalar from one of another
// package whose fields have the same names.
func copyFields(to, from reflect.Value) {
	switch from.Kind() {
	case reflect.Pointer:
		if !from.IsNil() {
			to.Set(reflect.New(to.Type().Elem()))
			copyFields(to.Elem(), from.Elem())
		}
	case reflect.Struct:
		for i := range from.NumField() {
			name := from.Type().Field(i).Name
			// The generators disagree about one name only: ID.
			f := to.FieldByNameFunc(func(s string) bool { return strings.EqualFold(s, name) })
			if !f.IsValid() {
				panic(fmt.Sprintf("%s has no field %s", to.Type(), name))
			}
			copyFields(f, from.Field(i))
		}
	case reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), from.Len(), from.Len()))
		for i := range from.Len() {
			copyFields(to.Index(i), from.Index(i))
		}
	case reflect.Map:
		to.Set(reflect.MakeMap(to.Type()))
		for it := from.MapRange(); it.Next(); {
			to.SetMapIndex(it.Key(), it.Value())
		}
	default:
		to.Set(from.Convert(to.Type()))
	}
}

// codecShapes gives all shapes, always the same; none is loaded.
func codecShapes() []*shape {
	return []*shape{
		newShape[shapes.Echo, apache.Echo, pb.Echo]("echo", func() *shapes.Echo {
			return &shapes.Echo{ID: 7, Text: strings.Repeat("x", 1024), List: []int64{1, 1 << 20, 3, 1 << 40, 5}}
		}),
		newShape[shapes.Small, apache.Small, pb.Small]("small", func() *shapes.Small { return smallMessage(1) }),
		newShape[shapes.Medium, apache.Medium, pb.Medium]("medium", func() *shapes.Medium { return mediumMessage(0) }),
		newShape[shapes.Wide, apache.Wide, pb.Wide]("wide", wideMessage),
		newShape[shapes.Large, apache.Large, pb.Large]("large", largeMessage),
		newShape[shapes.Numbers, apache.Numbers, pb.Numbers]("numbers", func() *shapes.Numbers {
			return &shapes.Numbers{ID: 1, Item: itemMessage(1), Numbers: numberList(131_072)}
		}),
		newShape[shapes.Text, apache.Text, pb.Text]("text", func() *shapes.Text { return &shapes.Text{Text: strings.Repeat("0123456789abcdef", 1<<16)} }),
		newShape[shapes.Maps, apache.Maps, pb.Maps]("maps", func() *shapes.Maps { return &shapes.Maps{Pairs: pairList(500, "the value of key")} }),
	}
}

// numberList has numbers of all sizes, most of them large.
func numberList(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(uint64(i) * 0x9e3779b97f4a7c15 >> (i % 48))
	}
	return list
}

// pairList is a map of n entries with one value.
func pairList(n int, value string) map[string]string {
	m := make(map[string]string, n)
	for i := range n {
		m[fmt.Sprintf("key-number-%d", i)] = fmt.Sprintf("%s %d", value, i)
	}
	return m
}

// words are n strings of different lengths.
func words(n int) []string {
	list := make([]string, n)
	for i := range list {
		list[i] = fmt.Sprintf("word-%d", i*i)
	}
	return list
}

// smallMessage takes about 200 bytes.
func smallMessage(i int) *shapes.Small {
	return &shapes.Small{
		ID: 1<<50 + int64(i), Kind: 3, Sku: "sku-123456", Name: "a thing with a name of 30 bytes", Price: 9.99, Count: 12,
		Live: true, Owner: "somebody", Made: 1 << 60, Note: "and a note of about forty bytes, no more",
	}
}

// itemMessage is the i-th item; items differ so that no branch is learned by heart.
func itemMessage(i int) *shapes.Item {
	return &shapes.Item{
		ID: int64(i), Sku: fmt.Sprintf("sku-%08d", i), Name: strings.Repeat("n", 24), Price: 1.5, Count: 3, Live: true,
		Made: 1 << 40, Note: strings.Repeat("note ", 6),
	}
}

// itemList is n items from the one with number from.
func itemList(from, n int) []*shapes.Item {
	list := make([]*shapes.Item, n)
	for i := range list {
		list[i] = itemMessage(from + i)
	}
	return list
}

// mediumMessage takes about 20 KB.
func mediumMessage(i int) *shapes.Medium {
	counts := make([]int32, 100)
	for i := range counts {
		counts[i] = int32(i * i)
	}
	blob := make([]byte, 4096)
	for i := range blob {
		blob[i] = byte(i * 7)
	}
	return &shapes.Medium{
		ID: int64(i), Head: smallMessage(i), Items: itemList(i, 90), Tags: pairList(50, "value"), Words: words(50),
		Counts: counts, Blob: blob,
	}
}

// largeMessage takes about 6 MB.
func largeMessage() *shapes.Large {
	m := &shapes.Large{ID: 1, Parts: make([]*shapes.Medium, 300)}
	for i := range m.Parts {
		m.Parts[i] = mediumMessage(i)
	}
	return m
}

// wideMessage takes about 20 KB in 50 fields: strings of 400 bytes, and some
// of everything else.
func wideMessage() *shapes.Wide {
	m := new(shapes.Wide)
	v := reflect.ValueOf(m).Elem()
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.String:
			f.SetString(strings.Repeat(fmt.Sprintf("field %d. ", i), 45)[:400])
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(1.5 * float64(i))
		case reflect.Int32, reflect.Int64:
			f.SetInt(int64(i) * 1000)
		}
	}
	m.L21, m.L22, m.L38 = itemList(1, 20), itemList(2, 10), itemList(3, 10)
	m.L23, m.L24, m.M25, m.M40 = numberList(100), words(20), pairList(20, "value"), pairList(30, "value")
	m.T36, m.T37, m.B39 = itemMessage(4), smallMessage(5), []byte(strings.Repeat("binary", 100))
	return m
}
