package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/pprof/profile"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// whereMain draws what a call of one peer spends its time on.
func whereMain(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("where", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	peer := flags.String("peer", "limosa", "whose calls")
	callers := flags.Int("callers", 100, "callers at the same time")
	payload := flags.Int("payload", 1024, "bytes of text in a message")
	length := flags.Duration("d", 3*time.Second, "how long, after a warm-up of half of it")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		flags.SetOutput(os.Stderr)
		fmt.Fprintln(os.Stderr, "where shows what a call spends its time on, client and server together:\n\n\tgo run ./bench where -callers 1")
		flags.PrintDefaults()
		return flag.ErrHelp
	} else if err != nil || flags.NArg() > 0 {
		return usageError{fmt.Sprintf("where: %v", cmp.Or(err, fmt.Errorf("unexpected %q", flags.Arg(0))))}
	}
	dir, err := os.MkdirTemp("", "limosa-where-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, self, "rpc", "-peers", *peer, "-callers", fmt.Sprint(*callers), "-payload", fmt.Sprint(*payload), "-rounds", "1", "-d", length.String(), "-o", "json")
	cmd.Env = append(os.Environ(), trial.ProfileDir+"="+dir)
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("rpc: %w", err)
	}
	var row struct {
		CPU     float64 `json:"cpu_us"`
		Skipped string  `json:"skipped"`
	}
	if err := json.Unmarshal(out, &row); err != nil {
		return fmt.Errorf("rpc said %.80q: %w", out, err)
	}
	if row.Skipped != "" {
		return errors.New(row.Skipped)
	}
	shares, err := readProfiles(dir)
	if err != nil {
		return err
	}
	draw(os.Stdout, fmt.Sprintf("%s, %d callers, %d bytes: %.1f us of CPU a call", *peer, *callers, *payload, row.CPU), shares, row.CPU)
	return nil
}

// A part is a kind of work that a sample belongs to if one of its functions is
// on the stack; the first part that fits has it.
type part struct {
	name  string
	signs []string
}

var parts = []part{
	{"kernel: send", []string{"internal/sys.Send", "internal/sys.Writev", "internal/sys.writev"}},
	{"kernel: receive", []string{"internal/sys.Recv"}},
	{"garbage collection", []string{"runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.gcAssist", "runtime.bgscavenge", "runtime.gcStart"}},
	{"allocation", []string{"runtime.mallocgc"}},
	{"load generator", []string{"trial.(*limit)", "stats.(*Histogram)", "trial.Verify", "trial.Fill"}},
	{"codec", []string{"limosa/thrift.(", "limosa/internal/codec", "thrift.Binary"}},
	{"protocol", []string{"limosa/ttheader."}},
	{"buffers, connection", []string{"limosa/buf.", "limosa/netio."}},
	{"engine", []string{"limosa/mux.", "limosa/rpc."}},
	{"client, pool, stub", []string{"limosa.(*", "bench/echo/limosa"}},
	{"scheduler", []string{"runtime."}},
}

// partOf finds the part of a sample. The kernel, the collector and the
// allocator are told by any function on the stack, the rest by the innermost
// that says something.
func partOf(stack []string) string {
	has := func(f string, p part) bool {
		return slices.ContainsFunc(p.signs, func(s string) bool { return strings.Contains(f, s) })
	}
	for _, p := range parts[:4] {
		if slices.ContainsFunc(stack, func(f string) bool { return has(f, p) }) {
			return p.name
		}
	}
	for _, f := range stack {
		for _, p := range parts[4:] {
			if p.name != "scheduler" && has(f, p) {
				return p.name
			}
		}
	}
	if len(stack) > 0 && has(stack[0], parts[len(parts)-1]) {
		return "scheduler"
	}
	return "other"
}

// readProfiles adds up the profiles in dir; the shares sum up to 1.
func readProfiles(dir string) (map[string]float64, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.prof"))
	if err != nil {
		return nil, err
	}
	shares, total := map[string]float64{}, 0.0
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, err
		}
		p, err := profile.Parse(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		for _, s := range p.Sample {
			var stack []string
			for _, loc := range s.Location {
				for _, line := range loc.Line {
					stack = append(stack, line.Function.Name)
				}
			}
			n := float64(s.Value[len(s.Value)-1])
			shares[partOf(stack)] += n
			total += n
		}
	}
	for name := range shares {
		shares[name] /= total
	}
	return shares, nil
}

// draw prints the parts as bars, the largest first.
func draw(w io.Writer, title string, shares map[string]float64, us float64) {
	fmt.Fprintln(w, title)
	var names []string
	for name := range shares {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(shares[b], shares[a]), strings.Compare(a, b)) })
	for _, name := range names {
		share := shares[name]
		fmt.Fprintf(w, "%-20s %5.1f %%  %6.2f us  %s\n", name, 100*share, share*us, strings.Repeat("█", int(share*100+.5)))
	}
}
