package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// A benchReport is what bench showed, all over the measured window.
//
// Its names in JSON are a promise: fields may be added, none is renamed.
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
	Unfinished uint64            `json:"unfinished,omitempty"`        // see load.Result
	Sent       int64             `json:"messages_sent,omitempty"`     // of streams, warm-up included
	Received   int64             `json:"messages_received,omitempty"` // the same
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

// report turns a result into what is told. Times are in microseconds, as floats:
// a script compares numbers, and people are shown units by benchTable.
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

// benchTable prints a report for people. Lines that would say zero or nothing
// are left out: what is there is worth reading.
func (a *app) benchTable(r benchReport, latency *load.Histogram) error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	loop := fmt.Sprintf("closed loop, %d callers", r.Callers)
	if r.Mode == "open" {
		loop = fmt.Sprintf("open loop at %.0f calls/s, up to %d at once", r.Rate, r.Callers)
	}
	fmt.Fprintf(w, "%s at %s\t%s\n", r.Method, r.Target, loop)
	fmt.Fprintf(w, "calls\t%d in %.2f s, %.0f/s\n", r.Calls, r.Seconds, r.CallsPerS)
	fmt.Fprintf(w, "latency\tp50 %s  p90 %s  p99 %s  p99.9 %s  max %s  mean %s\n", ms(r.P50), ms(r.P90), ms(r.P99), ms(r.P999), ms(r.Max), ms(r.Mean))
	if r.Sent+r.Received > 0 {
		fmt.Fprintf(w, "messages\t%d sent, %d received, warm-up included\n", r.Sent, r.Received)
	}
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
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := io.WriteString(a.stdout, bars(latency))
	return err
}

// barColumns is how long the longest bar is.
const barColumns = 40

// bars draws a histogram: a line for each step of 1, 2, 5, 10, 20, … that
// values fall in, those far above the 99.9th part of a hundred in one. Steps
// that grow show a tail of one call in a thousand beside the bulk, on a screen;
// a bar's length is the share, to an eighth of a column. All in one step is no
// picture, and nothing is drawn.
func bars(h *load.Histogram) string {
	type bar struct {
		upTo time.Duration
		n    uint64
	}
	var all []bar
	var most uint64
	total, last := h.Count(), h.Quantile(.999)
	h.Buckets(func(high time.Duration, n uint64) {
		upTo := step(high)
		// What lies beyond the 99.9th is one bar, up to the longest: each of these calls alone
		// would have a line.
		if high > last {
			upTo = step(h.Max())
		}
		if len(all) == 0 || all[len(all)-1].upTo < upTo {
			all = append(all, bar{upTo: upTo})
		}
		all[len(all)-1].n += n
		most = max(most, all[len(all)-1].n)
	})
	if len(all) < 2 {
		return ""
	}
	var b strings.Builder
	b.WriteByte('\n')
	for _, x := range all {
		eighths := int(x.n * barColumns * 8 / most)
		line := strings.Repeat("█", eighths/8)
		if eighths%8 > 0 {
			line += string('█' + rune(8-eighths%8)) // ▉ to ▏ follow the full block
		} else if eighths == 0 {
			line = "▏"
		}
		fmt.Fprintf(&b, "≤ %7v %6.2f %% %s\n", x.upTo, 100*float64(x.n)/float64(total), line)
	}
	return b.String()
}

// step is the least of 1, 2, 5, 10, 20, … microseconds that is not below d.
//
// Each step is about twice the one before, and a round number.
func step(d time.Duration) time.Duration {
	for s := time.Microsecond; ; s *= 10 {
		for _, m := range []time.Duration{1, 2, 5} {
			if s*m >= d {
				return s * m
			}
		}
	}
}

// ms writes microseconds in the unit that reads best.
func ms(us float64) string {
	return time.Duration(us * 1e3).Round(100 * time.Nanosecond).String()
}
