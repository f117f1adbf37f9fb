package http2

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// all gives every field of a list, pseudo-header fields first.
func (h *Fields) all(rest []Field) (out []Field) {
	for _, p := range []struct {
		bit         uint8
		name, value string
	}{{hasMethod, ":method", h.Method}, {hasScheme, ":scheme", h.Scheme}, {hasAuthority, ":authority", h.Authority}, {hasPath, ":path", h.Path}, {hasStatus, ":status", fmt.Sprint(h.Status)}} {
		if h.pseudo&p.bit != 0 {
			out = append(out, Field{p.name, p.value})
		}
	}
	return append(append(out, h.List...), rest...)
}

// sortPseudo puts pseudo-header fields into the order of Fields.all.
func sortPseudo(list []Field) []Field {
	order := []string{":method", ":scheme", ":authority", ":path", ":status"}
	var out []Field
	for _, name := range order {
		for _, f := range list {
			if f.Name == name {
				out = append(out, f)
			}
		}
	}
	for _, f := range list {
		if !strings.HasPrefix(f.Name, ":") {
			out = append(out, f)
		}
	}
	return out
}

// allow announces a larger table, and has the peer use it.
func (d *decoder) allow(n uint32) {
	d.allowed = n
	d.dec.SetAllowedMaxDynamicTableSize(n)
	d.dec.SetMaxDynamicTableSize(n)
}

func newDecoder() *decoder {
	d := new(decoder)
	d.init(1<<30, 1<<20)
	return d
}

// TestDecodeCorpus decodes the stories of github.com/http2jp/hpack-test-case, if
// LIMOSA_HPACK_CORPUS names its folder: docs/how/http2.md says where to get it.
func TestDecodeCorpus(t *testing.T) {
	dir := os.Getenv("LIMOSA_HPACK_CORPUS")
	if dir == "" {
		t.Skip("skipped: LIMOSA_HPACK_CORPUS names no folder")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*/story_*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories in %s: %v", dir, err)
	}
	stories, blocks := 0, 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var story struct {
			Cases []struct {
				Size    uint32 `json:"header_table_size"`
				Wire    string
				Headers []map[string]string
			}
		}
		if err := json.Unmarshal(text, &story); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(story.Cases) == 0 || story.Cases[0].Wire == "" {
			continue // raw data without an encoding
		}
		d := newDecoder()
		for i, c := range story.Cases {
			if c.Size > d.allowed {
				d.allow(c.Size)
			}
			p, err := hex.DecodeString(c.Wire)
			if err != nil {
				t.Fatal(err)
			}
			list, rest, e := d.decode(p)
			if e != nil {
				t.Fatalf("%s, block %d: %v", file, i, e)
			}
			var want []Field
			for _, h := range c.Headers {
				for k, v := range h {
					want = append(want, Field{k, v})
				}
			}
			if got := list.all(rest); !slices.Equal(got, sortPseudo(want)) {
				t.Fatalf("%s, block %d:\n got %q\nwant %q", file, i, got, want)
			}
			blocks++
		}
		stories++
	}
	t.Logf("%d stories, %d blocks", stories, blocks)
}

// TestDecodeOracle holds the decoder, its cache and its shared lists to the
// decoder of x/net: the same acceptance, the same fields.
func TestDecodeOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		d, oracle := newDecoder(), hpack.NewDecoder(defaultTable, nil)
		oracle.SetEmitFunc(func(hpack.HeaderField) {})
		var wire bytes.Buffer
		enc := hpack.NewEncoder(&wire)
		for range 50 {
			wire.Reset()
			switch r.IntN(12) {
			case 0:
				enc.SetMaxDynamicTableSize(uint32(r.IntN(defaultTable + 1)))
			case 1: // the same names again, nothing new for the table
			}
			for range 1 + r.IntN(8) {
				enc.WriteField(randomField(r))
			}
			block := wire.Bytes()
			if r.IntN(200) == 0 {
				block[r.IntN(len(block))] ^= 1 << r.IntN(8)
			}
			if !decodeBoth(t, d, oracle, block) {
				break
			}
		}
	}
}

func randomField(r *rand.Rand) hpack.HeaderField {
	names := []string{":method", ":path", ":scheme", "te", "x", "user-agent", "grpc-timeout", "content-type", "x-very-long-name-of-a-field"}
	values := []string{"", "GET", "POST", "/a/b", "http", "trailers", "application/grpc", strings.Repeat("y", 40)}
	f := hpack.HeaderField{Name: names[r.IntN(len(names))], Value: values[r.IntN(len(values))]}
	if r.IntN(10) == 0 {
		f.Value = fmt.Sprint(r.Uint64())
	}
	f.Sensitive = r.IntN(3) == 0
	return f
}

