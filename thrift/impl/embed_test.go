package impl_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
	"github.com/limosa-rpc/limosa/thrift/impl"
)

// A Made has the methods that generated structs have.
type Made struct {
	ID int64 `thrift:"id,1"`
}

func (m *Made) EncodeThrift(to impl.Output, b []byte, depth int) ([]byte, error) {
	var e impl.Encoder
	return e.End(m.AppendThrift(e.Begin(to, b, depth)))
}

func (m *Made) DecodeThrift(in impl.Input, depth int) impl.Result {
	var d impl.Decoder
	return d.End(m.ReadThrift(d.Begin(in, depth)))
}

func (m *Made) AppendThrift(e *impl.Encoder, b []byte, depth int) []byte {
	return e.Plan(b, m, depth)
}

func (m *Made) ReadThrift(d *impl.Decoder, b []byte, depth int) []byte {
	return d.Whole(m, b, depth)
}

type (
	embedsMade struct {
		Made
		Extra string `thrift:"extra,2"`
	}
	embedsPointer struct {
		*Made
		Extra string `thrift:"extra,2"`
	}
	embedsField struct { // its methods would be called on nil
		*Made `thrift:"made,1"`
		Extra string `thrift:"extra,2"`
	}
	embedsIgnored struct {
		Made  `thrift:"-"`
		Extra string `thrift:"extra,2"`
	}
	middle        struct{ Made }
	embedsThrough struct {
		middle
		Extra string `thrift:"extra,2"`
	}
	embedsDefaults struct {
		*thrifttest.Defaults `thrift:"defaults,1"`
		Extra                string `thrift:"extra,2"`
	}
	embedsPlain struct {
		thrifttest.Leaf
		Extra string `thrift:"extra,9"`
	}
	embedsView struct {
		LazyTree
		Extra string `thrift:"extra,9"`
	}
	embedsInner struct {
		Inner *embedsMade `thrift:"inner,1"`
	}
	LazyTree struct {
		_ [0]thrifttest.Tree
		thrift.Lazy
	}
	base          struct{ Note string }
	embedsAllowed struct {
		base             // nothing of Thrift's
		*thrifttest.Leaf `thrift:"leaf,1"`
		*thrifttest.Tree `thrift:"-"`
		Extra            string `thrift:"extra,2"`
	}
)

// TestEmbeddedStructsAreRefused: methods of a part would stand for the whole, fields of
// a part would be lost, both without a word. All codecs refuse it on both ways.
func TestEmbeddedStructsAreRefused(t *testing.T) {
	codecs := map[string]rpc.Codec{"binary": thrift.Binary{}, "plan": thrift.Binary{Plan: true}, "compact": thrift.Compact{}, "JSON": thrift.JSON{}}
	for _, tt := range []struct {
		msg any
		why string
	}{
		{&embedsMade{}, "embedsMade.Made: embeds impl_test.Made, whose methods would stand for the whole struct: give the field a name"},
		{&embedsPointer{Made: &Made{}}, "embedsPointer.Made: embeds *impl_test.Made, whose methods"},
		{&embedsField{}, "embedsField.Made: embeds *impl_test.Made, whose methods"},
		{&embedsIgnored{}, "embedsIgnored.Made: embeds impl_test.Made, whose methods"},
		{&embedsThrough{}, "embedsThrough.middle: embeds impl_test.middle, whose methods"},
		{&embedsDefaults{}, "embedsDefaults.Defaults: embeds *thrifttest.Defaults, whose methods"},
		{&embedsPlain{}, "embedsPlain.Leaf: embeds thrifttest.Leaf, whose fields would be lost: give the field a name and a tag"},
		{&embedsView{}, "embedsView.LazyTree: embeds impl_test.LazyTree, whose methods"},
		{&embedsInner{}, "embedsMade.Made: embeds impl_test.Made, whose methods"},
	} {
		for name, c := range codecs {
			var typ *thrift.TypeError
			if err := c.Append(new(buf.Out), tt.msg); !errors.As(err, &typ) || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%s encodes %T: %v; want %q", name, tt.msg, err, tt.why)
			}
			body := "\x00"
			if name == "JSON" {
				body = "{}"
			}
			if err := c.Decode(buf.ViewOf([]byte(body)), tt.msg, nil); !errors.As(err, &typ) || !strings.Contains(err.Error(), tt.why) {
				t.Errorf("%s decodes %T: %v; want %q", name, tt.msg, err, tt.why)
			}
		}
	}
	got, want := new(embedsAllowed), &embedsAllowed{Leaf: &thrifttest.Leaf{ID: 7}, Extra: "x"}
	if err := thrifttest.Decode(thrifttest.Encode(t, want), got); err != nil || got.Leaf.ID != 7 || got.Extra != "x" {
		t.Errorf("what loses nothing: %+v, %v", got, err)
	}
}
