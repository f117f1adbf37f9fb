package ttheader

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A THeader. Up to the words it is laid out as a TTHeader (header.go), but for the
// magic; what follows is in varints (unsigned LEB128):
//
//	offset  bytes
//	0       4      length of all that follows
//	4       2      theaderMagic
//	6       2      flags
//	8       4      sequence id
//	12      2      size of what follows up to the message, in words of four bytes
//	14             protocol: 0 Binary, 2 Compact
//	               number of transforms, their ids: 1 is zlib, of the message
//	               infos: kind, number, so many times a key and a value
//	               zeros up to whole words
//	               the message
//
// An info of a kind that is not known ends the list, as its length is not known.
//
// Source: doc/specs/HeaderFormat.md of Apache Thrift 0.25; the persistent
// pairs, the flag and the timeout are fbthrift's.
const (
	protocolCompact = 2 // 0 is the Binary protocol

	transformZlib = 1
	maxTransforms = 4 // of one message

	infoPairs      = 1
	infoPersistent = 2

	keyClientTimeout = "client_timeout" // milliseconds, decimal
)

// protocolID is how a message in a protocol is announced, in either header.
func protocolID(compact bool) byte {
	if compact {
		return protocolCompact
	}
	return 0
}

// findTHeader finds a frame with a THeader at the start of p.
func (s *Session) findTHeader(p []byte) (f frame, need int, err error) {
	if len(p) < fixedHead {
		return f, fixedHead - len(p), nil
	}
	n := int(binary.BigEndian.Uint32(p))
	f.end = 4 + n
	o := fixedHead + 4*int(binary.BigEndian.Uint16(p[12:]))
	switch {
	case uint(n) > maxFrame:
		return f, 0, &FrameError{Why: "length above 2 GB"}
	case o > f.end:
		return f, 0, &FrameError{Offset: 12, Why: "header beyond the frame's end"}
	case o == f.end:
		return f, 0, &FrameError{Offset: o, Why: "no message after a THeader"}
	case o > 2*s.maxHeader && s.tooMuch(n):
		return f, 0, headerTooLarge(o)
	}
	// A message that is too large is not waited for: its header and the begin of its
	// envelope tell whom to answer, and the rest is skipped as it comes.
	want := f.end
	if s.tooMuch(n) {
		want = min(f.end, o+8)
	}
	if len(p) < want {
		return f, want - len(p), nil
	}
	// Protocol and transforms say how to read the message, and are looked at before
	// it; the infos after it, since what is wrong with them is told to its caller.
	f.shape, f.head, f.message = shapeTHeader, true, o
	q := infoParser{parser{h: &s.in.head, p: p[:o], o: fixedHead, answer: s.side == wire.Client, lim: s.lim}}
	how, err := q.payload()
	if err != nil {
		return f, 0, err
	}
	f.compact = how.protocol == protocolCompact
	if need, err = s.theaderMessage(&f, p, n, how); need > 0 || err != nil {
		return f, need, err
	}
	h := &s.in.head
	h.flags, h.seq = binary.BigEndian.Uint16(p[6:]), binary.BigEndian.Uint32(p[8:])
	switch {
	case o > 2*s.maxHeader: // persistent pairs come twice
		return f, 0, f.headerErr(errHeaderLimit)
	case how.fault() != nil:
		return f, 0, nil // where a transform that is not known ends, and the infos begin, is not known
	}
	return f, 0, f.headerErr(q.infos())
}

