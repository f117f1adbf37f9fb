package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// An attackRow is what one attack did to its victim, a process with all of
// Limosa's defaults and a memory limit of 1 GiB. The canary is a client that
// calls all the while from another address, one call after the other.
type attackRow struct {
	Bench string `json:"bench"`
	Peer  string `json:"peer"`
	Case  string `json:"case"`
	Why   string `json:"why"`

	Sent  int64   `json:"sent_bytes"` // by the attacker
	Peak  float64 `json:"peak_mib"`   // resident memory above that before the attack
	Bound float64 `json:"bound_mib"`  // what it is not to exceed
	CPU   float64 `json:"cpu_us_per_byte"`

	CanaryCalls  int     `json:"canary_calls"`
	CanaryP99    float64 `json:"canary_p99_ms"`
	CanaryErrors int     `json:"canary_errors"`
	CanaryError  string  `json:"canary_first_error,omitempty"`

	FDs        int `json:"fds_left"` // more than before, once the attacker has gone
	Goroutines int `json:"goroutines_left"`
}

// fault says what of the row is out of bounds, "" if nothing is. p99 is the
// bound of the canary's, in milliseconds.
func (r *attackRow) fault(p99 float64) string {
	var bad []string
	for _, c := range []struct {
		bad  bool
		text string
	}{
		{r.Peak > r.Bound, fmt.Sprintf("%.0f MiB above %.0f", r.Peak, r.Bound)},
		{r.CanaryErrors > 0, fmt.Sprintf("%d canary calls failed: %s", r.CanaryErrors, r.CanaryError)},
		{r.CanaryCalls == 0, "the canary made no call"},
		{r.CanaryP99 > p99, fmt.Sprintf("canary's p99 %.1f ms above %g", r.CanaryP99, p99)},
		{r.FDs > fdsBound, fmt.Sprintf("%d descriptors left", r.FDs)},
		{r.Goroutines > goroutinesBound, fmt.Sprintf("%d goroutines left", r.Goroutines)},
	} {
		if c.bad {
			bad = append(bad, c.text)
		}
	}
	return strings.Join(bad, "; ")
}

const (
	canaryTimeout   = time.Second
	canaryEvery     = 2 * time.Millisecond
	fdsBound        = 2
	goroutinesBound = 8

	// victimMemory is the limit that the victim's runtime is given.
	victimMemory = "1GiB"
	// settleTime is how long a victim has to give back what an attacker that
	// has gone made it hold.
	settleTime = 3 * time.Second

	childVictim   = "child-victim"
	childAttacker = "child-attacker"
)

// An attackPlan is what the flags ask for.
type attackPlan struct {
	cases    []*attack
	duration time.Duration
	p99      float64 // ms
	json     bool
}

// parseAttack reads the flags of the attacks, and chooses the cases.
func parseAttack(args []string) (*attackPlan, error) {
	p := new(attackPlan)
	fs := flag.NewFlagSet("attack", flag.ContinueOnError)
	word := fs.String("k", "", "only cases whose name has this word")
	list := fs.Bool("list", false, "list the cases and what they do")
	fs.Float64Var(&p.p99, "p99", 10, "bound of the canary's p99, ms; more where the machine does other work")
	fs.DurationVar(&p.duration, "d", 1500*time.Millisecond, "length of each attack")
	if err := parseShared(fs, args, &p.json, "attacks on a Limosa server and client with a canary beside; exit 1 if one is out of bounds, without -o json"); err != nil {
		return nil, err
	}
	if p.duration <= 0 || p.p99 <= 0 {
		return nil, usageError{"-d and -p99 are above 0"}
	}
	for _, a := range attacks() {
		if strings.Contains(a.name, *word) {
			p.cases = append(p.cases, a)
		}
	}
	if len(p.cases) == 0 {
		return nil, usageError{fmt.Sprintf("no case has %q in its name; -list shows them", *word)}
	}
	if *list {
		t := tabwriter.NewWriter(os.Stderr, 0, 0, 2, ' ', 0)
		for _, a := range p.cases {
			fmt.Fprintf(t, "%s\t%s\n", a.name, a.why)
		}
		t.Flush()
		return nil, flag.ErrHelp
	}
	return p, nil
}

// attackMain runs the attacks, one after the other, each on a victim of its own.
func attackMain(ctx context.Context, args []string) error {
	p, err := parseAttack(args)
	if err != nil {
		return err
	}
	rows := json.NewEncoder(os.Stdout)
	var all []*attackRow
	bad := 0
	for i, a := range p.cases {
		fmt.Fprintf(os.Stderr, "%d of %d: %s: ", i+1, len(p.cases), a.name)
		r, err := runAttack(ctx, a, p.duration)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		text := cmp.Or(r.fault(p.p99), "held")
		if text != "held" {
			bad++
		}
		fmt.Fprintln(os.Stderr, text)
		all = append(all, r)
		if err := rows.Encode(r); err != nil {
			return err
		}
	}
	if !p.json {
		attackTable(os.Stderr, all)
	}
	if bad > 0 && !p.json { // rows are for somebody else to judge
		return fmt.Errorf("%d of %d attacks are out of bounds", bad, len(all))
	}
	return nil
}

