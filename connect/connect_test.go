package connect_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/protobuf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/thrift"
)

var limits = rpc.Limits{}.WithDefaults()

// find has methods of both IDLs.
func find(service, method string) *rpc.Method {
	switch service + "/" + method {
	case "a.Words/Say":
		return &rpc.Method{Codec: protobuf.Codec{}, New: stub.New[string, string]}
	case "a.Words/Look":
		return &rpc.Method{Codec: protobuf.Codec{}, ReadOnly: true, New: stub.New[string, string]}
	case "a.Words/All":
		return &rpc.Method{Codec: protobuf.Codec{}, Kind: rpc.ServerStream, New: stub.New[string, string]}
	case "Hello/echo":
		return &rpc.Method{Codec: thrift.Binary{}, New: stub.New[string, string]}
	case "Hello/fire":
		return &rpc.Method{Codec: thrift.Binary{}, Kind: rpc.Oneway, New: stub.New[string, string]}
	}
	return nil
}

// read reads a request, whose fields are name and value in turn.
func read(method, target string, fields ...string) connect.Request {
	r := connect.Read(method, target, find, limits)
	for i := 0; i < len(fields); i += 2 {
		r.Take(fields[i], fields[i+1])
	}
	r.Done()
	return r
}

func TestRead(t *testing.T) {
	const kind, asJSON = "content-type", "application/json"
	for _, tt := range []struct {
		method, target string
		fields         []string
		status         int // 0: none beside the code
		code           rpc.Code
		service, name  string
	}{
		{"POST", "/a.Words/Say", []string{kind, asJSON}, 0, rpc.OK, "a.Words", "Say"},
		{"POST", "/a.Words/Say?x=y", []string{kind, "application/proto"}, 0, rpc.OK, "a.Words", "Say"},
		{"POST", "/a.Words/Say", []string{kind, "Application/JSON; charset=utf-8"}, 0, rpc.OK, "a.Words", "Say"},
		{"POST", "/Hello/echo", []string{kind, asJSON}, 0, rpc.OK, "Hello", "echo"},
		{"POST", "/hello.Hello/Echo", []string{kind, asJSON}, 0, rpc.OK, "Hello", "echo"},
		{"POST", "/Hello/Echo", []string{kind, asJSON}, 0, rpc.OK, "Hello", "echo"},
		{"POST", "/x.y.Hello/echo", []string{kind, asJSON}, 0, rpc.OK, "Hello", "echo"},
		{"POST", "/a.Words/say", []string{kind, asJSON}, 404, rpc.Unimplemented, "a.Words", "say"},
		{"POST", "/b.a.Words/Say", []string{kind, asJSON}, 404, rpc.Unimplemented, "b.a.Words", "Say"},
		{"POST", "/", nil, 404, rpc.Unimplemented, "", ""},
		{"POST", "//", nil, 404, rpc.Unimplemented, "", ""},
		{"POST", "/Hello/", nil, 404, rpc.Unimplemented, "Hello", ""},
		{"OPTIONS", "*", nil, 404, rpc.Unimplemented, "", ""},
		{"POST", "/Hello/echo", []string{kind, "application/proto"}, 415, rpc.Unimplemented, "Hello", "echo"},
		{"POST", "/a.Words/All", []string{kind, asJSON}, 415, rpc.Unimplemented, "a.Words", "All"},
		{"POST", "/a.Words/Say", []string{kind, "text/plain"}, 415, rpc.Unimplemented, "a.Words", "Say"},
		{"POST", "/a.Words/Say", nil, 415, rpc.Unimplemented, "a.Words", "Say"},
		{"GET", "/a.Words/Say?encoding=json&message={}", nil, 405, rpc.Unimplemented, "a.Words", "Say"},
		{"POST", "/Hello/Fire", []string{kind, asJSON}, 0, rpc.Unimplemented, "Hello", "fire"},
		{"GET", "/a.Words/Look?encoding=json&message=%7B%7D", nil, 0, rpc.OK, "a.Words", "Look"},
		{"GET", "/a.Words/Look?encoding=json&message=%", nil, 0, rpc.InvalidArgument, "a.Words", "Look"},
		{"POST", "/a.Words/Say", []string{kind, asJSON, "connect-protocol-version", "2"}, 0, rpc.InvalidArgument, "a.Words", "Say"},
		{"POST", "/a.Words/Say", []string{kind, asJSON, "x-bin", "!"}, 0, rpc.InvalidArgument, "a.Words", "Say"},
		{"POST", "/a.Words/Say", []string{kind, asJSON, "content-encoding", "zstd"}, 0, rpc.Unimplemented, "a.Words", "Say"},
		{"POST", "/a.Words/Say", []string{kind, asJSON, "x", strings.Repeat("y", 20<<10)}, 0, rpc.ResourceExhausted, "a.Words", "Say"},
	} {
		r := read(tt.method, tt.target, tt.fields...)
		code := rpc.OK
		if r.Err != nil {
			code = r.Err.Code
		}
		if r.Status != tt.status || code != tt.code || r.Service != tt.service || r.Method != tt.name {
			t.Errorf("%s %s %v: %d %v, %s/%s", tt.method, tt.target, tt.fields, r.Status, r.Err, r.Service, r.Method)
		}
	}
}

