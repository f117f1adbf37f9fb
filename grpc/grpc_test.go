package grpc

import (
	"bytes"
	"compress/gzip"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/rpc"
)

func TestTimeout(t *testing.T) {
	for _, x := range []struct {
		d    time.Duration
		want string
		back time.Duration
	}{
		{0, "0n", 1}, {1, "1n", 1}, {99_999_999, "99999999n", 99_999_999},
		{100_000_001, "100001u", 100_001 * time.Microsecond},
		{time.Second, "1000000u", time.Second}, {5 * time.Minute, "300000m", 5 * time.Minute},
		{100_000 * time.Second, "100000S", 100_000 * time.Second},
		{math.MaxInt64, "2562048H", math.MaxInt64},
	} {
		got := string(AppendTimeout(nil, x.d))
		if got != x.want {
			t.Errorf("%v is written %q, want %q", x.d, got, x.want)
		}
		if back, ok := ParseTimeout(got); !ok || back != x.back {
			t.Errorf("%q is %v, %v, want %v", got, back, ok, x.back)
		}
	}
	for _, bad := range []string{"", "1", "n", "123456789n", "1x", "-1n", "+1n", " 1n", "1 n", "1.5S", "1nn"} {
		if d, ok := ParseTimeout(bad); ok {
			t.Errorf("%q is taken for %v", bad, d)
		}
	}
}

func TestMessageText(t *testing.T) {
	for plain, want := range map[string]string{
		"": "", "all fine": "all fine", "100%": "100%25", "a\nb": "a%0Ab", "nö": "n%C3%B6", "~ ": "~ ", "\x7f\x00": "%7F%00",
	} {
		if got := EscapeMessage(plain); got != want {
			t.Errorf("%q is written %q, want %q", plain, got, want)
		}
		if got := UnescapeMessage(want); got != plain {
			t.Errorf("%q is read %q, want %q", want, got, plain)
		}
	}
	for wrong, want := range map[string]string{"%": "%", "%4": "%4", "%zz": "%zz", "a%2": "a%2", "%e2%28": "\uFFFD(", "%c3%b6": "ö", "\xff": "\uFFFD"} {
		if got := UnescapeMessage(wrong); got != want {
			t.Errorf("%q is read %q, want %q", wrong, got, want)
		}
	}
}

func TestStatus(t *testing.T) {
	for _, e := range []*rpc.Error{
		{Code: rpc.NotFound}, {Code: rpc.Internal, Msg: "nö\n"},
		{Code: rpc.Aborted, Msg: "m", Details: rpc.Metadata{{Key: "google.rpc.ErrorInfo", Value: "\x00\xff"}, {Key: "user", Value: "7"}, {Key: "empty", Value: ""}}},
	} {
		fields := AppendStatus([]http2.Field{{Name: statusKey, Value: string('0' + rune(e.Code)%10)}}, e)
		fields[0].Value = map[rpc.Code]string{rpc.NotFound: "5", rpc.Internal: "13", rpc.Aborted: "10"}[e.Code]
		got, found := ParseStatus(nil, fields)
		if !found || got.Code != e.Code || got.Msg != e.Msg || !slices.Equal(got.Details, e.Details) || !got.Remote || got.Sent != rpc.Processed {
			t.Errorf("%v came back as %#v", e, got)
		}
	}
	for status, want := range map[string]rpc.Code{"0": rpc.OK, "00": rpc.OK, "17": rpc.Unknown, "-1": rpc.Unknown, "x": rpc.Unknown, "": rpc.Unknown, "16": rpc.Unauthenticated, "4294967296": rpc.Unknown} {
		e, found := ParseStatus([]http2.Field{{Name: statusKey, Value: status}})
		if !found || (e == nil) != (want == rpc.OK) || e != nil && e.Code != want {
			t.Errorf("status %q is %v, %v", status, e, found)
		}
	}
	if e, found := ParseStatus([]http2.Field{{Name: messageKey, Value: "x"}}); found || e != nil {
		t.Errorf("without a status: %v", e)
	}
	bad := []http2.Field{{Name: statusKey, Value: "5"}, {Name: detailsKey, Value: "!"}}
	if e, _ := ParseStatus(bad); e.Code != rpc.NotFound || e.Details != nil {
		t.Errorf("with details that are none: %v", e)
	}
}

