package raw

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/rpc"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestMessageBeginBytes(t *testing.T) {
	want := unhex(t, "80010001 00000004 6563686f 00000007")
	got := AppendMessageBegin(nil, "echo", Call, 7)
	if !bytes.Equal(got, want) {
		t.Fatalf("got %x; want %x", got, want)
	}
}

func TestParseMessageBegin(t *testing.T) {
	for _, tt := range []struct {
		in     string
		old    bool
		name   string
		typ    MessageType
		seq    int32
		failed string // text of the error
	}{
		{in: "80010001 00000004 6563686f 00000007", name: "echo", typ: Call, seq: 7},
		{in: "8001ff04 00000000 ffffffff", typ: Oneway, seq: -1},
		{in: "00000004 6563686f 02 00000007", old: true, name: "echo", typ: Reply, seq: 7},
		{in: "00000000 04 80000000", old: true, typ: Oneway, seq: -1 << 31},
		{in: "80010003 00000001 61 00000000", old: true, name: "a", typ: Exception},
		{in: "00000004 6563686f 02 00000007", failed: "not a strict message"},
		{in: "80020001 00000004 6563686f 00000007", failed: "unknown version 8002"},
		{in: "80010000 00000000 00000000", failed: "message type 0"},
		{in: "80010005 00000000 00000000", failed: "message type 5"},
		{in: "80010001 7fffffff", failed: "method name of 2147483647"},
		{in: "80010001 ffffffff", failed: "method name of"},
		{in: "7fffffff", old: true, failed: "method name of"},
		{in: "00000001 61 09 00000000", old: true, failed: "message type 9"},
	} {
		p := unhex(t, tt.in)
		name, typ, seq, n, err := ParseMessageBegin(p, tt.old)
		if tt.failed != "" {
			var syntax *SyntaxError
			if !errors.As(err, &syntax) || !strings.Contains(err.Error(), tt.failed) || rpc.CodeOf(err) != rpc.InvalidArgument {
				t.Errorf("%s: %v; want %q", tt.in, err, tt.failed)
			}
			continue
		}
		if err != nil || string(name) != tt.name || typ != tt.typ || seq != tt.seq || n != len(p) {
			t.Errorf("%s: %q %v %d, %d bytes, %v", tt.in, name, typ, seq, n, err)
		}
		for i := range p {
			_, _, _, need, err := ParseMessageBegin(p[:i], tt.old)
			if err != ErrShort || need <= i || need > len(p) {
				t.Errorf("%s: prefix of %d: %v, need %d", tt.in, i, err, need)
			}
		}
	}
}

func TestExceptionBytesAndPrefixes(t *testing.T) {
	want := unhex(t, "0b 0001 00000002 6e6f 08 0002 00000006 00")
	got := AppendException(nil, "no", InternalError)
	if !bytes.Equal(got, want) {
		t.Fatalf("got %x; want %x", got, want)
	}
	text, typ, n, err := ParseException(append(got, 1, 2))
	if text != "no" || typ != InternalError || n != len(got) || err != nil {
		t.Errorf("%q %d, %d bytes, %v", text, typ, n, err)
	}
	for i := range got {
		if _, _, _, err := ParseException(got[:i]); err != ErrShort {
			t.Errorf("prefix of %d: %v", i, err)
		}
	}
	// Foreign fields, wrong types and other orders.
	text, typ, _, err = ParseException(unhex(t, "08 0002 00000001 02 0009 01 08 0001 00000005 0b 0001 00000001 61 00"))
	if text != "a" || typ != UnknownMethod || err != nil {
		t.Errorf("%q %d %v", text, typ, err)
	}
	if _, _, _, err = ParseException(unhex(t, "07 0002")); rpc.CodeOf(err) != rpc.InvalidArgument {
		t.Errorf("garbage: %v", err)
	}
}

// TestExceptionTable walks the table of rules in both directions.
func TestExceptionTable(t *testing.T) {
	in := map[ExceptionType]rpc.Code{
		0: rpc.Unknown, 1: rpc.Unimplemented, 2: rpc.InvalidArgument, 3: rpc.Internal, 4: rpc.Internal, 5: rpc.Internal,
		6: rpc.Internal, 7: rpc.InvalidArgument, 8: rpc.InvalidArgument, 9: rpc.InvalidArgument, 10: rpc.InvalidArgument,
		20: rpc.Unimplemented,
	}
	for typ := ExceptionType(-2); typ < 30; typ++ {
		want, ok := in[typ]
		if !ok {
			want = rpc.Unknown
		}
		if got := typ.Code(); got != want {
			t.Errorf("type %d is %v; want %v", typ, got, want)
		}
	}
	exact := map[rpc.Code]ExceptionType{
		rpc.Unknown: UnknownException, rpc.InvalidArgument: ProtocolError, rpc.Unimplemented: UnknownMethod, rpc.Internal: InternalError,
	}
	for c := rpc.Code(1); int(c) < rpc.Codes+2; c++ {
		typ := ExceptionOf(c)
		want, isExact := exact[c]
		switch {
		case isExact && (typ != want || typ.Code() != c):
			t.Errorf("%v goes out as %d and comes in as %v", c, typ, typ.Code())
		case !isExact && int(c) < rpc.Codes && typ != InternalError:
			t.Errorf("%v goes out as %d; want %d", c, typ, InternalError)
		}
	}
}

func FuzzParseMessageBegin(f *testing.F) {
	f.Add(AppendMessageBegin(nil, "echo", Call, 7), false)
	f.Add([]byte("\x00\x00\x00\x04echo\x02\x00\x00\x00\x07"), true)
	f.Fuzz(func(t *testing.T, p []byte, old bool) {
		name, typ, seq, n, err := ParseMessageBegin(p, old)
		switch {
		case err == ErrShort:
			if n <= len(p) {
				t.Fatalf("short with %d of %d", n, len(p))
			}
		case err == nil && p[0] == 0x80:
			again := AppendMessageBegin(nil, string(name), typ, seq)
			again[2] = p[2]
			if !bytes.Equal(again, p[:n]) {
				t.Fatalf("%x became %x", p[:n], again)
			}
		}
	})
}

func FuzzParseException(f *testing.F) {
	f.Add(AppendException(nil, "no", InternalError))
	f.Fuzz(func(t *testing.T, p []byte) {
		text, typ, n, err := ParseException(p)
		if err != nil {
			return
		}
		if n > len(p) || len(text) > len(p) {
			t.Fatalf("%d bytes of %d", n, len(p))
		}
		text2, typ2, _, err := ParseException(AppendException(nil, text, typ))
		if text2 != text || typ2 != typ || err != nil {
			t.Fatalf("%q %d became %q %d, %v", text, typ, text2, typ2, err)
		}
	})
}