// attackTable prints one line for each attack, for people.
func attackTable(w io.Writer, rows []*attackRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "case\tsent MB\tpeak MiB\tbound\tCPU us/byte\tcanary p99 ms\terrors\tfds left\tgoroutines left\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%.2f\t%.0f\t%.0f\t%.3f\t%.2f\t%d\t%d\t%d\t\n", r.Case, float64(r.Sent)/1e6, r.Peak, r.Bound, r.CPU, r.CanaryP99, r.CanaryErrors, r.FDs, r.Goroutines)
	}
	t.Flush()
}

// runAttack starts a victim, a canary and the attacker, and looks at the victim
// all the while.
func runAttack(ctx context.Context, a *attack, d time.Duration) (*attackRow, error) {
	ctx, cancel := context.WithTimeout(ctx, d+time.Minute)
	defer cancel()
	victim, err := startVictim(ctx, a)
	if err != nil {
		return nil, err
	}
	defer victim.Stop()
	before, err := stateOf(victim)
	if err != nil {
		return nil, err
	}
	watch := watchMemory(victim.Cmd.Process.Pid)
	bird := new(canary)
	if a.hostile == nil {
		bird.grpc, bird.tls = a.grpc, a.tls
		go bird.sing(victim.Addr)
	}
	sent, err := a.attackFrom(ctx, victim, d)
	peak := watch()
	if a.hostile == nil {
		bird.stop()
	}
	if err != nil {
		victim.Cmd.Wait() //nolint:errcheck // it has died: its last words are to be complete
		return nil, fmt.Errorf("the attacker: %w; the victim: %v: %s", err, victim.Cmd.ProcessState, victim.Errors())
	}
	after, err := settled(victim, before)
	if err != nil {
		victim.Stop() // it has died; its last words are complete then
		return nil, fmt.Errorf("the victim after the attack: %w: %s", err, victim.Errors())
	}
	if a.hostile != nil {
		bird.times, bird.errors, bird.first = nil, after.Errors, after.First
		bird.times = append(bird.times, after.Times...)
	}
	r := &attackRow{
		Bench: "attack", Peer: "limosa", Case: a.name, Why: a.why, Sent: sent, Bound: a.bound,
		Peak:        max(0, float64(peak-before.RSS)/(1<<20)),
		CanaryCalls: len(bird.times) + bird.errors, CanaryErrors: bird.errors, CanaryError: bird.first, CanaryP99: quantile(bird.times, .99),
		FDs: after.FDs - before.FDs, Goroutines: after.Goroutines - before.Goroutines,
	}
	if sent > 0 {
		r.CPU = float64((after.CPU - before.CPU).Microseconds()) / float64(sent)
	}
	return r, nil
}

// quantile gives milliseconds.
func quantile(times []time.Duration, q float64) float64 {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return float64(times[min(len(times)-1, int(q*float64(len(times))))]) / float64(time.Millisecond)
}

// A canary calls a server that is under attack.
type canary struct {
	grpc, tls bool // it calls by that; set before it sings

	mu     sync.Mutex
	times  []time.Duration
	errors int
	first  string

	end  func()
	over chan struct{}
	once sync.Once
}

func (c *canary) init() (ctx context.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.once.Do(func() {
		c.over = make(chan struct{})
		ctx, c.end = context.WithCancel(context.Background())
	})
	return ctx
}

// overTTHeader calls a server as clients of Limosa do.
func overTTHeader(addr string) (sing songbook, end func()) {
	return overClient(&limosa.Client{Target: addr})
}

// overTLS is overTTHeader over TLS.
func overTLS(addr string) (sing songbook, end func()) {
	return overClient(&limosa.Client{Target: addr, TLS: trustAll()})
}

func overClient(caller *limosa.Client) (sing songbook, end func()) {
	client := limosaecho.NewEchoClient(caller)
	return func(ctx context.Context, id int64) (int64, string, error) {
		m, err := client.Echo(ctx, &limosaecho.Message{ID: id, Text: "canary"})
		if err != nil {
			return 0, "", err
		}
		return m.ID, m.Text, nil
	}, func() { caller.Close() }
}

