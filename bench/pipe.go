package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/internal/sys"
	"github.com/limosa-rpc/limosa/netio/relay"
)

// A pipeRow is what having a kernel pipe for a moment costs: in one goroutine,
// and per pipe while every P does it.
type pipeRow struct {
	Bench      string  `json:"bench"`
	Peer       string  `json:"peer"`
	Skipped    string  `json:"skipped,omitempty"`
	Round      int     `json:"round"`
	NS         float64 `json:"ns"`
	ParallelNS float64 `json:"parallel_ns"`
	Allocs     float64 `json:"allocs"`
	Errors     int64   `json:"errors"`
}

var pipeNames = []string{"pooled", "new"}

// pipeBatch is how many pipes are had between two looks at the clock.
const pipeBatch = 64

// pipeSize is what a pipe holds, for both peers: the pool's default.
const pipeSize = 256 << 10

// pipeMain runs the pipe benchmark.
func pipeMain(ctx context.Context, args []string) error {
	fs := flag.NewFlagSet("pipe", flag.ContinueOnError)
	list := fs.String("peers", strings.Join(pipeNames, ","), "peers to measure, separated by commas")
	rounds := fs.Int("rounds", 3, "rounds; every peer runs once in each, in rotated order")
	window := fs.Duration("d", 200*time.Millisecond, "measured window, after a warm-up of half of it")
	asJSON := false
	if err := parseShared(fs, args, &asJSON, "a kernel pipe from the pool of netio/relay, against one that is made and closed"); err != nil {
		return err
	}
	peers, err := parseNames(*list, pipeNames)
	if err != nil {
		return err
	}
	if *rounds < 1 || *window <= 0 {
		return usageError{"-rounds is at least 1, -d more than 0"}
	}
	pool := new(relay.Pipes)
	defer pool.Close()
	do := map[string]func() bool{
		"pooled": func() bool {
			k := pool.Take()
			pool.Put(k)
			return k != nil
		},
		"new": func() bool {
			r, w, _, err := sys.OpenPipe(pipeSize)
			if err == nil {
				err = errors.Join(sys.Close(r), sys.Close(w))
			}
			return err == nil
		},
	}
	rows := json.NewEncoder(os.Stdout)
	var done []*pipeRow
	for round := range *rounds {
		for k := range peers {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			peer := peers[(k+round)%len(peers)]
			r := &pipeRow{Bench: "pipe", Peer: peer, Round: round + 1}
			if do[peer]() {
				measurePipe(r, do[peer], *window)
				done = append(done, r)
			} else {
				r.Skipped = "this system gives no pipes"
			}
			if err := rows.Encode(r); err != nil {
				return err
			}
		}
	}
	if !asJSON {
		pipeTable(os.Stderr, peers, done)
	}
	return nil
}

// measurePipe counts how often do can be done in the window.
func measurePipe(r *pipeRow, do func() bool, window time.Duration) {
	repeat(1, do, window/2)
	before := trial.TakeMark().Mallocs
	n, took, errs := repeat(1, do, window)
	// What the clock, the goroutine and the mark itself allocate is not per pipe.
	r.Allocs = max(float64(trial.TakeMark().Mallocs-before)-pipeOverhead, 0) / float64(n)
	r.NS, r.Errors = float64(took)/float64(n), errs
	n, took, errs = repeat(runtime.GOMAXPROCS(0), do, window)
	r.ParallelNS = float64(took) / float64(n)
	r.Errors += errs
}

// pipeOverhead bounds the allocations of a repeat and a mark.
const pipeOverhead = 100

// repeat does it in so many goroutines for a window of time.
func repeat(goroutines int, do func() bool, window time.Duration) (n int64, took time.Duration, errs int64) {
	var all, failed atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range goroutines {
		wg.Go(func() {
			n, bad := int64(0), int64(0)
			for time.Since(start) < window {
				for range pipeBatch {
					if !do() {
						bad++
					}
				}
				n += pipeBatch
			}
			all.Add(n)
			failed.Add(bad)
		})
	}
	wg.Wait()
	return all.Load(), time.Since(start), failed.Load()
}

// pipeTable prints medians, and the median of each round's ratio to a new pipe.
func pipeTable(w io.Writer, peers []string, rows []*pipeRow) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\npeer\tns\tparallel ns\tallocs\t/ new\tparallel / new\t\n")
	base := map[int]*pipeRow{}
	for _, r := range rows {
		if r.Peer == "new" {
			base[r.Round] = r
		}
	}
	for _, peer := range peers {
		var ns, par, allocs, over, parOver []float64
		for _, r := range rows {
			if r.Peer != peer {
				continue
			}
			ns, par, allocs = append(ns, r.NS), append(par, r.ParallelNS), append(allocs, r.Allocs)
			if b := base[r.Round]; b != nil {
				over, parOver = append(over, r.NS/b.NS), append(parOver, r.ParallelNS/b.ParallelNS)
			}
		}
		if len(ns) == 0 {
			continue
		}
		ratios := "\t"
		if len(over) > 0 {
			ratios = fmt.Sprintf("%.4f\t%.4f", middle(over), middle(parOver))
		}
		fmt.Fprintf(tw, "%s\t%.1f\t%.1f\t%.3f\t%s\t\n", peer, middle(ns), middle(par), middle(allocs), ratios)
	}
	tw.Flush()
}
