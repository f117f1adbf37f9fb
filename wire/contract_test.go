package wire_test

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// What every Protocol and Session promises, held against each that there is. A
// new protocol gets a row here before it gets tests of its own.
var protocols = []struct {
	name string
	p    wire.Protocol
}{
	{"ttheader", ttheader.Protocol{}},
	{"ttheader without offers", ttheader.Protocol{NoOffer: true}},
	{"ttheader multiplexed", ttheader.Protocol{Multiplexed: true}},
	{"ttheader compact", ttheader.Protocol{Compact: true}},
	{"theader", ttheader.Protocol{Form: ttheader.THeader}},
	{"framed", ttheader.Protocol{Form: ttheader.Framed}},
	{"buffered", ttheader.Protocol{Form: ttheader.Buffered}},
}

func eachProtocol(t *testing.T, f func(t *testing.T, p wire.Protocol)) {
	for _, row := range protocols {
		t.Run(row.name, func(t *testing.T) { f(t, row.p) })
	}
}

// bodies are a struct with one string and an empty one, as the protocol's bodies are encoded.
func bodies(p wire.Protocol) (some, none []byte) {
	if tt, ok := p.(ttheader.Protocol); ok && tt.Compact {
		return []byte("\x18\x05hello\x00"), []byte{0}
	}
	return []byte("\x0b\x00\x01\x00\x00\x00\x05hello\x00"), []byte{0}
}

func limits() *rpc.Limits { return (&rpc.Limits{}).WithDefaults() }

// frame has s say ev with that body, and gives the bytes.
func frame(t *testing.T, s wire.Session, ev wire.Event, body []byte) []byte {
	t.Helper()
	var out buf.Out
	defer out.Reset()
	m := s.Begin(&out, &ev)
	out.Append(body)
	if err := s.End(&out, m, &ev); err != nil {
		t.Fatal(err)
	}
	return bytes.Clone(out.Bytes())
}

// feed adds p to what in has received.
func feed(in *buf.In, p []byte) {
	for len(p) > 0 {
		n := copy(in.Space(), p)
		in.Filled(n)
		p = p[n:]
	}
}

// cutAll gives the events that s makes of p when it comes in parts of size bytes,
// and holds what Cut says of need to the bytes that were wanted in the end.
// Offers and other events without a call are taken into effect and left out.
func cutAll(t *testing.T, s wire.Session, p []byte, size int) (events []wire.Event) {
	t.Helper()
	var in buf.In
	var answers buf.Out
	defer in.Close()
	defer answers.Reset()
	for len(p) > 0 {
		n := min(size, len(p))
		feed(&in, p[:n])
		p = p[n:]
		for {
			ev, need, err := s.Cut(&in)
			if err != nil {
				t.Fatalf("Cut: %v", err)
			}
			if ev.Flags == 0 {
				if need < 1 || need > len(p) && len(p) > 0 {
					t.Fatalf("Cut needs %d bytes with %d to come", need, len(p))
				}
				break
			}
			if ev.Flags&(wire.Settings|wire.Credit|wire.Ping|wire.GoAway) != 0 {
				s.Apply(&answers, &ev)
			}
			if ev.Flags&(wire.Open|wire.Message|wire.End|wire.Reset) != 0 {
				events = append(events, ev)
			}
			if in.Len() == 0 {
				break
			}
		}
	}
	if in.Len() != 0 {
		t.Fatalf("%d bytes are left of whole frames", in.Len())
	}
	return events
}

// request is a call with everything that a request may say.
func request(id uint64, method string) wire.Event {
	return wire.Event{Flags: wire.Open | wire.Message | wire.End, ID: id, Service: "Hello", Method: method, Timeout: 250 * time.Millisecond,
		Header: rpc.Metadata{{Key: "tenant", Value: "t1"}}}
}

// release gives the bodies back.
func release(events []wire.Event) {
	for i := range events {
		events[i].Body.Release()
	}
}

