package http2

import (
	"bytes"

	"golang.org/x/net/http2/hpack"
)

const (
	cacheSlots = 32
	// What is cached is small: who sends large blocks pays for them.
	cacheBlock = 128  // bytes of the block
	cacheList  = 1024 // of the list, as RFC 9113 counts it
	cacheCost  = 256  // about what a list takes besides its text
)

// A decoder turns header blocks into lists. Blocks that come again cost a
// comparison: of those that leave the dynamic table as it is, the run of indexed
// fields at the beginning and its list are kept, until the table changes.
//
// It belongs to the read role.
type decoder struct {
	dec         *hpack.Decoder
	allowed     uint32 // bytes of the dynamic table that were announced
	most        int    // bytes of a list
	mostEntries int

	list  *Fields // being collected
	count int
	usual int // fields of the last list: room for as many is made

	last   [2]*cachedBlock           // those that came last: an answer's head and its trailers
	cached *[cacheSlots]*cachedBlock // each in the one place that its hash names; nil until the first came
	bytes  int                       // of memory that the cache takes
}

// A cachedBlock is a header block that came before, to the byte, with what it said. Blocks that change nothing in
// the table of the peer mean the same each time.
type cachedBlock struct {
	block []byte
	list  *Fields
}

// init sets the bounds of a list: most bytes, as RFC 9113 counts them, and so many entries.
func (d *decoder) init(most, entries int) {
	d.most, d.mostEntries = most, entries
	d.dec = hpack.NewDecoder(defaultTable, d.emit)
	d.allowed = defaultTable
}

// decode gives the list of a header block, shared where it can be, and the
// fields behind the shared ones, which are this message's own. p is borrowed. A
// fault is one of the connection: the tables are lost. So are more fields than a small
// multiple of the limit: each takes a byte of the peer's, and a look into a table here.
func (d *decoder) decode(p []byte) (list *Fields, rest []Field, e *Error) {
	for _, c := range d.last {
		if c != nil && bytes.Equal(p, c.block) {
			return c.list, nil, nil
		}
	}
	s := scanBlock(p)
	if e = s.fault(d.mostEntries); e != nil {
		return nil, nil, e
	}
	if s.inserts || len(s.updates) > 0 || s.head == 0 || s.head > cacheBlock {
		list, e = d.whole(p, &s)
		return list, nil, e
	}
	list = d.find(p[:s.head])
	if list == nil {
		if list, e = d.run(p[:s.head], 0); e != nil {
			return nil, nil, e
		}
		d.keep(p[:s.head], list)
	}
	if s.head == len(p) {
		return list, nil, nil
	}
	if rest = d.plain(p[s.head:], list); rest != nil {
		return list, rest, nil
	}
	own, e := d.run(p[s.head:], len(list.List))
	switch {
	case e != nil:
		return nil, nil, e
	case own.pseudo != 0 || own.fault != "" || own.Length >= 0 || own.over || list.over || list.size+own.size > d.most:
		return d.join(list, own), nil, nil
	}
	return list, own.List, nil
}

// plain gives the fields of p, which scanBlock has walked, if all are as our own
// encoder writes those of one message: without indexing, without Huffman's code,
// and of no meaning to HTTP/2. They cost two allocations.
func (d *decoder) plain(p []byte, list *Fields) (rest []Field) {
	n := 0
	for i := 0; i < len(p); n++ {
		if p[i]&^0x10 != 0 || p[i+1]&0x80 != 0 {
			return nil
		}
		if i, _ = scanString(p, i+1); p[i]&0x80 != 0 {
			return nil
		}
		i, _ = scanString(p, i)
	}
	if list.over || len(list.List)+n > d.mostEntries || list.size+len(p)+n*fieldCost > d.most {
		return nil // it may be too much: whoever counts exactly says so
	}
	text := string(p)
	rest = make([]Field, 0, n)
	for i := 0; i < len(p); {
		var f Field
		f.Name, i = cutString(text, p, i+1)
		f.Value, i = cutString(text, p, i)
		if !ordinary(f.Name) || !validName(f.Name) || !validValue(f.Value) {
			return nil
		}
		rest = append(rest, f)
	}
	return rest
}

// cutString gives the string at i, a part of text.
func cutString(text string, p []byte, i int) (string, int) {
	n, i, _ := scanInt(p, i, 7)
	return text[i : i+int(n)], i + int(n)
}

// whole decodes a block that changes the table, or of which nothing is shared.
func (d *decoder) whole(p []byte, s *blockScan) (*Fields, *Error) {
	if len(s.updates) > 0 {
		if max(s.size, s.least) > uint64(d.allowed) {
			return nil, &Error{Code: CompressionError, Why: "dynamic table larger than allowed"}
		}
		d.forget()
		// Not left to the decoder, which takes no second update while the table
		// holds anything.
		d.dec.SetMaxDynamicTableSize(uint32(s.least))
		d.dec.SetMaxDynamicTableSize(uint32(s.size))
	}
	if s.inserts {
		d.forget()
	}
	return d.run(p[len(s.updates):], 0)
}

