package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
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
		t.Run(p.Name, func(t *testing.T) {
			if p.later != "" {
				t.Skip("skipped:", p.later)
			}
			if p.outside != "" {
				t.Skip("skipped: TestOutsidePeersAnswer does it")
			}
			for _, conns := range []int{0, 2} {
				t.Setenv("TMPDIR", t.TempDir())
				addr, worked := "", make(chan struct{}, 100)
				work := func() { worked <- struct{}{} }
				if p.Serve != nil {
					var err error
					if addr, err = p.Serve(t.Context(), work); err != nil {
						t.Fatal(err)
					}
				}
				target, err := p.Dial(t.Context(), addr, conns, work)
				if err != nil {
					t.Fatal(err)
				}
				var calls []trial.Call
				for worker, size := range []int{1024, 1024, 1024, 1 << 20} {
					call, err := target.Caller(t.Context(), worker, trial.RandomText(size, 1))
					if err != nil {
						t.Fatal(err)
					}
					calls = append(calls, call)
				}
				for seq := range int64(12) {
					// Without the deadline of a measurement: under the race
					// detector, beside other tests, 1 MB takes some peers longer.
					if err := calls[seq%4](t.Context(), seq); err != nil {
						t.Fatalf("%d connections, caller %d: %v", conns, seq%4, err)
					}
				}
				want := 12
				if p.Name == nullPeer {
					want = 0
				}
				if len(worked) != want {
					t.Errorf("the handler ran %d times, want %d", len(worked), want)
				}
				target.Close()
			}
		})
	}
}

// TestMeasure takes one whole measurement, in processes of their own.
func TestMeasure(t *testing.T) {
	for name, s := range map[string]trial.Setting{
		"closed":  {Peer: "grpc-go", Round: 1, Callers: 2, Payload: 64, Work: trial.WorkNone, Duration: 100 * time.Millisecond},
		"open":    {Peer: "grpc-go", Round: 1, Callers: 2, Payload: 64, Work: trial.WorkNone, Rate: 500, Duration: 100 * time.Millisecond},
		"poisson": {Peer: "grpc-go", Round: 1, Callers: 8, Payload: 64, Work: trial.WorkNone, Rate: 500, Arrivals: trial.Poisson, Duration: 100 * time.Millisecond},
		"beside":  {Peer: "grpc-go", Round: 1, Callers: 2, Payload: 64, Work: trial.WorkNone, Beside: 100_000, Duration: 100 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := trial.Run(t.Context(), "", s, t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			if r.Peer != s.Peer || r.Calls == 0 || r.Errors != 0 || r.P50 <= 0 || r.P99 < r.P50 {
				t.Errorf("row %+v", r.Figures)
			}
			if r.ClientCPU <= 0 || r.ServerCPU <= 0 || r.ClientAllocs < 10 || r.ServerAllocs < 10 {
				t.Errorf("both processes must have used something: %+v", r.Figures)
			}
			if (s.Beside > 0) != (r.BesideCalls > 0) {
				t.Errorf("%d calls beside", r.BesideCalls)
			}
		})
	}
}

// TestOutsidePeersAnswer measures each peer of bench/peers shortly, small calls
// with large ones beside them, if their modules can be had here.
func TestOutsidePeersAnswer(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: builds the peers")
	}
	scratch := t.TempDir()
	paths, failed := programs(t.Context(), outsidePeers(), scratch)
	for _, p := range outsidePeers() {
		t.Run(p.Name, func(t *testing.T) {
			if err := failed[p.outside]; errors.Is(err, errUnfetched) {
				t.Skip("skipped:", err)
			} else if err != nil {
				t.Fatal(err)
			}
			for _, conns := range []int{0, 2} {
				s := trial.Setting{Peer: p.Name, Round: 1, Callers: 3, Payload: 1024, Conns: conns, Beside: 1 << 20, Work: trial.WorkNone, GOGC: 200, Duration: 300 * time.Millisecond}
				r, err := trial.Run(t.Context(), paths[p.outside], s, scratch)
				if err != nil {
					t.Fatal(err)
				}
				if r.Peer != p.Name || r.Calls == 0 || r.Errors != 0 || r.BesideCalls == 0 || r.BesideErrors != 0 || r.ClientCPU <= 0 || r.ServerCPU <= 0 {
					t.Errorf("row %+v", r.Figures)
				}
			}
		})
	}
}

// TestNothingToFetch holds that a peer whose modules cannot be had is skipped,
// and says so.
func TestNothingToFetch(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: runs the go command")
	}
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	_, failed := programs(t.Context(), outsidePeers(), t.TempDir())
	if err := failed["arpc"]; !errors.Is(err, errUnfetched) {
		t.Errorf("build of arpc = %v, want %v", err, errUnfetched)
	}
}

func TestUnknownPeerFails(t *testing.T) {
	if _, err := trial.Run(t.Context(), "", trial.Setting{Peer: "nobody", Duration: time.Millisecond}, t.TempDir()); err == nil || !strings.Contains(err.Error(), "no such peer") {
		t.Errorf("Run = %v", err)
	}
}

func TestParsePlanRefuses(t *testing.T) {
	for _, args := range []string{
		"-peers nobody", "-peers grpc-go,grpc-go", "-peers ", "-callers 0", "-callers x", "-callers 1,,2", "-payload -1", "-work nap",
		"-o yaml", "-rounds 0", "-d 0s", "-d -1s", "-rate -1", "-conns -1", "-beside -1", "-gogc -1", "-arrivals rarely", "-arrivals poisson", "-nosuch 1", "-peers grpc-go extra",
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
	seen := map[trial.Setting]bool{}
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

// TestNullGoesFirst holds that what is taken off was measured before what it is
// taken off from, in the same round.
func TestNullGoesFirst(t *testing.T) {
	for _, peers := range []string{"grpc-go,drpc", "grpc-go,null,drpc"} {
		p, err := parsePlan([]string{"-peers", peers, "-callers", "1,100", "-rounds", "2", "-rate", "50", "-arrivals", "poisson"})
		if err != nil {
			t.Fatal(err)
		}
		var order []string
		for _, s := range p.measurements(p.peers) {
			if s.Arrivals != trial.Poisson {
				t.Errorf("%+v", s)
			}
			order = append(order, s.Peer)
		}
		if got, want := strings.Join(order, " "), "null grpc-go drpc null drpc grpc-go null drpc grpc-go null grpc-go drpc"; got != want {
			t.Errorf("order %s; want %s", got, want)
		}
	}
}

func TestRatioIsOfRounds(t *testing.T) {
	rows := func(cpu ...float64) (rs []*trial.Row) {
		for i, c := range cpu {
			rs = append(rs, &trial.Row{Figures: &trial.Figures{Round: i + 1, CPU: c}})
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
