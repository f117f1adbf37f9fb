package plan_test

import (
	"testing"
	"unsafe"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

type weighed struct {
	Items []*weighedItem `thrift:"items,1"`
}

type weighedItem struct {
	A, B, C, D string
}

// A message weighs what its structs and lists take, however few bytes they have.
func TestDecodeWeighed(t *testing.T) {
	const items = 1000
	lim := &rpc.Limits{DecodeFactor: 200}
	lim = lim.WithDefaults()
	for name, c := range map[string]rpc.Weigher{"binary": thrift.Binary{}, "compact": thrift.Compact{}} {
		var out buf.Out
		in := weighed{Items: make([]*weighedItem, items)}
		for i := range in.Items {
			in.Items[i] = new(weighedItem)
		}
		if err := c.Append(&out, &in); err != nil {
			t.Fatal(err)
		}
		body := out.Bytes()
		out.Reset()
		var msg weighed
		n, err := c.DecodeWeighed(buf.ViewOf(body), &msg, lim)
		if err != nil || len(msg.Items) != items {
			t.Fatalf("%s: %d items, %v", name, len(msg.Items), err)
		}
		if least := items * (int(unsafe.Sizeof(in.Items[0])) + int(unsafe.Sizeof(weighedItem{}))); n < least || n > 2*least {
			t.Errorf("%s: weighs %d, at least %d are taken", name, n, least)
		}
		if n, err = c.DecodeWeighed(buf.ViewOf(body[:len(body)-1]), &msg, lim); n != 0 || err == nil {
			t.Errorf("%s: half a message weighs %d, %v", name, n, err)
		}
	}
}
