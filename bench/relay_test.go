package main

import (
	"errors"
	"net"
	"testing"
	"time"
)

// Each way to relay, in a process of its own, passes everything on.
func TestRelayPeers(t *testing.T) {
	back, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer back.Close()
	go echoAll(back)
	for _, peer := range relayNames {
		for _, chunk := range []int{1000, 300_000} {
			r, err := measureRelay(t.Context(), peer, back.Addr().String(), &relayPlan{bytes: 5e6, conns: 3}, chunk)
			if err != nil {
				t.Fatalf("%s, %d bytes: %v", peer, chunk, err)
			}
			if r.Errors != 0 || r.CPUPerGB <= 0 || r.GbitPerS <= 0 {
				t.Errorf("%s, %d bytes: %+v", peer, chunk, r)
			}
		}
	}
}

func TestPipeMeasured(t *testing.T) {
	calls := 0
	r := new(pipeRow)
	n, took, errs := repeat(1, func() bool { calls++; return calls%2 == 0 }, time.Millisecond)
	if n != int64(calls) || errs != n/2 || took < time.Millisecond {
		t.Errorf("%d of %d, %d errors, %v", n, calls, errs, took)
	}
	measurePipe(r, func() bool { return true }, time.Millisecond)
	if r.NS <= 0 || r.ParallelNS <= 0 || r.Allocs > 0.1 || r.Errors != 0 {
		t.Errorf("%+v", r)
	}
}

func TestRelayAndPipeFlags(t *testing.T) {
	for _, args := range [][]string{
		{"relay", "-peers", "nginx"}, {"relay", "-peers", "limosa,limosa"}, {"relay", "-chunk", "0"}, {"relay", "-bytes", "0"}, {"relay", "-x"}, {"relay", "more"}, {"relay", "-o", "xml"},
		{"pipe", "-peers", "fifo"}, {"pipe", "-rounds", "0"}, {"pipe", "-d", "0s"}, {"pipe", "-o", "xml"}, {childRelay}, {childRelay, "{}"},
	} {
		if err := run(t.Context(), args); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v, want a usage error", args, err)
		}
	}
}
