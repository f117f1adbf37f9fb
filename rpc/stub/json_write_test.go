package stub_test

import (
	"encoding/json"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// What is written is what encoding/json makes the same values of, and is read back.
func TestAppendJSON(t *testing.T) {
	for _, text := range mixedTexts {
		var m mixed
		if json.Unmarshal([]byte(text), &m) != nil || !json.Valid([]byte(m.Own+"0")) && m.Own != "" && !json.Valid([]byte(m.Own)) {
			continue
		}
		b, err := stub.AppendJSON(nil, &m)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		theirs, err := json.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		var ours, same mixed
		if err := json.Unmarshal(b, &ours); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if err := json.Unmarshal(theirs, &same); err != nil {
			t.Fatal(err)
		}
		fillEmpty(&same)
		if fillEmpty(&ours); !reflect.DeepEqual(ours, same) {
			t.Errorf("%s\nwant %s", b, theirs)
		}
		var back mixed
		if _, err := stub.ReadJSON(&back, b, (&rpc.Limits{}).WithDefaults()); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		if fillEmpty(&back); !reflect.DeepEqual(back, ours) {
			t.Errorf("%s is read as %+v", b, back)
		}
	}
}

// fillEmpty makes lists and maps that are nil empty: that is the one difference.
func fillEmpty(m *mixed) {
	if m.List == nil {
		m.List = []*inner{}
	}
	if m.Raw == nil {
		m.Raw = []byte{}
	}
	if m.Byname == nil {
		m.Byname = map[string]inner{}
	}
	if m.Bynum == nil {
		m.Bynum = map[int8][]int32{}
	}
	for k, v := range m.Bynum {
		if v == nil {
			m.Bynum[k] = []int32{}
		}
	}
}

func TestAppendJSONRefuses(t *testing.T) {
	loop := &inner{}
	loop.Next = loop
	for _, v := range []any{math.NaN(), math.Inf(1), make(chan int), loop, struct{ F func() }{func() {}}, map[float64]int{math.NaN(): 1}} {
		if b, err := stub.AppendJSON(nil, v); err == nil {
			t.Errorf("%T is %s", v, b)
		}
	}
}

func TestAppendJSONForms(t *testing.T) {
	for _, tt := range []struct {
		v    any
		want string
	}{
		{nil, `null`}, {"a\"<\n", `"a\"<\u000a"`}, {map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`},
		{struct {
			A *int   `json:"a,omitempty"`
			B []int  `json:"b"`
			C string `json:"c,string"`
			D bool   `json:"d,string"`
		}{}, `{"b":[],"c":"\"\"","d":"false"}`},
		{[]byte{1, 2}, `"AQI="`}, {[]any{1.5, float32(0.1), true}, `[1.5,0.1,true]`},
	} {
		if b, err := stub.AppendJSON([]byte("x"), tt.v); err != nil || string(b) != "x"+tt.want {
			t.Errorf("%s, %v, want %s", b, err, tt.want)
		}
	}
}

// A text takes as much memory as lim lets a message of its size, and nests as deeply.
func TestReadJSONIsBounded(t *testing.T) {
	lim := (&rpc.Limits{}).WithDefaults()
	type wide struct {
		A, B, C, D [16]int64
		Next       *wide
		More       []wide
	}
	var list []wide
	if _, err := stub.ReadJSON(&list, []byte("["+strings.Repeat("{},", 100_000)+"{}]"), lim); rpc.CodeOf(err) != rpc.ResourceExhausted {
		t.Errorf("a list of large structs: %d, %v", len(list), err)
	}
	var w wide
	if _, err := stub.ReadJSON(&w, []byte(strings.Repeat(`{"Next":`, 100)+"{}"+strings.Repeat("}", 100)), lim); err == nil || !strings.Contains(err.Error(), "too deeply") {
		t.Errorf("nested: %v", err)
	}
	repeated := "{" + strings.Repeat(`"More":[{},{}],`, 100_000) + `"More":[]}`
	if _, err := stub.ReadJSON(&w, []byte(repeated), lim); rpc.CodeOf(err) != rpc.ResourceExhausted {
		t.Errorf("a member again and again: %v", err)
	}
	n, err := stub.ReadJSON(&list, []byte(`[{},{}]`), lim)
	if least := 2 * int(reflect.TypeFor[wide]().Size()); err != nil || n < least {
		t.Errorf("%d bytes, at least %d; %v", n, least, err)
	}
}
