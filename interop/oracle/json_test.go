package oracle

import (
	"bytes"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	apache "github.com/apache/thrift/lib/go/thrift"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/tjson"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

// jsonPeer makes Apache's TJSONProtocol over a memory that holds p.
func jsonPeer(p []byte) (*peer, *apache.TMemoryBuffer) {
	mem := apache.NewTMemoryBuffer()
	mem.Write(p) // never fails
	return &peer{p: apache.NewTJSONProtocol(mem)}, mem
}

func TestJSONAgainstApache(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		want := new(Everything)
		fill(r, reflect.ValueOf(want).Elem(), 0, seed%2 == 0)
		want.String += "\"\\/\b\n\x01\u2028<&>\U0001f426"
		want.Doubles = append(want.Doubles, math.Inf(1), math.Inf(-1), 1e300, 5e-324, 0)

		w, mem := jsonPeer(nil)
		w.write(reflect.ValueOf(want))
		w.do(w.p.Flush(ctx))
		if w.err != nil {
			t.Fatal(w.err)
		}
		theirs := bytes.Clone(mem.Bytes())
		got := new(Everything)
		if err := (thrift.JSON{}).Decode(buf.ViewOf(theirs), got, lim); err != nil {
			t.Fatalf("seed %d: Apache's text: %v\n%s", seed, err, theirs)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: Apache's text became\n%+v; want\n%+v", seed, got, want)
		}

		var out buf.Out
		if err := (thrift.JSON{}).Append(&out, want); err != nil {
			t.Fatal(err)
		}
		ours := out.Bytes()
		out.Reset()
		var back *Everything
		x, _ := jsonPeer(ours)
		x.read(reflect.ValueOf(&back).Elem())
		if x.err != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("seed %d: Apache read our text as\n%+v, %v; want\n%+v\n%s", seed, back, x.err, want, ours)
		}
	}
}

func TestJSONMessagesAgainstApache(t *testing.T) {
	w, mem := jsonPeer(nil)
	x := apache.NewTApplicationException(apache.UNKNOWN_METHOD, "no such thing")
	for _, err := range []error{
		w.p.WriteMessageBegin(ctx, "a \"method\"", apache.EXCEPTION, -7), x.Write(ctx, w.p), w.p.WriteMessageEnd(ctx), w.p.Flush(ctx),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	name, typ, seq, body, err := tjson.ParseMessage(mem.Bytes())
	if name != "a \"method\"" || typ != raw.Exception || seq != -7 || err != nil {
		t.Errorf("%q %v %d %s, %v", name, typ, seq, body, err)
	}
	ours := tjson.AppendMessage(nil, name, typ, seq, body)
	if !bytes.Equal(ours, mem.Bytes()) {
		t.Errorf("%s; Apache has %s", ours, mem.Bytes())
	}
	r, _ := jsonPeer(ours)
	gotName, gotType, gotSeq, err := r.p.ReadMessageBegin(ctx)
	if gotName != name || gotType != apache.EXCEPTION || gotSeq != -7 || err != nil {
		t.Errorf("Apache read %q %v %d, %v", gotName, gotType, gotSeq, err)
	}
	if err := x.Read(ctx, r.p); err != nil || x.TypeId() != apache.UNKNOWN_METHOD || x.Error() != "no such thing" {
		t.Errorf("Apache read %v, %v", x, err)
	}
}
