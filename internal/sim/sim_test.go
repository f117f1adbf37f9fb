package sim

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// simMasks are the defects that the simulation is known to find and that are not
// mended yet, by name: each leaves out what would show it. It has to be empty;
// LIMOSA_UNMASK=name,name or LIMOSA_UNMASK=all looks behind it.
type simMasks map[string]bool

func simKnown() simMasks {
	known := simMasks{}
	for name := range strings.SplitSeq(os.Getenv("LIMOSA_UNMASK"), ",") {
		delete(known, name)
		if name == "all" {
			return simMasks{}
		}
	}
	return known
}

// A simResult is what became of a seed.
type simResult struct {
	plan       *simPlan
	hash       uint64
	trace      []string
	violations []string
	goroutines []string
}

// report tells what went wrong, what happened last, and how to see it again.
func (r *simResult) report() string {
	var b strings.Builder
	p := r.plan
	fmt.Fprintf(&b, "seed %d: %v, %d clients, %d servers, handlers %d, tiny %v, limited %v, TLS %v, drain %v\n",
		p.seed, p.weather, len(p.clients), len(p.hosts), p.handlers, p.tiny, p.limited, p.secure, p.drain)
	for _, c := range p.clients {
		fmt.Fprintf(&b, "  %s to %s, %v\n", c.name, c.host, c.form)
	}
	last := 80
	if os.Getenv("LIMOSA_TRACE") != "" {
		last = len(r.trace)
	}
	for _, line := range r.trace[max(0, len(r.trace)-last):] {
		fmt.Fprintln(&b, line)
	}
	for _, g := range r.goroutines {
		fmt.Fprintf(&b, "\n%s\n", g)
	}
	for _, v := range r.violations {
		fmt.Fprintf(&b, "seed %d: %s\n", p.seed, v)
	}
	fmt.Fprintf(&b, "again: .ci/sim -seed %d, or with what ran before it -seed %s\n", p.seed, os.Getenv("LIMOSA_SEED"))
	return b.String()
}

// simulate runs one seed in a bubble of its own.
func simulate(t *testing.T, seed uint64) (r *simResult) {
	r = &simResult{plan: newSimPlan(seed, simKnown())}
	synctest.Test(t, func(t *testing.T) {
		seedRuntime(seed)
		w := newSimWorld(r.plan)
		w.run()
		w.mu.Lock()
		r.hash, r.trace, r.violations = w.mu.hash, w.mu.trace, w.mu.violations
		w.mu.Unlock()
		if len(r.violations) > 0 {
			// What is left would keep the bubble from ending.
			r.goroutines = simGoroutines()
			fmt.Println(r.report())
			os.Exit(1)
		}
	})
	return r
}

// TestSimSeed runs the seeds that LIMOSA_SEED names, one or FROM-TO, one after
// the other, and ends the process at the first that goes wrong.
func TestSimSeed(t *testing.T) {
	var from, to uint64
	if n, _ := fmt.Sscanf(os.Getenv("LIMOSA_SEED"), "%d-%d", &from, &to); n == 0 {
		t.Skip("LIMOSA_SEED says which")
	} else if n == 1 {
		to = from
	}
	runtime.MemProfileRate = 0 // what is sampled is drawn
	debug.SetGCPercent(-1)     // a collection changes the order of goroutines
	simThreads()
	for seed := from; seed <= to; seed++ {
		if seed%16 == 0 {
			runtime.GC()
		}
		r := simulate(t, seed)
		fmt.Printf(simPassed, seed, len(r.trace), r.hash)
		if os.Getenv("LIMOSA_TRACE") != "" {
			fmt.Println(strings.Join(r.trace, "\n"))
		}
	}
}

// simThreads has the run time make the threads that it may ever want. Each takes
// memory, and when it makes one by itself depends on the machine; what is
// allocated afterwards would lie elsewhere, and maps by address in other orders.
func simThreads() {
	const enough = 16
	var ready, done sync.WaitGroup
	release := make(chan struct{})
	ready.Add(enough)
	for range enough {
		done.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-release
		})
	}
	ready.Wait()
	close(release)
	done.Wait()
}

const simPassed = "seed %d: %d events, hash %x\n"

// simChild runs seeds in a process of its own, on one processor. passed are the
// hashes of those that did; output is what the process said after them.
func simChild(from, to uint64) (passed []uint64, output string, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second+time.Duration(to-from)*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestSimSeed$", "-test.count=1", "-test.timeout=0")
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", fmt.Sprintf("LIMOSA_SEED=%d-%d", from, to))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // it says where it hangs
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.CombinedOutput()
	rest := string(out)
	for {
		var seed, hash uint64
		var events int
		line, after, _ := strings.Cut(rest, "\n")
		if _, e := fmt.Sscanf(line, simPassed, &seed, &events, &hash); e != nil || seed != from+uint64(len(passed)) {
			return passed, rest, err
		}
		passed, rest = append(passed, hash), after
	}
}

// TestSim runs many seeds, from 1 on or as many as LIMOSA_SEEDS says, which may
// be FROM-TO, in processes of their own.
func TestSim(t *testing.T) {
	from, to := uint64(1), uint64(200)
	if testing.Short() {
		to = 60
	}
	if n, _ := fmt.Sscanf(os.Getenv("LIMOSA_SEEDS"), "%d-%d", &from, &to); n == 1 {
		from, to = 1, from
	}
	const chunk = 50
	began, next := time.Now(), from
	var mu sync.Mutex
	var ran, wrong int
	var work sync.WaitGroup
	take := func() (first, last uint64, ok bool) {
		mu.Lock()
		defer mu.Unlock()
		first, last = next, min(next+chunk-1, to)
		next = last + 1
		return first, last, first <= to && wrong < 5
	}
	for range runtime.NumCPU() {
		work.Go(func() {
			for first, last, ok := take(); ok; first, last, ok = take() {
				for first <= last {
					passed, output, err := simChild(first, last)
					first += uint64(len(passed))
					mu.Lock()
					ran += len(passed)
					if first <= last {
						wrong++
						ran++
						t.Errorf("seed %d: %v\n%s", first, err, output)
					}
					mu.Unlock()
					first++
				}
			}
		})
	}
	work.Wait()
	t.Logf("%d seeds in %v, %d went wrong", ran, time.Since(began).Round(time.Second), wrong)
	if ran < int(to-from+1) && wrong < 5 {
		t.Errorf("%d seeds of %d ran", ran, to-from+1)
	}
}

// TestSimReplays runs seeds again, each alone: they take the same course to the
// nanosecond. That takes the overlay of .ci/sim-runtime; without it only the
// plan is the same.
func TestSimReplays(t *testing.T) {
	for seed := range uint64(20) {
		a, b := newSimPlan(seed, simKnown()), newSimPlan(seed, simKnown())
		if x, y := fmt.Sprint(a.actions), fmt.Sprint(b.actions); x != y || x == fmt.Sprint(newSimPlan(seed+1, simKnown()).actions) {
			t.Fatalf("seed %d: plans\n%s\n%s", seed, x, y)
		}
	}
	if !simExact {
		t.Skip("the run time draws by chance: see .ci/sim-runtime")
	}
	for seed := uint64(1); seed <= 40; seed++ {
		if first, again := simHash(t, seed), simHash(t, seed); first != again {
			t.Errorf("seed %d takes another course when it runs again: %x, then %x", seed, first, again)
		}
	}
}

func simHash(t *testing.T, seed uint64) uint64 {
	t.Helper()
	hashes, output, err := simChild(seed, seed)
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, output)
	}
	return hashes[0]
}
