package tjson_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// Levels has each kind of container as the innermost level.
type Levels struct {
	Next    *Levels                                          `thrift:"next,1,optional"`
	Numbers []int32                                          `thrift:"numbers,2,optional"`
	Strings thrift.Set[string]                               `thrift:"strings,3,optional"`
	Lists   [][]byte                                         `thrift:"lists,4,optional"`
	Map     map[string]int32                                 `thrift:"map,5,optional"`
	Other   map[int8]bool                                    `thrift:"other,6,optional"`
	Pairs   thrift.Pairs[string, int8]                       `thrift:"pairs,7,optional"`
	Either  thrifttest.Either                                `thrift:"either,8,optional"`
	Leaves  []*thrifttest.Leaf                               `thrift:"leaves,9,optional"`
	Grid    [][]int64                                        `thrift:"grid,10,optional"`
	Inner   map[string]*thrifttest.Leaf                      `thrift:"inner,11,optional"`
	Couples thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf] `thrift:"couples,12,optional"`
}

// otherCodecs are those beside Binary, whose tests are older.
var otherCodecs = map[string]rpc.Codec{"compact": thrift.Compact{}, "json": thrift.JSON{}}

func deeper(c rpc.Codec) rpc.Codec {
	if _, ok := c.(thrift.JSON); ok {
		return thrift.JSON{MaxDepth: 70}
	}
	return thrift.Compact{MaxDepth: 70}
}

func TestLevelsOfOtherCodecs(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for name, tt := range map[string]struct {
		inner  Levels
		levels int
	}{
		"numbers": {Levels{Numbers: []int32{1}}, 1}, "strings": {Levels{Strings: thrift.Set[string]{"a"}}, 1}, "lists": {Levels{Lists: [][]byte{{1}}}, 1},
		"map": {Levels{Map: map[string]int32{"a": 1}}, 1}, "other": {Levels{Other: map[int8]bool{1: true}}, 1}, "empty": {Levels{Map: map[string]int32{}}, 1},
		"pairs": {Levels{Pairs: thrift.Pairs[string, int8]{{Key: "a"}}}, 1}, "either": {Levels{Either: &thrifttest.EitherNumber{Number: 1}}, 1},
		"leaves": {Levels{Leaves: []*thrifttest.Leaf{{}}}, 2}, "grid": {Levels{Grid: [][]int64{{1}}}, 2}, "inner": {Levels{Inner: map[string]*thrifttest.Leaf{"a": {}}}, 2},
		"couples": {Levels{Couples: thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf]{{Key: &thrifttest.Leaf{}, Value: &thrifttest.Leaf{}}}}, 2},
	} {
		for codec, c := range otherCodecs {
			for _, over := range []int{0, 1} {
				msg := tt.inner
				for range 64 - tt.levels - 1 + over {
					msg = Levels{Next: new(msg)}
				}
				if _, err := thrifttest.AppendWith(c, &msg); (err == nil) != (over == 0) {
					t.Errorf("%s, %s, %d over: encode: %v", codec, name, over, err)
				}
				body, err := thrifttest.AppendWith(deeper(c), &msg)
				if err != nil {
					t.Fatal(err)
				}
				if err := c.Decode(buf.ViewOf(body), new(Levels), lim); (err == nil) != (over == 0) {
					t.Errorf("%s, %s, %d over: decode: %v", codec, name, over, err)
				}
				if codec == "json" {
					continue // levels of what JSON skips are its own
				}
				if _, err := (raw.Compact{}).SkipStruct(body, 64); (err == nil) != (over == 0) {
					t.Errorf("%s, %d over: skip: %v", name, over, err)
				}
				s := raw.Skipper{Compact: true}
				if done, _, err := s.Feed(body); done != (over == 0) || (err == nil) != (over == 0) {
					t.Errorf("%s, %d over: skipper: %v, %v", name, over, done, err)
				}
			}
		}
	}
}

func TestPrefixesOfOtherCodecs(t *testing.T) {
	msg := new(thrifttest.Everything)
	(&thrifttest.Filler{Rand: rand.New(rand.NewPCG(5, 0)), Depth: 2}).Fill(reflect.ValueOf(msg).Elem(), true, false)
	for codec, c := range otherCodecs {
		body, err := thrifttest.AppendWith(c, msg)
		if err != nil {
			t.Fatal(err)
		}
		for i := range min(len(body), 6000) {
			for _, into := range []any{new(thrifttest.Everything), new(struct{}), new(thrifttest.Tree)} {
				var syntax *thrift.SyntaxError
				err := c.Decode(buf.ViewOf(body[:i:i]), into, nil)
				if !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument || syntax.Offset > i {
					t.Fatalf("%s: prefix of %d of %d into %T: %v", codec, i, len(body), into, err)
				}
			}
		}
	}
}

