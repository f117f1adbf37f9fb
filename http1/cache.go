package http1

import (
	"bytes"
	"encoding/binary"
	"strings"
)

const (
	headSlots = 16      // heads that are kept, each in one of two places that its first line chooses
	headMost  = 4 << 10 // bytes of memory that one may take, and
	headsMost = 32 << 10
	headCost  = 300 // about what one takes besides its text and its fields
	firstMost = 512 // bytes of the first line of one that is kept
	// settled is the number of hits from which a head that differs from a kept one
	// takes its place: a date has changed, and will again after as many. Below, what
	// differs is taken for the message's own.
	settled = 8
	// relearn is the number of hits after which the beginning of a head is given up
	// for the next whole one: what differed may do so no longer.
	relearn = 256
)

// A headCache keeps the heads of messages, parsed: those of a connection are the same
// few. It is found by its bytes, without a look for its end:
//
//	POST /hello.Hello/Echo HTTP/1.1   ┐
//	Host: localhost:8888              │ text[:a], compared
//	Content-Length:                   ┘
//	                 17               the value, read: any number will do
//	Content-Type: application/json    ┐ text[b:], compared
//	(empty line)                      ┘
//
// Two heads of one method mostly differ in a line that is another one each time, a
// timeout or a trace id. Then only what is before that line is kept, to its end, and what
// is behind is parsed for each message as its Rest. Or they differ in a date, which is
// the same for a second: then the new head takes the place of the old one as a whole.
// Which of the two it is shows in how often the old one was hit. A line that has been
// cut off is given another chance after some time.
//
// A hash of the whole head would need its end first, and would change with each length;
// a comparison needs neither, and stops at the first byte that differs.
//
// Nothing that comes out of the cache is less checked than what comes out of the parser:
// the marks of the kept lines are kept as well, and the lines behind add to them, so that a
// second host, or a length beside a coding, is a fault wherever it stands. The cache is
// bounded in entries and bytes, and is counted in Held. The read role owns it.
type headCache struct {
	slots *[headSlots]*cachedHead // nil until the first
	last  *cachedHead
	bytes int
}

// A cachedHead is a head, up to its empty line or to an earlier line's end.
type cachedHead struct {
	text   string
	a, b   int // the value of content-length is text[a:b]; both len(text) without one
	fields *Fields
	marks  marks
	end    bool // it ends with the empty line
	kept   bool
	hits   int
}

// cost is about what a head takes, bytes: its text, and the strings of its fields once more.
func (c *cachedHead) cost() int {
	n := headCost + 2*len(c.text)
	for _, f := range c.fields.List {
		n += f.size()
	}
	return n
}

// digHole finds the value of content-length.
func (c *cachedHead) digHole() {
	c.a, c.b = len(c.text), len(c.text)
	if c.marks.bits&hasLength == 0 {
		return
	}
	for at := 0; ; {
		i := strings.IndexByte(c.text[at:], '\n')
		if line := c.text[at : at+i]; isLength(line) {
			c.a, c.b = at+len(lengthName), at+i-1
			return
		}
		at += i + 1
	}
}

const lengthName = "content-length:"

func isLength(line string) bool {
	return len(line) > len(lengthName) && strings.EqualFold(line[:len(lengthName)], lengthName)
}

// match reports whether p begins with the head. n is how much of p it is, length the
// value of content-length in it. It compares bytes and reads digits, no more: what is equal to
// what was parsed needs no parsing. A value that is none matches nothing, so that the
// parser sees it and says what is wrong.
func (c *cachedHead) match(p []byte) (n int, length int64, ok bool) {
	if len(p) < c.a || string(p[:c.a]) != c.text[:c.a] {
		return 0, 0, false
	}
	n, length = c.a, -1
	if c.a < len(c.text) {
		value := p[n:]
		i := bytes.IndexByte(value[:min(len(value), 40)], '\r')
		if i < 0 {
			return 0, 0, false
		}
		if length, ok = parseLength(trim(value[:i])); !ok {
			return 0, 0, false
		}
		n += i
		tail := c.text[c.b:]
		if len(p)-n < len(tail) || string(p[n:n+len(tail)]) != tail {
			return 0, 0, false
		}
		n += len(tail)
	}
	return n, length, true
}

