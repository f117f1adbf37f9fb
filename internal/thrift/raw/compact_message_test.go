package raw_test

import (
	"errors"
	"math"
	"testing"

	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/internal/thrift/thrifttest"
	"github.com/limosa-rpc/limosa/thrift"
)

func TestCompactEnvelopes(t *testing.T) {
	for _, seq := range []int32{0, 1, -1, math.MinInt32, math.MaxInt32} {
		for typ := raw.Call; typ <= raw.Oneway; typ++ {
			p := raw.Compact{}.AppendMessageBegin(nil, "method", typ, seq)
			for i := range p {
				if _, _, _, n, err := (raw.Compact{}).ParseMessageBegin(p[:i:i]); err != raw.ErrShort || n <= i || n > max(4, len(p)) {
					t.Errorf("%d of %x: %d, %v", i, p, n, err)
				}
			}
			name, gotType, gotSeq, n, err := raw.Compact{}.ParseMessageBegin(append(p, 1, 2, 3))
			if string(name) != "method" || gotType != typ || gotSeq != seq || n != len(p) || err != nil {
				t.Errorf("%x: %q %v %d, %d bytes, %v", p, name, gotType, gotSeq, n, err)
			}
		}
	}
	for _, in := range []string{
		"80", "8001", "83", "8222", "8201", "82a1", "82e1",
		"8221 80808080808080808080", "8221 00 ffffffff0f", "8221 00 818001",
	} {
		var syntax *thrift.SyntaxError
		if _, _, _, _, err := (raw.Compact{}).ParseMessageBegin(thrifttest.Unhex(t, in)); !errors.As(err, &syntax) {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestCompactExceptions(t *testing.T) {
	p := raw.Compact{}.AppendException(nil, "no such thing", raw.UnknownMethod)
	for i := range p {
		if _, _, _, err := (raw.Compact{}).ParseException(p[:i:i]); err != raw.ErrShort {
			t.Errorf("%d of %x: %v", i, p, err)
		}
	}
	text, typ, n, err := raw.Compact{}.ParseException(append(p, 7))
	if text != "no such thing" || typ != raw.UnknownMethod || n != len(p) || err != nil {
		t.Errorf("%q, %d, %d, %v", text, typ, n, err)
	}
	for in, want := range map[string]raw.ExceptionType{
		"00": 0, "2528 00": 20, "1103 2511 00": 0, "0502 01 00": 0, "0504 01 00": -1, "11 15 0a 00": 5,
	} {
		if _, typ, _, err := (raw.Compact{}).ParseException(thrifttest.Unhex(t, in)); typ != want || err != nil {
			// An i32 as field 1 is not ours, nor is one as field 3.
			t.Errorf("%s: %d, %v; want %d", in, typ, err, want)
		}
	}
	if _, _, _, err := (raw.Compact{}).ParseException(thrifttest.Unhex(t, "1e")); err == nil || err == raw.ErrShort {
		t.Errorf("an unknown kind: %v", err)
	}
}