// theaderMessage finds the message behind the THeader, whose frame has n bytes
// after the length.
func (s *Session) theaderMessage(f *frame, p []byte, n int, how payload) (need int, err error) {
	fault := how.fault()
	if fault == nil && how.zlib > 0 && !s.compresses() {
		fault = &rpc.Error{Code: rpc.InvalidArgument, Msg: "a compressed message on a connection that did not begin with a THeader"}
	}
	switch {
	case fault == nil && s.tooMuch(n) && how.zlib == 0:
		*f, need, err = s.tooLarge(*f, p, n)
		return need, err
	case fault == nil && s.tooMuch(n):
		fault = sizeErr(n, s.lim)
	}
	if fault != nil {
		// Who called what cannot be read; the header has the id to answer with.
		f.fault, f.seq, f.typ, f.body = fault, int32(binary.BigEndian.Uint32(p[8:])), raw.Call, f.message
		return 0, nil
	}
	if how.zlib > 0 {
		f.packed, f.seq, f.body = true, int32(binary.BigEndian.Uint32(p[8:])), f.message
		if f.typ = raw.Call; s.side == wire.Client {
			f.typ = raw.Reply // Unpack finds the truth
		}
		return 0, nil
	}
	f.old = s.p.NonStrict && !f.compact && f.message < f.end && p[f.message] < 0x80
	return 0, f.envelope(p[:f.end])
}

// compresses reports whether the peer may compress messages: the form is
// Apache's and fbthrift's, and nobody who has begun with another needs it.
func (s *Session) compresses() bool {
	if s.side == wire.Client {
		return s.p.Form == THeader
	}
	return s.in.first || s.in.theader
}

// A payload says how the message behind a THeader is written.
type payload struct {
	protocol uint64
	zlib     int    // how often it is compressed
	unknown  uint64 // a transform that is not spoken; 0: none
	many     bool   // there are more transforms than are taken
}

// fault is why such a message cannot be read; its caller is told.
func (w payload) fault() *rpc.Error {
	switch {
	case w.protocol != 0 && w.protocol != protocolCompact:
		return &rpc.Error{Code: rpc.InvalidArgument, Msg: fmt.Sprintf("protocol %d of a THeader is not spoken: binary is 0, compact is 2", w.protocol)}
	case w.unknown != 0:
		return &rpc.Error{Code: rpc.InvalidArgument, Msg: fmt.Sprintf("transform %d of a THeader is not spoken: zlib is 1", w.unknown)}
	case w.many:
		return &rpc.Error{Code: rpc.InvalidArgument, Msg: fmt.Sprintf("more than %d transforms of a THeader", maxTransforms)}
	case w.zlib > 1:
		return &rpc.Error{Code: rpc.InvalidArgument, Msg: fmt.Sprintf("a message that is compressed %d times: once is taken", w.zlib)}
	}
	return nil
}

// An infoParser reads a THeader.
type infoParser struct{ parser }

// varint reads a number. Those of ten bytes that do not fit 64 bits are as wrong as those
// that the header cuts off.
func (q *infoParser) varint() (uint64, error) {
	v, n := binary.Uvarint(q.p[q.o:])
	if n <= 0 {
		return 0, &FrameError{Offset: q.o, Why: "truncated number"}
	}
	q.o += n
	return v, nil
}

// payload reads protocol and transforms.
func (q *infoParser) payload() (w payload, err error) {
	if w.protocol, err = q.varint(); err != nil {
		return w, err
	}
	n, err := q.varint()
	if err == nil && n > uint64(len(q.p)-q.o) {
		return w, &FrameError{Offset: q.o, Why: "transforms beyond the header's end"}
	}
	w.many = n > maxTransforms
	for ; n > 0 && err == nil; n-- {
		var id uint64
		switch id, err = q.varint(); id {
		case 0: // none, as Apache's library has it
		case transformZlib:
			w.zlib++
		default:
			w.unknown = id
		}
	}
	return w, err
}

