package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/cmd/load"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/rpc"
)

// An overloadRow is one step of one setup: calls that cost the server a fixed
// time of its one processor, whose callers give up, arriving at random at a
// multiple of the rate that the server can do.
type overloadRow struct {
	Bench string  `json:"bench"`
	Peer  string  `json:"peer"`
	Setup string  `json:"setup"`
	Round int     `json:"round"`
	X     float64 `json:"x"`     // of the capacity
	Phase string  `json:"phase"` // load, or after: .5x again, half a second after the load at X

	Capacity float64 `json:"capacity_per_s"`
	Calls    int     `json:"calls"`
	Goodput  float64 `json:"goodput"`  // answered calls a second over the capacity
	Answered float64 `json:"answered"` // of those that were made
	Accepted float64 `json:"accepted_p99_ms"`
	Refused  float64 `json:"refused_p99_ms"`
	Refusals int     `json:"refusals"`
	Errors   int     `json:"errors"` // wrong answers

	// What the server's ledger has: calls whose handlers were begun, and those
	// among them that nobody waited for any more.
	Started     int64 `json:"started"`
	StartedLate int64 `json:"started_late"`
}

const (
	childOverload = "child-overload"
	overloadCost  = 2 * time.Millisecond   // CPU of a call
	overloadGive  = 100 * time.Millisecond // when its caller gives up
	overloadAfter = 500 * time.Millisecond // from a load to the look at what is left of it
)

// overloadSetups are ways to reach a server; in each callers share what a
// client of Limosa shares.
var overloadSetups = []string{"framed", "ttheader", "shared"}

// An overloadPlan is what the flags ask for.
type overloadPlan struct {
	xs     []float64
	setups []string
	rounds int
	step   time.Duration
	seed   int64
	json   bool
}

// parseOverload reads the flags of the overload benchmark.
func parseOverload(args []string) (*overloadPlan, error) {
	p := new(overloadPlan)
	fs := flag.NewFlagSet("overload", flag.ContinueOnError)
	xs := fs.String("x", "0.5,1,2,5,10", "multiples of the capacity, separated by commas")
	setups := fs.String("setups", strings.Join(overloadSetups, ","), "framed (pooled connections, no deadlines on the wire), ttheader (a client a caller, deadlines) or shared (one client)")
	fs.IntVar(&p.rounds, "rounds", 1, "rounds; each setup runs once in each")
	fs.DurationVar(&p.step, "d", 2*time.Second, "length of each step")
	fs.Int64Var(&p.seed, "seed", 1, "seed of the arrivals")
	err := parseShared(fs, args, &p.json, "a server of one processor, calls of 2 ms whose callers give up after 100 ms")
	if err != nil {
		return nil, err
	}
	if p.setups, err = parseNames(*setups, overloadSetups); err != nil {
		return nil, err
	}
	for _, s := range strings.Split(*xs, ",") {
		x, err := strconv.ParseFloat(s, 64)
		if err != nil || x <= 0 || x > 100 {
			return nil, usageError{fmt.Sprintf("-x: %q is no number above 0 and at most 100", s)}
		}
		p.xs = append(p.xs, x)
	}
	if p.rounds < 1 || p.step <= 0 {
		return nil, usageError{"-rounds is at least 1, -d above 0"}
	}
	return p, nil
}

// overloadMain loads a server beyond what it can do, and looks how much of what it does is still of use to anybody.
func overloadMain(ctx context.Context, args []string) error {
	p, err := parseOverload(args)
	if err != nil {
		return err
	}
	rows := json.NewEncoder(os.Stdout)
	var all []*overloadRow
	for round := range p.rounds {
		for k := range p.setups {
			setup := p.setups[(k+round)%len(p.setups)]
			fmt.Fprintf(os.Stderr, "round %d: %s\n", round+1, setup)
			done, err := p.runSetup(ctx, setup, round+1)
			if err != nil {
				return fmt.Errorf("%s: %w", setup, err)
			}
			for _, r := range done {
				if err := rows.Encode(r); err != nil {
					return err
				}
			}
			all = append(all, done...)
		}
	}
	if !p.json {
		overloadTable(os.Stderr, all)
	}
	return overloadFault(all)
}

