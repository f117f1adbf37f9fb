package main

import (
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

func TestOverloadFlags(t *testing.T) {
	for _, args := range [][]string{{"-x", "0"}, {"-x", "1,many"}, {"-setups", "tin cans"}, {"-rounds", "0"}, {"-d", "-1s"}} {
		if _, err := parseOverload(args); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
	p, err := parseOverload([]string{"-x", "0.5,10", "-setups", "shared"})
	if err != nil || !slices.Equal(p.xs, []float64{.5, 10}) || !slices.Equal(p.setups, []string{"shared"}) {
		t.Errorf("%+v, %v", p, err)
	}
}

// A step whose callers never give up in time shows what the server's ledger is
// for: every call answered was begun, and no more than were made.
func TestOverloadRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes, takes seconds")
	}
	p := &overloadPlan{xs: []float64{.5}, setups: []string{"shared"}, rounds: 1, step: 300 * time.Millisecond, seed: 1}
	rows, err := p.runSetup(t.Context(), "shared", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 2 || rows[0].Phase != "load" || rows[1].Phase != "after" {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Calls == 0 || r.Capacity <= 0 || r.Errors > 0 || r.Started > int64(r.Calls) || float64(r.Started) < r.Answered*float64(r.Calls)-.5 {
			t.Errorf("%+v", r)
		}
	}
}

func TestSpinTakesWhatWasCalibrated(t *testing.T) {
	turns := calibrate(time.Millisecond)
	var spun atomic.Uint64
	best := time.Hour // of many: the machine does other work
	for range 50 {
		began := time.Now()
		spun.Store(spin(turns))
		best = min(best, time.Since(began))
	}
	if best < 500*time.Microsecond || best > 3*time.Millisecond {
		t.Errorf("a millisecond took %v", best)
	}
}