// Every prefix of details is read as far as it goes.
func TestDetailsPrefixes(t *testing.T) {
	whole := appendDetails(nil, &rpc.Error{Code: rpc.Aborted, Msg: "m", Details: rpc.Metadata{{Key: "a.b", Value: "1"}, {Key: "c.d", Value: "2"}}})
	had := 0
	for n := range len(whole) + 1 {
		d := parseDetails(whole[:n])
		if len(d) < had || len(d) > 2 {
			t.Fatalf("%d bytes: %v, %d were there before", n, d, had)
		}
		had = len(d)
	}
	if had != 2 {
		t.Errorf("%d details in all", had)
	}
}

// The tables of codes have what the pages of gRPC say, and Unknown or Internal besides.
func TestCodes(t *testing.T) {
	for status, want := range map[int]rpc.Code{
		400: rpc.Internal, 401: rpc.Unauthenticated, 403: rpc.PermissionDenied, 404: rpc.Unimplemented,
		429: rpc.Unavailable, 502: rpc.Unavailable, 503: rpc.Unavailable, 504: rpc.Unavailable, 200: rpc.Unknown, 500: rpc.Unknown, 302: rpc.Unknown,
	} {
		if got := OfHTTP(status); got != want {
			t.Errorf("HTTP %d is %v, want %v", status, got, want)
		}
	}
	for code, want := range map[http2.Code]rpc.Code{
		http2.NoError: rpc.Internal, http2.ProtocolError: rpc.Internal, http2.RefusedStream: rpc.Unavailable, http2.Cancel: rpc.Canceled,
		http2.EnhanceYourCalm: rpc.ResourceExhausted, http2.InadequateSecurity: rpc.PermissionDenied, 99: rpc.Internal,
	} {
		if got := OfReset(code); got != want {
			t.Errorf("%v is %v, want %v", code, got, want)
		}
	}
}

func TestMetadata(t *testing.T) {
	md := rpc.Metadata{{Key: "Tenant", Value: "t1"}, {Key: "tenant", Value: "t2"}, {Key: "Raw-Bin", Value: "\x00\xff"}, {Key: "grpc-status", Value: "0"}, {Key: "TE", Value: "x"}, {Key: "empty", Value: ""}}
	var fields []http2.Field
	for _, p := range md {
		fields = AppendPair(fields, p)
	}
	want := []http2.Field{{Name: "tenant", Value: "t1"}, {Name: "tenant", Value: "t2"}, {Name: "raw-bin", Value: "AP8"}, {Name: "empty", Value: ""}}
	if !slices.Equal(fields, want) {
		t.Errorf("fields %v", fields)
	}
	fields = append(fields, http2.Field{Name: "content-type", Value: "x"}, http2.Field{Name: "grpc-timeout", Value: "1S"}, http2.Field{Name: "two-bin", Value: "AP8=, AQ"})
	got, e := ParseMetadata(nil, fields, rpc.Leading, 64)
	back := rpc.Metadata{{Key: "tenant", Value: "t1"}, {Key: "tenant", Value: "t2"}, {Key: "raw-bin", Value: "\x00\xff"}, {Key: "empty"}, {Key: "two-bin", Value: "\x00\xff"}, {Key: "two-bin", Value: "\x01"}}
	for i := range back {
		back[i].Scope = rpc.Leading
	}
	if e != nil || !slices.Equal(got, back) {
		t.Errorf("metadata %v, %v", got, e)
	}
	if _, e := ParseMetadata(nil, []http2.Field{{Name: "a-bin", Value: "%"}}, rpc.Transient, 64); e == nil || e.Code != rpc.Internal {
		t.Error("what is no base64 is taken")
	}
}