// decodeBoth decodes a block with both decoders; false: both refuse it.
func decodeBoth(t *testing.T, d *decoder, oracle *hpack.Decoder, block []byte) bool {
	t.Helper()
	var want []Field
	oracle.SetEmitFunc(func(f hpack.HeaderField) { want = append(want, Field{f.Name, f.Value}) })
	_, err := oracle.Write(block)
	if err == nil {
		err = oracle.Close()
	}
	list, rest, e := d.decode(bytes.Clone(block))
	if (err == nil) != (e == nil) {
		if err == nil && scanBlock(block).why != "" {
			return false // a size update behind fields, which passes there while the table is empty
		}
		t.Fatalf("block %x: %v, the oracle says %v", block, e, err)
	}
	if e != nil {
		return false
	}
	// A list that is at fault may have pseudo-header fields twice, of which one is kept.
	if list.fault == "" {
		if got := list.all(rest); !slices.Equal(got, sortPseudo(want)) {
			t.Fatalf("block %x:\n got %q\nwant %q", block, got, want)
		}
	}
	return true
}

// FuzzDecode is the same for any bytes: three blocks one after the other.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("\x82\x86\x84"), []byte("\x40\x01a\x01b"), []byte("\xbe"))
	f.Add([]byte("\x20\x3f\xe1\x1f\x82"), []byte("\x82\x00\x01a\x01b"), []byte("\x82\x00\x01a\x01b"))
	f.Fuzz(func(t *testing.T, a, b, c []byte) {
		d, oracle := newDecoder(), hpack.NewDecoder(defaultTable, func(hpack.HeaderField) {})
		for _, block := range [][]byte{a, b, b, c, a, a} {
			s := scanBlock(block)
			if len(s.updates) > 1 {
				return // x/net refuses some second updates, which RFC 7541 allows
			}
			if !decodeBoth(t, d, oracle, block) {
				return
			}
			if d.held() > defaultTable+cacheSlots*(cacheCost+cacheBlock+cacheList) {
				t.Fatalf("the cache holds %d bytes", d.held())
			}
		}
	})
}

func TestDecodeSharesLists(t *testing.T) {
	d := newDecoder()
	block := []byte("\x83\x86\x84")
	first, _, _ := d.decode(block)
	again, rest, _ := d.decode(append(bytes.Clone(block), "\x00\x01a\x01b"...))
	if first != again || len(rest) != 1 || rest[0] != (Field{"a", "b"}) {
		t.Errorf("got %p and %p with %q", first, again, rest)
	}
	if d.decode([]byte("\x40\x01a\x01b")); d.bytes != 0 {
		t.Errorf("the cache holds %d bytes after an insertion", d.bytes)
	}
	if after, _, _ := d.decode(block); after == first {
		t.Error("a list outlived an insertion")
	}
	d.decode([]byte("\x3f\x81\x01\x82"))
	if d.last[0] != nil || d.cached != nil {
		t.Error("the cache outlived a size update")
	}
}

// TestDecodePlain: fields behind the shared ones, in each form.
func TestDecodePlain(t *testing.T) {
	head := "\x83\x86\x84"
	for _, c := range []struct {
		tail, want string
		fault      bool
	}{
		{"\x00\x01a\x01b", "a=b", false},
		{"\x10\x01a\x00\x00\x02bc\x03def", "a= bc=def", false},
		{"\x00\x01a\x01b\x84", "a=b", true},
		{"\x00\x81\x1f\x01b", "a=b", false}, // Huffman's a
		{"\x0f\x2b\x01b", "user-agent=b", false},
		{"\x00\x02te\x08trailers", "te=trailers", false},
		{"\x00\x02te\x01x", "te=x", true},
		{"\x00\x07upgrade\x01x", "upgrade=x", true},
		{"\x00\x01A\x01x", "A=x", true},
		{"\x00\x01a\x01\n", "a=\n", true},
		{"\x00\x05:path\x01/", "", true},
	} {
		d := newDecoder()
		list, rest, e := d.decode([]byte(head + c.tail))
		if e != nil {
			t.Errorf("%q: %v", c.tail, e)
			continue
		}
		var got []string
		for _, f := range append(list.List[:len(list.List):len(list.List)], rest...) {
			got = append(got, f.Name+"="+f.Value)
		}
		if strings.Join(got, " ") != c.want || (list.requestFault() != "") != c.fault {
			t.Errorf("%q: %q, %s", c.tail, got, list.requestFault())
		}
	}
	d := newDecoder()
	d.most = 200
	if list, _, _ := d.decode([]byte(head + "\x00\x01a\x7f\x00" + strings.Repeat("x", 127))); !list.over {
		t.Error("a list beyond the limit")
	}
}

