package dynamic_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
	"github.com/limosa-rpc/limosa/thrift/dynamic"
)

// hostile reads text and makes a codec of the struct S in it.
func hostile(t *testing.T, text string) (*dynamic.Codec, error) {
	t.Helper()
	s, err := thriftidl.Reader{Open: func(path string) ([]byte, error) {
		if path == "a.thrift" {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	}}.Load("a.thrift")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range s.Files[0].Structs {
		if d.Name == "S" {
			return dynamic.Struct(d)
		}
	}
	t.Fatal("there is no S")
	return nil, nil
}

// Each type is made once, however many typedefs lead to it: 2 to the 200th would
// never be done.
func TestDoublingTypedefs(t *testing.T) {
	var b strings.Builder
	b.WriteString("typedef i32 T0\n")
	for i := range 200 {
		fmt.Fprintf(&b, "typedef map<T%d, T%[1]d> T%d\n", i, i+1)
	}
	b.WriteString("struct S { 1: T200 all, 2: T1 one }")
	codec, err := hostile(t, b.String())
	if err != nil {
		t.Fatal(err)
	}
	if got := toThrift(t, codec, &dynamic.Message{JSON: []byte(`{"one":{"1":2}}`)}); len(got) != 3+6+8+1 {
		t.Errorf("%x", got)
	}
	_, err = appendTo(codec, &dynamic.Message{JSON: []byte(`{"one":{"1":"x"}}`)})
	if err == nil || !strings.Contains(err.Error(), "T0") {
		t.Errorf("an error names the type as it is written: %v", err)
	}
}

// Defaults that are small in the IDL may not be large in all.
func TestManyLargeDefaults(t *testing.T) {
	var b strings.Builder
	b.WriteString("const list<i8> C0 = [1, 2, 3, 4, 5, 6, 7, 8]\n")
	for i, typ := 1, "list<i8>"; i <= 15; i++ { // of twice as many bytes each
		typ = "list<" + typ + ">"
		fmt.Fprintf(&b, "const %s C%d = [C%d, C%[3]d]\n", typ, i, i-1)
		if i == 15 {
			fmt.Fprintf(&b, "struct S {\n")
			for id := range 100 {
				fmt.Fprintf(&b, "%d: %s f%[1]d = C15\n", id+1, typ)
			}
		}
	}
	_, err := hostile(t, b.String()+"}")
	if err == nil || !strings.Contains(err.Error(), "takes more than 16777216 bytes") {
		t.Errorf("a hundred defaults of half a megabyte: %v", err)
	}
}

// A default may stand behind as many names as package idl lets through.
func TestDefaultBehindManyNames(t *testing.T) {
	var b strings.Builder
	b.WriteString("const i32 C0 = 7\n")
	for i := range 200 {
		fmt.Fprintf(&b, "const i32 C%d = C%d\n", i+1, i)
	}
	codec, err := hostile(t, b.String()+"struct S { 1: i32 n = C200 }")
	if err != nil {
		t.Fatal(err)
	}
	var m dynamic.Message
	if err := codec.Decode(buf.ViewOf([]byte{0}), &m, nil); err != nil || string(m.JSON) != `{"n":7}` {
		t.Errorf("%s, %v", m.JSON, err)
	}
}

// TestEmptyStructsCostLittle: a struct costs what it has on the wire or in JSON, not
// what it could have. Time is compared with that of a struct with few fields.
func TestEmptyStructsCostLittle(t *testing.T) {
	const n = 100_000
	body := binary.BigEndian.AppendUint32([]byte{15, 0, 1, 12}, n)
	body = append(body, make([]byte, n+1)...)
	text := `{"list":[{}` + strings.Repeat(",{}", n-1) + `]}`
	took := func(fields int) (toJSON, toThrift time.Duration) {
		var idl strings.Builder
		idl.WriteString("struct E {\n")
		for i := range fields {
			fmt.Fprintf(&idl, "%d: optional i32 f%[1]d\n", i+1)
		}
		codec, err := hostile(t, idl.String()+"}\nstruct S { 1: list<E> list }")
		if err != nil {
			t.Fatal(err)
		}
		toJSON, toThrift = time.Hour, time.Hour
		for range 5 {
			var m dynamic.Message
			var out buf.Out
			start := time.Now()
			if err := codec.Decode(buf.ViewOf(body), &m, nil); err != nil || string(m.JSON) != text {
				t.Fatalf("%d bytes of JSON, %v", len(m.JSON), err)
			}
			toJSON, start = min(toJSON, time.Since(start)), time.Now()
			if err := codec.Append(&out, &dynamic.Message{JSON: []byte(text)}); err != nil || !bytes.Equal(out.Bytes(), body) {
				t.Fatalf("%d bytes of Thrift, %v", out.Len(), err)
			}
			toThrift = min(toThrift, time.Since(start))
			out.Reset()
		}
		return toJSON, toThrift
	}
	few, fewBack := took(1)
	many, manyBack := took(2000)
	t.Logf("1 field: %v and %v, 2000 fields: %v and %v", few, fewBack, many, manyBack)
	if many > 8*few+10*time.Millisecond || manyBack > 8*fewBack+10*time.Millisecond {
		t.Errorf("%v and %v for 2000 fields; %v and %v for one", many, manyBack, few, fewBack)
	}
}
