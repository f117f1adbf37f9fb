package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// benchCommand asks for the IDL within askTime: -timeout is that of each call.
func (a *app) benchCommand() *cli.Command {
	return &cli.Command{
		Name: "bench", Usage: "load a method and measure it",
		UsageText: "limosa bench ADDR Service/Method [JSON] [-c 64] [-d 10s] [-rate N]",
		Description: `Without -rate every caller makes its next call when the last one has ended (a
closed loop). With -rate calls are due at that rate whatever the server does,
and latency counts from when a call was due (an open loop): what a user would
see. Calls that failed are counted by code and are no part of the latencies.
The exit code is 1 if any call failed; a server at which nothing succeeds for
five seconds ends the run.

Several JSON values, one after the other, are requests that are sent in turn;
@FILE reads them from a file, - from stdin. A call of a method with streams is
the whole stream: all values are sent, or, if it takes one message, one.

Example:
  limosa bench :8888 Hello/Echo '{"message":"hi"}' -c 64 -d 10s -rate 5000`,
		Flags: append(targetFlags(),
			&cli.StringFlag{Name: "json", Usage: "the request, or several, which may also stand behind the method as for call; {} if not given"},
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
			// One of the two would be ignored, and nothing in the figures would show which.
			if c.NArg() == 3 && c.IsSet("json") {
				return usagef("the request is given twice: as an argument and with -json")
			}
			// Before the server is asked for anything: a wrong flag must not cost a connection.
			cfg, err := benchConfig(c)
			if err != nil {
				return err
			}
			asking, cancel := context.WithTimeout(ctx, askTime)
			t, err := openTarget(asking, c, c.Args().Get(0), c.Args().Get(1))
			cancel()
			if err != nil {
				return err
			}
			defer t.client.Close()
			calls, err := a.benchCalls(t, cmp.Or(c.Args().Get(2), c.String("json")), cfg.Callers)
			if err != nil {
				return err
			}
			return a.bench(ctx, calls, cfg, c.String("o") == "json")
		},
	}
}

// benchConfig checks the flags, before anything is connected. A warm-up that is
// not given is a fifth of the time: dialling and the first growth of heaps are
// no part of what is measured.
//
// The bounds keep a typing error, such as -c 10000000, from taking all memory.
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

// bench runs the load and tells what came of it. The exit code is that of a
// failure if one call failed, so that a script need not read the table.
//
// The table is printed also if calls have failed or the run was cut short: its figures
// are what a user looks at first then.
func (a *app) bench(ctx context.Context, calls *benchCalls, cfg load.Config, asJSON bool) error {
	t := calls.target
	cfg.Call = calls.call
	// One call before the load: what is wrong with the whole is told at once.
	first, cancel := context.WithTimeout(ctx, cfg.Timeout)
	err := cfg.Call(first, 0, 0)
	cancel()
	if err != nil {
		return fmt.Errorf("the first call failed: %w", err)
	}

	// The cause tells a server at which nothing succeeds from an interrupt.
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	cfg.Call = patient(cfg.Callers, cfg.Call, stop)
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
	// Load that was cut short is no error: what was measured until then is told below.
	if err != nil && ctx.Err() == nil {
		return err
	}
	// Ctrl-C ends the run early; what it has shown until then is told.
	r := report(t, cfg, res)
	// With warm-up, which the other figures are without: these two only show that both sides
	// count the same.
	r.Sent, r.Received = calls.sent.Load(), calls.received.Load()
	if asJSON {
		err = a.printLine(r)
	} else {
		err = a.benchTable(r, &res.Latency)
	}
	if err != nil {
		return err
	}
	if dead, ok := errors.AsType[*deadServer](context.Cause(ctx)); ok {
		return dead
	}
	if r.Errors > 0 {
		return fmt.Errorf("%d of %d calls failed; the first: %s", r.Errors, r.Errors+r.Calls, r.First)
	}
	return nil
}
