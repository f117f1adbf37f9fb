package wire_test

import (
	"math/bits"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/wire"
)

// flags are all that there are, in the order of their bits, with their words.
var flags = []struct {
	flag wire.Flags
	word string
}{
	{wire.Open, "open"}, {wire.Message, "message"}, {wire.End, "end"}, {wire.Oneway, "oneway"},
	{wire.Reset, "reset"}, {wire.Credit, "credit"}, {wire.Ping, "ping"}, {wire.Settings, "settings"},
	{wire.GoAway, "goaway"}, {wire.HasLast, "last"}, {wire.Unordered, "unordered"}, {wire.Piece, "piece"},
	{wire.Close, "close"}, {wire.Stream, "stream"}, {wire.Packed, "packed"}, {wire.Early, "early"},
}

// TestFlags: each flag is a bit of its own with a word of its own, so that any
// set of them is told from any other, by value and in traces.
func TestFlags(t *testing.T) {
	var all wire.Flags
	words := map[string]bool{}
	for i, f := range flags {
		if f.flag != 1<<i {
			t.Errorf("%s is %#x, want bit %d", f.word, uint16(f.flag), i)
		}
		if got := f.flag.String(); got != f.word || words[got] {
			t.Errorf("bit %d is called %q, want %q, once", i, got, f.word)
		}
		words[f.word] = true
		all |= f.flag
	}
	if all != 1<<16-1 {
		t.Errorf("bits %016b have flags; one without a word was added, or one is missing here", all)
	}
	if s := wire.Flags(0).String(); s != "" {
		t.Errorf("no flags are called %q", s)
	}
	if got, want := (wire.Open | wire.Message | wire.End).String(), "open|message|end"; got != want {
		t.Errorf("a unary request is %q, want %q", got, want)
	}
}

// TestFlagsString: the words say the same as the bits, whatever the set.
func TestFlagsString(t *testing.T) {
	for f := range wire.Flags(1<<16 - 1) {
		said := f.String()
		n := bits.OnesCount16(uint16(f))
		if n == 0 {
			continue
		}
		words := strings.Split(said, "|")
		if len(words) != n {
			t.Fatalf("%#x is %q, which is not %d words", uint16(f), said, n)
		}
		var back wire.Flags
		for _, w := range words {
			for _, known := range flags {
				if known.word == w {
					back |= known.flag
				}
			}
		}
		if back != f {
			t.Fatalf("%#x is %q, which is %#x", uint16(f), said, uint16(back))
		}
	}
}

// TestZeroValues: a Match, Caps and Event of nobody promise nothing.
func TestZeroValues(t *testing.T) {
	if m := (wire.Match{}); m.Verdict != wire.No {
		t.Errorf("a Match of nobody says %v", m.Verdict)
	}
	if c := (wire.Caps{}); c.Mux || c.Streams || c.Pieces || c.Deadlines || c.Pending || c.Window != 0 {
		t.Errorf("Caps of nobody are %+v", c)
	}
	if ev := (wire.Event{}); ev.Flags != 0 || ev.Body.Len() != 0 {
		t.Errorf("an Event of nobody is %v", ev.Flags)
	}
	if wire.Client == wire.Server {
		t.Error("both sides are one")
	}
}
