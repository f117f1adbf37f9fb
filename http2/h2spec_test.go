package http2

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/net/http2/hpack"
)

// A raw peer writes frames as they are asked for, right or wrong.
type raw struct {
	bytes.Buffer
	block bytes.Buffer
	enc   *hpack.Encoder
}

func newRaw() *raw {
	r := new(raw)
	r.enc = hpack.NewEncoder(&r.block)
	return r
}

func (r *raw) frame(typ frameType, flags uint8, id uint32, payload string) *raw {
	r.Write(appendHead(nil, frame{typ: typ, flags: flags, id: id, size: len(payload)}))
	r.WriteString(payload)
	return r
}

// hello is the preface and empty settings.
func (r *raw) hello() *raw {
	r.WriteString(Preface)
	return r.frame(typeSettings, 0, 0, "")
}

func (r *raw) fields(list ...string) string {
	r.block.Reset()
	for i := 0; i < len(list); i += 2 {
		r.enc.WriteField(hpack.HeaderField{Name: list[i], Value: list[i+1]})
	}
	return r.block.String()
}

var get = []string{":method", "GET", ":scheme", "http", ":path", "/", ":authority", "localhost"}
var post = []string{":method", "POST", ":scheme", "http", ":path", "/", ":authority", "localhost"}

func with(list []string, more ...string) []string {
	return append(append([]string(nil), list...), more...)
}

func without(list []string, name string) (out []string) {
	for i := 0; i < len(list); i += 2 {
		if list[i] != name {
			out = append(out, list[i], list[i+1])
		}
	}
	return out
}

// get and post are requests with all headers in one frame; post's goes on.
func (r *raw) get(id uint32) *raw { return r.head(id, flagEnd, get...) }
func (r *raw) post(id uint32, more ...string) *raw {
	return r.head(id, 0, with(post, more...)...)
}

func (r *raw) head(id uint32, flags uint8, list ...string) *raw {
	return r.frame(typeHeaders, flags|flagEndHeaders, id, r.fields(list...))
}

func (r *raw) data(id uint32, flags uint8, p string) *raw { return r.frame(typeData, flags, id, p) }
func (r *raw) rst(id uint32) *raw                         { return r.frame(typeReset, 0, id, word(8)) }
func (r *raw) update(id uint32, n uint32) *raw            { return r.frame(typeWindowUpdate, 0, id, word(n)) }
func (r *raw) setting(id uint16, v uint32) *raw {
	return r.frame(typeSettings, 0, 0, string(appendSetting(nil, id, v)))
}
func (r *raw) priority(id, on uint32, weight byte) *raw {
	return r.frame(typePriority, 0, id, word(on)+string([]byte{weight}))
}
func (r *raw) cont(id uint32, flags uint8, p string) *raw {
	return r.frame(typeContinuation, flags, id, p)
}

