// Package stats counts: counters, gauges and histograms as plain values in a Set
// that is passed to whoever counts. There is no global registry, and nothing is
// exported by itself: who wants to show a Set walks it with Each.
//
// Counting allocates nothing, takes no lock and may be done from any goroutine.
// All methods work on nil receivers and do nothing then, so that code counts
// without asking whether anybody listens: a nil *Set gives nil metrics.
package stats

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A Kind tells what a Metric is.
type Kind uint8

// The kinds of metrics.
const (
	KindCounter   Kind = iota // only rises
	KindGauge                 // rises and falls
	KindHistogram             // a distribution
)

// String is the kind's name, as Prometheus has it.
func (k Kind) String() string {
	switch k {
	case KindCounter:
		return "counter"
	case KindGauge:
		return "gauge"
	case KindHistogram:
		return "histogram"
	}
	return fmt.Sprintf("kind %d", k)
}

// A Metric is what Each shows of one metric.
type Metric struct {
	Name, Help string
	Unit       string // of a histogram's values, for example "ns" or "bytes"
	Kind       Kind
	Value      int64      // of a counter or gauge, when Each came by
	Histogram  *Histogram // of a histogram, shared: Merge it into another for a still picture
}

// A Set holds metrics by name. Make it by NewSet; the zero value works too.
// Its methods may be called concurrently.
type Set struct {
	mu struct {
		sync.Mutex
		byName map[string]*entry
	}
}

// An entry is one figure under its name.
type entry struct {
	name, help, unit string
	kind             Kind
	counter          *Counter
	gauge            *Gauge
	histogram        *Histogram
}

// NewSet makes an empty Set.
func NewSet() *Set { return &Set{} }

// Counter is the counter of that name, made at the first call. Asking twice
// gives the same one; a name that is in use for another kind panics.
func (s *Set) Counter(name, help string) *Counter {
	if s == nil {
		return nil
	}
	return s.entry(name, help, "", KindCounter).counter
}

// Gauge is the gauge of that name, as Counter.
func (s *Set) Gauge(name, help string) *Gauge {
	if s == nil {
		return nil
	}
	return s.entry(name, help, "", KindGauge).gauge
}

// Histogram is the histogram of that name, as Counter; unit names what its
// values count. It takes about 15 KB.
func (s *Set) Histogram(name, help, unit string) *Histogram {
	if s == nil {
		return nil
	}
	return s.entry(name, help, unit, KindHistogram).histogram
}

// entry gives the figure of that name, which it makes if there is none.
func (s *Set) entry(name, help, unit string, kind Kind) *entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e := s.mu.byName[name]; e != nil {
		if e.kind != kind || e.unit != unit {
			panic(fmt.Sprintf("stats: %s is a %v of unit %q, asked for as a %v of unit %q", name, e.kind, e.unit, kind, unit))
		}
		return e
	}
	e := &entry{name: name, help: help, unit: unit, kind: kind}
	switch kind {
	case KindCounter:
		e.counter = new(Counter)
	case KindGauge:
		e.gauge = new(Gauge)
	case KindHistogram:
		e.histogram = new(Histogram)
	}
	if s.mu.byName == nil {
		s.mu.byName = make(map[string]*entry)
	}
	s.mu.byName[name] = e
	return e
}

// Each calls f for every metric, in the order of their names. f may use the Set.
func (s *Set) Each(f func(Metric)) {
	if s == nil {
		return
	}
	s.mu.Lock()
	all := make([]*entry, 0, len(s.mu.byName))
	for _, e := range s.mu.byName {
		all = append(all, e)
	}
	s.mu.Unlock()
	slices.SortFunc(all, func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	for _, e := range all {
		m := Metric{Name: e.name, Help: e.help, Unit: e.unit, Kind: e.kind, Histogram: e.histogram}
		switch e.kind {
		case KindCounter:
			m.Value = e.counter.Value()
		case KindGauge:
			m.Value = e.gauge.Value()
		}
		f(m)
	}
}

// cacheLine keeps what different CPUs write apart.
const cacheLine = 64

// A Counter only rises. The zero value is ready.
type Counter struct {
	v atomic.Int64
	_ [cacheLine - 8]byte
}

// Inc adds one.
func (c *Counter) Inc() { c.Add(1) }

// Add adds n, which must not be negative.
func (c *Counter) Add(n int64) {
	if c != nil {
		c.v.Add(n)
	}
}

// Value is the sum so far.
func (c *Counter) Value() int64 {
	if c == nil {
		return 0
	}
	return c.v.Load()
}

// A Gauge rises and falls. The zero value is ready.
type Gauge struct {
	v atomic.Int64
	_ [cacheLine - 8]byte
}

// Set replaces the value.
func (g *Gauge) Set(v int64) {
	if g != nil {
		g.v.Store(v)
	}
}

// Inc adds one.
func (g *Gauge) Inc() { g.Add(1) }

// Dec takes one away.
func (g *Gauge) Dec() { g.Add(-1) }

// Add adds n, which may be negative.
func (g *Gauge) Add(n int64) {
	if g != nil {
		g.v.Add(n)
	}
}

// Value is the current value.
func (g *Gauge) Value() int64 {
	if g == nil {
		return 0
	}
	return g.v.Load()
}
