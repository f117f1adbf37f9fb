package ttheader

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

// run feeds p in pieces and gives the traces of all events, and the error.
func run(t testing.TB, s wire.Session, p []byte, piece func(left int) int) (lines []string) {
	t.Helper()
	var in buf.In
	defer in.Close()
	for len(p) > 0 {
		n := min(len(p), max(1, piece(len(p))))
		feed(&in, p[:n])
		p = p[n:]
		evs, need, err := cutAll(s, &in)
		for _, ev := range evs {
			lines = append(lines, trace(ev))
		}
		release(evs)
		if err != nil {
			return append(lines, "error: "+err.Error())
		}
		if need > testLimits.MessageBytes {
			t.Fatalf("need is %d", need)
		}
	}
	return lines
}

// recorded gives all bytes that went one way in each exchange.
func recorded(t testing.TB, from string) map[string][]byte {
	all := map[string][]byte{}
	for _, x := range append(loadVectors(t, false), loadVectors(t, true)...) {
		for _, m := range x.Direction {
			if m.From == from && m.Conn == 0 {
				all[x.Name] = append(all[x.Name], unhex(t, m.Hex)...)
			}
		}
	}
	return all
}

func openFor(from string) wire.Session {
	if from == "client" {
		return Protocol{}.Open(wire.Server, testLimits)
	}
	return Protocol{NoOffer: true}.Open(wire.Client, testLimits)
}

