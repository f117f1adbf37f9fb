package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/cmd/load"
	"github.com/limosa-rpc/limosa/rpc/stub"
)

// A benchReport is what bench showed, all over the measured window.
type benchReport struct {
	Target     string            `json:"target"`
	Method     string            `json:"method"`
	Mode       string            `json:"mode"` // closed or open
	Callers    int               `json:"callers"`
	Rate       float64           `json:"rate,omitempty"` // asked for, calls a second
	Seconds    float64           `json:"seconds"`
	Calls      uint64            `json:"calls"`
	Errors     uint64            `json:"errors"`
	ByCode     map[string]uint64 `json:"errors_by_code,omitempty"`
	First      string            `json:"first_error,omitempty"`
	Unfinished uint64            `json:"unfinished,omitempty"` // see load.Result
	CallsPerS  float64           `json:"calls_per_s"`
	Mean       float64           `json:"mean_us"`
	P50        float64           `json:"p50_us"`
	P90        float64           `json:"p90_us"`
	P99        float64           `json:"p99_us"`
	P999       float64           `json:"p999_us"`
	Max        float64           `json:"max_us"`
	LagP99     float64           `json:"lag_p99_us,omitempty"` // how late calls were begun, open loop
	ClientCPU  float64           `json:"client_cpu_us"`        // of this process for each call
}

func (a *app) benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "load a method and measure it",
		UsageText: "limosa bench -idl FILE ADDR Service/Method [JSON] [-c 64] [-d 10s] [-rate N]",
		Description: `Without -rate every caller makes its next call when the last one has ended (a
closed loop). With -rate calls are due at that rate whatever the server does,
and latency counts from when a call was due (an open loop): what a user would
see. Calls that failed are counted by code and are no part of the latencies.
The exit code is 1 if any call failed.

Example:
  limosa bench -idl idl/hello.thrift :8888 Hello/Echo '{"message":"hi"}' -c 64 -d 10s -rate 5000`,
		Flags: append(targetFlags(),
			&cli.StringFlag{Name: "json", Usage: "the request, which may also stand behind the method as for call; {} if not given"},
			&cli.IntFlag{Name: "c", Value: 64, Usage: "callers, each with one call under way (64 if not given)"},
			&cli.DurationFlag{Name: "d", Value: 10 * time.Second, Usage: "time to measure (10s if not given)"},
			&cli.DurationFlag{Name: "warmup", Usage: "load before that (a fifth of -d, at most 2s, if not given)"},
			&cli.FloatFlag{Name: "rate", Usage: "calls a second, over all callers; as fast as answers come if not given"},
			&cli.DurationFlag{Name: "timeout", Value: 10 * time.Second, Usage: "deadline of each call (10s if not given)"},
			outputFlag(),
		),
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := nargs(c, 2, 3, "ADDR Service/Method [JSON]"); err != nil {
				return err
			}
			if c.NArg() == 3 && c.IsSet("json") {
				return usagef("the request is given twice: as an argument and with -json")
			}
			cfg, err := benchConfig(c)
			if err != nil {
				return err
			}
			body, err := a.body(cmp.Or(c.Args().Get(2), c.String("json")))
			if err != nil {
				return err
			}
			t, err := openTarget(c, c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}
			defer t.client.Close()
			if t.streams() {
				return usagef("%s/%s is a stream; bench measures methods with one request and one answer", t.service.Name, t.method.Name)
			}
			_, args, err := t.arguments(body)
			if err != nil {
				return err
			}
			return a.bench(ctx, t, args, cfg, c.String("o") == "json")
		},
	}
}

// benchConfig checks the flags.
func benchConfig(c *cli.Command) (load.Config, error) {
	cfg := load.Config{
		Callers: c.Int("c"), Rate: c.Float("rate"), Duration: c.Duration("d"), Warmup: c.Duration("warmup"),
		Timeout: c.Duration("timeout"), Precise: true,
	}
	switch {
	case cfg.Callers < 1 || cfg.Callers > 100_000:
		return cfg, usagef("-c %d: want from 1 to 100000 callers", cfg.Callers)
	case cfg.Duration <= 0:
		return cfg, usagef("-d %v: want a time above zero", cfg.Duration)
	case cfg.Rate < 0 || cfg.Rate > 1e8 || c.IsSet("rate") && cfg.Rate == 0:
		return cfg, usagef("-rate %v: want calls a second, above zero", cfg.Rate)
	case cfg.Timeout <= 0:
		return cfg, usagef("-timeout %v: want a time above zero", cfg.Timeout)
	case cfg.Warmup < 0:
		return cfg, usagef("-warmup %v: want a time of zero or more", cfg.Warmup)
	}
	if !c.IsSet("warmup") {
		cfg.Warmup = min(cfg.Duration/5, 2*time.Second)
	}
	return cfg, nil
}