// TestSniff: nothing tells nothing; no beginning of a protocol's own first frame is
// refused by it; what is recognised stays so when more has come.
func TestSniff(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		some, _ := bodies(p)
		first := frame(t, p.Open(wire.Client, limits()), request(1, "echo"), some)
		known := false
		for n := range len(first) + 1 {
			m := p.Sniff(first[:n])
			switch m.Verdict {
			case wire.No:
				t.Fatalf("%x is refused", first[:n])
			case wire.More:
				if m.Need <= n {
					t.Fatalf("with %d bytes there, %d would tell", n, m.Need)
				}
				if known {
					t.Fatalf("%x was recognised, and is not with a byte more", first[:n-1])
				}
			case wire.Yes:
				known = true
			}
		}
		if !known {
			t.Error("its own first frame is not recognised")
		}
		if m := p.Sniff([]byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")); m.Verdict != wire.No {
			t.Errorf("a TLS hello is %v", m)
		}
		if p.Name() == "" {
			t.Error("no name for logs")
		}
	})
}

// TestOpenSaysNothing: a session costs nothing and holds nothing before something
// was said, on either side.
func TestOpenSaysNothing(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		for _, side := range []wire.Side{wire.Client, wire.Server} {
			s := p.Open(side, limits())
			var in buf.In
			ev, need, err := s.Cut(&in)
			if ev.Flags != 0 || need < 1 || err != nil {
				t.Errorf("side %d: of nothing Cut makes %v, needs %d, %v", side, ev.Flags, need, err)
			}
			if s.Held() != 0 || s.Unfinished() != 0 {
				t.Errorf("side %d: holds %d bytes, %d is unfinished", side, s.Held(), s.Unfinished())
			}
			if caps := s.Caps(); caps.Pieces || caps.Window != 0 && caps.MessageCost < 1 {
				t.Errorf("side %d: what was not agreed yet: %+v", side, caps)
			}
			in.Close()
		}
	})
}

// TestRequests: a request is one event, with what the caller said, however its
// bytes come; several requests keep their order.
func TestRequests(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		some, none := bodies(p)
		client := p.Open(wire.Client, limits())
		var all []byte
		for id, body := range [][]byte{some, none, some} {
			all = append(all, frame(t, client, request(uint64(id+1), fmt.Sprint("m", id)), body)...)
		}
		for _, size := range []int{1, 2, 3, 7, 64, len(all)} {
			server := p.Open(wire.Server, limits())
			events := cutAll(t, server, all, size)
			if len(events) != 3 {
				t.Fatalf("in parts of %d: %d events", size, len(events))
			}
			for i, ev := range events {
				if want := [][]byte{some, none, some}[i]; ev.Method != fmt.Sprint("m", i) || !bytes.Equal(ev.Body.Bytes(), want) {
					t.Errorf("in parts of %d, event %d: %v %q %x", size, i, ev.Flags, ev.Method, ev.Body.Bytes())
				}
				if unary := wire.Open | wire.Message | wire.End; ev.Flags&unary != unary || ev.Flags&(wire.Oneway|wire.Stream|wire.Reset) != 0 {
					t.Errorf("in parts of %d, event %d: %v", size, i, ev.Flags)
				}
				if ev.Timeout != 0 && ev.Timeout != 250*time.Millisecond {
					t.Errorf("in parts of %d, event %d has %v", size, i, ev.Timeout)
				}
			}
			release(events)
			if server.Unfinished() != 0 {
				t.Errorf("in parts of %d: something is unfinished", size)
			}
		}
	})
}

// TestAnswers: an answer leads back to its request by the Tag that Cut gave it,
// with its body, or with code and text of what went wrong.
func TestAnswers(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		some, _ := bodies(p)
		client, server := p.Open(wire.Client, limits()), p.Open(wire.Server, limits())
		events := cutAll(t, server, frame(t, client, request(7, "echo"), some), 1<<20)
		if len(events) != 1 {
			t.Fatalf("%d events", len(events))
		}
		release(events)
		asked := events[0]
		good := wire.Event{Flags: wire.Message | wire.End, ID: asked.ID, Method: asked.Method, Tag: asked.Tag, Encoding: asked.Encoding}
		bad := good
		bad.Flags, bad.Err = wire.End, &rpc.Error{Code: rpc.Internal, Msg: "it broke"}

		answers := cutAll(t, client, append(frame(t, server, good, some), frame(t, server, bad, nil)...), 5)
		if len(answers) != 2 {
			t.Fatalf("%d answers", len(answers))
		}
		defer release(answers)
		if a := answers[0]; a.Flags&(wire.Message|wire.End) != wire.Message|wire.End || a.Err != nil || !bytes.Equal(a.Body.Bytes(), some) {
			t.Errorf("the answer is %v, %v, %x", a.Flags, a.Err, a.Body.Bytes())
		}
		if a := answers[1]; a.Flags&wire.End == 0 || a.Err == nil || a.Err.Code != rpc.Internal || a.Err.Msg != "it broke" {
			t.Errorf("the failure is %v, %v", a.Flags, a.Err)
		}
		if client.Caps().Mux && (answers[0].ID != 7 || answers[1].ID != 7) {
			t.Errorf("answers to 7 lead to %d and %d", answers[0].ID, answers[1].ID)
		}
	})
}