func TestFieldsOfARequest(t *testing.T) {
	r := read("POST", "/a.Words/Say", "content-type", "application/json", "content-encoding", "gzip", "accept-encoding", "br, gzip;q=0.5",
		"connect-timeout-ms", "1500", "connect-protocol-version", "1", "word", "a", "word", "b", "raw-bin", "AAE=, Ag", "host", "x", "te", "trailers", "grpc-x", "y")
	want := rpc.Metadata{{Key: "word", Value: "a"}, {Key: "word", Value: "b"}, {Key: "raw-bin", Value: "\x00\x01"}, {Key: "raw-bin", Value: "\x02"}}
	if r.Err != nil || !r.Packed || r.Unpacked || r.Timeout != 1500*time.Millisecond || r.Encoding != rpc.JSON || !reflect.DeepEqual(r.Header, want) {
		t.Errorf("%+v", r)
	}
	for list, packs := range map[string]bool{"gzip": true, "": false, "br": false, "gzip;q=0": false, "gzip; q=0.0": false, "gzip; q=1": true, "identity, gzip": true} {
		if r := read("POST", "/a.Words/Say", "content-type", "application/json", "accept-encoding", list); r.Unpacked == packs {
			t.Errorf("%q: %v", list, r.Unpacked)
		}
	}
	for text, want := range map[string]time.Duration{"0": 1, "1": time.Millisecond, "9999999999": 9999999999 * time.Millisecond, "": 0, "10000000000": 0, "-1": 0, "1.5": 0, "+1": 0} {
		if r := read("POST", "/a.Words/Say", "content-type", "application/json", "connect-timeout-ms", text); r.Timeout != want || (r.Err != nil) != (want == 0) {
			t.Errorf("%q: %v, %v", text, r.Timeout, r.Err)
		}
	}
}

func TestQuery(t *testing.T) {
	for query, want := range map[string]string{
		"encoding=json&message=%7B%22a%22:1%7D&connect=v1": `{"a":1}`,
		"message=a+b&encoding=proto":                       "a b",
		"base64=1&message=_-8&encoding=proto":              "\xff\xef",
		"base64=1&message=%2F%2B8%3D&encoding=proto":       "\xff\xef",
		"base64=0&message=_-8&encoding=proto":              "_-8",
		"x=%zz&message=a&encoding=proto":                   "a",
		"message=a&message=b&encoding=proto":               "a",
	} {
		if r := read("GET", "/a.Words/Look?"+query); r.Err != nil || string(r.Message) != want || !r.Get {
			t.Errorf("%s: %q, %v", query, r.Message, r.Err)
		}
	}
	if r := read("GET", "/a.Words/Look?encoding=proto&message=x&compression=gzip"); r.Err != nil || !r.Packed {
		t.Errorf("%+v", r)
	}
}