// run decodes fields that come behind so many others. What goes beyond the limits
// is decoded, for the table's sake, and left out.
func (d *decoder) run(p []byte, before int) (*Fields, *Error) {
	list := &Fields{Length: -1}
	if d.usual > 0 {
		list.List = make([]Field, 0, d.usual)
	}
	d.list, d.count = list, before
	d.dec.SetEmitEnabled(true)
	_, err := d.dec.Write(p)
	d.list = nil
	if err == nil {
		err = d.dec.Close()
	}
	if err != nil {
		return nil, &Error{Code: CompressionError, Why: err.Error()}
	}
	d.usual = min(len(list.List), usualMost)
	return list, nil
}

// usualMost bounds the room that is made for the fields of a list before they are known.
const usualMost = 16

// emit is called by the decoder of HPACK for each field, also behind a bound: a block is read to its end, or the
// table would differ from the peer's.
func (d *decoder) emit(f hpack.HeaderField) {
	g := Field{f.Name, f.Value}
	if d.list.over {
		return
	}
	d.list.size += g.size()
	if d.count++; d.list.size > d.most || d.count > d.mostEntries {
		d.list.over = true
		d.dec.SetEmitEnabled(false)
		return
	}
	d.list.add(g)
}

// join makes one list of two parts of a block.
func (d *decoder) join(a, b *Fields) *Fields {
	j := *a
	j.List = append(append(make([]Field, 0, len(a.List)+len(b.List)), a.List...), b.List...)
	j.size += b.size
	j.over = a.over || b.over || j.size > d.most
	switch {
	case j.fault != "":
	case b.fault != "":
		j.fault = b.fault
	case b.pseudo&a.pseudo != 0:
		j.fault = "pseudo-header field twice"
	case b.pseudo != 0 && len(a.List) > 0:
		j.fault = "pseudo-header field behind others"
	case a.Length >= 0 && b.Length >= 0 && a.Length != b.Length:
		j.fault = "content-length twice"
	}
	j.pseudo |= b.pseudo
	if b.Length >= 0 {
		j.Length = b.Length
	}
	for _, v := range []struct {
		bit uint8
		to  *string
		of  string
	}{{hasMethod, &j.Method, b.Method}, {hasScheme, &j.Scheme, b.Scheme}, {hasAuthority, &j.Authority, b.Authority}, {hasPath, &j.Path, b.Path}} {
		if b.pseudo&v.bit != 0 {
			*v.to = v.of
		}
	}
	if b.pseudo&hasStatus != 0 {
		j.Status = b.Status
	}
	return &j
}

// find gives what the block p said when it came before; nil: it is not known.
func (d *decoder) find(p []byte) *Fields {
	for _, c := range d.last {
		if c != nil && bytes.Equal(p, c.block) {
			return c.list
		}
	}
	if d.cached == nil {
		return nil
	}
	if c := d.cached[slotOf(p)]; c != nil && bytes.Equal(p, c.block) {
		d.last[0], d.last[1] = c, d.last[0]
		return c.list
	}
	return nil
}

// keep remembers what the block p says. Lists that are large or beyond the limits are not worth their memory.
func (d *decoder) keep(p []byte, list *Fields) {
	if list.over || list.size > cacheList {
		return
	}
	c := &cachedBlock{bytes.Clone(p), list}
	if d.cached == nil {
		d.cached = new([cacheSlots]*cachedBlock)
	}
	at := &d.cached[slotOf(p)]
	if *at != nil {
		d.bytes -= (*at).cost()
	}
	*at = c
	d.last[0], d.last[1] = c, d.last[0]
	d.bytes += c.cost()
}

// cost is the memory that it takes, in bytes, for Held.
func (c *cachedBlock) cost() int { return cacheCost + len(c.block) + c.list.size }

// forget drops the cache: an insertion or a new size of the table has changed
// what indices mean.
func (d *decoder) forget() {
	if d.cached != nil {
		d.last, d.cached, d.bytes = [2]*cachedBlock{}, nil, 0
	}
}

// held is the memory of the cache and the table.
func (d *decoder) held() int { return d.bytes + defaultTable }

// slotOf is the place of a block in the cache. A peer may choose blocks of one place; all that it gains is that
// each is decoded, as without a cache.
func slotOf(p []byte) uint32 {
	h := uint32(2166136261) // FNV-1a
	for _, c := range p {
		h = (h ^ uint32(c)) * 16777619
	}
	return (h ^ h>>16) % cacheSlots
}
