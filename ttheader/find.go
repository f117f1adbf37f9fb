package ttheader

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"

	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// find looks for a whole frame at the start of p, or for the head of one that
// is too large. need > 0: that many bytes are missing, at the least; the reader makes
// room for as many. An error means that the place in the input is lost.
//
// What is wrong with a frame whose end is known is no error but its fault: the call
// is refused, and the connection goes on behind it.
func (s *Session) find(p []byte) (f frame, need int, err error) {
	switch l := detect(p, s.p.NonStrict); l {
	case leadTTHeader:
		return s.findTTHeader(p)
	case leadTHeader:
		return s.findTHeader(p)
	case leadMesh:
		return s.findMesh(p)
	case leadShort:
		return f, sniffLen - len(p), nil
	default:
		return s.findMessage(p, 0, l)
	}
}

// findMesh reads a mesh header: FF AF, its size, a map of strings. A message
// follows it, never a TTHeader.
func (s *Session) findMesh(p []byte) (f frame, need int, err error) {
	if len(p) < 4 {
		return f, 4 - len(p), nil
	}
	o := 4 + int(binary.BigEndian.Uint16(p[2:]))
	if o > s.maxHeader {
		return f, 0, headerTooLarge(o)
	}
	if len(p) < o+sniffLen {
		return f, o + sniffLen - len(p), nil
	}
	l := detect(p[o:], s.p.NonStrict)
	if l == leadTTHeader || l == leadTHeader || l == leadMesh {
		return f, 0, &FrameError{Offset: o, Why: "no message after a mesh header"}
	}
	if f, need, err = s.findMessage(p, o, l); need > 0 || err != nil {
		return f, need, err
	}
	f.head = true
	q := parser{h: &s.in.head, p: p[:o], o: 4, answer: s.side == wire.Client, lim: s.lim}
	if o > 4 {
		err = q.strings()
		q.h.unpin()
	}
	return f, 0, f.headerErr(err)
}

// findMessage finds a framed or bare message at p[at:].
func (s *Session) findMessage(p []byte, at int, l lead) (f frame, need int, err error) {
	switch l {
	case leadBare, leadOldBare, leadCompact:
		f = frame{shape: shapeBuffered, old: l == leadOldBare, compact: l == leadCompact, message: at}
		return s.findBare(f, p)
	case leadFramed, leadOldFramed, leadCompactFramed:
	default:
		why := fmt.Sprintf("%q is no message of a known form", sample(p[at:]))
		if len(p) >= at+2 && (p[at] == tlsAlert || p[at] == tlsHandshake) && p[at+1] == tlsMajor {
			why = "the peer speaks TLS: " + why
		}
		return f, 0, &FrameError{Offset: at, Why: why}
	}
	n := int(binary.BigEndian.Uint32(p[at:]))
	if uint(n) > maxFrame {
		return f, 0, &FrameError{Offset: at, Why: "length above 2 GB"}
	}
	f = frame{shape: shapeFramed, old: l == leadOldFramed, compact: l == leadCompactFramed, message: at + 4, end: at + 4 + n}
	if !s.tooMuch(n) {
		if len(p) < f.end {
			return f, f.end - len(p), nil
		}
		return f, 0, f.envelope(p[:f.end])
	}
	return s.tooLarge(f, p, n)
}

// findTTHeader finds a frame with a TTHeader at the start of p.
//
// A frame that is too large is not waited for: eight bytes behind the header, where an
// envelope says how long it is, are enough to begin with (tooLarge), so that its caller
// can be told. Of one without a message there is nothing to be told.
func (s *Session) findTTHeader(p []byte) (f frame, need int, err error) {
	if len(p) < fixedHead {
		return f, fixedHead - len(p), nil
	}
	n, o, err := s.headerEnd(p)
	if err != nil {
		return f, 0, err
	}
	f.end = 4 + n
	flags := binary.BigEndian.Uint16(p[6:])
	if flags&flagPiece != 0 && s.in.agreed.has(inPieces) {
		return s.findPiece(f, p, o)
	}
	large := s.tooMuch(n)
	if want := f.end; !large && len(p) < want {
		return f, want - len(p), nil
	} else if want = min(f.end, o+8); len(p) < want {
		return f, want - len(p), nil
	}
	f.message, f.head = o, true
	f.shape = shapeTTHeader
	if flags&flagStream != 0 {
		f.shape = shapeStream
	}
	if o < f.end && f.shape != shapeStream {
		if err := f.inner(p, s.p.NonStrict); err != nil {
			return f, 0, err
		}
		if large {
			f, need, err = s.tooLarge(f, p, n)
		} else {
			err = f.envelope(p[:f.end])
		}
		if need > 0 || err != nil {
			return f, need, err
		}
	}
	if err := s.parseHeader(p[:o], f.compact); err != nil {
		return f, 0, f.headerErr(err)
	}
	if f.shape == shapeStream {
		f.stream(p[:min(f.end, len(p))], &s.in.head, large, s.lim)
		return f, 0, nil
	}
	if sum := s.in.head.checksum; sum != nil && !large {
		f.fault = checksum(sum, p[o:f.end])
	}
	return f, 0, nil
}

