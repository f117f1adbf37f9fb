package ttheader

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/rpc"
)

// A FrameError says where the bytes of a frame are wrong. The connection
// cannot be used any further.
type FrameError struct {
	Offset int // from the begin of the frame
	Why    string
}

// Error gives both.
func (e *FrameError) Error() string {
	return "ttheader: " + e.Why + " at offset " + strconv.Itoa(e.Offset)
}

// Unwrap gives the code.
func (e *FrameError) Unwrap() error { return rpc.DataLoss }

const (
	fixedHead    = 14                       // bytes before the variable part of a TTHeader
	pairOverhead = len(prefixTransient) + 4 // bytes that a pair takes besides key and value
	ownHeader    = 4 << 10                  // what the protocol's own entries may take
)

// A TTHeader, as Kitex writes it (pkg/remote/codec/header_codec.go there); all numbers
// are big endian:
//
//	offset  bytes
//	0       4      length of all that follows
//	4       2      magic
//	6       2      flags, see flagUnordered and those beside it
//	8       4      sequence id: of the call, or of the stream
//	12      2      size of what follows up to the message, in words of four bytes
//	14      1      protocol of the message, see parseHeader
//	15      1      n, the number of transforms
//	16      n      their ids
//	16+n           info blocks, each with its id before it:
//	                 0x01  number (2); so many times a key and a value
//	                 0x10  number (2); so many times a key (2) and a value
//	                 0x11  a value: the access token
//	                 0x00  nothing: it pads the header to whole words
//	               the message: bare, or framed
//
// A key or value without a size has its own before it, in two bytes. Keys are either
// the protocol's (keys.go), a user's, wrapped in a prefix that says how far it
// travels, or neither: then they are passed over, since later versions and other
// peers have keys of their own.

// A header is what a TTHeader, or a mesh header, says. Byte slices are
// borrowed from the frame: they are looked at before it is taken off the input, and
// whoever keeps one copies it (names, text).
type header struct {
	flags    uint16
	seq      uint32
	protocol uint8

	// Set by keys of the protocol's. Those without a comment are the texts of the keys of
	// their names in keys.go.
	kitex     bool // the peer uses Kitex's handlers for metadata, or is one of ours
	reset     bool // crrst
	refused   bool
	ours      bool // there is a key of this project
	ping      bool
	service   []byte
	method    []byte
	frameType []byte
	timeout   time.Duration
	checksum  []byte // nil: none; empty differs; so the next ones
	offer     []byte
	hello     []byte
	drain     []byte
	cancel    []byte
	code      []byte
	total     []byte
	credit    []byte

	bizStatus, bizMessage, bizExtra []byte

	pairs   rpc.Metadata
	details rpc.Metadata
	bytes   int // of keys and values in pairs and details

	// The strings of pairs are parts of one copy of the block.
	text string
	from int // offset of text in the frame
}

// A parser reads the info blocks of one header into h.
type parser struct {
	h      *header
	p      []byte // the frame up to the header's end
	o      int    // where the parser is
	answer bool   // the header is an answer's: keys are bare
	ours   bool   // the peer is of our kind: some are wrapped all the same
	lim    *rpc.Limits
	fine   time.Duration // the finer timeout
}

var errHeaderLimit = &rpc.Error{Code: rpc.ResourceExhausted, Msg: "more metadata than Limits.HeaderBytes and HeaderEntries allow"}

// blocks reads everything from p.o to the end.
func (p *parser) blocks() error {
	for p.o < len(p.p) {
		id := p.p[p.o]
		p.o++
		var err error
		switch id {
		case blockPadding:
		case blockStrings:
			err = p.strings()
		case blockInts:
			err = p.ints()
		case blockToken:
			err = p.token()
		default:
			err = &FrameError{Offset: p.o - 1, Why: fmt.Sprintf("unknown info block %#02x", id)}
		}
		if err != nil {
			return err
		}
	}
	if p.fine > 0 {
		p.h.timeout = p.fine
	}
	p.h.unpin()
	return nil
}

// looseText is what the copied block may be besides twice the pairs in it.
const looseText = 512

// unpin gives the pairs copies of their own where the block that they are parts of
// is mostly something else: that is no user's metadata, and nobody accounts for it.
func (h *header) unpin() {
	if len(h.text) <= 2*h.bytes+looseText {
		return
	}
	for _, pairs := range []rpc.Metadata{h.pairs, h.details} {
		for i := range pairs {
			pairs[i].Key, pairs[i].Value = strings.Clone(pairs[i].Key), strings.Clone(pairs[i].Value)
		}
	}
	h.text = ""
}

// number reads two bytes.
func (p *parser) number() (int, error) {
	if len(p.p)-p.o < 2 {
		return 0, &FrameError{Offset: p.o, Why: "truncated info block"}
	}
	n := binary.BigEndian.Uint16(p.p[p.o:])
	p.o += 2
	return int(n), nil
}