// Every code has a name and a status, and the text of an error is JSON.
func TestErrors(t *testing.T) {
	names := map[string]rpc.Code{}
	for c := range rpc.Code(rpc.Codes) {
		if c == rpc.OK {
			continue
		}
		var got struct {
			Code, Message string
			Details       []struct{ Type, Value string }
		}
		e := &rpc.Error{Code: c, Msg: "a \"b\"\n\xff", Details: rpc.Metadata{{Key: "x.Y", Value: "\x00\xff"}, {Key: "plain"}}}
		if err := json.Unmarshal(connect.AppendError(nil, e), &got); err != nil {
			t.Fatal(err)
		}
		if got.Message != "a \"b\"\n\ufffd" || len(got.Details) != 2 || got.Details[0].Type != "x.Y" || got.Details[0].Value != "AP8" || got.Details[1].Type != "limosa.detail/plain" {
			t.Errorf("%v: %+v", c, got)
		}
		if have, twice := names[got.Code]; twice {
			t.Errorf("%v and %v are both %s", have, c, got.Code)
		}
		names[got.Code] = c
		if plain := strings.ReplaceAll(got.Code, "_", ""); !strings.EqualFold(plain, c.String()) {
			t.Errorf("%v is called %s", c, got.Code)
		}
		if s := connect.StatusOf(c); s < 400 || s > 599 {
			t.Errorf("%v has status %d", c, s)
		}
	}
	if got := string(connect.AppendError(nil, &rpc.Error{Code: 99})); got != `{"code":"unknown"}` {
		t.Errorf("a code that is none: %s", got)
	}
}