// headerEnd gives the length n of the frame at p, after its first four bytes, and
// where its header ends.
func (s *Session) headerEnd(p []byte) (n, end int, err error) {
	n = int(binary.BigEndian.Uint32(p))
	end = fixedHead + 4*int(binary.BigEndian.Uint16(p[12:]))
	switch {
	case uint(n) > maxFrame:
		return 0, 0, &FrameError{Why: "length above 2 GB"}
	case end == fixedHead:
		return 0, 0, &FrameError{Offset: 12, Why: "empty header"}
	case end > 4+n:
		return 0, 0, &FrameError{Offset: 12, Why: "header beyond the frame's end"}
	case end > s.maxHeader && s.tooMuch(n):
		return 0, 0, headerTooLarge(end)
	}
	return n, end, nil
}

// Flags of a TTHeader; the others are ignored, as Kitex does.
const (
	flagUnordered = 1
	flagStream    = 2
	flagPiece     = 0x100 // ours: a later piece of a message, without an envelope
	flagCredit    = 0x200 // of a later piece: it takes credit
)

// parseHeader reads the TTHeader p into s.in.head.
func (s *Session) parseHeader(p []byte, compact bool) error {
	h := &s.in.head
	h.flags, h.seq, h.protocol = binary.BigEndian.Uint16(p[6:]), binary.BigEndian.Uint32(p[8:]), p[14]
	switch {
	case compact && h.protocol == protocolCompact:
	case !compact && (h.protocol == 0x00 || h.protocol == 0x03 || h.protocol == 0x10):
		// All mean the Binary protocol to Kitex, when they stand before it.
	default:
		return &FrameError{Offset: 14, Why: fmt.Sprintf("unknown protocol %#02x", h.protocol)}
	}
	// Transform ids are read past: nobody writes any, and Kitex ignores them.
	o := 16 + int(p[15])
	if o > len(p) {
		return &FrameError{Offset: 15, Why: "transforms beyond the header's end"}
	}
	if len(p) > s.maxHeader {
		return errHeaderLimit
	}
	q := parser{h: h, p: p, o: o, answer: s.side == wire.Client, ours: s.in.agreed.has(ours), lim: s.lim}
	return q.blocks()
}

// inner tells whether the message after the TTHeader is framed or bare.
func (f *frame) inner(p []byte, nonStrict bool) error {
	rest := p[f.message:min(f.end, len(p))]
	switch detect(rest, nonStrict) {
	case leadBare:
	case leadOldBare:
		f.old = true
	case leadCompact:
		f.compact = true
	case leadFramed, leadOldFramed, leadCompactFramed:
		f.shape = shapeTTFramed
		f.old, f.compact = binary.BigEndian.Uint16(rest[4:]) == 0, rest[4] == compactID
		n := int(binary.BigEndian.Uint32(rest))
		if f.message += 4; n != f.end-f.message {
			return &FrameError{Offset: f.message - 4, Why: "message does not end with its frame"}
		}
	default:
		return &FrameError{Offset: f.message, Why: fmt.Sprintf("%q is no message", sample(rest))}
	}
	return nil
}

// The first two bytes of a record of TLS: its type, which is one of these at the
// begin of a connection, and the version that all of them have.
const tlsAlert, tlsHandshake, tlsMajor = 21, 22, 3

// sample is as much of p as an error quotes: the words of another protocol are to be
// recognised.
func sample(p []byte) []byte { return p[:min(len(p), 32)] }

// begin reads the envelope at the begin of p.
func (f *frame) begin(p []byte) (name []byte, typ raw.MessageType, seq int32, n int, err error) {
	if f.compact {
		return raw.Compact{}.ParseMessageBegin(p)
	}
	return raw.ParseMessageBegin(p, f.old)
}

