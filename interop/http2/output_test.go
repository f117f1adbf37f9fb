package http2

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/http2"
	xnet "golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// A side is a session, and x/net's framer that reads all that it sends.
type side struct {
	*http2.Session
	in     buf.In
	out    buf.Out
	stream bytes.Buffer
	framer *xnet.Framer
}

func newSide(s http2.Side) *side {
	x := &side{Session: http2.New(s, http2.Config{Streams: 30})}
	x.framer = xnet.NewFramer(io.Discard, &x.stream)
	x.framer.SetMaxReadFrameSize(16384)
	x.framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	return x
}

func (x *side) send(t *testing.T, sd http2.Send, body string) {
	m := x.Begin(&x.out, &sd)
	if sd.Flags&http2.Data != 0 {
		x.out.AppendString(body)
	}
	if err := x.End(&x.out, m, &sd); err != nil {
		x.out.Truncate(m)
		if e := err.(*http2.Error); e.Code != http2.RefusedStream && !e.Limit {
			t.Fatal(err)
		}
	}
}

// TestOutput has x/net's framer read what two sessions say to each other: frames,
// header lists, and that windows are kept to.
func TestOutput(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		c, s := newSide(http2.Client), newSide(http2.Server)
		var heads []*http2.Head
		for i := range 5 {
			heads = append(heads, http2.NewHead(http2.Field{Name: ":method", Value: "POST"}, http2.Field{Name: ":scheme", Value: "http"}, http2.Field{Name: ":path", Value: fmt.Sprintf("/x/%d", i)}, http2.Field{Name: ":authority", Value: "a"}))
		}
		answer := http2.NewHead(http2.Field{Name: ":status", Value: "200"})
		answered := 0
		on := func(ev *http2.Event) {
			if ev.Flags&http2.Open != 0 {
				s.send(t, http2.Send{Flags: http2.Answer | http2.Data | http2.End, ID: ev.ID, Head: answer, Fields: []http2.Field{{Name: "x-n", Value: fmt.Sprint(ev.ID)}},
					Tail: http2.NewHead(http2.Field{Name: "x-status", Value: fmt.Sprint(r.IntN(20))}), Last: []http2.Field{{Name: "x-t", Value: "u"}}}, string(ev.Body.Bytes()))
			}
			if ev.Flags&http2.Answer != 0 {
				answered++
			}
		}
		const calls = 25
		for i := range uint64(calls) {
			sd := http2.Send{Flags: http2.Open | http2.Data | http2.End | http2.Gathered, ID: i + 1, Head: heads[r.IntN(len(heads))]}
			if r.IntN(2) == 0 {
				sd.Brief = http2.BriefOf("grpc-timeout", []byte(fmt.Sprint(r.IntN(1000))))
			}
			if r.IntN(10) == 0 {
				sd.Fields = []http2.Field{{Name: "x-long", Value: strings.Repeat("y", r.IntN(10_000))}}
			}
			c.send(t, sd, strings.Repeat("z", r.IntN(5)*r.IntN(60_000)))
			if r.IntN(3) == 0 {
				move(t, c, s, on)
			}
			if r.IntN(3) == 0 {
				move(t, s, c, on)
			}
		}
		for c.out.Len() > 0 || s.out.Len() > 0 {
			move(t, c, s, on)
			move(t, s, c, on)
		}
		if answered != calls {
			t.Fatalf("seed %d: %d of %d calls were answered", seed, answered, calls)
		}
	}
}

func move(t *testing.T, from, to *side, on func(ev *http2.Event)) {
	p := from.out.Bytes()
	from.out.Reset()
	from.stream.Write(bytes.TrimPrefix(p, []byte(http2.Preface)))
	for {
		if _, err := from.framer.ReadFrame(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("x/net refuses what we send: %v", err)
		}
	}
	to.in.Give(buf.ViewOf(p))
	for {
		var ev http2.Event
		need, err := to.Cut(&to.in, &ev)
		if err != nil {
			t.Fatal(err)
		}
		if need > 0 {
			return
		}
		to.Apply(&to.out, &ev)
		if ev.Flags != 0 {
			on(&ev)
		}
		ev.Body.Release()
	}
}
