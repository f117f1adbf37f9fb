package breaking_test

import (
	"fmt"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/breaking"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// Two versions of a file, and what a program that knows the old one stumbles over.
func ExampleCompare() {
	read := func(text string) *idl.Schema {
		s, err := thriftidl.Reader{Open: func(string) ([]byte, error) { return []byte(text), nil }}.Load("shop.thrift")
		if err != nil {
			panic(err)
		}
		return s
	}
	old := read("struct Order { 1: string id, 2: i32 price, 3: string note }")
	now := read("struct Order { 1: string id, 2: i64 price, 4: optional string text }")
	for _, c := range breaking.Compare(old, now) {
		fmt.Printf("%s: %s\n", c.Harms, c)
	}
	// Output:
	// wire: shop.thrift:1:37: field price of struct Order was i32 and is i64 (field-type-changed)
	// source: shop.thrift:1:54: field note (id 3) of struct Order is gone (field-removed)
}