func (a *app) bench(ctx context.Context, t *target, args []byte, cfg load.Config, asJSON bool) error {
	method := t.rawMethod()
	bodies := make([]rawBody, cfg.Callers)
	cfg.Call = func(ctx context.Context, worker int, _ uint64) error {
		raw := &bodies[worker]
		raw.sent = args
		c := stub.Make(method, t.service.Name, raw, raw)
		c.Header = t.header.Clone()
		if err := t.client.Do(ctx, c); err != nil {
			return err
		}
		return t.outcome(raw.got)
	}
	// One call before the load: what is wrong with the whole is told at once.
	first, cancel := context.WithTimeout(ctx, cfg.Timeout)
	err := cfg.Call(first, 0, 0)
	cancel()
	if err != nil {
		return fmt.Errorf("the first call failed: %w", err)
	}

	v := newView(a.stderr, a.live)
	defer v.end()
	cfg.Progress = func(s load.Snapshot) {
		phase, of := "measuring", cfg.Duration
		if s.Warming {
			phase, of = "warming up", cfg.Warmup
		}
		text := fmt.Sprintf("%s %5.1fs of %v  %9.0f calls/s  %d calls, %d failed", phase, s.Elapsed.Seconds(), of, s.Rate, s.Calls, s.Errors)
		v.show(viewLine{text: text})
	}
	v.line("%s/%s at %s: %d callers for %v, after %v of warm-up", t.service.Name, t.method.Name, t.client.Target, cfg.Callers, cfg.Duration, cfg.Warmup)
	res, err := load.Run(ctx, cfg)
	v.end()
	if err != nil && ctx.Err() == nil {
		return err
	}
	// Ctrl-C ends the run early; what it has shown until then is told.
	r := report(t, cfg, res)
	if asJSON {
		err = json.NewEncoder(a.stdout).Encode(r)
	} else {
		err = a.benchTable(r)
	}
	if err != nil {
		return err
	}
	if r.Errors > 0 {
		return fmt.Errorf("%d of %d calls failed; the first: %s", r.Errors, r.Errors+r.Calls, r.First)
	}
	return nil
}

// report turns a result into what is told.
func report(t *target, cfg load.Config, res *load.Result) benchReport {
	us := func(d time.Duration) float64 { return float64(d) / 1e3 }
	q := func(q float64) float64 { return us(res.Latency.Quantile(q)) }
	r := benchReport{
		Target: t.client.Target, Method: t.service.Name + "/" + t.method.Name, Mode: "closed",
		Callers: cfg.Callers, Rate: cfg.Rate, Seconds: res.Elapsed.Seconds(),
		Calls: res.Calls, Errors: res.Errors, Unfinished: res.Unfinished, CallsPerS: res.PerSecond(),
		Mean: us(res.Latency.Mean()), P50: q(.5), P90: q(.9), P99: q(.99), P999: q(.999), Max: us(res.Latency.Max()),
		ClientCPU: us(res.CPUPerCall()),
	}
	if cfg.Rate > 0 {
		r.Mode, r.LagP99 = "open", us(res.Lag.Quantile(.99))
	}
	if res.First != nil {
		r.First = oneLine(res.First.Error())
	}
	for code, n := range res.ByCode {
		if r.ByCode == nil {
			r.ByCode = make(map[string]uint64)
		}
		r.ByCode[code.String()] = n
	}
	return r
}

func (a *app) benchTable(r benchReport) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	loop := fmt.Sprintf("closed loop, %d callers", r.Callers)
	if r.Mode == "open" {
		loop = fmt.Sprintf("open loop at %.0f calls/s, up to %d at once", r.Rate, r.Callers)
	}
	fmt.Fprintf(w, "%s at %s\t%s\n", r.Method, r.Target, loop)
	fmt.Fprintf(w, "calls\t%d in %.2f s, %.0f/s\n", r.Calls, r.Seconds, r.CallsPerS)
	fmt.Fprintf(w, "latency\tp50 %s  p90 %s  p99 %s  p99.9 %s  max %s  mean %s\n", ms(r.P50), ms(r.P90), ms(r.P99), ms(r.P999), ms(r.Max), ms(r.Mean))
	fmt.Fprintf(w, "CPU here\t%.1f µs a call\n", r.ClientCPU)
	if r.Mode == "open" {
		fmt.Fprintf(w, "begun late\tp99 %s\n", ms(r.LagP99))
	}
	if r.Unfinished > 0 {
		fmt.Fprintf(w, "unfinished\t%d\n", r.Unfinished)
	}
	for _, code := range slices.Sorted(maps.Keys(r.ByCode)) {
		fmt.Fprintf(w, "failed\t%d %s\n", r.ByCode[code], code)
	}
	return w.Flush()
}

// ms writes microseconds in the unit that reads best.
func ms(us float64) string {
	return time.Duration(us * 1e3).Round(100 * time.Nanosecond).String()
}
