package plan_test

import (
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

// A Dozen has more variants than are gone through one by one.
type Dozen interface {
	isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))
}

type (
	D1 struct {
		N int64 `thrift:"n,1"`
	}
	D2 struct {
		N int64 `thrift:"n,2"`
	}
	D3 struct {
		N int64 `thrift:"n,3"`
	}
	D4 struct {
		N int64 `thrift:"n,4"`
	}
	D5 struct {
		N int64 `thrift:"n,5"`
	}
	D6 struct {
		N int64 `thrift:"n,6"`
	}
	D7 struct {
		N int64 `thrift:"n,7"`
	}
	D8 struct {
		N int64 `thrift:"n,8"`
	}
	D9 struct {
		N int64 `thrift:"n,9"`
	}
	D10 struct {
		N int64 `thrift:"n,10"`
	}
	D11 struct {
		N int64 `thrift:"n,11"`
	}
	D12 struct {
		N int64 `thrift:"n,12"`
	}
)

func (*D1) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D2) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D3) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D4) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D5) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D6) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D7) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D8) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D9) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12))  {}
func (*D10) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12)) {}
func (*D11) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12)) {}
func (*D12) isUnion(func(*D1, *D2, *D3, *D4, *D5, *D6, *D7, *D8, *D9, *D10, *D11, *D12)) {}

// TestLargeUnions: variants that are found by a map are found as others are.
func TestLargeUnions(t *testing.T) {
	type holder struct {
		List []Dozen `thrift:"list,1"`
		One  Dozen   `thrift:"one,2,required"`
	}
	type more interface{ Dozen }
	all := []Dozen{&D1{1}, &D2{2}, &D3{3}, &D4{4}, &D5{5}, &D6{6}, &D7{7}, &D8{8}, &D9{9}, &D10{10}, &D11{11}, &D12{12}}
	for _, d := range all {
		want := &holder{List: append(all[:len(all):len(all)], d), One: d}
		got := new(holder)
		if err := thrifttest.Decode(thrifttest.Encode(t, want), got); err != nil || !reflect.DeepEqual(got, want) || !thrift.Equal(got, want) {
			t.Fatalf("%+v, %v; want %+v", got, err, want)
		}
		if err := thrift.Validate(want); err != nil {
			t.Error(err)
		}
		if c := thrift.Clone(want); !reflect.DeepEqual(c, want) {
			t.Errorf("the clone is %+v", c)
		}
	}
	got := new(holder)
	if err := thrifttest.Decode(thrifttest.Unhex(t, "0c0002 0a0063 0000000000000001 0a0003 0000000000000005 0b0004 00000000 00 00"), got); err != nil || !reflect.DeepEqual(got.One, &D3{5}) {
		t.Errorf("%+v, %v: of another id and another type", got.One, err)
	}
	if err := thrift.Validate(&holder{One: struct{ more }{}}); err == nil {
		t.Error("what is no variant is right")
	}
}
