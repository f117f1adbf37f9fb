package mux_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

// A two is a protocol that asks of the engine what HTTP/2 asks, and little else: ids
// that Begin gives in order, settings, windows of a connection and of its streams,
// messages that wait for them in the session, and a reader that does not know what
// kind of call it has cut an answer to. A frame is a length of 4 bytes, a type, an id
// of 4 bytes, and what the type has:
//
//	S settings   calls and window, of 4 bytes each; s: they were taken in
//	Q request    its method, 0, and the message; O: its method, and a stream begins
//	M message    flags, and by them the message or, with the end, code, text and a trailer
//	W window     4 bytes
//	R reset      a code; G: the last id that was started, all if it is none
//	P, p ping    and its answer
type two struct {
	caps   wire.Caps
	calls  uint32 // that a server says it takes at once; 0: as many as you like
	window int    // of a stream, and four times of a connection; 0: it is never looked at
	ids    uint32 // the last that a client may use; 0: as many as there are
	spy    func(*twoSession)
}

func (p *two) Name() string            { return "two" }
func (p *two) Sniff([]byte) wire.Match { return wire.Match{Verdict: wire.Yes} }
func (p *two) Open(side wire.Side, lim *rpc.Limits) wire.Session {
	s := &twoSession{p: p, side: side, caps: p.caps}
	s.caps.Mux, s.caps.Streams, s.caps.Pending, s.caps.Window = !p.caps.Exclusive, true, side == wire.Client, p.window
	s.window, s.initial = 4*p.window, p.window
	s.next = 1
	s.byID, s.byCall = map[uint32]*twoStream{}, map[uint64]*twoStream{}
	if p.spy != nil {
		p.spy(s)
	}
	return s
}

// twoCaps are those of HTTP/2.
var twoCaps = wire.Caps{Unnamed: true, Final: true, Strict: true, Deadlines: true}

type twoStream struct {
	id     uint32
	call   uint64
	stream bool
	window int
	kept   [][]byte // whole frames that wait for a window
}

type twoSession struct {
	p    *two
	side wire.Side
	now  time.Time // owned by the read role
	err  error

	// Guarded by the output lock.
	caps    wire.Caps
	greeted bool
	begun   bool // Begin without a good End, and what greeted was before
	before  bool
	head    buf.Mark
	cur     *twoStream
	nothing bool
	next    uint32
	last    uint32
	window  int
	initial int
	byID    map[uint32]*twoStream
	byCall  map[uint64]*twoStream
	kept    int
	moved   uint64
	gone    bool
	goneAt  uint32
	asked   int // how often Credit was called
}

const twoHead = 9

func twoFrame(typ byte, id uint32, payload string) []byte {
	p := binary.BigEndian.AppendUint32(nil, uint32(twoHead-4+len(payload)))
	p = binary.BigEndian.AppendUint32(append(p, typ), id)
	return append(p, payload...)
}

func word(n int) string { return string(binary.BigEndian.AppendUint32(nil, uint32(n))) }

// A message is flags, and behind them by these.
const (
	twoText  = 1 // a message
	twoEnd   = 2 // the code, a length and a text, a length and a trailer k=v; it stands before the message
	twoPack  = 4 // the message is in capitals, which are to be unpacked
	twoPlain = 8 // no end is there although it is one: of a message of a client
)

func twoMessage(flags byte, code rpc.Code, text, trailer, body string) string {
	m := string([]byte{flags})
	if flags&twoEnd != 0 {
		m += string([]byte{byte(code), byte(len(text))}) + text + string([]byte{byte(len(trailer))}) + trailer
	}
	return m + body
}

func (s *twoSession) Clock(now time.Time) { s.now = now }

func (s *twoSession) Cut(in *buf.In) (ev wire.Event, need int, err error) {
	for {
		if s.err != nil {
			return ev, 0, s.err
		}
		head := in.Peek(min(in.Len(), twoHead))
		if len(head) < twoHead {
			return ev, twoHead - len(head), nil
		}
		n := int(binary.BigEndian.Uint32(head)) + 4
		if in.Len() < n {
			return ev, n - in.Len(), nil
		}
		typ, id := head[4], binary.BigEndian.Uint32(head[5:])
		in.Skip(twoHead)
		if ev = s.event(typ, id, in.View(n-twoHead)); ev.Flags != 0 {
			return ev, 0, nil
		}
	}
}

