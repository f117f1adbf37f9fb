package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// A simdRow is how fast one peer brings a list of numbers from the wire's byte
// order to the host's and back, in bytes of the list.
type simdRow struct {
	Bench    string  `json:"bench"`
	Peer     string  `json:"peer"`
	Skipped  string  `json:"skipped,omitempty"`
	Type     string  `json:"type"`
	Elements int     `json:"elements"`
	Round    int     `json:"round"`
	Offset   int     `json:"offset"` // of the list from a cache line's begin
	GBPerS   float64 `json:"gb_per_s"`
	Read     float64 `json:"read_gb_per_s"`
	Write    float64 `json:"write_gb_per_s"`
	Errors   int64   `json:"errors"`
}

var (
	simdNames = []string{"limosa", "loop", "memcpy"}
	simdTypes = []string{"i16", "i32", "i64"} // a double is swapped as an i64
)

// A simdPlan is what the flags ask for.
type simdPlan struct {
	peers, types []string
	elements     []int
	rounds       int
	window       time.Duration
	seed         int64
	json         bool
}

// parseSIMD reads the flags of the simd benchmark.
func parseSIMD(args []string) (*simdPlan, error) {
	p := new(simdPlan)
	fs := flag.NewFlagSet("simd", flag.ContinueOnError)
	peers := fs.String("peers", strings.Join(simdNames, ","), "peers to measure, separated by commas")
	types := fs.String("types", strings.Join(simdTypes, ","), "types of the elements; a double is as an i64")
	elements := fs.String("elements", "4,16,64,1024,131072", "numbers of elements")
	fs.IntVar(&p.rounds, "rounds", 3, "rounds; every peer runs once in each, in rotated order")
	fs.DurationVar(&p.window, "d", 100*time.Millisecond, "measured window, after a warm-up of half of it")
	fs.Int64Var(&p.seed, "seed", 1, "seed of the numbers, and of where the list begins")
	err := parseShared(fs, args, &p.json, "lists of numbers to the wire's byte order and back, against a loop and memcpy")
	if err == nil {
		p.peers, err = parseNames(*peers, simdNames)
	}
	if err == nil {
		p.types, err = parseNames(*types, simdTypes)
	}
	if err == nil {
		p.elements, err = parseInts("elements", *elements, 1)
	}
	if err == nil && (p.rounds < 1 || p.window <= 0) {
		err = usageError{"-rounds is at least 1, -d more than 0"}
	}
	return p, err
}

// simdMain runs the simd benchmark: everything in this process.
func simdMain(ctx context.Context, args []string) error {
	p, err := parseSIMD(args)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(uint64(p.seed), 1))
	rows, done := json.NewEncoder(os.Stdout), []*simdRow(nil)
	for round := range p.rounds {
		for i, typ := range p.types {
			for j, n := range p.elements {
				// A list begins wherever the field before it ends.
				list := newSIMDList(typ, n, random.IntN(64), random)
				for k := range p.peers {
					if ctx.Err() != nil {
						return context.Cause(ctx)
					}
					r := &simdRow{Bench: "simd", Peer: p.peers[(k+round+i+j)%len(p.peers)], Type: typ, Elements: n, Round: round + 1, Offset: list.offset}
					measureSIMD(r, list, p.window)
					done = append(done, r)
					if err := rows.Encode(r); err != nil {
						return err
					}
				}
			}
		}
	}
	if !p.json {
		simdTable(os.Stderr, p, done)
	}
	return nil
}

// measureSIMD fills in a row: half of the window for each way.
func measureSIMD(r *simdRow, list *simdList, window time.Duration) {
	runtime.GC()
	read, write := list.ways(r.Peer)
	perByte := func(way func(n int)) float64 { return nsEach(way, window/2) / float64(len(list.wire)) }
	list.clear()
	in := perByte(read)
	r.Errors = list.readErrors(r.Peer)
	clear(list.wire)
	out := perByte(write)
	r.Errors += list.writeErrors()
	r.Read, r.Write, r.GBPerS = 1/in, 1/out, 2/(in+out)
}

// nsEach does it again and again for a window, after a warm-up of half of it,
// and gives what one took.
func nsEach(do func(n int), window time.Duration) float64 {
	// As many at a time as take about a hundredth of the window.
	n := 1
	for warm := time.Now(); time.Since(warm) < window/2; {
		start := time.Now()
		if do(n); time.Since(start) < window/100 {
			n *= 2
		}
	}
	all, start := 0, time.Now()
	for time.Since(start) < window {
		do(n)
		all += n
	}
	return float64(time.Since(start)) / float64(all)
}

// simdTable prints medians, and the medians of each round's ratios to the loop
// and to memcpy.
func simdTable(w io.Writer, p *simdPlan, rows []*simdRow) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\ntype\telements\tpeer\tGB/s\treading\twriting\t/ loop\t/ memcpy\t\n")
	of := func(typ string, n int, peer string) []*simdRow {
		return slices.DeleteFunc(slices.Clone(rows), func(r *simdRow) bool { return r.Type != typ || r.Elements != n || r.Peer != peer })
	}
	for _, typ := range p.types {
		for _, n := range p.elements {
			for _, peer := range p.peers {
				mine := of(typ, n, peer)
				over := func(other string) string {
					var ratios []float64
					for i, r := range of(typ, n, other) {
						ratios = append(ratios, mine[i].GBPerS/r.GBPerS)
					}
					if len(ratios) == 0 {
						return ""
					}
					return fmt.Sprintf("%.2f", middle(ratios))
				}
				var both, read, write []float64
				for _, r := range mine {
					both, read, write = append(both, r.GBPerS), append(read, r.Read), append(write, r.Write)
				}
				fmt.Fprintf(tw, "%s\t%d\t%s\t%.1f\t%.1f\t%.1f\t%s\t%s\t\n", typ, n, peer, middle(both), middle(read), middle(write), over("loop"), over("memcpy"))
			}
		}
	}
	tw.Flush()
}
