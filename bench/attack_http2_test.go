package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/bench/echo/limosa/echopb"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/http2"
	"github.com/limosa-rpc/limosa/protobuf"
)

// hearAll gives what a server of HTTP/2 makes of an attacker's bytes.
func hearAll(t *testing.T, p []byte) (heard []string) {
	t.Helper()
	s := http2.New(http2.Server, http2.Config{})
	var in buf.In
	var out buf.Out
	defer in.Close()
	defer out.Reset()
	for len(p) > 0 {
		n := copy(in.Space(), p)
		in.Filled(n)
		p = p[n:]
		for {
			var ev http2.Event
			if need, err := s.Cut(&in, &ev); need > 0 || err != nil {
				break
			}
			s.Apply(&out, &ev)
			switch {
			case ev.Flags&http2.Close != 0:
				return append(heard, ev.Err.Error())
			case ev.Flags&http2.Open != 0:
				said := ev.Fields.Path
				if b := ev.Body.Bytes(); len(b) > 5 {
					var m echopb.Message
					if err := (protobuf.Codec{}).Decode(ev.Body.Slice(5, len(b)), &m, nil); err != nil {
						t.Error(err)
					}
					said += fmt.Sprintf(" %d%s", m.ID, m.Text)
				}
				heard = append(heard, said)
			case ev.Flags&http2.Reset != 0:
				heard = append(heard, "reset "+ev.Code.String())
			}
			ev.Body.Release()
		}
	}
	return heard
}

// What is said by HTTP/2 reaches what it attacks, too.
func TestAttackersHTTP2IsUnderstood(t *testing.T) {
	hello := h2Hello(h2FirstWindow)
	for _, c := range []struct {
		bytes []byte
		want  string
	}{
		{h2Call(1, "Wait", 300), "/limosa.bench.Attacked/Wait 300"},
		{append(h2Call(1, "Echo", 1, h2Field(h2Plain, "x-a", strings.Repeat("v", 500))...), h2Word(h2Reset, 1, 8)...), "/limosa.bench.Attacked/Echo 1, reset CANCEL"},
		{append(h2Open(1, "Echo", h2End, h2Field(h2Insert, "x-a", strings.Repeat("v", 3900))...), h2Call(3, "Wait", 7, h2Newest, h2Newest)...), "/limosa.bench.Attacked/Echo, /limosa.bench.Attacked/Wait 7"},
		{append(h2Call(1, "Wait", 1), h2Word(h2Window, 1, 0)...), "/limosa.bench.Attacked/Wait 1, reset PROTOCOL_ERROR"},
	} {
		if got := strings.Join(hearAll(t, append(hello[:len(hello):len(hello)], c.bytes...)), ", "); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
	if got := attackedOverHTTP2(); len(got.Methods) != 5 || "/"+got.Name+"/" != attackedService {
		t.Errorf("%s has %d methods", got.Name, len(got.Methods))
	}
}