// event is what a frame says, as far as the reader knows.
func (s *twoSession) event(typ byte, id uint32, v buf.View) wire.Event {
	ev := wire.Event{ID: uint64(id), Tag: [2]uint64{uint64(id)}}
	p := v.Bytes()
	defer v.Release()
	switch typ {
	case 'S':
		ev.Flags = wire.Settings
		ev.Tag = [2]uint64{uint64(binary.BigEndian.Uint32(p)), uint64(binary.BigEndian.Uint32(p[4:]))}
	case 'Q', 'O':
		name, body, _ := strings.Cut(string(p), "\x00")
		ev.Method, ev.Flags = name, wire.Open|wire.Note
		if !s.caps.Exclusive {
			ev.Flags |= wire.Unordered
		}
		if typ == 'O' {
			ev.Flags |= wire.Stream
		} else {
			ev.Flags |= wire.Message | wire.End
			ev.Body, ev.Took = buf.ViewOf([]byte(body)), int32(len(body))
		}
	case 'M':
		s.messageOf(&ev, p)
	case 'W':
		ev.Flags, ev.Credit = wire.Credit, int(binary.BigEndian.Uint32(p))
		if id != 0 {
			ev.Flags |= wire.Stream
		}
	case 'R':
		ev.Flags = wire.Reset | wire.Note
		ev.Err = &rpc.Error{Code: rpc.Code(p[0]), Msg: "reset", Sent: rpc.Processed, Remote: true}
	case 'P':
		ev.Flags = wire.Ping
	case 'G':
		ev.Flags = wire.GoAway
		if id != 0 {
			ev.Flags |= wire.HasLast
		}
	case 's':
	case 'p':
		ev.Flags = wire.Note
	case '!': // the session asks for the end, and can go on reading
		ev.Flags = wire.Close | wire.Note
	default:
		s.err = errors.New("two: unreadable")
		ev.Flags = wire.Close | wire.Note
	}
	return ev
}

func (s *twoSession) messageOf(ev *wire.Event, p []byte) {
	flags := p[0]
	ev.Flags = wire.Note
	p = p[1:]
	if flags&twoEnd != 0 {
		ev.Flags |= wire.End
		n := int(p[1])
		if p[0] != 0 {
			ev.Err = &rpc.Error{Code: rpc.Code(p[0]), Msg: string(p[2 : 2+n]), Sent: rpc.Processed, Remote: true}
		}
		p = p[2+n:]
		if n = int(p[0]); n > 0 {
			k, v, _ := strings.Cut(string(p[1:1+n]), "=")
			ev.Trailer.Add(k, v)
		}
		p = p[1+n:]
	}
	if flags&twoText != 0 {
		ev.Flags |= wire.Message
		ev.Body, ev.Took = buf.ViewOf(append([]byte(nil), p...)), int32(len(p))
	}
	if flags&twoPlain != 0 {
		ev.Flags |= wire.End
	}
	if flags&twoPack != 0 {
		ev.Flags |= wire.Packed
	}
}

func (s *twoSession) Unpack(ev *wire.Event, most int) *rpc.Error {
	text := strings.ToLower(string(ev.Body.Bytes()))
	ev.Body.Release()
	ev.Body = buf.View{}
	if strings.HasPrefix(text, "garbage") {
		ev.Err = &rpc.Error{Code: rpc.DataLoss, Msg: "unpackable"}
		return ev.Err
	}
	ev.Flags &^= wire.Packed
	ev.Body = buf.ViewOf([]byte(text))
	return nil
}

func (s *twoSession) Pack(*wire.Event, *buf.Out) error { return nil }
func (s *twoSession) Held() int                        { return 0 }
func (s *twoSession) Allow(int)                        {}
func (s *twoSession) Unfinished() uint64               { return 0 }

func (s *twoSession) undo() {
	if s.begun {
		s.greeted, s.begun = s.before, false
	}
}

