package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// A netPlan is what the flags of net, idle and accept ask for.
type netPlan struct {
	bench    string
	peers    []string
	conns    []int
	payloads []int
	depths   []int
	rounds   int
	window   time.Duration
	seed     int64
	json     bool
}

// A netSetting is one measurement of net, idle or accept.
type netSetting struct {
	Peer    string
	Round   int
	Conns   int
	Payload int // bytes of a frame behind its four of length
	Depth   int // requests in flight on each connection; 0 where there is no choice
}

// A netRow is what such a measurement showed; which fields there are depends on
// the benchmark. Times are in microseconds, CPU is the server's alone, for each
// message (net) or connection (accept).
type netRow struct {
	Bench        string  `json:"bench"`
	Peer         string  `json:"peer"`
	Round        int     `json:"round"`
	Conns        int     `json:"conns"`
	Payload      int     `json:"payload"`
	Depth        int     `json:"depth,omitempty"`
	Messages     uint64  `json:"messages,omitempty"`
	MsgsPerS     float64 `json:"msgs_per_s,omitempty"`
	P50          float64 `json:"p50_us,omitempty"`
	P99          float64 `json:"p99_us,omitempty"`
	ConnsPerS    float64 `json:"conns_per_s,omitempty"`
	BytesPerConn float64 `json:"bytes_per_conn,omitempty"`
	ServerCPU    float64 `json:"server_cpu_us,omitempty"`
	Errors       int     `json:"errors"` // always 0: a measurement ends with its first error
}

// A netColumn is a figure of the table.
type netColumn struct {
	title string
	of    func(*netRow) float64
}

// serverCPUOf is the column that rows are ordered by.
func serverCPUOf(r *netRow) float64 { return r.ServerCPU }

// netMain runs the net benchmark: frames echoed by a server of each peer, all
// called by the same C client.
func netMain(ctx context.Context, args []string) error {
	p, err := parseNet(args)
	if err != nil {
		return err
	}
	progs, done, err := buildC(ctx)
	if err != nil {
		return p.skipAll(err)
	}
	defer done()
	return p.run(ctx, func(ctx context.Context, s netSetting) (*netRow, error) { return measureNet(ctx, p, progs, s) }, "c-epoll",
		netColumn{"msgs/s", func(r *netRow) float64 { return r.MsgsPerS }},
		netColumn{"p50 us", func(r *netRow) float64 { return r.P50 }},
		netColumn{"p99 us", func(r *netRow) float64 { return r.P99 }},
		netColumn{"server CPU us", serverCPUOf})
}

// parseNet reads the flags of the net benchmark.
func parseNet(args []string) (*netPlan, error) {
	p := &netPlan{bench: "net"}
	fs := flag.NewFlagSet("net", flag.ContinueOnError)
	conns := fs.String("conns", "1,100,1000", "numbers of connections")
	payload := fs.String("payload", "64", "bytes of a frame behind its four of length; may be a list")
	depth := fs.String("depth", "1", "requests in flight on each connection; may be a list")
	fs.DurationVar(&p.window, "d", 2*time.Second, "measured window, after a warm-up of half of it")
	usual := append(echoNames(), "c-epoll")
	err := p.parse(fs, args, append(usual, stepPeer), usual, "frames echoed over TCP, by a constant C client; "+stepPeer+" answers within the step")
	if err == nil {
		p.conns, err = parseInts("conns", *conns, 1)
	}
	if err == nil {
		p.payloads, err = parseInts("payload", *payload, 1)
	}
	if err == nil {
		p.depths, err = parseInts("depth", *depth, 1)
	}
	return p, err
}

// parse adds the flags that all of net, idle and accept have, and parses all.
func (p *netPlan) parse(fs *flag.FlagSet, args, known, usual []string, about string) error {
	peers := fs.String("peers", strings.Join(usual, ","), "peers to measure, separated by commas; all: every peer")
	fs.IntVar(&p.rounds, "rounds", 3, "rounds; every peer runs once in each, in rotated order")
	fs.Int64Var(&p.seed, "seed", 1, "seed of what the frames hold")
	if fs.Lookup("d") == nil {
		fs.DurationVar(&p.window, "d", 2*time.Second, "taken for the sake of scripts: a measurement ends with its connections")
	}
	err := parseShared(fs, args, &p.json, about)
	if err == nil {
		p.peers, err = parseNames(*peers, known)
	}
	if err == nil && (p.rounds < 1 || p.window < 2*time.Millisecond) {
		err = usageError{"-rounds is at least 1, -d at least 2ms"}
	}
	return err
}