// TestDecodeBomb: a table's large entry that is named again and again costs a
// bounded list.
func TestDecodeBomb(t *testing.T) {
	d := new(decoder)
	d.init(16<<10, 64)
	entry := appendInt([]byte("\x40\x01a"), 0, 7, 4000)
	entry = append(entry, strings.Repeat("b", 4000)...)
	if _, _, e := d.decode(entry); e != nil {
		t.Fatal(e)
	}
	list, _, e := d.decode(bytes.Repeat([]byte{0xbe}, rawFactor*64))
	if e != nil || !list.over || len(list.List) > 4 {
		t.Errorf("%v, over %v, %d fields", e, list.over, len(list.List))
	}
	many, _, e := d.decode(bytes.Repeat([]byte{0x84 + 0x10}, 200))
	if e != nil || !many.over || len(many.List) > 64 {
		t.Errorf("%v, over %v, %d fields", e, many.over, len(many.List))
	}
	if _, _, e := d.decode(bytes.Repeat([]byte{0xbe}, 60000)); e == nil || e.Code != EnhanceYourCalm {
		t.Errorf("a block of 60,000 fields: %v", e)
	}
	// The table is the same as the peer's, whatever was left out.
	if list, _, e := d.decode([]byte{0xbe}); e != nil || list.over || list.List[0].Name != "a" {
		t.Errorf("afterwards %v, %v", list, e)
	}
}

// TestEncodeOracle has x/net decode what the encoder writes, with blocks that are
// taken back and tables that shrink in between.
func TestEncodeOracle(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		var e encoder
		e.init()
		var got []Field
		oracle := hpack.NewDecoder(defaultTable, func(f hpack.HeaderField) { got = append(got, Field{f.Name, f.Value}) })
		var heads []*Head
		for range 40 {
			var fields []Field
			for range 1 + r.IntN(6) {
				f := randomField(r)
				fields = append(fields, Field{f.Name, f.Value})
			}
			heads = append(heads, NewHead(fields...))
		}
		for i := range 300 {
			if r.IntN(60) == 0 {
				e.setMost([]uint32{0, 100, 500, 4096, 1 << 20}[r.IntN(5)])
			}
			h := heads[min(r.IntN(len(heads)), r.IntN(len(heads)))]
			state := e.encoderState
			b := e.appendHead(e.open(nil), h)
			if r.IntN(4) == 0 {
				e.undo(state)
				continue
			}
			b = appendPlain(b, "authorization", strings.Repeat("z", r.IntN(300)))
			got = nil
			if _, err := oracle.Write(b); err != nil {
				t.Fatalf("seed %d, block %d (%x): %v", seed, i, b, err)
			}
			if err := oracle.Close(); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got[:len(got)-1], h.fields) {
				t.Fatalf("seed %d, block %d:\n got %q\nwant %q", seed, i, got, h.fields)
			}
		}
		if e.size > e.most || e.entries != len(e.fields) {
			t.Fatalf("%d bytes of %d, %d entries of %d", e.size, e.most, e.entries, len(e.fields))
		}
	}
}

func TestEncodeHeadIsShort(t *testing.T) {
	var e encoder
	e.init()
	h := NewHead(Field{":method", "POST"}, Field{":scheme", "http"}, Field{":path", "/hello.Hello/Echo"}, Field{":authority", "127.0.0.1:8888"},
		Field{"te", "trailers"}, Field{"content-type", "application/grpc"}, Field{"user-agent", "limosa"})
	e.appendHead(nil, h)
	if b := e.appendHead(nil, h); len(b) != 7 {
		t.Errorf("%d bytes: %x", len(b), b)
	}
	b := make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() { b = e.appendHead(b[:0], h) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEncodeHead(b *testing.B) {
	var e encoder
	e.init()
	h := NewHead(Field{":method", "POST"}, Field{":scheme", "http"}, Field{":path", "/hello.Hello/Echo"}, Field{":authority", "127.0.0.1:8888"},
		Field{"te", "trailers"}, Field{"content-type", "application/grpc"}, Field{"user-agent", "limosa"})
	p := make([]byte, 0, 512)
	for b.Loop() {
		p = e.appendHead(e.open(p[:0]), h)
	}
}

func BenchmarkDecodeBlock(b *testing.B) {
	d := newDecoder()
	var e encoder
	e.init()
	h := NewHead(Field{":method", "POST"}, Field{":scheme", "http"}, Field{":path", "/hello.Hello/Echo"}, Field{":authority", "127.0.0.1:8888"},
		Field{"te", "trailers"}, Field{"content-type", "application/grpc"}, Field{"user-agent", "limosa"})
	d.decode(e.appendHead(nil, h))
	again := e.appendHead(nil, h)
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d.decode(again)
		}
	})
	b.Run("tail", func(b *testing.B) {
		p := appendPlain(bytes.Clone(again), "grpc-timeout", "999m")
		b.ReportAllocs()
		for b.Loop() {
			d.decode(p)
		}
	})
}