// overloadFault tells of answers that were wrong, nil: none was.
func overloadFault(rows []*overloadRow) error {
	var all []error
	for _, r := range rows {
		if r.Errors > 0 {
			all = append(all, fmt.Errorf("%s at %gx, %s: %d of %d answers were wrong", r.Setup, r.X, r.Phase, r.Errors, r.Calls))
		}
	}
	return errors.Join(all...)
}

// overloadTable prints goodput by load, for people.
func overloadTable(w io.Writer, rows []*overloadRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "setup\tx\tphase\tcalls\tgoodput\tanswered\taccepted p99 ms\trefused p99 ms\tstarted\tin vain\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%g\t%s\t%d\t%.2f\t%.2f\t%.1f\t%.1f\t%d\t%d\t\n", r.Setup, r.X, r.Phase, r.Calls, r.Goodput, r.Answered, r.Accepted, r.Refused, r.Started, r.StartedLate)
	}
	t.Flush()
}

// runSetup starts a server, finds out what it can do, and takes the steps.
func (p *overloadPlan) runSetup(ctx context.Context, setup string, round int) ([]*overloadRow, error) {
	steps := 2*len(p.xs) + 2
	ctx, cancel := context.WithTimeout(ctx, time.Duration(steps)*(p.step+2*time.Second)+10*time.Second)
	defer cancel()
	cmd := trial.Command(ctx, childOverload, nil)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	server, err := trial.Start(cmd)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	pinTo(1)
	d := &overloadDriver{setup: setup, server: server, random: rand.New(rand.NewPCG(uint64(p.seed), uint64(round)))}
	if err := d.dial(); err != nil {
		return nil, err
	}
	defer d.close()
	capacity, err := d.capacity(ctx, p.step/2)
	if err != nil {
		return nil, err
	}
	var rows []*overloadRow
	for _, x := range p.xs {
		for _, phase := range []string{"load", "after"} {
			rate := x * capacity
			if phase == "after" {
				time.Sleep(overloadAfter)
				rate = capacity / 2
			}
			r, err := d.run(ctx, rate, p.step)
			if err != nil {
				return nil, err
			}
			r.Setup, r.Round, r.X, r.Phase, r.Capacity = setup, round, x, phase, capacity
			r.Goodput = r.Answered * float64(r.Calls) / p.step.Seconds() / capacity
			rows = append(rows, r)
		}
		time.Sleep(overloadAfter)
	}
	return rows, nil
}

// An overloadDriver makes the calls of one setup.
type overloadDriver struct {
	setup   string
	server  *trial.Process
	random  *rand.Rand
	callers []rpc.Caller
}

// overloadClients is how many clients the setup ttheader has: enough for each
// call that can be under way at ten times the capacity.
const overloadClients = 64

// dial makes the clients, by the setup one whose calls share a connection, or many with one each.
func (d *overloadDriver) dial() error {
	n, form := 1, limosa.TTHeader
	switch d.setup {
	case "framed":
		form = limosa.Framed
	case "ttheader":
		n = overloadClients
	}
	for range n {
		d.callers = append(d.callers, &limosa.Client{Target: d.server.Addr, Thrift: form})
	}
	return nil
}

// close ends the client.
func (d *overloadDriver) close() {
	var all sync.WaitGroup
	for _, c := range d.callers {
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), time.Second)
			defer cancel()
			c.(*limosa.Client).Shutdown(ctx) //nolint:errcheck // it is the end in any case
		})
	}
	all.Wait()
}

// one makes a call. Its id is when its caller gives up, which the server
// compares with its own clock, the same one.
func (d *overloadDriver) one(ctx context.Context, i int, give time.Duration) error {
	by := time.Now().Add(give)
	ctx, cancel := context.WithDeadline(ctx, by)
	defer cancel()
	m, err := limosaecho.NewEchoClient(d.callers[i%len(d.callers)]).Echo(ctx, &limosaecho.Message{ID: by.UnixNano()})
	if err == nil && m.ID != by.UnixNano() {
		return fmt.Errorf("wrong answer: %d, want %d", m.ID, by.UnixNano())
	}
	return err
}

