package connect_test

import (
	"fmt"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A request is read off its head, whatever version of HTTP has brought it.
func ExampleRead() {
	say := &rpc.Method{Service: "a.Words", Name: "Say", Codec: protobuf.Codec{}, New: stub.New[string, string]}
	find := func(service, method string) *rpc.Method {
		if service == "a.Words" && method == "Say" {
			return say
		}
		return nil
	}
	lim := rpc.Limits{}.WithDefaults()
	r := connect.Read("POST", "/a.Words/Say", find, lim)
	r.Take("content-type", "application/json")
	r.Take("connect-timeout-ms", "1500")
	r.Take("word", "hello")
	r.Done()
	fmt.Println(r.Service, r.Method, r.Encoding, r.Timeout, r.Header.Get("word"), r.Err)

	r = connect.Read("POST", "/a.Words/Shout", find, lim)
	fmt.Println(r.Status, r.Err)
	// Output:
	// a.Words Say JSON 1.5s hello <nil>
	// 404 Unimplemented: no such method here
}

// An error is a status of HTTP and a text.
func ExampleAppendError() {
	e := &rpc.Error{Code: rpc.NotFound, Msg: "no such word"}
	fmt.Println(connect.StatusOf(e.Code), string(connect.AppendError(nil, e)))
	// Output: 404 {"code":"not_found","message":"no such word"}
}

// The messages of a method of Protobuf have both encodings.
func ExampleCodecOf() {
	type text struct {
		Value string `proto:"1,string" json:"value"`
	}
	m := &rpc.Method{Codec: protobuf.Codec{}}
	for _, e := range []rpc.Encoding{rpc.Native, rpc.JSON} {
		c := m.Codec
		if e != rpc.Native {
			c = connect.CodecOf(m, e)
		}
		var out buf.Out
		if err := c.Append(&out, &text{"hi"}); err != nil {
			fmt.Println(err)
		}
		fmt.Printf("%s %q\n", connect.Kind(e), out.Bytes())
		out.Reset()
	}
	// Output:
	// application/proto "\n\x02hi"
	// application/json "{\"Value\":\"hi\"}"
}