// TestOneway: a request that wants no answer says so, and the one behind it is whole.
func TestOneway(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		some, none := bodies(p)
		client, server := p.Open(wire.Client, limits()), p.Open(wire.Server, limits())
		ev := request(1, "tell")
		ev.Flags |= wire.Oneway
		events := cutAll(t, server, append(frame(t, client, ev, some), frame(t, client, request(2, "echo"), none)...), 9)
		defer release(events)
		if len(events) != 2 || events[0].Flags&wire.Oneway == 0 || events[1].Flags&wire.Oneway != 0 || events[1].Method != "echo" {
			t.Errorf("%d events: %+v", len(events), events)
		}
	})
}

// TestTakenBack: a message that cannot be encoded leaves no trace: the frame is
// truncated to the mark, and the next one is as if it had been the first.
func TestTakenBack(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		some, _ := bodies(p)
		client, server := p.Open(wire.Client, limits()), p.Open(wire.Server, limits())
		var out buf.Out
		defer out.Reset()
		ev := request(1, "never")
		m := client.Begin(&out, &ev)
		out.Append(some[:4])
		out.Truncate(m)
		ev = request(2, "echo")
		m = client.Begin(&out, &ev)
		out.Append(some)
		if err := client.End(&out, m, &ev); err != nil {
			t.Fatal(err)
		}
		events := cutAll(t, server, bytes.Clone(out.Bytes()), 1<<20)
		defer release(events)
		if len(events) != 1 || events[0].Method != "echo" || !bytes.Equal(events[0].Body.Bytes(), some) {
			t.Errorf("%d events: %+v", len(events), events)
		}
	})
}

// TestLimits: a message above the limit is refused by whoever sends it, without
// harm to what follows, and a server tells of it instead of keeping it.
func TestLimits(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		small := (&rpc.Limits{MessageBytes: 1 << 10}).WithDefaults()
		client := p.Open(wire.Client, small)
		var out buf.Out
		defer out.Reset()
		ev := request(1, "echo")
		m := client.Begin(&out, &ev)
		out.Append(make([]byte, 4<<10))
		if err := client.End(&out, m, &ev); rpc.CodeOf(err) != rpc.ResourceExhausted {
			t.Errorf("4 KiB with a limit of 1: %v", err)
		}
		out.Truncate(m)
		if out.Len() != 0 {
			t.Errorf("%d bytes are left", out.Len())
		}
	})
}

// TestEveryPrefix: no beginning of a frame is an event, an error or a loss of bytes;
// what Cut wants is never more than what makes the frame whole.
func TestEveryPrefix(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		some, _ := bodies(p)
		whole := frame(t, p.Open(wire.Client, limits()), request(1, "echo"), some)
		for n := range whole {
			s := p.Open(wire.Server, limits())
			var in buf.In
			feed(&in, whole[:n])
			ev, need, err := s.Cut(&in)
			if ev.Flags&(wire.Open|wire.Message) != 0 || err != nil || need < 1 || need > len(whole)-n {
				t.Fatalf("of %d of %d bytes Cut makes %v, needs %d, %v", n, len(whole), ev.Flags, need, err)
			}
			in.Close()
		}
	})
}

// TestGarbage: bytes that are none of the protocol's end in an error or an event
// with Close, and never in a request.
func TestGarbage(t *testing.T) {
	eachProtocol(t, func(t *testing.T, p wire.Protocol) {
		for _, text := range []string{"GET / HTTP/1.1\r\nHost: a\r\n\r\n", "SSH-2.0-OpenSSH_9.6\r\n", "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"} {
			s := p.Open(wire.Server, limits())
			var in buf.In
			feed(&in, []byte(text))
			for range len(text) + 1 {
				ev, need, err := s.Cut(&in)
				if ev.Flags&wire.Open != 0 && ev.Err == nil {
					t.Errorf("%q is the request %q", text, ev.Method)
				}
				ev.Body.Release()
				if err != nil || ev.Flags&wire.Close != 0 || need > 0 {
					break
				}
			}
			in.Close()
		}
	})
}
