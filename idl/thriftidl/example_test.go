package thriftidl_test

import (
	"fmt"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// Files are packed into one text, without comments and with names that do not depend
// on where they lay; the text is read again as one schema. Generated code carries
// such texts, so that tools can ask a program what it speaks.
func ExamplePack() {
	s, err := thriftidl.Reader{Open: func(string) ([]byte, error) {
		return []byte("// what a shop sells\nstruct Item {\n  1: string name\n}\nservice Shop { list<Item> all() }"), nil
	}}.Load("idl/shop.thrift")
	if err != nil {
		fmt.Println(err)
		return
	}
	packed := thriftidl.Pack(s.Files[0], func(f *idl.File) string { return "shop/" + f.Name + ".thrift" })
	fmt.Print(packed)
	back, err := thriftidl.Unpack(packed)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back.Files[0].Services[0].Methods[0].Result)
	// Output:
	// #file shop/shop.thrift
	// struct Item{1:string name}
	// service Shop{list<Item>all()}
	// list<Item>
}
