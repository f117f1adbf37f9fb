package thrift_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

type order struct {
	Book int64 `thrift:"book,1"`
}

type soldOut struct {
	Left int32 `thrift:"left,1"`
}

// TestArgsOfAMethod: arguments come by the names of the IDL, in its order, and what is
// no field of the wire does not come.
func TestArgsOfAMethod(t *testing.T) {
	o := &order{7}
	for name, tt := range map[string]struct {
		msg  any
		want string
	}{
		"none": {&struct{}{}, ""},
		"several": {&struct {
			ID    int64    `thrift:"the_id,1"`
			Order *order   `thrift:"order,2"`
			Tags  []string `thrift:"tags,3,optional"`
			Local int
			own   int `thrift:"own,4"` //nolint:govet // unexported: not on the wire
		}{1, o, []string{"a"}, 2, 3}, "the_id=int64 1;order=*thrift_test.order 7;tags=[]string [a];"},
		"not a struct": {new(string), ""},
		"no pointer":   {order{1}, ""},
		"nil":          {(*order)(nil), ""},
		"nothing":      {nil, ""},
	} {
		got := ""
		for arg, v := range (thrift.Binary{}).Args(tt.msg) {
			if v == any(o) {
				got += fmt.Sprintf("%s=%T %d;", arg, v, o.Book)
				continue
			}
			got += fmt.Sprintf("%s=%T %v;", arg, v, v)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
	for range (thrift.Compact{}).Args(&struct {
		A, B int32 `thrift:"a,1"`
	}{}) {
		break // is heeded: a second yield would panic
	}
}

// TestAnswerOfAMethod: a message as it is, a scalar without the pointer that says it is
// there, and nil for an exception, for nothing, and for a method that returns nothing.
func TestAnswerOfAMethod(t *testing.T) {
	type found struct {
		Success *order   `thrift:"success,0,optional"`
		SoldOut *soldOut `thrift:"sold_out,1,optional"`
	}
	type list struct {
		Success []string `thrift:"success,0,optional"`
	}
	type count struct {
		Success *int64 `thrift:"success,0,optional"`
	}
	type odd struct {
		Success *soldOut `thrift:"success,1,optional"` // an exception that is called so
	}
	o := &order{7}
	for i, tt := range []struct{ msg, want any }{
		{&found{Success: o}, o},
		{&found{SoldOut: &soldOut{1}}, nil},
		{&found{}, nil},
		{&list{[]string{"a"}}, []string{"a"}},
		{&list{}, nil},
		{&count{new(int64(7))}, int64(7)},
		{&count{}, nil},
		{&odd{&soldOut{1}}, nil},
		{&struct{}{}, nil},
		{nil, nil},
	} {
		for _, c := range []rpc.Unwrapper{thrift.Binary{}, thrift.Compact{}} {
			if got := c.Answer(tt.msg); !reflect.DeepEqual(got, tt.want) {
				t.Errorf("%T, %d: %v, want %v", c, i, got, tt.want)
			}
		}
	}
}