// settings gives the measurements in order, as plan.measurements does.
func (p *netPlan) settings(peers []string) (all []netSetting) {
	for round := range p.rounds {
		for i, conns := range p.conns {
			for j, payload := range p.payloads {
				for l, depth := range p.depths {
					for k := range peers {
						all = append(all, netSetting{peers[(k+round+i+j+l)%len(peers)], round + 1, conns, payload, depth})
					}
				}
			}
		}
	}
	return all
}

// skip tells of a peer that cannot run here, in the output too: a row that is missing would look like an oversight.
func (p *netPlan) skip(rows *json.Encoder, peer, why string) error {
	return rows.Encode(trial.Row{Bench: p.bench, Peer: peer, Skipped: why})
}

// skipAll says that nothing can be measured here. A missing compiler is no
// failure.
func (p *netPlan) skipAll(why error) error {
	rows := json.NewEncoder(os.Stdout)
	for _, peer := range p.peers {
		if err := p.skip(rows, peer, why.Error()); err != nil {
			return err
		}
	}
	if errors.As(why, new(noCompiler)) {
		return nil
	}
	return why
}

// run measures everything and prints a row each, and at last the table, with
// the ratios of the last column to those of peer base.
func (p *netPlan) run(ctx context.Context, measure func(context.Context, netSetting) (*netRow, error), base string, columns ...netColumn) error {
	rows := json.NewEncoder(os.Stdout)
	var able []string
	for _, name := range p.peers {
		if why := echoLater(name); why == "" {
			able = append(able, name)
		} else if err := p.skip(rows, name, why); err != nil {
			return err
		}
	}
	var done []*netRow
	gone := map[string]bool{} // peers that could not run: one row says so, once
	var failed error
	all := p.settings(able)
	for i, s := range all {
		if gone[s.Peer] {
			continue
		}
		fmt.Fprintf(os.Stderr, "%d/%d round %d, %d connections, %d bytes: %s\n", i+1, len(all), s.Round, s.Conns, s.Payload, s.Peer)
		r, err := measure(ctx, s)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			gone[s.Peer] = true
			failed = errors.Join(failed, fmt.Errorf("%s: %w", s.Peer, err))
			if err := p.skip(rows, s.Peer, err.Error()); err != nil {
				return err
			}
			continue
		}
		r.Bench, r.Peer, r.Round, r.Conns, r.Payload, r.Depth = p.bench, s.Peer, s.Round, s.Conns, s.Payload, s.Depth
		done = append(done, r)
		if err := rows.Encode(r); err != nil {
			return err
		}
	}
	if !p.json {
		p.table(os.Stderr, done, base, columns)
	}
	return failed
}

// table prints the medians over the rounds, and of the last column the median
// of each round's ratio to the base.
func (p *netPlan) table(w io.Writer, rows []*netRow, base string, columns []netColumn) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\nconns\tbytes\tdepth\tpeer\t")
	for _, c := range columns {
		fmt.Fprintf(tw, "%s\t", c.title)
	}
	fmt.Fprintf(tw, "/ %s\t\n", base)
	last := columns[len(columns)-1]
	one := *p
	one.rounds = 1
	for _, s := range one.settings([]string{""}) {
		of := func(peer string) []*netRow {
			return slices.DeleteFunc(slices.Clone(rows), func(r *netRow) bool {
				return r.Peer != peer || r.Conns != s.Conns || r.Payload != s.Payload || r.Depth != s.Depth
			})
		}
		for _, peer := range p.peers {
			mine := of(peer)
			if len(mine) == 0 {
				continue
			}
			fmt.Fprintf(tw, "%d\t%d\t%d\t%s\t", s.Conns, s.Payload, s.Depth, peer)
			for _, c := range columns {
				var vs []float64
				for _, r := range mine {
					vs = append(vs, c.of(r))
				}
				fmt.Fprintf(tw, "%.4g\t", middle(vs))
			}
			fmt.Fprintf(tw, "%s\t\n", netRatio(mine, of(base), last.of))
		}
	}
	tw.Flush()
}

// netRatio is the median of the ratios of rounds that both have.
func netRatio(mine, base []*netRow, of func(*netRow) float64) string {
	var vs []float64
	for _, r := range mine {
		for _, b := range base {
			if r.Round == b.Round && of(b) > 0 {
				vs = append(vs, of(r)/of(b))
			}
		}
	}
	if len(vs) == 0 {
		return ""
	}
	return fmt.Sprintf("%.3f", middle(vs))
}