// infos reads the pairs up to padding, or to an info that is not known: those
// after it would not be known either.
func (q *infoParser) infos() error {
	for q.o < len(q.p) {
		kind, err := q.varint()
		if err != nil || kind != infoPairs && kind != infoPersistent {
			return err
		}
		n, err := q.varint()
		for ; n > 0 && err == nil; n-- {
			var key, value []byte
			if key, err = q.bytes(); err == nil {
				if value, err = q.bytes(); err == nil {
					err = q.take(key, value, kind == infoPersistent)
				}
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bytes borrows a string with its length before it.
func (q *infoParser) bytes() ([]byte, error) {
	n, err := q.varint()
	if err == nil && n > uint64(len(q.p)-q.o) {
		err = &FrameError{Offset: q.o, Why: "string beyond the header's end"}
	}
	if err != nil {
		return nil, err
	}
	q.o += int(n)
	return q.p[q.o-int(n) : q.o : q.o], nil
}

// take keeps a pair. A persistent one was there before, among all of them, if
// its sender is of our kind.
func (q *infoParser) take(key, value []byte, persistent bool) error {
	if string(key) == keyClientTimeout && !q.answer {
		q.h.timeout = duration(value, time.Millisecond)
		return nil
	}
	if !persistent {
		return q.pair(&q.h.pairs, string(key), string(value), rpc.Transient)
	}
	for i := range q.h.pairs {
		if p := &q.h.pairs[i]; p.Key == string(key) && p.Value == string(value) && p.Scope == rpc.Transient {
			p.Scope = rpc.Persistent
			return nil
		}
	}
	return q.pair(&q.h.pairs, string(key), string(value), rpc.Persistent)
}

// A theaderWriter appends one THeader to b, from the magic on.
type theaderWriter struct {
	b    []byte
	zlib bool // the message is compressed
}

// header writes pairs, the persistent ones among them twice: Apache's
// libraries stop at the second info.
func (w *theaderWriter) header(flags uint16, seq uint32, compact bool, pairs rpc.Metadata, timeout time.Duration) error {
	start := len(w.b)
	w.b = be32(be16(be16(w.b, theaderMagic), flags), seq)
	w.b = append(w.b, 0, 0, protocolID(compact))
	if w.zlib {
		w.b = append(w.b, 1, transformZlib)
	} else {
		w.b = append(w.b, 0)
	}
	all, persistent := 0, 0
	for _, p := range pairs {
		if users(p.Key) {
			all++
			if p.Scope == rpc.Persistent {
				persistent++
			}
		}
	}
	if timeout > 0 {
		all++
	}
	if all > 0 {
		w.b = binary.AppendUvarint(append(w.b, infoPairs), uint64(all))
		if timeout > 0 {
			w.number(keyClientTimeout, units(timeout, time.Millisecond))
		}
		w.pairs(pairs, false)
	}
	if persistent > 0 {
		w.b = binary.AppendUvarint(append(w.b, infoPersistent), uint64(persistent))
		w.pairs(pairs, true)
	}
	const fixed = fixedHead - 4 // from the magic on
	for (len(w.b)-start-fixed)%4 != 0 {
		w.b = append(w.b, 0)
	}
	words := (len(w.b) - start - fixed) / 4
	if words > math.MaxUint16 {
		return &rpc.Error{Code: rpc.ResourceExhausted, Op: "encode header", Msg: "header of more than 262140 bytes", Sent: rpc.NotSent}
	}
	binary.BigEndian.PutUint16(w.b[start+8:], uint16(words))
	return nil
}

// pairs writes the pairs that are users', or of these the persistent ones.
func (w *theaderWriter) pairs(pairs rpc.Metadata, persistent bool) {
	for _, p := range pairs {
		if users(p.Key) && (!persistent || p.Scope == rpc.Persistent) {
			w.pair(p.Key, p.Value)
		}
	}
}

// users reports whether a key may be a user's: a THeader wraps none, so that one
// that means something would have its meaning.
func users(key string) bool { return !rpc.Reserved(key) && key != keyClientTimeout }

// number is pair for a decimal value, whose length takes one byte.
func (w *theaderWriter) number(key string, n int64) {
	w.b = append(binary.AppendUvarint(w.b, uint64(len(key))), key...)
	at := len(w.b)
	w.b = strconv.AppendInt(append(w.b, 0), n, 10)
	w.b[at] = byte(len(w.b) - at - 1)
}

// pair writes a key and a value, each with its length in a varint before it.
func (w *theaderWriter) pair(key, value string) {
	w.b = append(binary.AppendUvarint(w.b, uint64(len(key))), key...)
	w.b = append(binary.AppendUvarint(w.b, uint64(len(value))), value...)
}
