package rpc_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

type (
	book struct {
		Title string `thrift:"title,1"`
	}
	oneMessage struct {
		Book *book `thrift:"book,1"`
	}
	oneNumber struct {
		ID int64 `thrift:"id,1"`
	}
	twoMessages struct {
		From *book `thrift:"from,1"`
		To   *book `thrift:"to,2"`
	}
	bookAnswer struct {
		Success *book `thrift:"success,0,optional"`
	}
)

// TestWhatAnInterceptorSees: the messages of a Thrift method as its signature has them,
// on both sides; a message that is not wrapped, such as a stream's, as it is.
func TestWhatAnInterceptorSees(t *testing.T) {
	b := &book{"Emma"}
	method := func(kind rpc.Kind, f func() *rpc.Call) *rpc.Method {
		return &rpc.Method{Service: "S", Name: "m", Kind: kind, Codec: thrift.Binary{}, New: f}
	}
	for name, tt := range map[string]struct {
		m             *rpc.Method
		args, result  any
		request, each string
		response      any
	}{
		"message":  {method(rpc.Unary, stub.New[oneMessage, bookAnswer]), &oneMessage{b}, &bookAnswer{b}, "*rpc_test.book", "book=*rpc_test.book ", b},
		"oneway":   {method(rpc.Oneway, stub.New[oneMessage, bookAnswer]), &oneMessage{b}, &bookAnswer{}, "*rpc_test.book", "book=*rpc_test.book ", nil},
		"scalar":   {method(rpc.Unary, stub.New[oneNumber, bookAnswer]), &oneNumber{7}, &bookAnswer{}, "*rpc_test.oneNumber", "id=int64 ", nil},
		"several":  {method(rpc.Unary, stub.New[twoMessages, bookAnswer]), &twoMessages{b, b}, &bookAnswer{}, "*rpc_test.twoMessages", "from=*rpc_test.book to=*rpc_test.book ", nil},
		"nothing":  {method(rpc.Unary, stub.New[struct{}, struct{}]), &struct{}{}, &struct{}{}, "*struct {}", "", nil},
		"a stream": {method(rpc.ServerStream, stub.New[book, book]), b, nil, "*rpc_test.book", "=*rpc_test.book ", nil},
	} {
		look := func(side string, c *rpc.Call) {
			msg, err := c.Request()
			if got := fmt.Sprintf("%T", msg); err != nil || got != tt.request {
				t.Errorf("%s, %s: Request = %s, %v", name, side, got, err)
			}
			args, err := c.Args()
			if err != nil {
				t.Errorf("%s, %s: %v", name, side, err)
				return
			}
			each := ""
			for arg, v := range args {
				each += fmt.Sprintf("%s=%T ", arg, v)
			}
			if each != tt.each {
				t.Errorf("%s, %s: Args = %q", name, side, each)
			}
		}
		c := stub.Make(tt.m, "S", tt.args, tt.result)
		look("client", c)
		if got := c.Response(); got != tt.response {
			t.Errorf("%s: Response = %v", name, got)
		}
		if tt.m.Kind > rpc.Oneway {
			continue
		}
		var out buf.Out
		if err := rpc.EngineOf(c).AppendRequest(&out); err != nil {
			t.Fatal(err)
		}
		served := tt.m.New()
		served.Method = tt.m
		rpc.EngineOf(served).SetBody(out.Take(buf.Mark{}), rpc.Limits{}.WithDefaults())
		look("server", served)
		rpc.EngineOf(served).Release()
		out.Reset()
	}
}

// TestArgsOfWhatIsNotThere: no message, no method, no decodable body.
func TestArgsOfWhatIsNotThere(t *testing.T) {
	c := serverCall("bad")
	if _, err := c.Args(); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("Args of what cannot be decoded: %v", err)
	}
	var refused rpc.ServerCall
	c = refused.Init(nil, nil)
	if c.Response() != nil {
		t.Error("an unknown method has an answer")
	}
	args, err := c.Args()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range args {
		t.Errorf("an unknown method has the argument %q, %v", name, v)
	}
	rpc.EngineOf(c).Refuse(rpc.Unimplemented)
	if _, err := c.Args(); rpc.CodeOf(err) != rpc.Unimplemented {
		t.Errorf("Args of a refused call: %v", err)
	}
	for name, v := range must(serverCall("hi").Args()) {
		if s, ok := v.(*string); name != "" || !ok || *s != "hi" {
			t.Errorf("an unwrapped message is %q, %v", name, v)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A message that is not there is none: an interceptor that looks at what the call was
// made with is never given a nil pointer for it.
func TestRequestIsNeverANilMessage(t *testing.T) {
	m := &rpc.Method{Service: "S", Name: "m", Codec: thrift.Binary{}, New: stub.New[oneMessage, bookAnswer]}
	served := m.New()
	served.Method = m
	var out buf.Out
	if err := (thrift.Binary{}).Append(&out, &oneNumber{7}); err != nil { // of another type: the argument is left out
		t.Fatal(err)
	}
	rpc.EngineOf(served).SetBody(out.Take(buf.Mark{}), rpc.Limits{}.WithDefaults())
	for side, c := range map[string]*rpc.Call{"client": stub.Make(m, "S", &oneMessage{}, &bookAnswer{}), "server": served} {
		msg, err := c.Request()
		if _, ok := msg.(*oneMessage); !ok || err != nil {
			t.Errorf("%s, without its argument: Request = %#v, %v", side, msg, err)
		}
	}
	rpc.EngineOf(served).Release()
	out.Reset()
	plain := &rpc.Method{Service: "S", Name: "m", Codec: text{}}
	for name, c := range map[string]*rpc.Call{"wrapped": stub.Make(m, "S", (*oneMessage)(nil), &bookAnswer{}), "plain": stub.Make(plain, "S", (*string)(nil), new(string))} {
		if msg, err := c.Request(); msg != nil || rpc.CodeOf(err) != rpc.InvalidArgument {
			t.Errorf("%s, a nil message: Request = %#v, %v", name, msg, err)
		}
	}
}

// What a peer is told of a request that cannot be decoded has the code and the stage once: a
// codec's own words for them are left out, what is wrong and where is not.
func TestTextOfWhatCannotBeDecoded(t *testing.T) {
	type message struct {
		Text string `proto:"1,string,name=text"`
	}
	for _, tt := range []struct {
		codec rpc.Codec
		body  string
		want  string
	}{
		{protobuf.Codec{}, "\x0a\x05ab", "InvalidArgument: decode request: protobuf: length beyond the end in message.text at offset 1"},
		{protobuf.JSON{}, `{"text":`, "InvalidArgument: decode request: protobuf: the JSON ends too early in text at offset 8"},
	} {
		m := &rpc.Method{Service: "S", Name: "m", Codec: tt.codec, New: stub.New[message, message]}
		c := m.New()
		c.Method = m
		rpc.EngineOf(c).SetBody(buf.ViewOf([]byte(tt.body)), rpc.Limits{}.WithDefaults())
		_, err := c.Request()
		if got := fmt.Sprint(err); got != tt.want {
			t.Errorf("%q: %s\nwant %s", tt.body, got, tt.want)
		}
		if _, ok := errors.AsType[*protobuf.SyntaxError](err); !ok {
			t.Errorf("%q: the codec's error is not within %v", tt.body, err)
		}
		rpc.EngineOf(c).Release()
	}
}
