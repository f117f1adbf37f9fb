package buf

import (
	"bytes"
	"testing"
)

func TestGather(t *testing.T) {
	var g Gather
	free, all := 1000, []byte(nil)
	for i, step := range []struct {
		n, total int
		cap      int
		ok       bool
	}{
		{10, 10_000, 40, true},
		{30, 10_000, 40, true},
		{60, 10_000, 400, true},  // four times
		{400, 10_000, 500, true}, // four times are too much: what is needed
		{600, 10_000, 500, false},
		{500, 1000, 1000, true}, // all that there is
		{0, 1000, 1000, true},
		{1, 1001, 1000, false},
	} {
		p := bytes.Repeat([]byte{byte('a' + i)}, step.n)
		taken, ok := g.Grow(step.n, step.total, free)
		if free -= taken; ok {
			g.Add(p)
			all = append(all, p...)
		}
		if ok != step.ok || g.Cap() != step.cap || g.Len() != len(all) || free+g.Cap() != 1000 {
			t.Fatalf("step %d: %v, %d of %d bytes, %d free", i, ok, g.Len(), g.Cap(), free)
		}
	}
	if v := g.View(); !bytes.Equal(v.Bytes(), all) || g.Len() != 0 || g.Cap() != 0 {
		t.Errorf("%d bytes were gathered, want %d", v.Len(), len(all))
	}
}