// capacity is what a few callers get who never give up, calls a second.
func (d *overloadDriver) capacity(ctx context.Context, length time.Duration) (float64, error) {
	r, err := load.Run(ctx, load.Config{
		Callers: 4, Warmup: length / 2, Duration: length,
		Call: func(ctx context.Context, worker int, _ uint64) error { return d.one(ctx, worker, 10*time.Second) },
	})
	if err == nil && r.Errors > 0 {
		err = fmt.Errorf("a call of four failed: %w", r.First)
	}
	if err != nil {
		return 0, err
	}
	return r.PerSecond(), nil
}

// run makes calls at rate for length and waits for their ends.
func (d *overloadDriver) run(ctx context.Context, rate float64, length time.Duration) (*overloadRow, error) {
	before, err := d.ledger()
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var accepted, refused []time.Duration
	r := &overloadRow{Bench: "overload", Peer: "limosa"}
	var work sync.WaitGroup
	began := time.Now()
	for due := time.Duration(0); due < length && ctx.Err() == nil; due += time.Duration(d.random.ExpFloat64() / rate * float64(time.Second)) {
		load.Nap(due - time.Since(began))
		i := r.Calls
		r.Calls++
		work.Go(func() {
			start := time.Now()
			err := d.one(ctx, i, overloadGive)
			took := time.Since(start)
			mu.Lock()
			defer mu.Unlock()
			switch code := rpc.CodeOf(err); {
			case err == nil:
				accepted = append(accepted, took)
			case code == rpc.ResourceExhausted:
				refused = append(refused, took)
			case code == rpc.Unknown:
				r.Errors++
			}
		})
	}
	work.Wait()
	after, err := d.ledger()
	if err != nil {
		return nil, err
	}
	r.Started, r.StartedLate = after.Started-before.Started, after.Late-before.Late
	r.Refusals = len(refused)
	r.Accepted, r.Refused = quantile(accepted, .99), quantile(refused, .99)
	r.Answered = float64(len(accepted)) / float64(max(r.Calls, 1))
	return r, ctx.Err()
}

// ledger asks the server what it has done: a client alone cannot tell work that nobody waited for.
func (d *overloadDriver) ledger() (l overloadLedger, err error) {
	err = d.server.Ask("ledger", &l)
	return l, err
}

// An overloadLedger is what the server of an overload knows of its handlers.
type overloadLedger struct{ Started, Late int64 }

// overloadServer burns the time of one processor.
type overloadServer struct {
	turns         int // of spin, that take overloadCost
	started, late atomic.Int64
	spun          atomic.Uint64 // keeps the compiler from leaving spin out
}

// Echo works for a number of turns, and counts what it begins and how much of that nobody waits for any more.
func (s *overloadServer) Echo(_ context.Context, m *limosaecho.Message) (*limosaecho.Message, error) {
	s.started.Add(1)
	if time.Now().UnixNano() > m.ID {
		s.late.Add(1)
	}
	s.spun.Store(spin(s.turns))
	return m, nil
}

// spin takes time in proportion to turns, however often it is interrupted.
func spin(turns int) (x uint64) {
	x = 1
	for range turns {
		x = x*6364136223846793005 + 1442695040888963407
	}
	return x
}

// calibrate finds the turns that take d of CPU.
func calibrate(d time.Duration) int {
	const turns = 1 << 20
	var spun atomic.Uint64
	best := time.Hour
	for range 20 {
		began := time.Now()
		spun.Store(spin(turns))
		best = min(best, time.Since(began))
	}
	return int(float64(turns) * float64(d) / float64(best))
}

// overloadChildMain is the server's process.
func overloadChildMain(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return usageError{childOverload + " is for bench itself"}
	}
	pinTo(0)
	impl := &overloadServer{turns: calibrate(overloadCost)}
	l, err := limosa.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &limosa.Server{Services: []rpc.Service{limosaecho.Service(impl)}}
	go server.Serve(ctx, l) //nolint:errcheck // it ends with this process
	enc := json.NewEncoder(os.Stdout)
	if err := enc.Encode(trial.Hello{Addr: l.Addr().String()}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		if err := enc.Encode(overloadLedger{impl.started.Load(), impl.late.Load()}); err != nil {
			return err
		}
	}
	return nil
}
