package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// TestMain lets the test program be the client and server processes that a
// measurement starts.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "child-") {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestPeersAnswer calls each peer, by several callers and over several
// connections, with small and large messages.
func TestPeersAnswer(t *testing.T) {
	for _, p := range peers() {
		t.Run(p.name, func(t *testing.T) {
			if p.later != "" {
				t.Skip("skipped:", p.later)
			}
			for _, conns := range []int{0, 2} {
				t.Setenv("TMPDIR", t.TempDir())
				addr, worked := "", make(chan struct{}, 100)
				work := func() { worked <- struct{}{} }
				if p.serve != nil {
					var err error
					if addr, err = p.serve(t.Context(), work); err != nil {
						t.Fatal(err)
					}
				}
				target, err := p.dial(t.Context(), addr, conns, work)
				if err != nil {
					t.Fatal(err)
				}
				calls, err := newCallers(t.Context(), target, setting{Callers: 3, Payload: 1024, Beside: 1 << 20, Seed: 1})
				if err != nil {
					t.Fatal(err)
				}
				for seq := range uint64(12) {
					// Without the deadline of a measurement: under the race
					// detector, beside other tests, 1 MB takes some peers longer.
					if err := calls.calls[seq%4](t.Context(), int64(seq)); err != nil {
						t.Fatalf("%d connections, caller %d: %v", conns, seq%4, err)
					}
				}
				if len(worked) != 12 {
					t.Errorf("the handler ran %d times, want 12", len(worked))
				}
				target.close()
			}
		})
	}
}

// TestMeasure takes one whole measurement, in processes of their own.
func TestMeasure(t *testing.T) {
	for name, s := range map[string]setting{
		"closed": {Peer: "grpc-go", Round: 1, Callers: 2, Payload: 64, Work: workNone, Duration: 100 * time.Millisecond},
		"open":   {Peer: "grpc-go", Round: 1, Callers: 2, Payload: 64, Work: workNone, Rate: 500, Duration: 100 * time.Millisecond},
		"beside": {Peer: "grpc-go", Round: 1, Callers: 2, Payload: 64, Work: workNone, Beside: 100_000, Duration: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := runClient(t.Context(), s, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if r.Peer != s.Peer || r.Calls == 0 || r.Errors != 0 || r.P50 <= 0 || r.P99 < r.P50 {
				t.Errorf("row %+v", r.figures)
			}
			if r.ClientCPU <= 0 || r.ServerCPU <= 0 || r.ClientAllocs < 10 || r.ServerAllocs < 10 {
				t.Errorf("both processes must have used something: %+v", r.figures)
			}
			if (s.Beside > 0) != (r.BesideCalls > 0) {
				t.Errorf("%d calls beside", r.BesideCalls)
			}
		})
	}
}

func TestUnknownPeerFails(t *testing.T) {
	if _, err := runClient(t.Context(), setting{Peer: "nobody", Duration: time.Millisecond}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no such peer") {
		t.Errorf("runClient = %v", err)
	}
}

func TestParsePlanRefuses(t *testing.T) {
	for _, args := range []string{
		"-peers nobody", "-peers grpc-go,grpc-go", "-peers ", "-callers 0", "-callers x", "-callers 1,,2", "-payload -1", "-work nap",
		"-o yaml", "-rounds 0", "-d 0s", "-d -1s", "-rate -1", "-conns -1", "-beside -1", "-nosuch 1", "-peers grpc-go extra",
	} {
		if _, err := parsePlan(strings.SplitN(args, " ", 3)); !errors.As(err, new(usageError)) {
			t.Errorf("%s: %v, want a usage error", args, err)
		}
	}
}

func TestMeasurementsRotate(t *testing.T) {
	p, err := parsePlan([]string{"-peers", "grpc-go,drpc,connect", "-callers", "1,100", "-rounds", "3"})
	if err != nil {
		t.Fatal(err)
	}
	all := p.measurements(p.peers)
	if len(all) != 3*2*3 {
		t.Fatalf("%d measurements, want 18", len(all))
	}
	var first []string
	seen := map[setting]bool{}
	for i, s := range all {
		if seen[s] {
			t.Errorf("%+v twice", s)
		}
		seen[s] = true
		if i%3 == 0 {
			first = append(first, s.Peer)
		}
	}
	if got, want := strings.Join(first, " "), "grpc-go drpc drpc connect connect grpc-go"; got != want {
		t.Errorf("first of each group: %s; want %s", got, want)
	}
}

func TestVerify(t *testing.T) {
	good := make([]int64, listLen)
	fill(good, 7)
	bad := make([]int64, listLen)
	fill(bad, 7)
	bad[3]++
	for name, c := range map[string]struct {
		id   int64
		text string
		list []int64
		ok   bool
	}{
		"right":         {7, "text", good, true},
		"wrong id":      {8, "text", good, false},
		"wrong text":    {7, "texT", good, false},
		"wrong number":  {7, "text", bad, false},
		"short of list": {7, "text", good[:4], false},
	} {
		if err := verify(7, "text", c.id, c.text, c.list); (err == nil) != c.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLimitRenews holds that a call never starts with less than its time.
func TestLimitRenews(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l limit
		made := 0
		for range 100 {
			before := l.ctx
			ctx := l.context(t.Context())
			if ctx != before {
				made++
			}
			if at, ok := ctx.Deadline(); !ok || time.Until(at) < callTimeout || time.Until(at) > callTimeout*3/2 {
				t.Fatalf("deadline in %v", time.Until(at))
			}
			time.Sleep(100 * time.Millisecond) // virtual
		}
		if made < 15 || made > 20 {
			t.Errorf("%d contexts for 100 calls in 10 s, want one each 0.5 s or a little more", made)
		}
		l.cancel()
	})
}

func TestNewRow(t *testing.T) {
	res := &load.Result{Elapsed: time.Second, Calls: 1000}
	busy := window{length: time.Second, client: mark{CPU: 10 * time.Millisecond, Mallocs: 5100}, server: mark{CPU: 20 * time.Millisecond, Mallocs: 50}}
	idle := window{length: 100 * time.Millisecond, client: mark{Mallocs: 10}, server: mark{Mallocs: 10}}
	r := newRow(setting{Peer: "p", Rate: 5}, res, busy, idle)
	if r.Mode != "open" || r.CPU != 30 || r.ClientCPU != 10 || r.ServerCPU != 20 || r.ClientAllocs != 5 || r.ServerAllocs != 0 {
		t.Errorf("row %+v", r.figures)
	}
}

func TestRatioIsOfRounds(t *testing.T) {
	rows := func(cpu ...float64) (rs []*row) {
		for i, c := range cpu {
			rs = append(rs, &row{figures: &figures{Round: i + 1, CPU: c}})
		}
		return rs
	}
	// The machine was three times slower in round 2: the ratio does not see it.
	if got := ratio(rows(1, 3, 2), rows(10, 30, 10), cpu); got != "0.100" {
		t.Errorf("ratio = %s, want 0.100", got)
	}
	if got := ratio(rows(1), nil, cpu); got != "" {
		t.Errorf("ratio to nobody = %q", got)
	}
}
