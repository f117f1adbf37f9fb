package connect_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/connect"
	"github.com/limosa-rpc/limosa/rpc"
)

// Values that are many in one are counted before they are read: a byte of a field must not
// become a pair of forty.
func TestValuesThatAreManyInOne(t *testing.T) {
	commas := strings.Repeat(",", limits.HeaderBytes-1)
	var r connect.Request
	if n := allocated(func() { r = read("POST", "/a.Words/Say", "content-type", "application/json", "x-bin", commas) }); n > 64<<10 {
		t.Errorf("%d bytes of commas have taken %d", len(commas), n)
	}
	if r.Err == nil || r.Err.Code != rpc.ResourceExhausted || len(r.Header) > limits.HeaderEntries {
		t.Errorf("%d pairs, %v", len(r.Header), r.Err)
	}
	// As many as there may be are taken, and one more is refused.
	most := strings.Repeat("AA,", limits.HeaderEntries-1) + "AA"
	if r := read("POST", "/a.Words/Say", "content-type", "application/json", "x-bin", most); r.Err != nil || len(r.Header) != limits.HeaderEntries {
		t.Errorf("%d pairs, %v", len(r.Header), r.Err)
	}
	if r := read("POST", "/a.Words/Say", "content-type", "application/json", "x-bin", most+",AA"); r.Err == nil || r.Err.Code != rpc.ResourceExhausted {
		t.Errorf("one pair too many: %v", r.Err)
	}
}

// Whatever members a text has, it makes no type: types are never forgotten.
func TestTextsMakeNoTypes(t *testing.T) {
	c := thriftJSON(t)
	call := func(i int) {
		text := fmt.Sprintf(`{"a":{"text":"x","u%d":1},"b":%d,"member%d":{"n":[%d]}}`, i, i, i, i)
		if err := c.Decode(buf.ViewOf([]byte(text)), &several{}, limits); err != nil {
			t.Fatal(err)
		}
	}
	call(0)
	before := live()
	for i := range 5_000 {
		call(i)
	}
	if grown := int64(live()) - int64(before); grown > 256<<10 { // a type of two fields takes some 500 bytes
		t.Errorf("5,000 texts have left %d bytes", grown)
	}
}

// allocated is how many bytes f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// live is how many bytes the heap holds.
func live() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// A refused content type is told whole, if it is one that is seen: who calls by curl -d and says
// nothing of the type has to find out from this.
func TestContentTypeThatCurlSends(t *testing.T) {
	r := read("POST", "/a.Words/Say", "content-type", "application/x-www-form-urlencoded")
	if want := `content type "application/x-www-form-urlencoded"; it is one of `; r.Err == nil || !strings.HasPrefix(r.Err.Msg, want) {
		t.Errorf("%v", r.Err)
	}
	if r := read("POST", "/a.Words/Say", "content-type", strings.Repeat("x", 10_000)); r.Err == nil || len(r.Err.Msg) > 200 {
		t.Errorf("%v", r.Err)
	}
}