// envelope reads the envelope of a message that ends where p ends.
func (f *frame) envelope(p []byte) error {
	name, typ, seq, n, err := f.begin(p[f.message:])
	if err != nil {
		return envelopeErr(f.message, err)
	}
	f.name, f.typ, f.seq, f.body = name, typ, seq, f.message+n
	return nil
}

// envelopeErr places what is wrong with the envelope at offset at.
func envelopeErr(at int, err error) error {
	if e, ok := errors.AsType[*raw.SyntaxError](err); ok {
		return &FrameError{Offset: at + e.Offset, Why: e.Why}
	}
	return &FrameError{Offset: at, Why: "message ends within its envelope"}
}

// findBare finds the end of a bare message, which is nowhere but in its struct: fields
// are walked over, without being decoded, up to the stop behind the last. A walk that
// has found the input too short goes on where it was when more has come (Skipper).
// Here alone is a value that makes no sense fatal: with it the end is lost.
func (s *Session) findBare(f frame, p []byte) (frame, int, error) {
	name, typ, seq, n, err := f.begin(p[f.message:])
	if errors.Is(err, raw.ErrShort) {
		return f, f.message + n - len(p), nil
	}
	if err != nil {
		return f, 0, envelopeErr(f.message, err)
	}
	f.name, f.typ, f.seq, f.body = name, typ, seq, f.message+n
	done, n, err := s.endOfStruct(p[f.body:], f.compact)
	size := f.body - f.message + n
	switch {
	case err != nil:
		f.fault = &rpc.Error{Code: rpc.InvalidArgument, Msg: err.Error()}
		f.fatal = err
	case s.tooMuch(size):
		if f.fault = sizeErr(size, s.lim); !done || size > s.lim.MessageBytes {
			f.fatal = &rpc.Error{Code: rpc.ResourceExhausted, Op: "frame", Msg: f.fault.Msg}
		}
	case !done:
		return f, s.roomFor(f.body+n-len(p), len(p)), nil
	}
	f.end = f.body + n
	return f, 0, nil
}

// roomFor is what a bare message is said to need. Its length is unknown, so
// that little may be known to be missing. A larger number is right too, since
// it is a hint for the size of blocks; growing by half keeps the sum of all
// copies linear.
func (s *Session) roomFor(missing, have int) int {
	if have < skipStep {
		return missing
	}
	return max(missing, min(have/2, s.lim.MessageBytes))
}

// deepest is how far the end of a bare message is followed into nesting. It
// is beyond what codecs take, whose error leaves the connection in order.
const deepest = 2048

// shallow is how far the walk without state goes, which takes stack for each level:
// the goroutine that reads keeps that while it waits.
const shallow = 64

// endOfStruct is like raw.Skipper.Feed. Most messages arrive whole, and the
// walk over those needs no state.
func (s *Session) endOfStruct(p []byte, compact bool) (done bool, n int, err error) {
	var walked error
	if !s.in.skipping {
		skip := raw.SkipStruct
		if compact {
			skip = raw.Compact{}.SkipStruct
		}
		if n, walked = skip(p, shallow); walked == nil {
			return true, n, nil
		}
		s.in.skipper = raw.Skipper{MaxDepth: deepest, Compact: compact}
	}
	done, n, err = s.in.skipper.Feed(p)
	if s.in.skipping = !done && err == nil; !s.in.skipping {
		s.in.skipper = raw.Skipper{} // it keeps what its nesting took
	}
	if err != nil && offsetOf(walked) > offsetOf(err) {
		err = walked // the same fault, placed within its value
	}
	return done, n, err
}

// offsetOf is where err places a fault, -1 if it is no fault.
func offsetOf(err error) int {
	if e, ok := errors.AsType[*raw.SyntaxError](err); ok {
		return e.Offset
	}
	return -1
}

// checksum verifies what a crc32c key promises: Castagnoli over all that
// follows the TTHeader, in eight hex digits.
func checksum(want, p []byte) *rpc.Error {
	sum := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
	if v, err := strconv.ParseUint(string(want), 16, 32); err == nil && len(want) == 8 && uint32(v) == sum {
		return nil
	}
	return &rpc.Error{Code: rpc.DataLoss, Msg: fmt.Sprintf("checksum is %08x, %.8q was sent", sum, want)}
}
