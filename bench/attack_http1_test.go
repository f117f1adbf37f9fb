package main

import (
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/http1"
)

// What is said by HTTP/1.1 reaches what it attacks, too.
func TestAttackersHTTP1IsUnderstood(t *testing.T) {
	for _, c := range []struct {
		bytes []byte
		want  string
	}{
		{h1Post("Wait", "X-Bin: ,,\r\n", `{"id":1}`), attackedService + `Wait {"id":1}`},
		{[]byte(h1Head("Echo", "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n")), attackedService + "Echo {}"},
		{h1Post("Echo", "", gzipped("text")), attackedService + "Echo " + gzipped("text")},
	} {
		s := http1.New(http1.Server, http1.Config{})
		var in buf.In
		var out buf.Out
		in.Filled(copy(in.Space(), c.bytes))
		got := ""
		for {
			var ev http1.Event
			if need, err := s.Cut(&in, &ev); need > 0 || err != nil {
				break
			}
			if s.Apply(&out, &ev); ev.Flags&http1.Open != 0 {
				got += ev.Fields.Path + " " + string(ev.Body.Bytes())
			}
			ev.Body.Release()
		}
		if got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
		in.Close()
		out.Reset()
	}
}

// A hello is as long as it says, in whole records.
func TestAttackersTLSIsUnderstood(t *testing.T) {
	for _, more := range []int{0, 60 << 10} {
		hello := clientHello(more)
		if n := int(hello[1])<<16 | int(hello[2])<<8 | int(hello[3]); hello[0] != 1 || n != len(hello)-4 || n < more {
			t.Errorf("a message %d of %d bytes says that it has %d", hello[0], len(hello), n)
		}
		if b := tlsRecords(tlsHandshake, hello); strings.Count(string(b), "\x16\x03\x01") < len(hello)/tlsMaxRecord {
			t.Errorf("%d bytes in %d", len(hello), len(b))
		}
	}
}