// sing calls addr until stop. Its first call, which connects, counts too.
func (c *canary) sing(addr string) {
	ctx := c.init()
	if ctx == nil {
		return
	}
	defer close(c.over)
	over := overTTHeader
	switch {
	case c.grpc && c.tls:
		over = overHTTP2TLS
	case c.grpc:
		over = overHTTP2
	case c.tls:
		over = overTLS
	}
	call, end := over(addr)
	defer end()
	for id := int64(0); ctx.Err() == nil; id++ {
		calling, cancel := context.WithTimeout(context.Background(), canaryTimeout)
		began := time.Now()
		got, text, err := call(calling, id)
		took := time.Since(began)
		cancel()
		c.mu.Lock()
		switch {
		case err == nil && got == id && text == "canary":
			c.times = append(c.times, took)
		default:
			c.errors++
			if c.first == "" {
				c.first = fmt.Sprintf("%v (%d, %q)", err, got, text)
			}
		}
		c.mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(canaryEvery):
		}
	}
}

// stop ends the canary and waits for its last call.
func (c *canary) stop() {
	if c.init() != nil {
		return // it has never begun
	}
	c.end()
	<-c.over
}

// watchMemory looks at the resident memory of a process until it is told to
// stop, and gives the most that it saw, in bytes.
func watchMemory(pid int) (stop func() int64) {
	var most int64
	end, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(5 * time.Millisecond)
		defer tick.Stop()
		for {
			most = max(most, residentOf(pid))
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	return func() int64 { close(end); <-over; return most }
}

// residentOf is 0 where there is no /proc.
func residentOf(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(text), &size, &resident); err != nil {
		return 0
	}
	return resident * int64(os.Getpagesize())
}

// A victimSetting is what a victim's process is told.
type victimSetting struct{ Client, GRPC, TLS bool }

// A victimState is what a victim says of itself, on demand.
type victimState struct {
	RSS        int64
	FDs        int
	Goroutines int
	CPU        time.Duration

	// Of a client's own canary.
	Times  []time.Duration `json:",omitempty"`
	Errors int             `json:",omitempty"`
	First  string          `json:",omitempty"`
}

// startVictim starts the process that is attacked, with a limit of its memory as a container would have.
func startVictim(ctx context.Context, a *attack) (*trial.Process, error) {
	cmd := trial.Command(ctx, childVictim, victimSetting{Client: a.hostile != nil, GRPC: a.grpc, TLS: a.tls})
	cmd.Env = append(os.Environ(), "GOMEMLIMIT="+victimMemory)
	return trial.Start(cmd)
}

// stateOf asks the victim what it holds: memory, descriptors, goroutines.
func stateOf(victim *trial.Process) (s victimState, err error) {
	err = victim.Ask("state", &s)
	return s, err
}

// settled gives the state once the victim is as it was, or after settleTime.
func settled(victim *trial.Process, before victimState) (s victimState, err error) {
	for by := time.Now().Add(settleTime); ; time.Sleep(20 * time.Millisecond) {
		s, err = stateOf(victim)
		if err != nil || s.FDs <= before.FDs+fdsBound && s.Goroutines <= before.Goroutines+goroutinesBound || time.Now().After(by) {
			return s, err
		}
	}
}

// lastLines are the last n lines of a text: what a process that died has said about it.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], " | ")
}

// attackFrom runs the attack in a process of its own, from an address of its
// own, and gives the bytes that it sent.
func (a *attack) attackFrom(ctx context.Context, victim *trial.Process, d time.Duration) (int64, error) {
	if a.hostile != nil {
		return a.serveHostile(ctx, victim, d)
	}
	var stderr strings.Builder
	cmd := trial.Command(ctx, childAttacker, attackerSetting{Case: a.name, Addr: victim.Addr, Duration: d})
	cmd.Stderr, cmd.WaitDelay = &stderr, time.Second
	ownGroup(cmd)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, lastLines(stderr.String(), 3))
	}
	var sent int64
	return sent, json.Unmarshal(out, &sent)
}

// An attackerSetting is what an attacker's process is told.
type attackerSetting struct {
	Case     string
	Addr     string
	Duration time.Duration
}

// attackerMain is the attacking process. It speaks bytes, not Limosa, so that it can break every rule.
func attackerMain(ctx context.Context, args []string) error {
	var s attackerSetting
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return usageError{childAttacker + " is for bench itself"}
	}
	if err := standBack(); err != nil {
		return err
	}
	for _, a := range attacks() {
		if a.name == s.Case && a.run != nil {
			ctx, cancel := context.WithTimeout(ctx, s.Duration)
			defer cancel()
			x := &attacker{ctx: ctx, addr: s.Addr}
			a.run(x)
			x.leave()
			return json.NewEncoder(os.Stdout).Encode(x.sent.Load())
		}
	}
	return usageError{"no such attack: " + s.Case}
}