// text borrows a string with its length before it; at is its offset.
func (p *parser) text() (s []byte, at int, err error) {
	n, err := p.number()
	if err != nil {
		return nil, 0, err
	}
	if n > len(p.p)-p.o {
		return nil, 0, &FrameError{Offset: p.o - 2, Why: "string beyond the header's end"}
	}
	at = p.o
	p.o += n
	return p.p[at:p.o:p.o], at, nil
}

// ints reads a block of numbered keys. Kitex has some thirty, most of them for its own
// tracing; those with a meaning for a call are in keys.go.
func (p *parser) ints() error {
	n, err := p.number()
	for ; n > 0 && err == nil; n-- {
		var key int
		var v []byte
		if key, err = p.number(); err != nil {
			break
		}
		if v, _, err = p.text(); err != nil {
			break
		}
		switch key {
		case intMethod:
			p.h.method = v
		case intTimeout:
			p.h.timeout = duration(v, time.Millisecond)
		case intMessageType:
			p.h.kitex = true
		case intFrameType:
			p.h.frameType = v
		}
	}
	return err
}

// token reads Kitex's access token, which users know as transient metadata.
func (p *parser) token() error {
	v, _, err := p.text()
	if err != nil || len(v) == 0 {
		return err
	}
	return p.pair(&p.h.pairs, tokenKey, string(v), rpc.Transient)
}

// strings reads a block of named keys. The protocol's are told apart first, so that a
// user's pair can never be taken for one: their writers wrap what users choose.
func (p *parser) strings() error {
	n, err := p.number()
	for ; n > 0 && err == nil; n-- {
		var k, v []byte
		var at int
		if k, at, err = p.text(); err != nil {
			break
		}
		if v, _, err = p.text(); err != nil {
			break
		}
		if !p.known(k, v) {
			err = p.user(k, v, at)
		}
	}
	return err
}

// known takes the keys that are the protocol's.
func (p *parser) known(k, v []byte) bool {
	h := p.h
	switch string(k) {
	case keyService:
		h.service, h.kitex = v, true
	case keyReset:
		h.reset = string(v) == "1"
	case keyChecksum:
		h.checksum = v
	case keyBizStatus:
		h.bizStatus = v
	case keyBizMessage:
		h.bizMessage = v
	case keyBizExtra:
		h.bizExtra = v
	case keyOffer:
		h.offer, h.ours = v, true
	case keyHello:
		h.hello, h.ours = v, true
	case keyDrain:
		h.drain, h.ours = v, true
	case keyCancel:
		h.cancel, h.ours = v, true
	case keyPing:
		h.ping, h.ours = true, true
	case keyTotal:
		h.total, h.ours = v, true
	case keyCredit:
		h.credit, h.ours = v, true
	case keyTimeout:
		p.fine, h.ours = duration(v, time.Microsecond), true
	case keyCode:
		h.code, h.ours = v, true
	case keyRefused:
		h.refused, h.ours = true, true
	default:
		return false
	}
	return true
}

// user takes what is, or may be, a user's pair; the key is at offset at.
func (p *parser) user(k, v []byte, at int) error {
	h := p.h
	if h.text == "" {
		h.text, h.from = string(p.p[at:]), at
	}
	key := h.text[at-h.from:][:len(k)]
	value := h.text[at+len(k)+2-h.from:][:len(v)]
	switch {
	case strings.HasPrefix(key, prefixTransient) && (!p.answer || p.ours):
		return p.pair(&h.pairs, key[len(prefixTransient):], value, rpc.Transient)
	case strings.HasPrefix(key, prefixPersistent) && !p.answer:
		return p.pair(&h.pairs, key[len(prefixPersistent):], value, rpc.Persistent)
	case strings.HasPrefix(key, prefixDetail) && p.answer:
		return p.pair(&h.details, key[len(prefixDetail):], value, rpc.Transient)
	case strings.HasPrefix(key, prefixOwn):
		h.ours = true // a later version's, to be ignored
		return nil
	case internal(key):
		return nil
	}
	return p.pair(&h.pairs, key, value, rpc.Transient)
}

// pair adds a pair within the limits. Keys that belong to protocols are not
// let through in any wrapping.
func (p *parser) pair(to *rpc.Metadata, key, value string, scope rpc.Scope) error {
	if key == "" || rpc.Reserved(key) {
		return nil
	}
	h := p.h
	h.bytes += len(key) + len(value)
	if h.bytes > p.lim.HeaderBytes || len(h.pairs)+len(h.details) >= p.lim.HeaderEntries {
		return errHeaderLimit
	}
	*to = append(*to, rpc.Pair{Key: key, Value: value, Scope: scope})
	return nil
}

// duration reads a decimal number of units. What is no positive number, or
// beyond ten years, is no timeout.
func duration(v []byte, unit time.Duration) time.Duration {
	const most = 10 * 365 * 24 * time.Hour
	n := uint64(0)
	if len(v) == 0 || len(v) > 18 {
		return 0
	}
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0
		}
		n = 10*n + uint64(c-'0')
	}
	if n > uint64(most/unit) {
		return 0
	}
	return time.Duration(n) * unit
}
