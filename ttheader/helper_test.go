package ttheader

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/wire"
)

var testLimits = rpc.Limits{}.WithDefaults()

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	p, err := hex.DecodeString(strings.Join(strings.Fields(s), ""))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// feed puts p into in, as a connection does.
func feed(in *buf.In, p []byte) {
	for len(p) > 0 {
		n := copy(in.Space(), p)
		in.Filled(n)
		p = p[n:]
	}
}

// cutAll takes all events off that are there.
func cutAll(s wire.Session, in *buf.In) (evs []wire.Event, need int, err error) {
	for {
		ev, need, err := s.Cut(in)
		if err != nil {
			return evs, 0, err
		}
		if ev.Flags == 0 {
			if need < 1 {
				return evs, need, fmt.Errorf("no event, and need is %d", need)
			}
			in.Expect(need)
			return evs, need, nil
		}
		evs = append(evs, ev)
	}
}

// release gives the bodies back.
func release(evs []wire.Event) {
	for i := range evs {
		evs[i].Body.Release()
	}
}

// frameBytes frames ev with body.
func frameBytes(s wire.Session, ev *wire.Event, body []byte) ([]byte, error) {
	var out buf.Out
	defer out.Reset()
	m := s.Begin(&out, ev)
	out.Append(body)
	if err := s.End(&out, m, ev); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// trace is an event in one line.
func trace(ev wire.Event) string {
	var b strings.Builder
	b.WriteString(ev.Flags.String())
	if ev.ID != 0 {
		fmt.Fprintf(&b, " id=%#x", ev.ID)
	}
	if ev.Service != "" || ev.Method != "" {
		fmt.Fprintf(&b, " %s/%s", ev.Service, ev.Method)
	}
	if ev.Timeout != 0 {
		fmt.Fprintf(&b, " timeout=%v", ev.Timeout)
	}
	for _, m := range []struct {
		name  string
		pairs rpc.Metadata
	}{{"header", ev.Header}, {"trailer", ev.Trailer}} {
		for _, p := range m.pairs {
			fmt.Fprintf(&b, " %s:%s=%q", m.name, p.Key, p.Value)
			if p.Scope == rpc.Persistent {
				b.WriteString("+")
			}
		}
	}
	if ev.Err != nil {
		fmt.Fprintf(&b, " err=%q sent=%q", ev.Err.Error(), ev.Err.Sent)
		for _, p := range ev.Err.Details {
			fmt.Fprintf(&b, " detail:%s=%q", p.Key, p.Value)
		}
	}
	if ev.Encoding != rpc.Native {
		fmt.Fprintf(&b, " encoding=%d", ev.Encoding)
	}
	if ev.Tag != [2]uint64{} {
		fmt.Fprintf(&b, " tag=%x,%x", ev.Tag[0], ev.Tag[1])
	}
	if ev.Flags&wire.Message != 0 {
		fmt.Fprintf(&b, " body=%x", ev.Body.Bytes())
	}
	return b.String()
}

// A plain is a frame read by a second, simple reader that shares nothing with
// the package: an oracle for what the package writes and reads.
type plain struct {
	TT      bool
	Framed  bool
	Flags   uint16
	Seq     uint32
	Proto   byte
	Ints    map[int]string
	Strs    [][2]string
	Token   string
	Name    string
	Type    byte
	MsgSeq  int32
	Body    []byte
	Payload []byte
}

func (f *plain) str(key string) string {
	for _, kv := range slices.Backward(f.Strs) {
		if kv[0] == key {
			return kv[1]
		}
	}
	return ""
}

func (f plain) String() string {
	strs := make([]string, 0, len(f.Strs))
	for _, kv := range f.Strs {
		strs = append(strs, kv[0]+"="+kv[1])
	}
	slices.Sort(strs) // Kitex writes a map: its order is random
	var ints []string
	for _, k := range slices.Sorted(maps.Keys(f.Ints)) {
		ints = append(ints, fmt.Sprintf("%d=%s", k, f.Ints[k]))
	}
	return fmt.Sprintf("tt=%v framed=%v flags=%x seq=%d proto=%x ints=%q strs=%q token=%q %s type=%d seq=%d body=%x",
		f.TT, f.Framed, f.Flags, f.Seq, f.Proto, ints, strs, f.Token, f.Name, f.Type, f.MsgSeq, f.Body)
}

// stream is the type of a stream's frame; 0: it is none.
func (f *plain) stream() byte {
	if f.Flags&2 == 0 {
		return 0
	}
	return f.Ints[27][0]
}

// readAll reads frames with a TTHeader that stand one after the other, or one
// of another form.
func readAll(p []byte) (all []plain) {
	for len(p) > 0 {
		n := len(p)
		if binary.BigEndian.Uint16(p[4:]) == 0x1000 {
			n = 4 + int(binary.BigEndian.Uint32(p))
		}
		all = append(all, readPlain(p[:n]))
		p = p[n:]
	}
	return all
}

// readPlain reads the one frame that p is; it panics on anything else.
func readPlain(p []byte) (f plain) {
	u16 := func() int { n := binary.BigEndian.Uint16(p); p = p[2:]; return int(n) }
	u32 := func() int { n := binary.BigEndian.Uint32(p); p = p[4:]; return int(n) }
	text := func(n int) string { s := string(p[:n]); p = p[n:]; return s }
	if binary.BigEndian.Uint16(p[4:]) == 0x1000 {
		f.TT = true
		if u32() != len(p) {
			panic("length")
		}
		u16()
		f.Flags = uint16(u16())
		f.Seq = uint32(u32())
		words := u16()
		rest := p[4*words:]
		p = p[:4*words]
		f.Proto = p[0]
		p = p[2+p[1]:]
		for len(p) > 0 {
			kind := p[0]
			p = p[1:]
			switch kind {
			case 0:
			case 1:
				for range u16() {
					k := text(u16())
					f.Strs = append(f.Strs, [2]string{k, text(u16())})
				}
			case 0x10:
				f.Ints = map[int]string{}
				for range u16() {
					k := u16()
					f.Ints[k] = text(u16())
				}
			case 0x11:
				f.Token = text(u16())
			default:
				panic("block")
			}
		}
		p = rest
		f.Payload = rest
	}
	if t := f.stream(); len(p) == 0 || t != 0 && t != '4' && t != '5' {
		f.Body = p // of a stream's frame: without an envelope
		return f
	}
	if p[0] != 0x80 && f.stream() == 0 {
		f.Framed = true
		if u32() != len(p) {
			panic("frame length")
		}
	}
	head := u32()
	if uint32(head)&0xffffff00 != 0x80010000 {
		panic("version")
	}
	f.Type = byte(head)
	f.Name = text(u32())
	f.MsgSeq = int32(u32())
	f.Body = p
	return f
}
