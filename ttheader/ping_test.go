package ttheader

import (
	"testing"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/wire"
)

// A client asks for a sign of life, and the server gives it; to the client it is
// nothing but bytes. Peers that did not agree on anything send neither.
func TestPing(t *testing.T) {
	client, server, cin, sin := agreed(t, withCredit, withCredit)
	ping := wire.Event{Flags: wire.Ping}
	out, answers := newOut(t), newOut(t)
	frames(t, client, out, ping, nil, 0)
	if out.Len() == 0 {
		t.Fatal("no ping")
	}
	evs, err := gather(t, server, sin, out.Bytes(), 64<<10)
	if err != nil || len(evs) != 1 || evs[0].Flags != wire.Ping {
		t.Fatalf("the server sees %v, %v", evs, err)
	}
	server.Apply(answers, &evs[0])
	if answers.Len() == 0 {
		t.Fatal("no answer")
	}
	if evs, err := gather(t, client, cin, answers.Bytes(), 64<<10); err != nil || len(evs) != 0 {
		t.Errorf("the client sees %v, %v", evs, err)
	}
	n := out.Len()
	if frames(t, server, out, ping, nil, 0); out.Len() != n {
		t.Error("a server pings")
	}
	strange := Protocol{}.Open(wire.Client, creditLimits).(*Session)
	silent := newOut(t)
	if frames(t, strange, silent, ping, nil, 0); silent.Len() != 0 {
		t.Error("a ping to a peer that has said nothing yet")
	}
	listening, in := Protocol{}.Open(wire.Server, creditLimits).(*Session), new(buf.In)
	t.Cleanup(in.Close)
	if evs, err := gather(t, listening, in, out.Bytes(), 64<<10); err != nil || len(evs) != 0 {
		t.Errorf("without an offer: %v, %v", evs, err)
	}
}