// Apply is the only place that knows both sides of the connection.
func (s *twoSession) Apply(out *buf.Out, ev *wire.Event) {
	s.undo()
	s.greet(out)
	if ev.Took > 0 && s.p.window > 0 { // the connection's window does not wait for consumers
		out.Append(twoFrame('W', 0, word(int(ev.Took))))
	}
	switch {
	case ev.Flags&wire.Settings != 0:
		s.caps.Pending, s.caps.Calls = false, int(ev.Tag[0])
		s.initial += int(ev.Tag[1])
		out.Append(twoFrame('s', 0, ""))
		s.flush(out)
	case ev.Flags&wire.Ping != 0:
		out.Append(twoFrame('p', 0, ""))
	case ev.Flags&wire.GoAway != 0:
		s.gone, s.goneAt = true, uint32(ev.ID)
		if ev.ID == 0 {
			s.goneAt = 1<<31 - 1
		}
	case ev.Flags&wire.Close != 0:
		out.Append(twoFrame('G', s.last+1<<16, ""))
	case ev.Flags&wire.Credit != 0 && ev.ID == 0:
		s.window += ev.Credit
		s.flush(out)
	default:
		s.applyStream(out, ev)
	}
}

func (s *twoSession) applyStream(out *buf.Out, ev *wire.Event) {
	id := uint32(ev.ID)
	if ev.Flags&wire.Open != 0 {
		s.last = id
		s.byID[id] = &twoStream{id: id, stream: ev.Flags&wire.Stream != 0}
		return
	}
	st := s.byID[id]
	if st == nil { // it is over
		ev.Body.Release()
		*ev = wire.Event{}
		return
	}
	if s.side == wire.Client {
		ev.ID = st.call
	}
	if st.stream {
		ev.Flags |= wire.Stream
	} else if s.side == wire.Client && ev.Flags&wire.Reset != 0 {
		ev.Flags |= wire.End
	}
	switch {
	case ev.Flags&wire.Credit != 0:
		st.window += ev.Credit
		s.flush(out)
	case ev.Flags&wire.Reset != 0, ev.Flags&wire.End != 0 && s.side == wire.Client:
		s.forget(st)
	}
}

func (s *twoSession) forget(st *twoStream) {
	for _, f := range st.kept {
		s.kept -= len(f)
	}
	delete(s.byID, st.id)
	delete(s.byCall, st.call)
}

// flush sends what has waited and has room now.
func (s *twoSession) flush(out *buf.Out) {
	for id := uint32(0); id <= max(s.next, s.last); id++ {
		st := s.byID[id]
		for st != nil && len(st.kept) > 0 && s.room(st) > 0 {
			f := st.kept[0]
			st.kept = st.kept[1:]
			s.kept -= len(f)
			s.moved++
			s.window -= len(f)
			st.window -= len(f)
			out.Append(f)
		}
	}
}

func (s *twoSession) room(st *twoStream) int {
	if s.p.window == 0 {
		return 1 << 30
	}
	return min(s.window, s.initial+st.window)
}

func (s *twoSession) greet(out *buf.Out) {
	if !s.greeted {
		s.greeted = true
		out.Append(twoFrame('S', 0, word(int(s.p.calls))+word(0)))
	}
}

func (s *twoSession) Begin(out *buf.Out, ev *wire.Event) buf.Mark {
	s.undo()
	s.begun, s.before = true, s.greeted
	m := out.Mark()
	s.greet(out)
	s.head, s.cur, s.nothing = out.Mark(), nil, false
	typ, id, payload := byte('M'), uint32(0), ""
	if ev.ID != 0 && ev.Flags&wire.Open == 0 {
		if s.cur = s.byID[uint32(ev.ID)]; s.side == wire.Client {
			s.cur = s.byCall[ev.ID]
		}
		if s.nothing = s.cur == nil; s.nothing {
			return m
		}
		id = s.cur.id
	}
	switch {
	case ev.Flags&wire.GoAway != 0:
		if typ = 'G'; ev.Flags&wire.HasLast != 0 {
			id = s.last
		}
	case ev.Flags&wire.Ping != 0:
		typ = 'P'
	case ev.Flags&wire.Reset != 0:
		typ, payload = 'R', "\x01"
	case ev.Flags&wire.Credit != 0:
		typ, payload = 'W', word(ev.Credit)
	case ev.Flags&wire.Open != 0:
		typ, id, payload = 'Q', s.next, ev.Method+"\x00"
		s.cur = &twoStream{id: id, call: ev.ID}
		if ev.Flags&wire.Stream != 0 {
			typ, payload, s.cur.stream = 'O', ev.Method, true
		}
	}
	if typ == 'O' {
		out.Append(twoFrame('O', id, payload))
		typ, payload = 'M', ""
		s.nothing = ev.Flags&(wire.Message|wire.End) == 0
		s.head = out.Mark()
	}
	if typ == 'M' && !s.nothing {
		payload = s.messageHead(ev)
	}
	if !s.nothing {
		h := out.Reserve(twoHead)
		out.Patch(h, twoFrame(typ, id, ""))
		out.AppendString(payload)
	}
	return m
}

