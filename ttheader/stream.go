package ttheader

import (
	"encoding/binary"
	"strconv"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// Types of stream frames, as text.
const (
	frameMeta    = "1"
	frameHeader  = "2"
	frameData    = "3"
	frameTrailer = "4"
	frameReset   = "5"
)

// protocolStruct is the protocol id of a payload without an envelope.
const protocolStruct = 0x10

const (
	// StreamWindow is what a stream's sender may send before the receiver has
	// granted anything, in bytes. A message may begin with any of it left.
	StreamWindow = 64 << 10
	// StreamMessage is what a message counts besides its bytes: many empty
	// ones are not free either. Both are docs/wire/streams.md's.
	StreamMessage = 64
)

// kitexStreams keeps the ids that peers of another kind choose for streams
// apart from those of their calls.
const kitexStreams = 2 << 32

// stream reads what a stream's frame has besides its header, which was parsed:
// p ends with the frame, or is the head of one that is too large.
func (f *frame) stream(p []byte, h *header, large bool, lim *rpc.Limits) {
	f.seq, f.body = int32(h.seq), f.message
	if h.checksum != nil && !large {
		f.fault = checksum(h.checksum, p[f.message:])
	}
	switch typ := string(h.frameType); {
	case large:
		f.fault = sizeErr(f.end-4, lim)
	case f.fault != nil:
	case (typ == frameTrailer || typ == frameReset) && f.message < f.end:
		if f.envelope(p) != nil || f.typ != raw.Exception {
			f.fault = &rpc.Error{Code: rpc.DataLoss, Msg: "unreadable end of a stream"}
		}
	}
}

// What our kind writes before a message: of a DATA frame's header all but the
// length and the stream's id is constant.
const (
	dataFront = "\x10\x00\x00\x02"                                                          // magic, flagStream
	dataBack  = "\x00\x03" + "\x10\x00" + "\x10\x00\x01" + "\x00\x1b\x00\x013" + "\x00\x00" // words, protocol, one int key, padding
	dataHead  = 4 + len(dataFront) + 4 + len(dataBack)
)

// cutData takes a DATA frame off in if p, which is what in holds, begins with a
// whole one as our kind writes it: most of what a connection with streams
// carries. It does what the way by find does, some 50 ns faster.
func (s *Session) cutData(in *buf.In, p []byte, ev *wire.Event) bool {
	if len(p) < dataHead || string(p[4:8]) != dataFront || string(p[12:dataHead]) != dataBack {
		return false
	}
	n := int(binary.BigEndian.Uint32(p))
	if n < dataHead-4 || s.tooMuch(n) || len(p)-4 < n {
		return false
	}
	ev.Flags, ev.ID = wire.Message|wire.Stream, s.eventID(binary.BigEndian.Uint32(p[8:]))
	if s.side == wire.Client {
		s.settle(ev)
	}
	s.in.first = false
	in.Skip(dataHead)
	ev.Body = in.View(4 + n - dataHead)
	return true
}

// eventID is the id of a stream's events. Ids of peers of another kind are not
// those of their calls.
func (s *Session) eventID(seq uint32) uint64 {
	if s.side == wire.Server && !s.in.agreed.has(withStreams) {
		return kitexStreams | uint64(seq)
	}
	return uint64(seq)
}

// streamed makes the event of a stream's frame. What it may be depends on its type only:
// which frames may follow which is the engine's to say, which has the streams.
//
//	META      credit; between peers of our kind only, others are passed over
//	HEADER    client: opens the stream; server: metadata before the first message
//	DATA      a message
//	TRAILER   the end of this direction, or with an exception of the call
//	RESET     the end of the call
func (s *Session) streamed(ev *wire.Event, f *frame) error {
	h := &s.in.head
	ev.ID = s.eventID(h.seq)
	if s.side == wire.Client {
		s.settle(ev)
	}
	switch string(h.frameType) {
	case frameMeta:
		// With an offer it is the first frame, before which there is no stream.
		n, err := strconv.ParseUint(string(h.credit), 10, 31)
		if s.in.agreed.has(withStreams) && h.offer == nil && err == nil && n > 0 {
			ev.Flags |= wire.Credit | wire.Stream
			ev.Credit = int(n)
		}
	case frameHeader:
		if s.side == wire.Server {
			s.openedStream(ev, f)
		} else if len(h.pairs) > 0 {
			ev.Flags |= wire.Stream
			ev.Header = h.pairs
		}
	case frameData:
		ev.Flags |= wire.Message | wire.Stream
		if s.side == wire.Server && s.in.agreed.has(withStreams) && len(h.method) > 0 { // as toward a peer that is not known
			ev.Flags |= wire.Early
		}
		if f.fault != nil {
			ev.Flags &^= wire.Message // there is no body to be taken
			ev.Err = s.faultOf(f)
		}
	case frameTrailer:
		ev.Flags |= wire.End | wire.Stream
		ev.Trailer = h.pairs
		s.streamEnded(ev, f)
	case frameReset:
		ev.Flags |= wire.Reset | wire.Stream
		s.streamEnded(ev, f)
	default:
		return &FrameError{Offset: fixedHead, Why: "stream frame of type " + strconv.Quote(string(h.frameType))}
	}
	if ev.Flags&wire.Stream == 0 {
		ev.ID = 0 // what is left is about the connection
	}
	return nil
}

// streamEnded adds to ev, an End or Reset, why the stream ended.
func (s *Session) streamEnded(ev *wire.Event, f *frame) {
	h := &s.in.head
	switch {
	case f.fault != nil:
		ev.Err = s.faultOf(f)
	case ev.Flags&wire.End != 0 && len(h.bizStatus) > 0 && string(h.bizStatus) != "0":
		ev.Err = bizError(h)
	case f.message < f.end:
		ev.Flags |= wire.Message // exception takes it
	case ev.Flags&wire.Reset != 0:
		ev.Err = &rpc.Error{Code: rpc.Unknown, Msg: "the peer ended the stream", Sent: rpc.Processed, Remote: true}
	}
}

// openedStream makes the event of a HEADER that a client sent.
func (s *Session) openedStream(ev *wire.Event, f *frame) {
	h := &s.in.head
	if n := len(h.method); n > raw.MaxName { // an exception could not repeat it
		f.fault, h.method = &rpc.Error{Code: rpc.InvalidArgument, Msg: "method name of " + strconv.Itoa(n) + " bytes"}, nil
	}
	ev.Flags |= wire.Open | wire.Unordered | wire.Stream
	ev.Service, ev.Method = s.in.names.intern(0, h.service), s.in.names.intern(1, h.method)
	ev.Header, ev.Timeout = h.pairs, h.timeout
	ev.Tag[0] |= uint64(shapeStream) | uint64(h.seq)<<32
	ev.Tag[1] = uint64(h.seq)
	if f.fault != nil {
		ev.Err = s.faultOf(f)
		ev.Err.Sent = rpc.Refused
	}
}

// faultOf is why what a frame carried was not received.
func (s *Session) faultOf(f *frame) *rpc.Error {
	e := *f.fault
	e.Op, e.Sent = "receive", rpc.Processed
	return &e
}

// kitexCodes are the ends of streams of Kitex that mean a code, by the type of the
// exception in a TRAILER or RESET. Where several mean one, the first is what is sent.
// Those that Kitex sends are in docs/wire/streams.md.
var kitexCodes = [...]struct {
	typ  raw.ExceptionType
	code rpc.Code
}{
	{12007, rpc.Canceled}, {12015, rpc.DeadlineExceeded}, {12013, rpc.Unavailable}, {12011, rpc.Internal},
	{12008, rpc.Canceled}, {12014, rpc.DeadlineExceeded}, {12006, rpc.Unavailable},
	{12002, rpc.Internal}, {12003, rpc.Internal}, {12004, rpc.Internal}, {12005, rpc.Internal},
}

// streamCode gives the code of an exception's type at the end of a stream.
func streamCode(typ raw.ExceptionType) rpc.Code {
	for _, c := range kitexCodes {
		if c.typ == typ {
			return c.code
		}
	}
	return typ.Code()
}

// resetType is the reverse; what has no type of its own goes out as 12001.
func resetType(code rpc.Code) raw.ExceptionType {
	for _, c := range kitexCodes {
		if c.code == code {
			return c.typ
		}
	}
	return 12001
}