func TestAppendMetadata(t *testing.T) {
	got := connect.AppendMetadata([]http2.Field(nil), rpc.Metadata{{Key: "Lead", Value: "1", Scope: rpc.Leading}, {Key: "Trail", Value: "2"}, {Key: "x-Bin", Value: "\xff"}, {Key: "content-length", Value: "7"}, {Key: "connect-x", Value: "8"}})
	want := []http2.Field{{Name: "lead", Value: "1"}, {Name: "trailer-trail", Value: "2"}, {Name: "trailer-x-bin", Value: "/w"}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
}

// The messages of Thrift's methods, as generated code has them.
type (
	word struct {
		Text string `thrift:"text,1" json:"text"`
	}
	one struct {
		Req *word `thrift:"req,1"`
	}
	plain struct {
		N int64 `thrift:"n,1"`
	}
	several struct {
		A *word `thrift:"a,1"`
		B int32 `thrift:"b,2"`
	}
	result struct {
		Success *word    `thrift:"success,0,optional"`
		Missing *missing `thrift:"missing,1,optional"`
	}
	number struct {
		Success *int64 `thrift:"success,0,optional"`
	}
	missing struct {
		Why string `thrift:"why,1" json:"why"`
	}
)

func (s *several) SetDefaults()  { s.B = 7 }
func (m *missing) Error() string { return "missing: " + m.Why }

func thriftJSON(t *testing.T) rpc.Codec {
	c := connect.CodecOf(&rpc.Method{Codec: thrift.Binary{}}, rpc.JSON)
	if c == nil {
		t.Fatal("a method of Thrift has no JSON")
	}
	return c
}

func TestArgumentsOfThrift(t *testing.T) {
	c := thriftJSON(t)
	for _, tt := range []struct {
		text string
		msg  any
		want any
	}{
		{`{"text":"a"}`, &one{}, &one{&word{"a"}}},
		{`{"req":{"text":"a"}}`, &one{}, &one{&word{"a"}}},
		{` { "req" : null } `, &one{}, &one{}},
		{`{}`, &one{}, &one{&word{}}},
		{``, &one{Req: &word{"old"}}, &one{&word{}}},
		{`7`, &plain{}, &plain{7}},
		{`{"n":7}`, &plain{}, &plain{7}},
		{`{"a":{"text":"x"},"b":2,"c":[]}`, &several{}, &several{A: &word{"x"}, B: 2}},
		{`{}`, &several{}, &several{B: 7}},
		{``, &struct{}{}, &struct{}{}},
		{`{"x":1}`, &struct{}{}, &struct{}{}},
	} {
		if err := c.Decode(buf.ViewOf([]byte(tt.text)), tt.msg, limits); err != nil || !reflect.DeepEqual(tt.msg, tt.want) {
			t.Errorf("%s: %+v, %v", tt.text, tt.msg, err)
		}
	}
	for _, text := range []string{`{"text":1}`, `[]`, `{"text":"a"} x`, `{"req":{"text":"a"}`, `x`, `{"req":7}`} {
		if err := c.Decode(buf.ViewOf([]byte(text)), &one{}, limits); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

func TestAnswersOfThrift(t *testing.T) {
	c := thriftJSON(t)
	for want, msg := range map[string]any{
		`{"text":"a"}`: &result{Success: &word{"a"}}, `7`: &number{Success: new(int64(7))}, `{}`: &struct{}{}, `null`: &result{},
		`{"text":"` + strings.Repeat("x", 100_000) + `"}`: &result{Success: &word{strings.Repeat("x", 100_000)}},
	} {
		var out buf.Out
		if err := c.Append(&out, msg); err != nil || string(out.Bytes()) != want {
			t.Errorf("%.50s: %v", out.Bytes(), err)
		}
		out.Reset()
	}
	var out buf.Out
	e, ok := errors.AsType[*rpc.Error](c.Append(&out, &result{Missing: &missing{"it is late"}}))
	if !ok || e.Code != rpc.Unknown || e.Msg != "missing: it is late" || !reflect.DeepEqual(e.Details, rpc.Metadata{{Key: "missing", Value: `{"why":"it is late"}`}}) {
		t.Errorf("%v", e)
	}
	if out.Len() != 0 {
		t.Errorf("an exception has left %d bytes", out.Len())
	}
}

// Every prefix of a query, and of a text, is read or refused.
func TestEveryPrefix(t *testing.T) {
	target := "/a.Words/Look?connect=v1&encoding=proto&message=aGk%3D&base64=1&compression=gzip"
	for i := range target {
		r := read("GET", target[:i])
		if r.Err == nil && !r.Get {
			t.Errorf("%s: neither", target[:i])
		}
	}
	text := `{"a":{"text":"x\u00e9"},"b":-2}`
	c := thriftJSON(t)
	for i := 1; i < len(text); i++ {
		if err := c.Decode(buf.ViewOf([]byte(text[:i])), &several{}, limits); err == nil {
			t.Errorf("%s is taken", text[:i])
		}
	}
}

// What a text becomes is bounded as on other wires, for each form of arguments.
func TestArgumentsAreBounded(t *testing.T) {
	c := thriftJSON(t)
	type leaf struct {
		Wide [64]int64 `json:"wide"`
	}
	type lists struct {
		All []*leaf `thrift:"all,1"`
	}
	type two struct {
		All  []*leaf `thrift:"all,1"`
		More []*leaf `thrift:"more,2"`
	}
	for _, msg := range []any{&lists{}, &two{}} {
		text := `{"all":[` + strings.Repeat("{},", 50_000) + `{}]}`
		if err := c.Decode(buf.ViewOf([]byte(text)), msg, limits); rpc.CodeOf(err) != rpc.ResourceExhausted {
			t.Errorf("%T: %v", msg, err)
		}
	}
	w, ok := c.(rpc.Weigher)
	if !ok {
		t.Fatal("nobody knows what the arguments weigh")
	}
	n, err := w.DecodeWeighed(buf.ViewOf([]byte(`{"all":[{},{},{}]}`)), &two{}, limits)
	if err != nil || n < 3*512 {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// What is no message of a method of Thrift is an error, and no panic.
func TestMessagesThatAreNone(t *testing.T) {
	c := thriftJSON(t)
	for _, msg := range []any{nil, 7, one{}, (*one)(nil), new(string)} {
		var out buf.Out
		if err := c.Decode(buf.ViewOf([]byte("{}")), msg, limits); rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%T: %v", msg, err)
		}
		if err := c.Append(&out, msg); rpc.CodeOf(err) != rpc.Internal {
			t.Errorf("%T: %v", msg, err)
		}
	}
	type odd struct {
		Success chan int `thrift:"success,0"`
	}
	var out buf.Out
	if err := c.Append(&out, &odd{}); rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("%v", err)
	}
}