// TestPieces cuts every recorded exchange in two at each place, and byte by
// byte: the same events come of it.
func TestPieces(t *testing.T) {
	for _, from := range []string{"client", "server"} {
		for name, p := range recorded(t, from) {
			want := run(t, openFor(from), p, func(left int) int { return left })
			failed := len(want) > 0 && strings.HasPrefix(want[len(want)-1], "error")
			for i := 0; i <= len(p); i++ {
				first := true
				got := run(t, openFor(from), p, func(left int) int {
					if first {
						first = false
						return i
					}
					return left
				})
				// What is wrong may be seen earlier, and is then told otherwise.
				if !slices.Equal(got, want) && !failed {
					t.Fatalf("%s, %s cut at %d:\ngot  %s\nwant %s", name, from, i, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
			if got := run(t, openFor(from), p, func(int) int { return 1 }); !slices.Equal(got, want) && !failed {
				t.Fatalf("%s, %s byte by byte:\ngot  %s\nwant %s", name, from, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

// TestPrefixes feeds each prefix of one frame of each form: no event, no
// error, and a need that is not above what is missing.
func TestPrefixes(t *testing.T) {
	frames := map[string]string{
		"bare":           `80010001 "Ping" 00000001 0b0001 "hello" 0c0002 080001 00000007 00 0f0003 0b 00000002 "a" "b" 00`,
		"framed":         `[ 80010001 "Ping" 00000001 0b0001 "hello" 00 ]`,
		"ttheader":       `[ 1000 0000 00000001 { 0000 01 0002 'isn' 'Echo' 'RPC_TRANSIT_a' 'b' } 80010001 "Ping" 00000001 0b0001 "hello" 00 ]`,
		"ttframed":       `[ 1000 0000 00000001 { 0000 10 0001 000c '100' } [ 80010001 "Ping" 00000001 0b0001 "hello" 00 ] ]`,
		"mesh":           `ffaf 0008 0001 'a' 'b' [ 80010001 "Ping" 00000005 00 ]`,
		"meshbare":       `ffaf 0008 0001 'a' 'b' 80010001 "Ping" 00000005 00`,
		"stream":         `[ 1000 0002 fffffffb { 1000 10 0002 0009 'Bidi' 001b '2' } ]`,
		"cancel":         `[ 1000 0000 00000001 { 0000 01 0002 'limosa-offer' 'v=1;mux=1' 'limosa-cancel' '1' } ]`,
		"compact":        `82 21 01 04 50696e67 18 02 6869 00`,
		"compactframed":  `[ 82 21 01 04 50696e67 00 ]`,
		"ttcompact":      `[ 1000 0000 00000001 { 0200 01 0001 'isn' 'Echo' } 82 21 01 04 50696e67 00 ]`,
		"theader":        `[ 0fff 0000 00000007 { 00 00 01 01 01 61 01 62 } 80010001 "Ping" 00000001 0b0001 "hello" 00 ]`,
		"theadercompact": `[ 0fff 0000 00000007 { 02 00 } 82 21 01 04 50696e67 00 ]`,
		"trailer":        `[ 1000 0002 00000007 { 1000 10 0001 001b '4' } ]`,
		"data":           `[ 1000 0002 00000007 { 1000 10 0001 001b '3' } 0b0001 "hello" 00 ]`,
		"reset":          `[ 1000 0002 00000007 { 1000 10 0001 001b '5' } 80010003 "Ping" 00000007 0b0001 "no" 080002 00000006 00 ]`,
		"old":            `00000004 50696e67 01 00000003 00`,
		"oldframe":       `[ 00000004 50696e67 01 00000003 00 ]`,
	}
	for name, text := range frames {
		checkPrefixes(t, name, text, func() wire.Session {
			return Protocol{NonStrict: strings.HasPrefix(name, "old")}.Open(wire.Server, testLimits)
		})
	}
	answers := map[string]string{
		"hello":     `[ 1000 0000 00000000 { 0000 01 0001 'limosa-hello' 'v=1;mux=1' } ]`,
		"drain":     `[ 1000 0000 00000000 { 0000 01 0001 'limosa-drain' '1' } ]`,
		"last":      `[ 1000 0000 00000000 { 0000 01 0001 'limosa-drain' 'last' } ]`,
		"reply":     `[ 1000 0000 00000001 { 0000 01 0001 'a' 'b' } 80010002 "Ping" 00000001 0b0000 "hello" 00 ]`,
		"exception": `[ 1000 0000 00000001 { 0000 01 0001 'limosa-code' '5' } 80010003 "Ping" 00000001 0b0001 "no" 080002 00000006 00 ]`,
		"framed":    `[ 80010002 "Ping" 00000001 00 ]`,
		"bare":      `80010003 "Ping" 00000001 0b0001 "no" 080002 00000006 00`,
		"theader":   `[ 0fff 0000 00000001 { 00 00 01 01 01 61 01 62 } 80010002 "Ping" 00000001 00 ]`,
		"trailer":   `[ 1000 0002 00000007 { 1000 01 0001 'a' 'b' 10 0001 001b '4' } 80010003 "Ping" 00000007 0b0001 "no" 080002 00000006 00 ]`,
	}
	for name, text := range answers {
		checkPrefixes(t, "answer: "+name, text, func() wire.Session { return Protocol{}.Open(wire.Client, testLimits) })
	}
	if n := buf.Live(); n != 0 {
		t.Errorf("%d blocks leaked", n)
	}
}

func checkPrefixes(t *testing.T, name, text string, open func() wire.Session) {
	t.Helper()
	p, _ := scriptBytes(t, text)
	for i := range len(p) {
		s := open()
		var in buf.In
		feed(&in, p[:i])
		ev, need, err := s.Cut(&in)
		if ev.Flags != 0 || err != nil || need < 1 || need > len(p)-i {
			t.Fatalf("%s, %d of %d bytes: %s, need %d, %v", name, i, len(p), trace(ev), need, err)
		}
		feed(&in, p[i:])
		if ev, _, err = s.Cut(&in); ev.Flags == 0 || err != nil || in.Len() != 0 {
			t.Fatalf("%s, %d and %d bytes: %s, %v, %d left", name, i, len(p)-i, trace(ev), err, in.Len())
		}
		ev.Body.Release()
		in.Close()
	}
}

// TestSniff judges each prefix of what is, and is not, of this protocol.
func TestSniff(t *testing.T) {
	for text, want := range map[string]struct {
		verdict, old wire.Verdict // old: with NonStrict
	}{
		`80010001 00000004`: {wire.Yes, wire.Yes},
		`00000020 80010001`: {wire.Yes, wire.Yes},
		`00000020 10000000`: {wire.Yes, wire.Yes},
		`ffaf 0008 0001`:    {wire.Yes, wire.Yes},
		`00000004 50696e67`: {wire.No, wire.Yes},
		`00000011 00000004`: {wire.No, wire.Yes},
		`474554202f20`:      {wire.No, wire.No},   // GET
		`505249202a20`:      {wire.No, wire.No},   // PRI
		`160301020001`:      {wire.No, wire.No},   // TLS
		`000000110fff`:      {wire.Yes, wire.Yes}, // THeader
		`00000011 82210001`: {wire.Yes, wire.Yes}, // framed compact
		`00000011 82220001`: {wire.No, wire.No},   // of another version
		`00000011 82010001`: {wire.No, wire.No},   // of no type
		`8221`:              {wire.Yes, wire.Yes}, // compact
		`8241`:              {wire.Yes, wire.Yes},
		`8261`:              {wire.Yes, wire.Yes},
		`8281`:              {wire.Yes, wire.Yes},
		`82a1`:              {wire.No, wire.No},
		`8222`:              {wire.No, wire.No},
		`dabbc200`:          {wire.No, wire.No}, // Dubbo
		`00000020 90010001`: {wire.No, wire.No}, // Kitex Protobuf
	} {
		p, _ := scriptBytes(t, text)
		for i := range len(p) + 1 {
			for _, old := range []bool{false, true} {
				m := Protocol{NonStrict: old}.Sniff(p[:i])
				final := want.verdict
				if old {
					final = want.old
				}
				if i == len(p) && m.Verdict != final || m.Verdict == wire.Yes && final != wire.Yes || m.Verdict == wire.No && final == wire.Yes {
					t.Errorf("%s, %d bytes, old %v: verdict %d, want %d", text, i, old, m.Verdict, final)
				}
				if m.Verdict == wire.More && m.Need <= i {
					t.Errorf("%s, %d bytes: more, but need is %d", text, i, m.Need)
				}
			}
		}
	}
}

// TestBareIsLinear feeds a large bare message in small pieces. A walk from the
// begin for each piece would take hours.
func TestBareIsLinear(t *testing.T) {
	var body []byte
	for i := range 400_000 {
		body = fmt.Appendf(append(body, 0x0b, byte(i>>8), byte(i), 0, 0, 0, 8), "%08d", i)
	}
	head, _ := scriptBytes(t, `80010001 "Ping" 00000001`)
	p := append(append(head, body...), 0)
	s := Protocol{}.Open(wire.Server, testLimits)
	var in buf.In
	defer in.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	for len(p) > 0 {
		n := copy(in.Space(), p[:min(len(p), 1+rng.IntN(300))])
		in.Filled(n)
		p = p[n:]
		ev, need, err := s.Cut(&in)
		if err != nil || (ev.Flags == 0) != (len(p) > 0) {
			t.Fatalf("%d bytes left: %s, %v", len(p), ev.Flags, err)
		}
		in.Expect(need)
		ev.Body.Release()
	}
}
