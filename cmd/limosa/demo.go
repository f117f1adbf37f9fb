package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/cmd/load"
)

const (
	// demoCallers is how many calls the demo has under way at most.
	demoCallers = 16
	// demoLoad is the part of the highest rate at which latencies are taken: what
	// is measured at the highest one is how long calls queue.
	demoLoad = .4
)

// A demoRow is what one method showed on one path. Calls, Verified and Errors
// count every call that was made.
type demoRow struct {
	Path      string  `json:"path"` // tcp, unix or inproc
	Method    string  `json:"method"`
	Calls     uint64  `json:"calls"`
	Verified  uint64  `json:"verified"`    // whose answer was the one that had to come
	CallsPerS float64 `json:"calls_per_s"` // the highest rate: each caller makes its next call at once
	P50       float64 `json:"p50_us"`      // at demoLoad of that rate, as CPU is
	P99       float64 `json:"p99_us"`
	CPU       float64 `json:"cpu_us"` // of this process, which holds all services, for each call
	Errors    uint64  `json:"errors"` // calls that failed or were answered wrongly
}

// demoCommand runs client and server in one process, so that a newcomer needs no second terminal.
func (a *app) demoCommand() *cli.Command {
	return &cli.Command{
		Name: "demo", Usage: "run a small shop over tcp, unix and in process, and check every answer",
		UsageText: "limosa demo [-d 5s] [-o json]",
		Description: `Starts three services, a storefront that asks a catalog and an inventory, on
each way in which services of one host can reach each other, calls them and
compares every answer with the one that must come. Ends with a table, or with
its rows as JSON lines; the exit code is 0 only if every answer was right.
calls/s is with 16 callers that do nothing else; latencies and CPU time are taken
at two fifths of that rate, with calls that come at random. CPU time is that of
this process, which holds the callers and all services.

Example:
  limosa demo -d 10s`,
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "d", Value: 5 * time.Second, Usage: "time in all (5s if not given)"},
			outputFlag(),
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := nargs(c, 0, 0, "no arguments"); err != nil {
				return err
			}
			if d := c.Duration("d"); d < 100*time.Millisecond {
				return usagef("-d %v is too short to measure anything; 100ms is the least", d)
			}
			return a.demo(ctx, c.Duration("d"), c.String("o") == "json")
		},
	}
}

