package oracle

import (
	"bytes"
	"fmt"
	"math"
	"testing"
	"time"

	apache "github.com/apache/thrift/lib/go/thrift"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/thrift/raw"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	events "github.com/limosa-rpc/limosa/wire"
)

// A headerCase is one way to use Apache's THeaderTransport.
type headerCase struct {
	protocol   apache.THeaderProtocolID
	transforms []apache.THeaderTransformID
	headers    map[string]string
}

func headerCases() (cases []headerCase) {
	for _, protocol := range []apache.THeaderProtocolID{apache.THeaderProtocolBinary, apache.THeaderProtocolCompact} {
		for _, transforms := range [][]apache.THeaderTransformID{nil, {apache.TransformZlib}, {apache.TransformNone}} {
			for _, headers := range []map[string]string{nil, {"a": "1"}, {"a": "1", "b": "", "c": string(make([]byte, 300))}} {
				cases = append(cases, headerCase{protocol, transforms, headers})
			}
		}
	}
	return cases
}

func (c headerCase) String() string {
	return fmt.Sprintf("protocol %d, transforms %v, %d headers", c.protocol, c.transforms, len(c.headers))
}

func (c headerCase) open(mem *apache.TMemoryBuffer) *apache.THeaderProtocol {
	return apache.NewTHeaderProtocolConf(mem, &apache.TConfiguration{THeaderProtocolID: &c.protocol, THeaderTransforms: c.transforms})
}

func (c headerCase) encoding() rpc.Encoding {
	if c.protocol == apache.THeaderProtocolCompact {
		return rpc.Compact
	}
	return rpc.Native
}

func cutFrame(t *testing.T, s events.Session, p []byte) events.Event {
	t.Helper()
	var in buf.In
	defer in.Close()
	for len(p) > 0 {
		n := copy(in.Space(), p)
		in.Filled(n)
		p = p[n:]
	}
	ev, need, err := s.Cut(&in)
	if err != nil || need != 0 || in.Len() != 0 {
		t.Fatalf("need %d, %d bytes left, %v", need, in.Len(), err)
	}
	if ev.Flags&events.Packed != 0 {
		if fault := s.Unpack(&ev, math.MaxInt); fault != nil {
			t.Fatal(fault)
		}
	}
	return ev
}

