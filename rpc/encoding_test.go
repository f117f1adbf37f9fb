package rpc_test

import (
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A marked codec writes a letter before a string, and wants it there.
type marked string

func (m marked) Append(out *buf.Out, msg any) error {
	out.AppendString(string(m) + *msg.(*string))
	return nil
}

func (m marked) Decode(body buf.View, msg any, _ *rpc.Limits) error {
	if p := string(body.Bytes()); p != "" && p[:1] == string(m) {
		*msg.(*string) = p[1:]
		return nil
	}
	return rpc.Errorf(rpc.InvalidArgument, "not mine")
}

// A recoder writes n, and c where Compact is asked for.
type recoder struct{ marked }

func (recoder) In(e rpc.Encoding) rpc.Codec {
	if e == rpc.Compact {
		return marked("c")
	}
	return nil
}

func TestBodiesAreInTheEncodingOfTheCall(t *testing.T) {
	for _, tt := range []struct {
		codec rpc.Codec
		e     rpc.Encoding
		want  string // the first letter; empty: there is no such encoding
	}{
		{recoder{"n"}, rpc.Native, "n"},
		{recoder{"n"}, rpc.Compact, "c"},
		{recoder{"n"}, 77, ""},
		{marked("n"), rpc.Native, "n"},
		{marked("n"), rpc.Compact, ""},
	} {
		m := &rpc.Method{Service: "S", Name: "M", Codec: tt.codec, New: stub.New[string, string]}
		call := stub.NewCall[string, string](m, "S")
		call.Args = "hello"
		rpc.EngineOf(&call.Call).SetEncoding(tt.e)
		var out buf.Out
		err := rpc.EngineOf(&call.Call).AppendRequest(&out)
		body := out.Bytes()
		out.Reset()
		if tt.want == "" {
			if rpc.CodeOf(err) != rpc.Unimplemented {
				t.Errorf("%v: %v", tt, err)
			}
			body = []byte("nhello")
		} else if err != nil || string(body) != tt.want+"hello" {
			t.Errorf("%v: %q, %v", tt, body, err)
		}

		served := m.New()
		served.Method = m
		rpc.EngineOf(served).SetEncoding(tt.e)
		rpc.EngineOf(served).SetBody(buf.ViewOf(body), nil)
		msg, err := served.Request()
		switch {
		case tt.want == "":
			if rpc.CodeOf(err) != rpc.Unimplemented {
				t.Errorf("%v: %v", tt, err)
			}
			continue
		case err != nil || *msg.(*string) != "hello":
			t.Fatalf("%v: %v", tt, err)
		}
		*stub.Result[string](served) = "there"
		if err := rpc.EngineOf(served).AppendResponse(&out); err != nil {
			t.Fatal(err)
		}
		if _, err := rpc.EngineOf(&call.Call).DecodeResponse(buf.ViewOf(out.Bytes()), nil); err != nil || call.Result != "there" {
			t.Errorf("%v: %q, %v", tt, call.Result, err)
		}
		out.Reset()
	}
}
