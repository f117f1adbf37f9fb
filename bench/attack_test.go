package main

import (
	"bytes"
	"errors"
	"flag"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/ttheader"
	"github.com/limosa-rpc/limosa/wire"
)

// cutAll gives what a server makes of an attacker's bytes.
func cutAll(t *testing.T, p []byte) (events []wire.Event) {
	t.Helper()
	s := ttheader.Protocol{}.Open(wire.Server, rpc.Limits{}.WithDefaults())
	var in buf.In
	defer in.Close()
	for len(p) > 0 || in.Len() > 0 {
		n := copy(in.Space(), p)
		in.Filled(n)
		p = p[n:]
		for {
			ev, _, err := s.Cut(&in)
			if err != nil {
				t.Fatal(err)
			}
			if ev.Flags == 0 {
				break
			}
			ev.Body.Release()
			events = append(events, ev)
		}
		if n == 0 {
			break
		}
	}
	if in.Len() > 0 {
		t.Fatalf("%d bytes are no frame", in.Len())
	}
	return events
}

// What an attacker says is to reach what it attacks: frames that mean nothing
// would hold anything in bounds.
func TestAttackersFramesAreUnderstood(t *testing.T) {
	id := uint32(seqBase + 5)
	for _, c := range []struct {
		name  string
		bytes []byte
		flags wire.Flags // what it must mean
	}{
		{"request", request("echo", id, 1, "text"), wire.Open | wire.Message | wire.End},
		{"offer", firstRequest("echo", id, 1, "text"), wire.Open | wire.Message | wire.End | wire.Settings},
		{"framed", framedRequest("echo", id, 1, "text"), wire.Open | wire.Message | wire.End},
		{"stream", openStream("hold", id, true), wire.Open | wire.Stream | wire.Settings},
		{"data", streamFrame(streamData, "hold", id, nil, plainMessage(1, "text")), wire.Message | wire.Stream},
		{"trailer", streamFrame(streamTrailer, "hold", id, [][2]string{{"k", "v"}}, nil), wire.End | wire.Stream},
		{"reset", streamFrame(streamReset, "hold", id, nil, nil), wire.Reset | wire.Stream},
	} {
		events := cutAll(t, c.bytes)
		if len(events) != 1 || events[0].Flags&c.flags != c.flags || c.flags&(wire.Settings|wire.Stream) != 0 && uint32(events[0].ID) != id {
			t.Errorf("%s: %v", c.name, events)
		}
	}
	pieces := append(firstRequest("echo", seqBase, 1, ""), firstPiece("echo", id, len(message("echo", 1, id, nil))+9, []byte("12345"))...)
	pieces = append(pieces, laterPiece(id, []byte("6789"))...)
	if events := cutAll(t, pieces); len(events) != 2 || events[1].Flags&wire.Message == 0 || events[1].ID != uint64(id) {
		t.Errorf("pieces: %v", events)
	}
	cancels := append(firstRequest("echo", seqBase, 1, ""), cancelFrame(id)...)
	if events := cutAll(t, cancels); len(events) != 2 || events[1].Flags&wire.Reset == 0 || events[1].ID != uint64(id) {
		t.Errorf("cancel: %v", events)
	}
	bomb := theader(id, 1, packed(message("echo", 1, id, argument(1, zeros(1<<20))), 1))
	if events := cutAll(t, bomb); len(events) != 1 || len(bomb) > 4<<10 {
		t.Errorf("a bomb of %d bytes: %v", len(bomb), events)
	}
}

func TestAttackFlags(t *testing.T) {
	names := map[string]bool{}
	for _, a := range attacks() {
		if names[a.name] || a.why == "" || a.bound <= 0 || a.bound > manyAddresses || (a.run == nil) == (a.hostile == nil) {
			t.Errorf("%s: a second one of this name, without a reason, or without a bound", a.name)
		}
		names[a.name] = true
	}
	if len(names) < 20 {
		t.Errorf("%d attacks", len(names))
	}
	for _, args := range [][]string{{"-k", "no such case"}, {"-d", "0"}, {"-p99", "-1"}, {"extra"}} {
		if _, err := parseAttack(args); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
	if _, err := parseAttack([]string{"-list", "-k", "zlib"}); !errors.Is(err, flag.ErrHelp) {
		t.Error(err)
	}
}

func TestAttackRowSaysWhatIsOutOfBounds(t *testing.T) {
	good := attackRow{Peak: 10, Bound: 20, CanaryCalls: 5, CanaryP99: 3}
	if f := good.fault(10); f != "" {
		t.Error(f)
	}
	for _, spoil := range []func(r *attackRow){
		func(r *attackRow) { r.Peak = 21 },
		func(r *attackRow) { r.CanaryErrors = 1 },
		func(r *attackRow) { r.CanaryCalls = 0 },
		func(r *attackRow) { r.CanaryP99 = 11 },
		func(r *attackRow) { r.FDs = fdsBound + 1 },
		func(r *attackRow) { r.Goroutines = goroutinesBound + 1 },
	} {
		r := good
		if spoil(&r); r.fault(10) == "" {
			t.Errorf("%+v is in bounds", r)
		}
	}
}

// The whole of it, once: a victim, an attacker and a canary.
func TestAttackRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, name := range []string{"pipeline", "server-garbage", "h2-empty-data"} {
		p, err := parseAttack([]string{"-k", name, "-d", "200ms"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := runAttack(t.Context(), p.cases[0], p.duration)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Sent == 0 || r.CanaryCalls == 0 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestQuantile(t *testing.T) {
	var times []time.Duration
	for i := range 100 {
		times = append(times, time.Duration(100-i)*time.Millisecond)
	}
	if q := quantile(times, .99); q != 100 {
		t.Error(q)
	}
	if q := quantile(nil, .99); q != 0 {
		t.Error(q)
	}
	if !bytes.Equal(framed([]byte{1}), []byte{0, 0, 0, 1, 1}) {
		t.Error("framed")
	}
}
