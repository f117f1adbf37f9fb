package grpc

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
)

// Head is how many bytes stand before a message: whether it is compressed, and its length.
const Head = 5

// AppendHead appends what stands before a message of n bytes.
func AppendHead(b []byte, packed bool, n int) []byte {
	flag := byte(0)
	if packed {
		flag = 1
	}
	return AppendFlags(b, flag, n)
}

// AppendFlags appends what stands before n bytes in an envelope with flags, as Connect has them
// too: its last one is no message.
func AppendFlags(b []byte, flags byte, n int) []byte {
	return binary.BigEndian.AppendUint32(append(b, flags), uint32(n))
}

// A Message is one that was taken out of a body. Body is its user's to release.
type Message struct {
	Body   buf.View
	Packed bool
	Last   bool // it is no message, but what a body ends with
	Took   int  // bytes of the stream's window that stay used until it is consumed
}

// windowPart is how many bytes of a message wait for its consumer to be granted anew.
// What it has beyond is granted as it arrives: a message may be larger than the window.
// Of the least window, 65,535 bytes, half may be owed to the peer and not worth a frame
// yet, and some kilobytes consumed and not owed yet: there is room besides for what goes on.
const windowPart = 24 << 10

// # The windows of a stream
//
// HTTP/2 bounds what a peer may send on a stream before it was granted more. That is the
// brake of a stream of messages: what its consumer has not taken stays used. Three things
// are in the way of just that:
//
//   - A message may be larger than the window. If nothing of it were granted before it is
//     whole, it never would be. So windowPart bytes of it stay used, and the rest is granted
//     as it arrives; it is held within the limit of a message, and in the account.
//   - A frame may hold the end of one message, many others, and the beginning of the next.
//     Each message takes what its own bytes were, its head too, so that the sum is right
//     whatever the peer's frames are.
//   - A body that is refused is read past. What comes of it is granted at once: it must not
//     stop the connection, and nobody will ever consume it.
//
// So for each byte of a body, once the messages in it were consumed, it was granted once:
// by Next, as grant, or with its message, as Took. The fuzz test holds that for any cuts.
//
// A Splitter takes the messages out of the body of a stream, which arrives in parts. The zero
// Splitter is at its beginning. Whoever calls it sees to how much all Splitters hold.
type Splitter struct {
	// Plain refuses messages that are compressed, and Last is the flag of envelopes that are
	// no message, 0: there are none. They are set before the first.
	Plain bool
	Last  byte

	dead bool // nothing more is taken
	head [Head]byte
	got  int // bytes of head
	size int // of the message, once its head is whole
	body buf.Gather
	took int
}

// Empty reports whether there is nothing to remember: the Splitter is between two messages.
func (s *Splitter) Empty() bool { return s.got == 0 && !s.dead }

// Torn reports whether a message has begun and is not whole.
func (s *Splitter) Torn() bool { return s.got > 0 }

// Held is how many bytes of memory it takes besides itself.
func (s *Splitter) Held() int { return s.body.Cap() }

// Close gives up what has arrived of a message: what comes is read past.
func (s *Splitter) Close() { *s = Splitter{dead: true} }

// again is s before its next message.
func (s *Splitter) again() {
	s.got, s.size, s.took = 0, 0, 0
	if s.body.Cap() > 0 { // of most messages nothing was gathered
		s.body = buf.Gather{}
	}
}

// message gives what has come whole.
func (s *Splitter) message(body buf.View) Message {
	return Message{Body: body, Packed: s.head[0]&1 != 0, Last: s.head[0]&s.Last != 0, Took: s.took}
}

// odd reports a head with flags that are none.
func (s *Splitter) odd() bool { return s.head[0]&^(1|s.Last) != 0 }

// unsaid reports one of a compressed message, where nobody has said how.
func (s *Splitter) unsaid() bool { return s.head[0]&1 != 0 && s.Plain }

// Next takes the next message out of data from byte at on. n is how many bytes that has
// used up, and grant how many of them are to be granted anew at once. Without whole
// the message is not; all that is there is used up then. most is the largest message,
// and free how much memory it may take; an error says that it is larger, or none,
// once: nothing more is taken then.
func (s *Splitter) Next(data buf.View, at, most, free int) (m Message, n, grant int, whole bool, err *rpc.Error) {
	p := data.Bytes()[at:]
	if s.dead {
		return m, len(p), len(p), false, nil
	}
	used := copy(s.head[s.got:], p)
	if s.got += used; s.got < Head {
		s.took += used
		return m, used, 0, false, nil
	}
	size := binary.BigEndian.Uint32(s.head[1:]) // which an int of 32 bits may not hold
	s.size = int(min(uint64(size), math.MaxInt))
	if s.odd() || s.unsaid() || int64(size) > int64(most) {
		return m, len(p), len(p), false, s.fail(most)
	}
	p = p[used:]
	k := min(len(p), s.size-s.body.Len())
	n = used + k
	counted := min(n, max(0, windowPart-s.took))
	s.took += counted
	if grant = n - counted; k == s.size { // all of it is here
		var body buf.View
		if k > 0 {
			body = data.Slice(at+used, at+n)
		}
		m = s.message(body)
		s.again()
		return m, n, grant, true, nil
	}
	if _, ok := s.body.Grow(k, s.size, free); !ok {
		return m, len(p) + used, len(p) + used, false, s.fail(-1)
	}
	s.body.Add(p[:k])
	if s.body.Len() < s.size {
		return m, n, grant, false, nil
	}
	m = s.message(s.body.View())
	s.again()
	return m, n, grant, true, nil
}

// fail has nothing more be taken. most is below zero where there is no room.
func (s *Splitter) fail(most int) *rpc.Error {
	e := &rpc.Error{Code: rpc.ResourceExhausted, Op: "receive", Msg: fmt.Sprintf("message of %d bytes, Limits.MessageBytes is %d", s.size, most)}
	switch {
	case s.odd():
		e.Code, e.Msg = rpc.Internal, fmt.Sprintf("a message begins with the byte %d, which is neither 0 nor 1", s.head[0])
	case s.unsaid():
		e.Code, e.Msg = rpc.Internal, "a message is compressed, and the head does not say how"
	case most < 0:
		e.Msg = fmt.Sprintf("no room for a message of %d bytes", s.size)
	}
	s.Close()
	return e
}