func word(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

// told gives what a server has sent, a word for each frame besides its first
// settings and the updates of windows.
func told(p []byte) string {
	var w []string
	first := true
	for len(p) >= frameHead {
		f := parseFrame(p)
		b := p[frameHead : frameHead+f.size]
		p = p[frameHead+f.size:]
		end := ""
		if f.end() && (f.typ == typeData || f.typ == typeHeaders) {
			end = " end"
		}
		switch f.typ {
		case typeSettings:
			if !first {
				w = append(w, "ack")
			}
			first = false
		case typeHeaders:
			w = append(w, fmt.Sprintf("headers %d%s", f.id, end))
		case typeData:
			w = append(w, fmt.Sprintf("data %d %d%s", f.id, f.size, end))
		case typeReset:
			w = append(w, fmt.Sprintf("rst %d %v", f.id, Code(binary.BigEndian.Uint32(b))))
		case typePing:
			w = append(w, fmt.Sprintf("ping %d %s", f.flags, b))
		case typeGoAway:
			w = append(w, "goaway "+Code(binary.BigEndian.Uint32(b[4:])).String())
		}
	}
	return strings.Join(w, ", ")
}

// A specCase is one of h2spec's: what a client sends after the preface, and what
// has to come back, after the acknowledgement of its settings.
type specCase struct {
	name string
	send func(r *raw)
	want string
}

const served = "headers 1, data 1 5 end"

// serve runs a server that answers every request with five bytes.
func serve(t *testing.T, p []byte, piece int) (*end, string) {
	t.Helper()
	s := newEnd(t, Server, Config{})
	status := NewHead(Field{":status", "200"})
	s.on = func(ev *Event) {
		s.seen = append(s.seen, show(ev))
		if ev.Flags&(Open|End) == Open|End {
			if err := s.send(Send{Flags: Answer | Data | End, ID: ev.ID, Head: status}, "hello"); err != nil {
				t.Error(err)
			}
		}
	}
	s.give(p, piece)
	return s, told(s.out.Bytes())
}

func TestSpec(t *testing.T) {
	for _, c := range append(append(specGeneric(), specFrames()...), specMessages()...) {
		t.Run(strings.ReplaceAll(c.name, "/", "-"), func(t *testing.T) {
			r := newRaw().hello()
			c.send(r)
			want := strings.TrimSuffix("ack, "+c.want, ", ")
			for _, piece := range []int{1 << 20, 1} {
				s, got := serve(t, r.Bytes(), piece)
				if got != want {
					t.Errorf("in pieces of %d bytes\n got %s\nwant %s", piece, got, want)
				}
				if strings.Contains(want, "goaway") != (s.err != nil) {
					t.Errorf("the connection's error is %v", s.err)
				}
			}
		})
	}
}

// What comes behind END_STREAM before the answer has left is an error of the stream, and always that
// one, whatever is wrong with it besides: RFC 9113, section 5.1, half-closed (remote).
func TestSpecBeforeTheAnswer(t *testing.T) {
	for name, send := range map[string]func(r *raw){
		"5.1/5 DATA": func(r *raw) { r.data(1, flagEnd, "test") }, "5.1/6 HEADERS": func(r *raw) { r.get(1) },
		"trailers": func(r *raw) { r.head(1, flagEnd, "x", "y") }, "trailers without an end": func(r *raw) { r.head(1, 0, "x", "y") },
		"trailers with a wrong name": func(r *raw) { r.head(1, flagEnd, "X", "y") },
	} {
		r := newRaw().hello().get(1)
		send(r)
		for _, piece := range []int{1 << 20, 1} {
			s := newEnd(t, Server, Config{})
			s.give(r.Bytes(), piece)
			if got, want := told(s.out.Bytes()), "ack, rst 1 STREAM_CLOSED"; got != want {
				t.Errorf("%s, in pieces of %d bytes: %s, want %s", name, piece, got, want)
			}
		}
	}
}

func TestSpecPreface(t *testing.T) {
	// 3.5/1: the server's settings come first.
	s := newEnd(t, Server, Config{})
	s.give(newRaw().hello().Bytes(), 1<<20)
	if p := s.moved(); len(p) < frameHead || parseFrame(p).typ != typeSettings || parseFrame(p).flags != 0 {
		t.Errorf("first came %x", p)
	}
	// 3.5/2
	for _, p := range []string{"INVALID CONNECTION PREFACE\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\rx"} {
		if _, got := serve(t, []byte(p), 1); got != "goaway PROTOCOL_ERROR" {
			t.Errorf("%q: %s", p, got)
		}
	}
	for _, first := range []string{
		newRaw().get(1).String(), newRaw().frame(typeSettings, flagAck, 0, "").String(), newRaw().frame(typePing, 0, 0, "12345678").String(),
	} {
		if _, got := serve(t, []byte(Preface+first), 1<<20); got != "goaway PROTOCOL_ERROR" {
			t.Errorf("%q first: %s", first, got)
		}
	}
}

// specGeneric: the cases that an endpoint has to accept.
func specGeneric() []specCase {
	huff := func(s string) string {
		return string(appendInt(nil, 0x80, 7, hpack.HuffmanEncodeLength(s))) + string(hpack.AppendHuffmanString(nil, s))
	}
	str := func(s string) string { return string(appendInt(nil, 0, 7, uint64(len(s)))) + s }
	block := func(p string) func(r *raw) {
		return func(r *raw) { r.frame(typeHeaders, flagEnd|flagEndHeaders, 1, r.fields(get...)+p) }
	}
	return []specCase{
		{"generic 1/1 preface", func(r *raw) {}, ""},
		{"generic 2/1 PRIORITY on idle", func(r *raw) { r.priority(1, 0, 255).get(1) }, served},
		{"generic 2/2 WINDOW_UPDATE on half-closed (remote)", func(r *raw) { r.get(1).update(1, 100) }, served},
		{"generic 2/3 PRIORITY on half-closed (remote)", func(r *raw) { r.get(1).priority(1, 0, 255) }, served},
		{"generic 2/4 RST_STREAM on half-closed (remote)", func(r *raw) { r.get(1).rst(1).frame(typePing, 0, 0, "12345678") }, served + ", ping 1 12345678"},
		{"generic 2/5 PRIORITY on closed", func(r *raw) { r.get(1).priority(1, 0, 255).frame(typePing, 0, 0, "12345678") }, served + ", ping 1 12345678"},
		{"generic 3.1/1 DATA", func(r *raw) { r.post(1).data(1, flagEnd, "test") }, served},
		{"generic 3.1/2 multiple DATA", func(r *raw) { r.post(1).data(1, 0, "test").data(1, flagEnd, "test") }, served},
		{"generic 3.1/3 DATA with padding", func(r *raw) { r.post(1).data(1, flagEnd|flagPadded, "\x06test\x00\x00\x00\x00\x00\x00") }, served},
		{"generic 3.2/1 HEADERS", func(r *raw) { r.get(1) }, served},
		{"generic 3.2/2 HEADERS with padding", func(r *raw) {
			r.frame(typeHeaders, flagEnd|flagEndHeaders|flagPadded, 1, "\x06"+r.fields(get...)+"\x00\x00\x00\x00\x00\x00")
		}, served},
		{"generic 3.2/3 HEADERS with priority", func(r *raw) {
			r.frame(typeHeaders, flagEnd|flagEndHeaders|flagPriority, 1, word(0)+"\xff"+r.fields(get...))
		}, served},
		{"generic 3.3/1 PRIORITY 1", func(r *raw) { r.priority(1, 0, 0).get(1) }, served},
		{"generic 3.3/2 PRIORITY 256", func(r *raw) { r.priority(1, 0, 255).get(1) }, served},
		{"generic 3.3/3 PRIORITY with dependency", func(r *raw) { r.priority(1, 0, 255).priority(3, 1, 255).get(1) }, served},
		{"generic 3.3/4 PRIORITY exclusive", func(r *raw) { r.priority(1, 1<<31, 255).get(1) }, served},
		{"generic 3.3/5 PRIORITY of a later stream", func(r *raw) { r.priority(5, 0, 255).get(1) }, served},
		{"generic 3.4/1 RST_STREAM", func(r *raw) { r.post(1).rst(1).frame(typePing, 0, 0, "12345678") }, "ping 1 12345678"},
		{"generic 3.5/1 SETTINGS", func(r *raw) { r.setting(settingStreams, 100) }, "ack"},
		{"generic 3.7/1 PING", func(r *raw) { r.frame(typePing, 0, 0, "h2spec\x00\x00") }, "ping 1 h2spec\x00\x00"},
		{"generic 3.8/1 GOAWAY", func(r *raw) { r.frame(typeGoAway, 0, 0, word(0)+word(0)+"h2spec") }, ""},
		{"generic 3.9/1 WINDOW_UPDATE", func(r *raw) { r.update(0, 1).frame(typePing, 0, 0, "12345678") }, "ping 1 12345678"},
		{"generic 3.9/2 WINDOW_UPDATE on a stream", func(r *raw) { r.post(1).update(1, 1).data(1, flagEnd, "") }, served},
		{"generic 3.10/1 CONTINUATION", func(r *raw) {
			p := r.fields(get...)
			r.frame(typeHeaders, flagEnd, 1, p[:1]).cont(1, flagEndHeaders, p[1:])
		}, served},
		{"generic 3.10/2 multiple CONTINUATION", func(r *raw) {
			p := r.fields(get...)
			r.frame(typeHeaders, flagEnd, 1, p[:1]).cont(1, 0, p[1:3]).cont(1, 0, p[3:4]).cont(1, flagEndHeaders, p[4:])
		}, served},
		{"generic 4/1 GET", func(r *raw) { r.get(1) }, served},
		{"generic 4/2 HEAD", func(r *raw) {
			r.head(1, flagEnd, with(without(get, ":method")[:0], append([]string{":method", "HEAD"}, get[2:]...)...)...)
		}, served},
		{"generic 4/3 POST", func(r *raw) { r.post(1).data(1, flagEnd, "test") }, served},
		{"generic 4/4 POST with trailers", func(r *raw) { r.post(1, "trailer", "x-test").data(1, 0, "test").head(1, flagEnd, "x-test", "ok") }, served},
		{"generic 5/1 indexed", block("\x90"), served},
		{"generic 5/2 incremental, indexed name", block("\x7a" + str("agent")), served},
		{"generic 5/3 incremental, indexed name, Huffman", block("\x7a" + huff("agent")), served},
		{"generic 5/4 incremental, new name", block("\x40" + str("x-test") + str("v")), served},
		{"generic 5/5 incremental, new name, Huffman", block("\x40" + huff("x-test") + huff("v")), served},
		{"generic 5/6 without, indexed name", block("\x0f\x2b" + str("agent")), served},
		{"generic 5/7 without, indexed name, Huffman", block("\x0f\x2b" + huff("agent")), served},
		{"generic 5/8 without, new name", block("\x00" + str("x-test") + str("v")), served},
		{"generic 5/9 without, new name, Huffman", block("\x00" + huff("x-test") + huff("v")), served},
		{"generic 5/10 never, indexed name", block("\x1f\x2b" + str("agent")), served},
		{"generic 5/11 never, indexed name, Huffman", block("\x1f\x2b" + huff("agent")), served},
		{"generic 5/12 never, new name", block("\x10" + str("x-test") + str("v")), served},
		{"generic 5/13 never, new name, Huffman", block("\x10" + huff("x-test") + huff("v")), served},
		{"generic 5/14 size update", func(r *raw) { r.frame(typeHeaders, flagEnd|flagEndHeaders, 1, "\x3f\x61"+r.fields(get...)) }, served},
		{"generic 5/15 multiple size updates", func(r *raw) { r.frame(typeHeaders, flagEnd|flagEndHeaders, 1, "\x20\x3f\x61"+r.fields(get...)) }, served},
	}
}