// messageHead is what a message has before its text.
func (s *twoSession) messageHead(ev *wire.Event) string {
	flags := byte(0)
	if ev.Flags&wire.Message != 0 {
		flags |= twoText
	}
	if ev.Flags&wire.End == 0 {
		return twoMessage(flags, 0, "", "", "")
	}
	if s.side == wire.Client {
		return twoMessage(flags|twoPlain, 0, "", "", "")
	}
	var code rpc.Code
	text, trailer := "", ""
	if ev.Err != nil {
		code, text = ev.Err.Code, ev.Err.Msg
	}
	for _, p := range ev.Trailer {
		trailer = p.Key + "=" + p.Value
	}
	return twoMessage(flags|twoEnd, code, text, trailer, "")
}

func (s *twoSession) End(out *buf.Out, m buf.Mark, ev *wire.Event) error {
	if !s.begun {
		panic("End without Begin")
	}
	opens := ev.Flags&wire.Open != 0
	if opens && s.p.ids > 0 && s.next > s.p.ids {
		return wire.ErrSpent
	}
	s.begun = false
	st := s.cur
	if opens {
		s.next += 2
		s.byID[st.id], s.byCall[st.call] = st, st
	}
	if s.nothing {
		return nil
	}
	n := out.Since(s.head)
	out.Patch(s.head, binary.BigEndian.AppendUint32(nil, uint32(n-4)))
	if ev.Flags&wire.Message != 0 && s.p.window > 0 {
		if len(st.kept) > 0 || s.room(st) <= 0 {
			v := out.Take(s.head)
			st.kept = append(st.kept, append([]byte(nil), v.Bytes()...))
			s.kept += v.Len()
			v.Release()
		} else {
			s.window -= n
			st.window -= n
		}
	}
	if ev.Flags&wire.Reset != 0 || ev.Flags&(wire.End|wire.Open) == wire.End && s.side == wire.Server && len(st.kept) == 0 {
		s.forget(st)
	}
	return nil
}

func (s *twoSession) Credit(id uint64) int {
	s.asked++
	st := s.byID[uint32(id)]
	if s.side == wire.Client {
		st = s.byCall[id]
	}
	switch {
	case id == 0:
		return max(0, s.window)
	case st == nil: // not begun yet
		return max(0, min(s.window, s.initial)) | 1 - min(1, s.p.window)
	case len(st.kept) > 0:
		return 0
	}
	return max(0, s.room(st))
}

func (s *twoSession) Caps() wire.Caps {
	return s.caps
}

func (s *twoSession) Kept() (bytes int, moved uint64) { return s.kept, s.moved }

func (s *twoSession) Unstarted(call uint64) bool {
	st := s.byCall[call]
	return s.gone && st != nil && st.id > s.goneAt
}

// A twoFrames is what was read of a peer: "M3 hello", a frame each.
type twoFrames []string

// take takes the whole frames off p.
func (f *twoFrames) take(in *buf.In) {
	for in.Len() >= twoHead {
		n := int(binary.BigEndian.Uint32(in.Peek(4))) + 4
		if in.Len() < n {
			return
		}
		p := in.Next(n)
		*f = append(*f, fmt.Sprintf("%c%d %q", p[4], binary.BigEndian.Uint32(p[5:]), p[twoHead:]))
	}
}

func (f twoFrames) String() string { return strings.Join(f, " ") }