// find looks for a head that p begins with.
func (h *headCache) find(p []byte) (c *cachedHead, n int, length int64) {
	if h.slots == nil {
		return nil, 0, 0
	}
	if n, length, ok := h.last.match(p); ok {
		return h.hit(h.last), n, length
	}
	slot, _, ok := slotOf(p)
	if !ok {
		return nil, 0, 0
	}
	for range 2 {
		if c = h.slots[slot]; c != nil && c != h.last {
			if n, length, ok := c.match(p); ok {
				h.last = c
				return h.hit(c), n, length
			}
		}
		slot ^= 1
	}
	return nil, 0, 0
}

// hit counts, and says no to the beginning of a head from time to time, so that it
// is learned anew.
func (h *headCache) hit(c *cachedHead) *cachedHead {
	if c.hits++; c.hits > relearn && !c.end {
		return nil
	}
	return c
}

// slotOf says where a head is kept, by its first line, which has n bytes.
func slotOf(p []byte) (slot uint64, n int, ok bool) {
	n = bytes.IndexByte(p[:min(len(p), firstMost)], '\n') + 1
	if n == 0 {
		return 0, 0, false
	}
	h, line := uint64(n), p[:n]
	for ; len(line) >= 8; line = line[8:] {
		h = (h ^ binary.LittleEndian.Uint64(line)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	for _, c := range line {
		h = (h ^ uint64(c)) * 0x100000001b3
	}
	return (h ^ h>>32) % headSlots, n, true
}

// boundary says how much of a whole head that was not found is worth keeping: all of
// it, or the lines that it has in common with a kept one. Of a request the host is
// among them, since it belongs to Fields.
func (h *headCache) boundary(p []byte, side Side) int {
	slot, n, ok := slotOf(p)
	if h.slots == nil || !ok {
		return len(p)
	}
	for range 2 {
		c := h.slots[slot]
		slot ^= 1
		if c == nil || !strings.HasPrefix(c.text, string(p[:n])) {
			continue
		}
		if c.hits >= settled {
			return len(p)
		}
		if k, host := common(c.text, p); k > n && (host || side == Client) {
			return k
		}
		return len(p)
	}
	return len(p)
}

// common is how many bytes of p are lines that text begins with as well, whatever
// their content-length, and whether the host is among them. The empty line is not.
func common(text string, p []byte) (k int, host bool) {
	for {
		i, j := strings.IndexByte(text, '\n')+1, bytes.IndexByte(p[k:], '\n')+1
		if i == 0 || j == 0 {
			return k, host
		}
		line := p[k : k+j]
		if len(line) == 2 || string(line) != text[:i] && !(isLength(text[:i]) && isLength(string(line))) {
			return k, host
		}
		host = host || len(line) > 5 && strings.EqualFold(string(line[:5]), "host:")
		text, k = text[i:], k+j
	}
}

// keep puts a head that is in none of its places yet into one.
func (h *headCache) keep(c *cachedHead) {
	if !c.kept {
		c.kept = true
		h.put(c)
	}
}

// put keeps a head in place of the one with the same first line, or else of the one
// that was not the last.
func (h *headCache) put(c *cachedHead) {
	slot, n, ok := slotOf([]byte(c.text[:min(len(c.text), firstMost)]))
	cost := c.cost()
	if !ok || cost > headMost {
		return
	}
	if h.slots == nil || h.bytes+cost > headsMost {
		h.slots, h.bytes, h.last = new([headSlots]*cachedHead), 0, nil
	}
	at := slot
	for _, i := range [...]uint64{slot, slot ^ 1} {
		if k := h.slots[i]; k == nil || strings.HasPrefix(k.text, c.text[:n]) {
			at = i
			break
		} else if k != h.last {
			at = i
		}
	}
	if old := h.slots[at]; old != nil {
		h.bytes -= old.cost()
	}
	h.slots[at], h.last = c, c
	h.bytes += cost
}
