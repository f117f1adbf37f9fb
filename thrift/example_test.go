package thrift_test

import (
	"fmt"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/examples/guide/gen/archive"
	"github.com/limosa-rpc/limosa/thrift"
)

// Broken bytes are an error with an offset.
func ExampleUnmarshal() {
	fmt.Println(thrift.Unmarshal([]byte{8, 0, 1, 0}, new(archive.Page)))
	// Output: InvalidArgument: decode: thrift: truncated in Page.number at offset 3
}

// A view reads and changes a message where its bytes lie.
func ExampleOpenLazy() {
	b, err := thrift.Marshal(&archive.Volume{Title: "Rivers", Pages: []*archive.Page{{Number: 1, Text: "Po"}, {Number: 2, Text: "Spree"}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	body := buf.ViewOf(b)
	defer body.Release()
	v, err := thrift.OpenLazy[archive.LazyVolume](body, nil) // checks all of it, decodes nothing
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Release()
	fmt.Println(v.Title(), v.Pages().Len())
	for _, p := range v.Pages().All() {
		fmt.Println(p.Number(), p.Text())
	}
	v.SetCopies(3)
	plain, err := v.Plain()
	fmt.Println(plain.Copies, len(plain.Pages), err)
	// Output:
	// Rivers 2
	// 1 Po
	// 2 Spree
	// 3 2 <nil>
}

// NewLazy makes a view of a plain struct, for methods that take views.
func ExampleNewLazy() {
	v, err := thrift.NewLazy[archive.LazyVolume](&archive.Volume{Title: "Rivers"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Release()
	v.SetTitle("Lakes")
	fmt.Println(v.Title())
	// Output: Lakes
}

// A mask is made once and may be used for any number of messages.
func ExampleKeep() {
	mask, err := thrift.Keep[archive.Volume]("title, pages.number")
	if err != nil {
		fmt.Println(err)
		return
	}
	v := &archive.Volume{Title: "Rivers", Copies: 2, Pages: []*archive.Page{{Number: 1, Text: "Po"}}}
	mask.Apply(v)
	fmt.Println(v)
	_, err = thrift.Keep[archive.Volume]("name")
	fmt.Println(err)
	// Output:
	// Volume{title:"Rivers" copies:0 pages:[{number:1 text:""}]}
	// thrift: mask name: there is no field "name"
}

func ExampleEqual() {
	a := &archive.Volume{Title: "Rivers", Pages: []*archive.Page{{Number: 1}}}
	b := thrift.Clone(a)
	fmt.Println(thrift.Equal(a, b))
	b.Pages[0].Number = 2
	fmt.Println(thrift.Equal(a, b), a.Pages[0].Number)
	// Output:
	// true
	// false 1
}