// Choice is a union with variants that are scalars, which Compact has in headers.
type Choice interface {
	isUnion(*ChoiceFlag, *ChoiceMaybe, *ChoiceByte, *ChoiceList)
}

type ChoiceFlag struct {
	Flag bool `thrift:"flag,1"`
}

type ChoiceMaybe struct {
	Maybe *int16 `thrift:"maybe,2,optional"`
}

type ChoiceByte struct {
	Byte *bool `thrift:"byte,3"`
}

type ChoiceList struct {
	List []int32 `thrift:"list,4"`
}

func (*ChoiceFlag) isUnion(*ChoiceFlag, *ChoiceMaybe, *ChoiceByte, *ChoiceList)  {}
func (*ChoiceMaybe) isUnion(*ChoiceFlag, *ChoiceMaybe, *ChoiceByte, *ChoiceList) {}
func (*ChoiceByte) isUnion(*ChoiceFlag, *ChoiceMaybe, *ChoiceByte, *ChoiceList)  {}
func (*ChoiceList) isUnion(*ChoiceFlag, *ChoiceMaybe, *ChoiceByte, *ChoiceList)  {}

type Choices struct {
	All  []Choice          `thrift:"all,1"`
	One  Choice            `thrift:"one,2,optional"`
	Must Choice            `thrift:"must,3,required"`
	Map  map[string]Choice `thrift:"map,4"`
}

func TestUnionsOfOtherCodecs(t *testing.T) {
	want := &Choices{
		All:  []Choice{&ChoiceFlag{true}, &ChoiceFlag{}, &ChoiceMaybe{new(int16(-3))}, &ChoiceByte{new(true)}, &ChoiceList{[]int32{}}, &ChoiceList{[]int32{5}}},
		Must: &ChoiceByte{new(false)}, Map: map[string]Choice{"a": &ChoiceFlag{true}},
	}
	for codec, c := range otherCodecs {
		body, err := thrifttest.AppendWith(c, want)
		if err != nil {
			t.Fatal(err)
		}
		got := new(Choices)
		if err := c.Decode(buf.ViewOf(body), got, nil); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v", codec, got, err)
		}
		for i := range body {
			if err := c.Decode(buf.ViewOf(body[:i:i]), new(Choices), nil); rpc.CodeOf(err) != rpc.InvalidArgument {
				t.Errorf("%s: prefix of %d: %v", codec, i, err)
			}
		}
		type alien struct{ ChoiceFlag }
		for why, bad := range map[string]*Choices{
			"Choices.Must: is required and nil":  {},
			"Choice: all[0] is nil":              {All: []Choice{nil}, Must: want.Must},
			"ChoiceMaybe.Maybe: is nil":          {Must: &ChoiceMaybe{}},
			"holds a type that is none of its v": {Must: &alien{}},
		} {
			if _, err := thrifttest.AppendWith(c, bad); rpc.CodeOf(err) != rpc.Internal || rpc.SentOf(err) != rpc.NotSent || !strings.Contains(err.Error(), why) {
				t.Errorf("%s: %v; want %q", codec, err, why)
			}
		}
	}
	// The last one that is known counts; what is of another type is none.
	for in, want := range map[string]Choice{
		"3c 11 00 00": &ChoiceFlag{true}, "3c 12 11 00 00": &ChoiceFlag{}, // the second has the id 2
		"3c 11 1402 00 00": &ChoiceMaybe{new(int16(1))}, "3c 15 02 00 00": nil, "3c 00 00": nil,
		"3c 49 15 08 00 00": &ChoiceList{[]int32{4}}, "3c 49 18 0161 00 00": nil, "3c 11 39 18 0161 00 00": &ChoiceFlag{true},
	} {
		var got Choices
		if err := thrifttest.DecodeCompact(thrifttest.Unhex(t, in), &got); err != nil || !reflect.DeepEqual(got.Must, want) {
			t.Errorf("%s: %+v, %v; want %+v", in, got.Must, err, want)
		}
	}
}

