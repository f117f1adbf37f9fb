package gen_test

import (
	"fmt"
	"strings"

	"github.com/limosa-rpc/limosa/gen"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// A schema becomes two files for each of its files: what is read, and what is run.
func ExampleConfig_Generate() {
	schema, err := thriftidl.Reader{Open: func(string) ([]byte, error) {
		return []byte(`namespace go shop
			/** An order, as it was placed. */
			struct Order { 1: required string id, 2: optional i64 cents = 100 }`), nil
	}}.Load("shop.thrift")
	if err != nil {
		fmt.Println(err)
		return
	}
	files, err := gen.Config{Prefix: "example.com/shop/gen"}.Generate(schema)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Println(f.Path)
	}
	types := files[1].Content
	from, to := strings.Index(types, "// An order"), strings.Index(types, "// NewOrder")
	fmt.Print(types[from:to])
	from = strings.Index(types, "func (x *Order) GetCents")
	fmt.Println(types[from : from+strings.Index(types[from:], "\n}\n")+2])
	// Output:
	// shop/shop.thrift.codec.go
	// shop/shop.thrift.go
	// // An order, as it was placed.
	// type Order struct {
	// 	ID    string `thrift:"id,1,required" json:"id"`
	// 	Cents *int64 `thrift:"cents,2,optional" json:"cents,omitempty"`
	// }
	//
	// func (x *Order) GetCents() int64 {
	// 	if x == nil || x.Cents == nil {
	// 		return 100
	// 	}
	// 	return *x.Cents
	// }
}

// The command reads a folder and checks, as a project's CI does, that nothing is stale.
func ExampleCommand() {
	var out, errs strings.Builder
	code := gen.Command{Stdout: &out, Stderr: &errs}.Run([]string{"-check", "-q", "-out", "testdata/golden", "testdata/idl"})
	fmt.Println(code, out.String(), errs.String())
	// Output:
	// 0
}
