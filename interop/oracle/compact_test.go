package oracle

import (
	"bytes"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	apache "github.com/apache/thrift/lib/go/thrift"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/thrift"
)

func compactPeer(p []byte) (*peer, *apache.TMemoryBuffer) {
	mem := apache.NewTMemoryBuffer()
	mem.Write(p) // never fails
	return &peer{p: apache.NewTCompactProtocolConf(mem, nil)}, mem
}

func appendCompact(t testing.TB, msg any) []byte {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	if err := (thrift.Compact{}).Append(&out, msg); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestCompactAgainstApache(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for seed := range uint64(500) {
		few := seed%2 == 0
		r := rand.New(rand.NewPCG(seed, 1))
		want := new(Everything)
		fill(r, reflect.ValueOf(want).Elem(), 0, few)

		w, mem := compactPeer(nil)
		w.write(reflect.ValueOf(want))
		if w.err != nil {
			t.Fatal(w.err)
		}
		theirs, ours := bytes.Clone(mem.Bytes()), appendCompact(t, want)
		if few && !bytes.Equal(ours, theirs) {
			t.Fatalf("seed %d: encoded\n%x; Apache has\n%x", seed, ours, theirs)
		}
		if len(ours) != len(theirs) {
			t.Fatalf("seed %d: %d bytes; Apache has %d", seed, len(ours), len(theirs))
		}

		got := new(Everything)
		if err := (thrift.Compact{}).Decode(buf.ViewOf(theirs), got, lim); err != nil {
			t.Fatalf("seed %d: Apache's bytes: %v", seed, err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d: Apache's bytes became\n%+v; want\n%+v", seed, got, want)
		}

		var back *Everything
		x, _ := compactPeer(ours)
		x.read(reflect.ValueOf(&back).Elem())
		if x.err != nil || !reflect.DeepEqual(back, want) {
			t.Fatalf("seed %d: Apache read our bytes as\n%+v, %v; want\n%+v", seed, back, x.err, want)
		}
	}
}

func TestCompactEnvelopesAgainstApache(t *testing.T) {
	for _, name := range []string{"", "echo", strings.Repeat("long", 100)} {
		for typ := raw.Call; typ <= raw.Oneway; typ++ {
			for _, seq := range []int32{0, 7, -7, 1 << 30} {
				x, mem := compactPeer(nil)
				if err := x.p.WriteMessageBegin(ctx, name, apache.TMessageType(typ), seq); err != nil {
					t.Fatal(err)
				}
				theirs := mem.Bytes()
				gotName, gotType, gotSeq, n, err := raw.Compact{}.ParseMessageBegin(theirs)
				if string(gotName) != name || gotType != typ || gotSeq != seq || n != len(theirs) || err != nil {
					t.Errorf("%x: %q %v %d, %d bytes, %v", theirs, gotName, gotType, gotSeq, n, err)
				}
				if ours := (raw.Compact{}).AppendMessageBegin(nil, name, typ, seq); !bytes.Equal(ours, theirs) {
					t.Errorf("%x; Apache has %x", ours, theirs)
				}
			}
		}
	}
}

func TestCompactExceptionsAgainstApache(t *testing.T) {
	x, mem := compactPeer(nil)
	if err := apache.NewTApplicationException(apache.UNKNOWN_METHOD, "no such thing").Write(ctx, x.p); err != nil {
		t.Fatal(err)
	}
	if ours := (raw.Compact{}).AppendException(nil, "no such thing", raw.UnknownMethod); !bytes.Equal(ours, mem.Bytes()) {
		t.Errorf("%x; Apache has %x", ours, mem.Bytes())
	}
}

// TestCompactAcceptsWhatApacheAccepts changes bytes of messages: both must
// find the same end, or none.
func TestCompactAcceptsWhatApacheAccepts(t *testing.T) {
	accepted, refused := 0, 0
	for seed := range uint64(400) {
		r := rand.New(rand.NewPCG(seed, 2))
		msg := new(Everything)
		fill(r, reflect.ValueOf(msg).Elem(), 4, false)
		whole := appendCompact(t, msg)
		for range 100 {
			p := bytes.Clone(whole)
			for range 1 + r.IntN(3) {
				switch at := r.IntN(len(p)); r.IntN(4) {
				case 0:
					p = append(p[:at:at], p[at+1:]...) // one less
				case 1:
					p = append(p[:at:at], append([]byte{byte(r.IntN(256))}, p[at:]...)...) // one more
				default:
					p[at] ^= 1 << r.IntN(8)
				}
				if len(p) == 0 {
					p = []byte{0}
				}
			}
			x, mem := compactPeer(p)
			theirErr := apache.Skip(ctx, x.p, apache.STRUCT, 1000)
			n, err := raw.Compact{}.SkipStruct(p, 999)
			if (err == nil) != (theirErr == nil) || err == nil && n != len(p)-mem.Len() {
				t.Fatalf("%x: %d of %d, %v; Apache leaves %d, %v", p, n, len(p), err, mem.Len(), theirErr)
			}
			if err == nil {
				accepted++
			} else {
				refused++
			}
		}
	}
	if accepted < 1000 || refused < 1000 {
		t.Errorf("%d accepted, %d refused: the test says little", accepted, refused)
	}
}
