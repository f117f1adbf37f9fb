package thrift_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/gen/testdata/golden/lazy"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

func ExampleMarshal() {
	type Order struct {
		ID   int64  `thrift:"id,1"`
		Note string `thrift:"note,2"`
	}
	stored, err := thrift.Marshal(&Order{ID: 7, Note: "two of them"})
	if err != nil {
		panic(err)
	}
	var o Order
	if err := thrift.Unmarshal(stored, &o); err != nil {
		panic(err)
	}
	fmt.Println(len(stored), o.ID, o.Note)
	// Output: 30 7 two of them
}

// TestUnmarshalRefersToNothing overwrites the bytes of messages of every size and looks at
// what was made of them.
func TestUnmarshalRefersToNothing(t *testing.T) {
	type args struct {
		Msg *lazy.LazyEverything `thrift:"msg,1"`
	}
	for _, n := range []int{0, 1, 100, 600, 5000, 600_000, 3 << 20, 12 << 20} {
		want := &lazy.Everything{G: strings.Repeat("x", n), H: []byte("y"), Lg: []string{strings.Repeat("z", n/2)}, Branch: &lazy.Branch{ID: 3}}
		b, err := thrift.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		framed := append(append([]byte{12, 0, 1}, b...), 0)
		var plain lazy.Everything
		var view lazy.LazyEverything
		var field args
		if err := errors.Join(thrift.Unmarshal(b, &plain), thrift.Unmarshal(b, &view), thrift.Unmarshal(framed, &field)); err != nil {
			t.Fatal(err)
		}
		clear(b)
		clear(framed)
		if !thrift.Equal(&plain, want) || view.G() != want.G || field.Msg.G() != want.G || !reflect.DeepEqual(plain.Lg, want.Lg) {
			t.Errorf("%d bytes: the message changed with its bytes", n)
		}
		again, err := thrift.Marshal(&view)
		direct, _ := thrift.Marshal(want)
		if err != nil || !bytes.Equal(again, direct) {
			t.Errorf("%d bytes: a view marshals otherwise, %v", n, err)
		}
	}
}

func TestMarshalErrors(t *testing.T) {
	var typ *thrift.TypeError
	if b, err := thrift.Marshal(7); b != nil || !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal {
		t.Errorf("%x, %v", b, err)
	}
	if err := thrift.Unmarshal([]byte{0}, 7); !errors.As(err, &typ) || rpc.CodeOf(err) != rpc.Internal {
		t.Error(err)
	}
	var syntax *thrift.SyntaxError
	if err := thrift.Unmarshal([]byte{8, 0}, new(thrifttest.Leaf)); !errors.As(err, &syntax) || rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Error(err)
	}
}