// demo runs all methods on all paths, one after the other: together they would
// measure one another. What it says first stands where the table will stand, and
// on stderr if stdout is for a program.
//
// The time is divided evenly, so that -d is what the whole takes.
func (a *app) demo(ctx context.Context, total time.Duration, asJSON bool) error {
	paths, methods := demoPaths(), demoMethods()
	first := a.stdout
	if asJSON {
		first = a.stderr
	}
	fmt.Fprintf(first, "a shop of three services over %s: %d callers, every answer checked, %v in all\n",
		strings.Join(paths, ", "), demoCallers, total)

	d := &demoRun{want: newGoods(), view: newView(a.stderr, a.live), each: total / time.Duration(len(paths)*len(methods))}
	defer d.view.end()
	for _, path := range paths {
		if err := d.path(ctx, path, methods); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	d.view.end()
	if asJSON {
		for _, r := range d.rows {
			if err := a.printLine(r); err != nil {
				return err
			}
		}
	} else {
		writeRows(a.stdout, d.rows)
	}
	return d.verdict(a, asJSON)
}

// verdict says what the rows mean, and fails unless every answer was right.
//
// A row without any answer fails although none was wrong: nothing was shown.
func (d *demoRun) verdict(a *app, asJSON bool) error {
	var calls, verified uint64
	for _, r := range d.rows {
		calls, verified = calls+r.Calls, verified+r.Verified
		if r.Verified == 0 {
			return fmt.Errorf("%s %s: not a single call was answered", r.Path, r.Method)
		}
	}
	if verified != calls {
		return fmt.Errorf("%d of %d answers were wrong; the first: %v", calls-verified, calls, d.first)
	}
	if !asJSON {
		fmt.Fprintf(a.stdout, "%s\n%s\n", d.summary(), a.green(fmt.Sprintf("%d calls, every answer was right", calls)))
	}
	return nil
}

// summary says what a call took on each path: the median row's p50.
func (d *demoRun) summary() string {
	of := map[string][]float64{}
	var paths []string
	for _, r := range d.rows {
		if of[r.Path] == nil {
			paths = append(paths, r.Path)
		}
		of[r.Path] = append(of[r.Path], r.P50)
	}
	var parts []string
	for _, path := range paths {
		slices.Sort(of[path])
		parts = append(parts, fmt.Sprintf("%.0f µs over %s", of[path][len(of[path])/2], path))
	}
	return "p50 of the middle method: " + strings.Join(parts, ", ")
}

// A demoRun is the state of one demo.
type demoRun struct {
	want  *goods // made apart from what the services have
	view  *view
	each  time.Duration // for one row, warm-up included
	rows  []demoRow
	first error // the first wrong answer
}

// path starts the shop on one path and drives all methods on it.
//
// Each path has services and tables of its own, so that nothing is warm from the one
// before.
func (d *demoRun) path(ctx context.Context, path string, methods []demoMethod) error {
	s, err := openShop(ctx, path, newGoods())
	if err != nil {
		return err
	}
	for _, m := range methods {
		if err := d.row(ctx, path, s, m); err != nil {
			s.close()
			return err
		}
	}
	return s.close()
}

// row drives one method and appends what it showed: first as fast as the callers
// can, for the rate, then at a part of that, for latency. Three tenths of the
// time are for the first, a tenth each for two warm-ups, the rest for the second,
// which needs more calls: its 99th percentile is a call in a hundred.
func (d *demoRun) row(ctx context.Context, path string, s *shopClients, m demoMethod) error {
	var calls, wrong atomic.Uint64
	var first atomic.Pointer[error]
	row := demoRow{Path: path, Method: m.name}
	cfg := load.Config{
		Callers: demoCallers, Warmup: d.each / 10, Duration: d.each * 3 / 10, Timeout: 10 * time.Second,
		Tick: 50 * time.Millisecond,
		Call: func(ctx context.Context, _ int, seq uint64) error {
			calls.Add(1)
			err := m.call(ctx, s, d.want, seq)
			if err != nil {
				wrong.Add(1)
				err = fmt.Errorf("%s over %s, call %d: %w", m.name, path, seq, err)
				first.CompareAndSwap(nil, &err)
			}
			return err
		},
		Progress: func(p load.Snapshot) {
			row.CallsPerS = max(row.CallsPerS, p.Rate)
			d.view.show(d.live(row)...)
		},
	}
	peak, err := load.Run(ctx, cfg)
	if err != nil {
		return err
	}
	// Whole calls: digits behind the point would claim what a short run cannot know.
	row.CallsPerS = float64(int64(peak.PerSecond()))
	// Callers of their own for what is due while others wait.
	cfg.Rate, cfg.Poisson, cfg.Precise, cfg.Callers = max(demoLoad*row.CallsPerS, 1), true, true, 4*demoCallers
	// What is left of the row's time, both warm-ups taken off.
	cfg.Duration = d.each - cfg.Warmup - cfg.Duration - cfg.Warmup
	res, err := load.Run(ctx, cfg)
	if err != nil {
		return err
	}
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	row.Calls, row.Errors = calls.Load(), wrong.Load()
	row.Verified = row.Calls - row.Errors
	row.P50, row.P99, row.CPU = us(res.Latency.Quantile(.5)), us(res.Latency.Quantile(.99)), us(res.CPUPerCall())
	if p := first.Load(); p != nil && d.first == nil {
		d.first = *p
	}
	d.rows = append(d.rows, row)
	d.view.line("%-6s  %-32s %9d calls right, %8.0f a second", path, m.name, row.Verified, row.CallsPerS)
	return nil
}

// live draws the rows that are done and the one that is under way.
func (d *demoRun) live(now demoRow) []viewLine {
	// The longest bar is the fastest row so far, also while the first one still has no calls.
	most := max(now.CallsPerS, 1)
	for _, r := range d.rows {
		most = max(most, r.CallsPerS)
	}
	var lines []viewLine
	add := func(r demoRow, past bool) {
		bar := strings.Repeat("█", int(r.CallsPerS/most*24))
		lines = append(lines, viewLine{fmt.Sprintf("%-6s  %-29s %9.0f/s  %s", r.Path, r.Method, r.CallsPerS, bar), past})
	}
	for _, r := range d.rows {
		add(r, true)
	}
	add(now, false)
	return lines
}

// writeRows prints the table. Its columns have fixed widths, so that those of two
// runs can be laid side by side.
func writeRows(w io.Writer, rows []demoRow) {
	const head, body = "%-6s  %-29s %9s %9s %9s %9s %9s %8s %7s\n", "%-6s  %-29s %9d %9d %9.0f %9.1f %9.1f %8.1f %7d\n"
	fmt.Fprintf(w, head, "path", "method", "calls", "verified", "calls/s", "p50 µs", "p99 µs", "CPU µs", "errors")
	for _, r := range rows {
		fmt.Fprintf(w, body, r.Path, r.Method, r.Calls, r.Verified, r.CallsPerS, r.P50, r.P99, r.CPU, r.Errors)
	}
}