func TestGzip(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1 << 20} {
		text := strings.Repeat("abcdefgh", n/8+1)[:n]
		var out buf.Out
		out.AppendString(text)
		if err := Deflate(&out); err != nil {
			t.Fatal(err)
		}
		packed := out.Bytes()
		out.Reset()
		v, e := Inflate(packed, 2<<20)
		if e != nil || string(v.Bytes()) != text {
			t.Errorf("%d bytes: %d came back, %v", n, v.Len(), e)
		}
		v.Release()
		for _, most := range []int{0, n / 2, n - 1} {
			if most < n && most >= 0 {
				if _, e := Inflate(packed, most); e == nil || e.Code != rpc.ResourceExhausted {
					t.Errorf("%d bytes where %d may be: %v", n, most, e)
				}
			}
		}
		if n == 1<<20 {
			few := rpc.Limits{InflateFactor: 2}.WithDefaults()
			if _, e := Inflate(packed, few.InflateBudget(len(packed))); e == nil || e.Code != rpc.ResourceExhausted {
				t.Errorf("a bomb: %v", e)
			}
		}
		for cut := range min(len(packed), 40) {
			if _, e := Inflate(packed[:cut], 2<<20); e == nil || e.Code != rpc.Internal {
				t.Errorf("%d of %d bytes: %v", cut, len(packed), e)
			}
		}
	}
}

// wires has messages behind each other, as a body has them.
func wires(messages ...string) (b []byte) {
	for i, m := range messages {
		b = append(AppendHead(b, i%2 == 1, len(m)), m...)
	}
	return b
}

// split takes the messages out of parts, and counts what was used and granted.
func split(t testing.TB, most, free int, parts ...[]byte) (got []string, took, grants int, err *rpc.Error) {
	var s Splitter
	for _, p := range parts {
		data := buf.ViewOf(p)
		for at := 0; at < len(p); {
			m, n, grant, whole, e := s.Next(data, at, most, free)
			if n <= 0 || at+n > len(p) || grant > n {
				t.Fatalf("%d used of %d, %d granted", n, len(p)-at, grant)
			}
			at += n
			grants += grant
			if e != nil {
				err = e
			}
			if whole {
				if m.Packed != (len(got)%2 == 1) {
					t.Errorf("message %d: packed %v", len(got), m.Packed)
				}
				got = append(got, string(m.Body.Bytes()))
				took += m.Took
			}
		}
	}
	if s.Held() > free {
		t.Errorf("%d bytes are held", s.Held())
	}
	return got, took, grants, err
}

// However a body is cut in two or three, the messages and the sums are the same.
func TestSplitter(t *testing.T) {
	want := []string{"", "a", "", "hello", strings.Repeat("x", 40)}
	body := wires(want...)
	for i := range len(body) + 1 {
		for j := i; j <= len(body); j++ {
			got, took, grants, err := split(t, 100, 1000, body[:i], body[i:j], body[j:])
			if err != nil || !slices.Equal(got, want) || took+grants != len(body) {
				t.Fatalf("cut at %d and %d: %q, %d + %d of %d bytes, %v", i, j, got, took, grants, len(body), err)
			}
		}
	}
}

// Of a large message a part stays used until it is consumed; the rest is granted at once.
func TestSplitterGrants(t *testing.T) {
	body := wires(strings.Repeat("x", 100_000))
	var parts [][]byte
	for p := range slices.Chunk(body, 16<<10) {
		parts = append(parts, p)
	}
	got, took, grants, err := split(t, 1<<20, 1<<20, parts...)
	if err != nil || len(got) != 1 || took != windowPart || took+grants != len(body) {
		t.Errorf("%d messages, %d used, %d granted, %v", len(got), took, grants, err)
	}
}