// TestNilsOfOtherCodecs has what cannot be written, where it can be.
func TestNilsOfOtherCodecs(t *testing.T) {
	for codec, c := range otherCodecs {
		if _, err := thrifttest.AppendWith(c, new(thrifttest.Bomb)); err != nil {
			t.Errorf("%s: fields may be nil: %v", codec, err)
		}
		for _, bad := range []any{
			&Levels{Leaves: []*thrifttest.Leaf{nil}}, &Levels{Inner: map[string]*thrifttest.Leaf{"a": nil}}, &Levels{Couples: thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf]{{Value: &thrifttest.Leaf{}}}},
			&Levels{Couples: thrift.Pairs[*thrifttest.Leaf, *thrifttest.Leaf]{{Key: &thrifttest.Leaf{}}}}, &struct {
				A map[bool]*thrifttest.Leaf `thrift:"a,1"`
			}{map[bool]*thrifttest.Leaf{true: nil}}, &struct {
				A []thrift.Set[*thrifttest.Leaf] `thrift:"a,1"`
			}{[]thrift.Set[*thrifttest.Leaf]{{nil}}},
		} {
			if _, err := thrifttest.AppendWith(c, bad); err == nil || !strings.Contains(err.Error(), "is nil") {
				t.Errorf("%s, %+v: %v", codec, bad, err)
			}
		}
		var typ *thrift.TypeError
		if err := c.Append(new(buf.Out), thrifttest.Leaf{}); !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%s: no pointer: %v", codec, err)
		}
		if err := c.Decode(buf.ViewOf([]byte{0}), (*thrifttest.Leaf)(nil), nil); !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%s: nil: %v", codec, err)
		}
		got := new(thrifttest.Defaults)
		empty, err := thrifttest.AppendWith(c, new(struct{}))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Decode(buf.ViewOf(empty), got, nil); err != nil || got.Port != 80 || *got.Host != "localhost" {
			t.Errorf("%s: defaults: %+v, %v", codec, got, err)
		}
	}
}

// TestBudgetsOfOtherCodecs: each kind of allocation is charged.
func TestBudgetsOfOtherCodecs(t *testing.T) {
	tight := rpc.Limits{DecodeFactor: 1}.WithDefaults()
	type M struct {
		Flag   *bool                    `thrift:"flag,1,optional"`
		Number *int64                   `thrift:"number,2,optional"`
		Wide   *thrifttest.Wide         `thrift:"wide,3,optional"`
		Bytes  []byte                   `thrift:"bytes,4,optional"`
		Either thrifttest.Either        `thrift:"either,5,optional"`
		List   []string                 `thrift:"list,6,optional"`
		Wides  []*thrifttest.Wide       `thrift:"wides,7,optional"`
		Map    map[int8]int8            `thrift:"map,8,optional"`
		Pairs  thrift.Pairs[int8, int8] `thrift:"pairs,9,optional"`
		Grid   [][]int64                `thrift:"grid,10,optional"`
	}
	for name, field := range map[string]struct{ compact, json string }{
		"flag":   {"0102", `"1":{"tf":1}`},
		"number": {"060402", `"2":{"i64":1}`},
		"wide":   {"0c0600", `"3":{"rec":{}}`},
		"bytes":  {"08080101", `"4":{"str":"AQ"}`},
		"either": {"0c0a160200", `"5":{"rec":{"1":{"i64":1}}}`},
		"list":   {"090c3801610162 0163", `"6":{"lst":["str",3,"a","b","c"]}`},
		"wides":  {"090e2c0000", `"7":{"lst":["rec",2,{},{}]}`},
		"map":    {"0b1001330000", `"8":{"map":["i8","i8",1,{"1":1}]}`},
		"pairs":  {"0b1201330000", `"9":{"map":["i8","i8",1,{"1":1}]}`},
		"grid":   {"0914 29 16 02 16 02", `"10":{"lst":["lst",2,["i64",1,1],["i64",1,1]]}`},
	} {
		body := append(bytes.Repeat(thrifttest.Unhex(t, field.compact), 20_000), 0)
		for limit, why := range map[*rpc.Limits]string{tight: "more memory", rpc.Limits{DecodeFactor: 100}.WithDefaults(): ""} {
			err := thrift.Compact{}.Decode(buf.ViewOf(body), new(M), limit)
			if (err == nil) != (why == "") || err != nil && !strings.Contains(err.Error(), why) {
				t.Errorf("compact, %s: %v; want %q", name, err, why)
			}
		}
		text := "{" + strings.Repeat(field.json+",", 20_000) + field.json + "}"
		if err := fromJSON(text, new(M)); err != nil {
			t.Errorf("json, %s: %v", name, err)
		}
		switch name {
		case "bytes", "either", "map", "pairs":
			continue // the text is longer than what it takes
		}
		if err := (thrift.JSON{}).Decode(buf.ViewOf([]byte(text)), new(M), tight); err == nil || !strings.Contains(err.Error(), "more memory") {
			t.Errorf("json, %s: %v", name, err)
		}
	}
}
