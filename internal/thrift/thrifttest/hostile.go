package thrifttest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// A Bomb takes more memory than bytes on the wire in every way that there is.
type Bomb struct {
	Wides   []*Wide                    `thrift:"wides,1"`
	Strings []string                   `thrift:"strings,2"`
	Nested  [][][]int64                `thrift:"nested,3"`
	Map     map[string]*Wide           `thrift:"map,4"`
	Any     map[int8]Either            `thrift:"any,5"`
	Pairs   thrift.Pairs[*Wide, Wides] `thrift:"pairs,6"`
	Eithers []Either                   `thrift:"eithers,7"`
	Text    string                     `thrift:"text,8"`
	Bytes   []byte                     `thrift:"bytes,9"`
	Numbers []int64                    `thrift:"numbers,10"`
	Wide    *Wide                      `thrift:"wide,11"`
}

// A Wide has 80 bytes in Go and one on the wire.
type Wide struct { // 80 bytes in Go, 1 on the wire
	A, B, C, D, E string
	F             int64 `thrift:"f,1"`
}

// Wides are many of them.
type Wides = []*Wide

// Shapes are the messages of the benchmarks.
func Shapes() map[string]any {
	items := make([]*Item, 100)
	for i := range items {
		items[i] = &Item{ID: int64(i), Sku: fmt.Sprintf("sku-%08d", i), Name: strings.Repeat("n", 24), Price: 1.5, Count: 3, Live: true, Made: 1 << 40, Note: strings.Repeat("note ", 6)}
	}
	tags, maps := map[string]string{}, map[string]string{}
	for i := range 500 {
		maps[fmt.Sprintf("key-number-%d", i)] = fmt.Sprintf("the value of key %d", i)
		if i < 50 {
			tags[fmt.Sprintf("tag%d", i)] = strings.Repeat("t", 20)
		}
	}
	return map[string]any{
		"echo": &Echo{ID: 7, Text: strings.Repeat("x", 1024), Numbers: []int64{1, 2, 3, 4, 5}},
		"small": &Small{ID: 1 << 50, Kind: 3, Sku: "sku-123456", Name: "a thing with a name of 30 bytes", Price: 9.99,
			Count: 12, Live: true, Owner: "somebody", Made: 1 << 60, Note: "and a note of about forty bytes, no more"},
		"medium":  &Medium{ID: 5, Items: items, Tags: tags, Blob: make([]byte, 4096)},
		"numbers": &Numbers{Numbers: make([]int64, 131072)},
		"maps": &struct {
			M map[string]string `thrift:"m,1"`
		}{maps},
	}
}

// Must stops a benchmark at an error.
func Must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

// Appends tells whether msg can be encoded: the error, or nil.
func Appends(m any) error {
	var out buf.Out
	defer out.Reset()
	return thrift.Binary{}.Append(&out, m)
}

// Shared finds memory that two values have in common and that can be written to.
//
// It has a case for each kind of Go type that can share memory.
func Shared(a, b reflect.Value) string {
	switch a.Kind() {
	case reflect.Pointer:
		if a.IsNil() || b.IsNil() {
			return ""
		}
		if a.Pointer() == b.Pointer() {
			return a.Type().String()
		}
		return Shared(a.Elem(), b.Elem())
	case reflect.Interface:
		if a.IsNil() || b.IsNil() {
			return ""
		}
		return Shared(a.Elem(), b.Elem())
	case reflect.Struct:
		for i := range a.NumField() {
			if s := Shared(a.Field(i), b.Field(i)); s != "" {
				return a.Type().Field(i).Name + " " + s
			}
		}
	case reflect.Slice:
		if a.Cap() > 0 && b.Cap() > 0 && a.Pointer() == b.Pointer() {
			return a.Type().String()
		}
		for i := range min(a.Len(), b.Len()) {
			if s := Shared(a.Index(i), b.Index(i)); s != "" {
				return s
			}
		}
	case reflect.Map:
		if !a.IsNil() && a.Pointer() == b.Pointer() {
			return a.Type().String()
		}
		for it := a.MapRange(); it.Next(); {
			if v := b.MapIndex(it.Key()); v.IsValid() {
				if s := Shared(it.Value(), v); s != "" {
					return s
				}
			}
		}
	}
	return ""
}

// Written is msg in one of the two protocols.
func Written(t testing.TB, c rpc.Codec, msg any) []byte {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	if err := c.Append(&out, msg); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Tamed gives a copy of a whole message in which each bool is 0 or 1, the plain way.
func Tamed(body []byte) []byte {
	body = bytes.Clone(body)
	var value func(o int, t raw.Type) int
	elems := func(o, n int, types ...raw.Type) int {
		for range n {
			for _, t := range types {
				o = value(o, t)
			}
		}
		return o
	}
	value = func(o int, t raw.Type) int {
		count := func(at int) int { return int(binary.BigEndian.Uint32(body[at:])) }
		switch t {
		case raw.TypeBool:
			if body[o] > 1 {
				body[o] = 0
			}
			return o + 1
		case raw.TypeStruct:
			for body[o] != 0 {
				o = value(o+3, raw.Type(body[o]))
			}
			return o + 1
		case raw.TypeList, raw.TypeSet:
			return elems(o+5, count(o+1), raw.Type(body[o]))
		case raw.TypeMap:
			return elems(o+6, count(o+2), raw.Type(body[o]), raw.Type(body[o+1]))
		}
		n, err := raw.Skip(body[o:], t, 64)
		if err != nil {
			panic(err)
		}
		return o + n
	}
	value(0, raw.TypeStruct)
	return body
}