func TestSplitterRefuses(t *testing.T) {
	for name, x := range map[string]struct {
		body       []byte
		most, free int
		code       rpc.Code
	}{
		"too large":     {wires(strings.Repeat("x", 101)), 100, 1000, rpc.ResourceExhausted},
		"no room":       {wires(strings.Repeat("x", 90))[:50], 100, 20, rpc.ResourceExhausted},
		"no flag":       {[]byte{2, 0, 0, 0, 0}, 100, 1000, rpc.Internal},
		"huge, no body": {[]byte{0, 0xff, 0xff, 0xff, 0xff}, 100, 1000, rpc.ResourceExhausted},
	} {
		got, _, _, err := split(t, x.most, x.free, x.body, wires("never"))
		if len(got) != 0 || err == nil || err.Code != x.code {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestSplitterState(t *testing.T) {
	var s Splitter
	if !s.Empty() || s.Torn() {
		t.Error("a new one is not empty")
	}
	s.Next(buf.ViewOf([]byte{0}), 0, 10, 10)
	if s.Empty() || !s.Torn() {
		t.Error("one that has begun is empty")
	}
	if s.Close(); s.Empty() || s.Torn() {
		t.Error("a closed one waits for something")
	}
	if _, n, grant, whole, err := s.Next(buf.ViewOf(wires("x")), 0, 10, 10); n != 6 || grant != 6 || whole || err != nil {
		t.Errorf("a closed one takes %d, grants %d, %v, %v", n, grant, whole, err)
	}
}

func FuzzTimeout(f *testing.F) {
	f.Add("10S")
	f.Add("99999999H")
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := ParseTimeout(s)
		if !ok {
			return
		}
		if d <= 0 {
			t.Fatalf("%q is %v", s, d)
		}
		if back, ok := ParseTimeout(string(AppendTimeout(nil, d))); !ok || back < d {
			t.Fatalf("%q is %v and goes as %v", s, d, back)
		}
	})
}

func FuzzMessageText(f *testing.F) {
	f.Add("a%20b%")
	f.Fuzz(func(t *testing.T, s string) {
		text := UnescapeMessage(s)
		escaped := EscapeMessage(text)
		for i := range len(escaped) {
			if c := escaped[i]; c < ' ' || c > '~' {
				t.Fatalf("%q has the byte %d", escaped, c)
			}
		}
		if back := UnescapeMessage(escaped); back != text {
			t.Fatalf("%q came back as %q", text, back)
		}
	})
}

func FuzzStatus(f *testing.F) {
	f.Add("5", "gone", "CAUSAW0aBQoDYS5i")
	f.Fuzz(func(t *testing.T, status, message, details string) {
		e, found := ParseStatus([]http2.Field{{Name: statusKey, Value: status}, {Name: messageKey, Value: message}, {Name: detailsKey, Value: details}})
		if !found || e != nil && (e.Code == rpc.OK || int(e.Code) >= rpc.Codes) {
			t.Fatalf("%v, %v", e, found)
		}
	})
}

func FuzzSplitter(f *testing.F) {
	f.Add(wires("a", "bc", ""), uint16(3))
	f.Fuzz(func(t *testing.T, body []byte, size uint16) {
		whole, took, grants, err := split2(t, body)
		var parts [][]byte
		for p := range slices.Chunk(body, int(size)%64+1) {
			parts = append(parts, p)
		}
		got, took2, grants2, err2 := split2(t, parts...)
		if !slices.Equal(got, whole) || (err == nil) != (err2 == nil) || err == nil && took+grants != took2+grants2 {
			t.Fatalf("%q and %q, %v and %v", whole, got, err, err2)
		}
	})
}

// split2 is split for messages that are packed or not as they like.
func split2(t testing.TB, parts ...[]byte) (got []string, took, grants int, err *rpc.Error) {
	var s Splitter
	for _, p := range parts {
		data := buf.ViewOf(p)
		for at := 0; at < len(p); {
			m, n, grant, whole, e := s.Next(data, at, 1000, 4000)
			if n <= 0 || at+n > len(p) || s.Held() > 4000 {
				t.Fatalf("%d used of %d, %d held", n, len(p)-at, s.Held())
			}
			at += n
			grants += grant
			if e != nil {
				err = e
			}
			if whole {
				got = append(got, string(m.Body.Bytes()))
				took += m.Took
			}
		}
	}
	return got, took, grants, err
}

func FuzzInflate(f *testing.F) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write([]byte(strings.Repeat("x", 1000))) //nolint:errcheck // a Buffer takes everything
	z.Close()
	f.Add(b.Bytes())
	f.Fuzz(func(t *testing.T, p []byte) {
		v, e := Inflate(p, 4096)
		if e == nil && v.Len() > 4096 {
			t.Fatalf("%d bytes", v.Len())
		}
		v.Release()
	})
}

// A value of many in base64 is not worth more than a list of as many fields.
func TestManyValues(t *testing.T) {
	for n, want := range map[int]bool{100: true, 256: true, 257: false, 16 << 10: false} {
		md, e := ParseMetadata(nil, []http2.Field{{Name: "x-bin", Value: strings.Repeat(",", n-1)}}, rpc.Transient, 256)
		if (e == nil) != want || e != nil && (e.Code != rpc.ResourceExhausted || len(md) > 0) {
			t.Errorf("%d values: %v, %d pairs", n, e, len(md))
		}
	}
}
