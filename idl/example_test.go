package idl_test

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// shop is an interface definition as a server might give it.
const shop = `namespace go shop
enum State { OPEN = 1, PAID = 2 }
typedef i64 Cents
struct Order {
  1: required string id
  2: optional Cents price
  3: list<string> items
  4: State state = State.OPEN
}
service Shop {
  Order find(1: string id)
  stream<Order> watch(1: Order like)
}`

func open(path string) ([]byte, error) {
	if path == "shop.thrift" {
		return []byte(shop), nil
	}
	return nil, fs.ErrNotExist
}

// A schema is read by the reader of its IDL. Whatever that is, it is gone through in
// the same way: here every field with its true type and its presence.
func ExampleSchema() {
	schema, err := thriftidl.Reader{Open: open}.Load("shop.thrift")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range schema.Files {
		for _, s := range f.Structs {
			for _, x := range s.Fields {
				fmt.Printf("%s.%s: %s, %s, truly %s\n", s.Name, x.Name, x.Type, x.Presence, x.Type.True())
			}
		}
	}
	// Output:
	// Order.id: string, required, truly string
	// Order.price: Cents, optional, truly i64
	// Order.items: list<string>, implicit, truly list<string>
	// Order.state: State, implicit, truly State
}

// The methods of a service, with those that stream.
func ExampleService() {
	schema, err := thriftidl.Reader{Open: open}.Load("shop.thrift")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, m := range schema.Files[0].Services[0].Methods {
		var args []string
		for _, a := range m.Args {
			args = append(args, a.Type.String()+" "+a.Name)
		}
		fmt.Printf("%s(%s) gives %s, streamed %t\n", m.Name, strings.Join(args, ", "), m.Result, m.ServerStream)
	}
	// Output:
	// find(string id) gives Order, streamed false
	// watch(Order like) gives Order, streamed true
}

// What is wrong in a file has a place, a line and a caret; all findings of a load come
// together.
func ExampleErrors() {
	_, err := thriftidl.Reader{Open: func(string) ([]byte, error) {
		return []byte("struct Order {\n  1: Sate state\n  2: i32 = 5\n}"), nil
	}}.Load("bad.thrift")
	fmt.Println(err)
	found, _ := errors.AsType[idl.Errors](err)
	fmt.Println(len(found), "finding, in line", found[0].Pos.Line)
	// Output:
	// bad.thrift:3:10: "=" where a field's name is expected
	//       2: i32 = 5
	//              ^
	// 1 finding, in line 3
}
