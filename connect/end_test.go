package connect_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/rpc"
)

// The last envelope of a stream has what the server has said, in any order and with what is
// not known.
func TestEnd(t *testing.T) {
	for _, x := range []struct {
		e  *rpc.Error
		md rpc.Metadata
		to string
	}{
		{nil, nil, `{}`},
		{nil, rpc.Metadata{{Key: "Lead", Value: "1", Scope: rpc.Leading}, {Key: "content-type", Value: "x"}, {Key: "connect-x", Value: "x"}}, `{}`},
		{nil, rpc.Metadata{{Key: "a", Value: "1"}, {Key: "b-bin", Value: "\x00\xff"}, {Key: "A", Value: "2\"\n"}}, "{\"metadata\":{\"a\":[\"1\",\"2\\\"\\u000a\"],\"b-bin\":[\"AP8\"]}}"},
		{&rpc.Error{Code: rpc.NotFound}, nil, `{"error":{"code":"not_found"}}`},
		{&rpc.Error{Code: rpc.Aborted, Msg: "é", Details: rpc.Metadata{{Key: "a.B", Value: "\x01"}, {Key: "c", Value: ""}}}, rpc.Metadata{{Key: "a", Value: ""}},
			`{"error":{"code":"aborted","message":"é","details":[{"type":"a.B","value":"AQ"},{"type":"limosa.detail/c","value":""}]},"metadata":{"a":[""]}}`},
	} {
		text := connect.AppendEnd(nil, x.e, x.md)
		if string(text) != x.to || !json.Valid(text) {
			t.Errorf("%s\nwant %s", text, x.to)
		}
		md, e, ok := connect.ReadEnd(text, limits)
		switch {
		case !ok || (e == nil) != (x.e == nil):
			t.Errorf("%s is read as %v, %v, %v", text, md, e, ok)
		case e != nil && (e.Code != x.e.Code || e.Msg != x.e.Msg || !reflect.DeepEqual(e.Details, x.e.Details)):
			t.Errorf("%s is the error %v %v", text, e, e.Details)
		}
		if again := connect.AppendEnd(nil, e, md); string(again) != string(text) {
			t.Errorf("%s becomes %s", text, again)
		}
		for n := range text { // no beginning is an end
			if _, _, ok := connect.ReadEnd(text[:n], limits); ok {
				t.Errorf("%s is taken", text[:n])
			}
		}
	}
}

// What servers of other makes may say.
func TestReadEndOfOthers(t *testing.T) {
	for text, want := range map[string]string{
		`{"error":{"code":"weird","message":"m"}}`:                                       `Unknown: m`,
		`{"error":{"message":"m","x":[{"y":{}},1,null]},"z":true}`:                       `Unknown: m`,
		`{"error":{"code":"internal","details":[{"type":"a","value":"!"}]}}`:             `Internal`,
		`{"error":{"code":"internal","details":[{"debug":{"@type":"x"}}],"details":[]}}`: `Internal`,
		`{"error":null,"metadata":null}`:                                                 ``,
		` {"metadata" : {"X":["1","2"],"y":[]}} `:                                        `x=1 x=2`,
		`{"metadata":{"x-bin":["AAE=","!"]}}`:                                            `bad`,
		`{"metadata":{"x":"1"}}`:                                                         `bad`,
		`{"error":[]}`:                                                                   `bad`,
		`{"error":{"code":5}}`:                                                           `bad`,
		`{"x":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`:              `bad`,
		`{"error":{"details":[` + strings.Repeat("{},", 500) + `{}]}}`:                   `Unknown`,
		`{"metadata":{"x":[` + strings.Repeat(`"",`, 500) + `""]}}`:                      `bad`,
		`{"error":{"details":[` + strings.Repeat(`{"type":"a"},`, 500) + `{}]}}`:         `bad`,
		`{}{}`: `bad`, ``: `bad`, `[]`: `bad`, `{,}`: `bad`,
	} {
		got := "bad"
		if md, e, ok := connect.ReadEnd([]byte(text), limits); ok {
			got = ""
			for _, p := range md {
				got = strings.TrimSpace(got + " " + p.Key + "=" + p.Value)
			}
			if e != nil {
				got = strings.TrimSuffix(strings.TrimSpace(e.Code.String()+": "+e.Msg), ":")
			}
		}
		if got != want {
			t.Errorf("%.80s is %q, want %q", text, got, want)
		}
	}
	if e, ok := connect.ReadError([]byte(`{"code":"odd"}`), limits); !ok || e.Code != rpc.OK {
		t.Errorf("a code that is none: %v, %v", e, ok)
	}
}

// FuzzReadEnd reads any text as a stream's last envelope and as an error. What is taken is JSON,
// within the limits, and the same once it is written.
func FuzzReadEnd(f *testing.F) {
	for _, text := range []string{`{}`, `{"error":{"code":"aborted","message":"x","details":[{"type":"a.B","value":"AQ"}]},"metadata":{"a":["1","2"],"b-bin":["AA"]}}`, `{"x":[[{}]]}`, `{"code":"internal"}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if e, ok := connect.ReadError(text, limits); ok && (!json.Valid(text) || len(e.Details) > limits.HeaderEntries) {
			t.Errorf("%q is an error", text)
		}
		md, e, ok := connect.ReadEnd(text, limits)
		if !ok {
			return
		}
		if !json.Valid(text) || len(md) > 2*limits.HeaderEntries || e != nil && (e.Code == rpc.OK || len(e.Details) > limits.HeaderEntries) {
			t.Fatalf("%q: %v, %v", text, md, e)
		}
		once := connect.AppendEnd(nil, e, md)
		md, e, ok = connect.ReadEnd(once, limits)
		if twice := connect.AppendEnd(nil, e, md); !ok || string(twice) != string(once) {
			t.Errorf("%q becomes %q", once, twice)
		}
	})
}
