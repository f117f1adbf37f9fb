package buf

import (
	"bytes"
	"testing"
)

// What Cut moves is not copied, whatever it lies in; what stays before it is whole.
func TestCutCopiesNothing(t *testing.T) {
	before := Live()
	var o, dst Out
	o.AppendString("head")
	m := o.Mark()
	o.Append(bytes.Repeat([]byte("x"), 3<<20))
	o.RefString(string(bytes.Repeat([]byte("y"), 1<<20)))
	o.AppendString("tail")
	first := &o.Iov(nil)[0][4]
	o.Cut(m, &dst)
	if string(o.Bytes()) != "head" || dst.Len() != 4<<20+4 {
		t.Fatalf("%q stays, %d bytes are moved", o.Bytes(), dst.Len())
	}
	if got := &dst.Iov(nil)[0][0]; got != first {
		t.Error("the first piece was copied")
	}
	o.Reset()
	if got := dst.Bytes(); !bytes.HasPrefix(got, []byte("xx")) || !bytes.HasSuffix(got, []byte("ytail")) {
		t.Error("what was moved has changed")
	}
	dst.Reset()
	o.Cut(o.Mark(), &dst)
	if n := Live() - before; n != 0 || dst.Len() != 0 {
		t.Errorf("%d blocks leaked, %d bytes of nothing", n, dst.Len())
	}
}