func frame(t *testing.T, s events.Session, ev *events.Event, body []byte) []byte {
	t.Helper()
	var out, packed buf.Out
	defer out.Reset()
	defer packed.Reset()
	packed.Append(body)
	if err := s.Pack(ev, &packed); err != nil {
		t.Fatal(err)
	}
	m := s.Begin(&out, ev)
	out.MoveFrom(&packed)
	ev.Flags &^= events.Packed
	if err := s.End(&out, m, ev); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// exceptionBody is a struct that is easily written and read by both.
func exceptionBody(e rpc.Encoding, text string) []byte {
	if e == rpc.Compact {
		return raw.Compact{}.AppendException(nil, text, 6)
	}
	return raw.AppendException(nil, text, 6)
}

// TestTHeaderRequestsOfApache: Apache asks, we answer, Apache reads it.
func TestTHeaderRequestsOfApache(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	text := string(bytes.Repeat([]byte("text "), 1000))
	for _, c := range headerCases() {
		mem := apache.NewTMemoryBuffer()
		p := c.open(mem)
		for k, v := range c.headers {
			p.SetWriteHeader(k, v)
		}
		must := func(err error) {
			t.Helper()
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
		}
		must(p.WriteMessageBegin(ctx, "echo", apache.CALL, 77))
		must(apache.NewTApplicationException(6, text).Write(ctx, p))
		must(p.WriteMessageEnd(ctx))
		must(p.Flush(ctx))

		s := ttheader.Protocol{}.Open(events.Server, lim)
		ev := cutFrame(t, s, bytes.Clone(mem.Bytes()))
		if ev.Method != "echo" || ev.Err != nil || ev.Encoding != c.encoding() || len(ev.Header) != len(c.headers) ||
			!bytes.Equal(ev.Body.Bytes(), exceptionBody(c.encoding(), text)) {
			t.Fatalf("%v: %s %s, %v, %.100x", c, ev.Flags, ev.Method, ev.Header, ev.Body.Bytes())
		}
		for k, v := range c.headers {
			if !ev.Header.Has(k) || ev.Header.Get(k) != v {
				t.Errorf("%v: header %s is %q", c, k, ev.Header.Get(k))
			}
		}
		ev.Body.Release()

		ev.Flags, ev.Header = events.Message|events.End, nil
		ev.Trailer.Add("answered", "yes")
		mem.Reset()
		mem.Write(frame(t, s, &ev, exceptionBody(c.encoding(), "answer")))
		name, typ, seq, err := p.ReadMessageBegin(ctx)
		if name != "echo" || typ != apache.REPLY || seq != 77 || err != nil {
			t.Errorf("%v: Apache read %q, %v, %d, %v", c, name, typ, seq, err)
		}
		x := apache.NewTApplicationException(0, "")
		if err := x.Read(ctx, p); err != nil || x.Error() != "answer" || p.GetReadHeaders()["answered"] != "yes" {
			t.Errorf("%v: Apache read %v, %v, %v", c, x, p.GetReadHeaders(), err)
		}

		ev.Flags, ev.Err = events.End, &rpc.Error{Code: rpc.Unimplemented, Msg: "no such thing"}
		mem.Reset()
		mem.Write(frame(t, s, &ev, nil))
		if _, typ, _, err := p.ReadMessageBegin(ctx); typ != apache.EXCEPTION || err != nil {
			t.Errorf("%v: Apache read %v, %v", c, typ, err)
		}
		if err := x.Read(ctx, p); err != nil || x.TypeId() != apache.UNKNOWN_METHOD || x.Error() != "no such thing" {
			t.Errorf("%v: Apache read %v, %v", c, x, err)
		}
	}
}

// TestTHeaderRequestsToApache: we ask, Apache answers as its servers do.
func TestTHeaderRequestsToApache(t *testing.T) {
	lim := rpc.Limits{}.WithDefaults()
	for _, c := range headerCases() {
		client := ttheader.Protocol{Form: ttheader.THeader, Compact: c.encoding() == rpc.Compact}.Open(events.Client, lim)
		ask := events.Event{Flags: events.Open | events.Message | events.End, ID: 65537, Method: "echo", Timeout: 2 * time.Second}
		for k, v := range c.headers {
			ask.Header = append(ask.Header, rpc.Pair{Key: k, Value: v, Scope: rpc.Scope(len(ask.Header) % 2)})
		}
		mem := apache.NewTMemoryBuffer()
		mem.Write(frame(t, client, &ask, exceptionBody(c.encoding(), "question")))
		// A server's own protocol gives way to the client's.
		p := headerCase{protocol: apache.THeaderProtocolBinary, transforms: c.transforms}.open(mem)
		name, typ, seq, err := p.ReadMessageBegin(ctx)
		if name != "echo" || typ != apache.CALL || seq != 65537 || err != nil {
			t.Fatalf("%v: Apache read %q, %v, %d, %v", c, name, typ, seq, err)
		}
		x := apache.NewTApplicationException(0, "")
		if err := x.Read(ctx, p); err != nil || x.Error() != "question" {
			t.Errorf("%v: Apache read %v, %v", c, x, err)
		}
		got := p.GetReadHeaders()
		for k, v := range c.headers {
			if have, ok := got[k]; !ok || have != v {
				t.Errorf("%v: Apache read the header %s as %q", c, k, have)
			}
		}
		if got["client_timeout"] != "2000" || len(got) != len(c.headers)+1 {
			t.Errorf("%v: Apache read the headers %v", c, got)
		}

		mem.Reset()
		p.SetWriteHeader("answered", "yes")
		for _, err := range []error{
			p.WriteMessageBegin(ctx, "echo", apache.REPLY, seq), x.Write(ctx, p), p.WriteMessageEnd(ctx), p.Flush(ctx),
		} {
			if err != nil {
				t.Fatalf("%v: %v", c, err)
			}
		}
		ev := cutFrame(t, client, bytes.Clone(mem.Bytes()))
		if ev.ID != 65537 || ev.Method != "echo" || ev.Err != nil || ev.Encoding != c.encoding() || ev.Trailer.Get("answered") != "yes" ||
			!bytes.Equal(ev.Body.Bytes(), exceptionBody(c.encoding(), "question")) {
			t.Errorf("%v: %s %s %v %v %x", c, ev.Flags, ev.Method, ev.Err, ev.Trailer, ev.Body.Bytes())
		}
		ev.Body.Release()
	}
}
