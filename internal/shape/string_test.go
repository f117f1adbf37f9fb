package shape_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

type paint int32

func (p paint) String() string {
	if p == 1 {
		return "RED"
	}
	panic("no such paint")
}

type shown struct {
	Paint  paint                                `thrift:"paint,1"`
	Blob   []byte                               `thrift:"blob,2,optional"`
	Either thrifttest.Either                    `thrift:"either,3"`
	Tags   map[string]int8                      `thrift:"tags,4,optional"`
	Pairs  thrift.Pairs[*thrifttest.Leaf, bool] `thrift:"pairs,5,optional"`
	Opt    *string                              `thrift:"opt,6,optional"`
	Text   string                               `thrift:"text,7"`
	Rate   float64                              `thrift:"rate,8"`
	List   []*thrifttest.Leaf                   `thrift:"list,9,optional"`
	Small  int8                                 `thrift:"small,10"`
	Short  int16                                `thrift:"short,11"`
	Long   *int64                               `thrift:"long,12,optional"`
	Big    map[int32]map[int32]string           `thrift:"big,13,optional"`
	Rest   thrift.Unknown
}

func TestString(t *testing.T) {
	const zeros = ` text:"" rate:0 small:0 short:0}`
	hundred := map[int32]map[int32]string{}
	for i := range int32(100) {
		hundred[i] = nil
	}
	for _, c := range []struct {
		m    any
		want string
	}{
		{nil, "nil"},
		{(*thrifttest.Leaf)(nil), "nil"},
		{5, "int"},
		{new(5), "*int"},
		{thrifttest.Leaf{}, "thrifttest.Leaf"},
		{&struct {
			X chan int `thrift:"x,1"`
		}{}, "*struct { X chan int \"thrift:\\\"x,1\\\"\" }"},
		{&thrifttest.Leaf{ID: -1, Name: "a\"b\n"}, `Leaf{id:-1 name:"a\"b\n"}`},
		{&struct {
			A bool `thrift:"a,1"`
		}{true}, `{a:true}`},
		{&shown{Paint: 1, Text: "x", Rate: 0.5, Small: -1, Short: 300}, `shown{paint:RED text:"x" rate:0.5 small:-1 short:300}`},
		{&shown{Paint: 2}, `shown{paint:2` + zeros},
		{&shown{Blob: []byte{}, Either: &thrifttest.EitherText{Text: "t"}}, `shown{paint:0 blob:0 bytes either:{text:"t"}` + zeros},
		{&shown{Blob: []byte{1, 0xab}, Either: &alien{}}, `shown{paint:0 blob:2 bytes 01ab either:nil` + zeros},
		{&shown{Blob: make([]byte, 17)}, `shown{paint:0 blob:17 bytes 00000000000000000000000000000000…` + zeros},
		{&shown{Tags: map[string]int8{"b": 2, "a": 1}, Pairs: thrift.Pairs[*thrifttest.Leaf, bool]{{Key: nil, Value: true}}}, `shown{paint:0 tags:{"a":1 "b":2} pairs:[nil:true]` + zeros},
		{&shown{Big: map[int32]map[int32]string{1: {2: "x"}}, Long: new(int64(7))}, `shown{paint:0 text:"" rate:0 small:0 short:0 long:7 big:{1:{2:"x"}}}`},
		{&shown{Big: hundred, Rest: thrift.Unknown{2, 0, 9, 1}}, `shown{paint:0 text:"" rate:0 small:0 short:0 big:{100 entries} unknown:4 bytes 02000901}`},
		{&shown{List: []*thrifttest.Leaf{{ID: 1}, nil}, Opt: new("o")}, `shown{paint:0 opt:"o" text:"" rate:0 list:[{id:1 name:""} nil] small:0 short:0}`},
		{&thrifttest.Leaf{Name: strings.Repeat("é", 100)}, `Leaf{id:0 name:"` + strings.Repeat("é", 64) + `"…}`},
		{&thrifttest.Leaf{Name: "x" + strings.Repeat("é", 100)}, `Leaf{id:0 name:"x` + strings.Repeat("é", 63) + `"…}`},
		{&thrifttest.Leaf{Name: strings.Repeat("\xff", 129)}, `Leaf{id:0 name:"` + strings.Repeat(`\xff`, 128) + `"…}`},
		{&thrifttest.Tree{Next: &thrifttest.Tree{Next: &thrifttest.Tree{Next: &thrifttest.Tree{Next: &thrifttest.Tree{Next: &thrifttest.Tree{Next: &thrifttest.Tree{Next: &thrifttest.Tree{Next: &thrifttest.Tree{}}}}}}}}},
			"Tree" + strings.Repeat("{value:0 next:", 8) + "{…}" + strings.Repeat("}", 8)},
	} {
		if got := thrift.String(c.m); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}

// Whatever there is: at most 1,024 bytes, each time the same.
func TestStringIsBounded(t *testing.T) {
	wide := &thrifttest.Tree{}
	for range 1 << 16 {
		wide.Children = append(wide.Children, &thrifttest.Tree{})
	}
	maps := map[string]*thrifttest.Tree{}
	for range 12 {
		next := map[string]*thrifttest.Tree{}
		for i := range 64 {
			next[fmt.Sprint(i)] = &thrifttest.Tree{Named: maps}
		}
		maps = next
	}
	list := []any{wide, thrifttest.Ring(1, "x"), thrifttest.Ring(5, "x"), &thrifttest.Tree{Named: maps}, &thrifttest.Leaf{Name: strings.Repeat("\u00e9", 1<<16)}}
	for seed := range uint64(100) {
		_, m := thrifttest.Random(seed, 24)
		list = append(list, m)
	}
	cut := 0
	for i, m := range list {
		s := thrift.String(m)
		if len(s) > 1024 || !utf8.ValidString(s) || strings.Contains(s, "\n") {
			t.Errorf("%d: %d bytes: %s", i, len(s), s)
		}
		if i != 3 && s != thrift.String(m) { // that one is too large for an order
			t.Errorf("%d is not the same again:\n%s\n%s", i, s, thrift.String(m))
		}
		if strings.HasSuffix(s, "…") {
			cut++
			if len(s) < 1000 {
				t.Errorf("%d was cut after %d bytes", i, len(s))
			}
		}
	}
	if cut < 20 {
		t.Errorf("only %d were cut", cut)
	}
}
