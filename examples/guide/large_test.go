package guide_test

import (
	"context"
	"fmt"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/examples/guide/gen/archive"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// A clerk counts copies and passes volumes on.
//
//guide:begin large-proxy
type clerk struct{ store archive.Archive }

func (c clerk) Restore(ctx context.Context, v *archive.LazyVolume) (*archive.LazyVolume, error) {
	defer v.Release() // gives its memory back, earlier than the collector would
	if v.Title() == "" {
		return nil, rpc.Errorf(rpc.InvalidArgument, "a volume without a title")
	}
	v.SetCopies(v.Copies() + 1) // the pages are neither decoded nor encoded
	return c.store.Restore(ctx, v)
}

//guide:end

// A store shows what it is given.
type store struct{}

//guide:begin large-server
func (store) Restore(ctx context.Context, v *archive.LazyVolume) (*archive.LazyVolume, error) {
	sum := 0
	for _, page := range v.Pages().All() {
		sum += int(page.Number())
	}
	fmt.Println(v.Title(), v.Copies(), "pages:", v.Pages().Len(), "sum:", sum)
	return v, nil // who is given it owns it
}

//guide:end

func Example_lazy() {
	backAddr, stopBack := running(&limosa.Server{Services: []rpc.Service{archive.Service(store{})}})
	defer stopBack()
	back, err := archive.Dial(backAddr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer back.Close()
	addr, stop := running(&limosa.Server{Services: []rpc.Service{archive.Service(clerk{back})}})
	defer stop()
	c, err := archive.Dial(addr)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	//guide:begin large-caller
	plain := &archive.Volume{Title: "Rivers", Pages: []*archive.Page{{Number: 1, Text: "Po"}, {Number: 2, Text: "Spree"}}}
	view, err := thrift.NewLazy[archive.LazyVolume](plain)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer view.Release()
	answer, err := c.Restore(context.Background(), view)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer answer.Release()
	decoded, err := answer.Plain() // *archive.Volume
	//guide:end
	fmt.Println(decoded.Copies, len(decoded.Pages), err)
	// Output:
	// Rivers 1 pages: 2 sum: 3
	// 1 2 <nil>
}

func Example_store() {
	//guide:begin large-store
	b, err := thrift.Marshal(&archive.Volume{Title: "Rivers", Copies: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	var v archive.Volume
	err = thrift.Unmarshal(b, &v)
	//guide:end
	fmt.Println(v.Title, v.Copies, err)
	//guide:begin large-masks
	titles, err := thrift.Keep[archive.Volume]("title,pages.number")
	if err != nil {
		fmt.Println(err)
		return
	}
	full := &archive.Volume{Title: "Rivers", Copies: 2, Pages: []*archive.Page{{Number: 1, Text: "Po"}}}
	titles.Apply(full)
	fmt.Println(full)
	//guide:end
	// Output:
	// Rivers 2 <nil>
	// Volume{title:"Rivers" copies:0 pages:[{number:1 text:""}]}
}
