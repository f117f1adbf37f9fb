package stats

import (
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestSetHoldsMetricsByName(t *testing.T) {
	s := NewSet()
	s.Counter("calls", "calls so far").Add(3)
	s.Counter("calls", "").Inc() // the same one
	g := s.Gauge("inflight", "calls in flight")
	g.Set(10)
	g.Inc()
	g.Dec()
	g.Add(-3)
	s.Histogram("took", "time of a call", "ns").Record(5)
	s.Histogram("took", "", "ns").Record(6)
	s.Counter("aborts", "")

	var names []string
	s.Each(func(m Metric) {
		names = append(names, m.Name+" "+m.Kind.String())
		switch m.Name {
		case "calls":
			if m.Value != 4 || m.Help != "calls so far" || m.Histogram != nil {
				t.Errorf("%+v", m)
			}
		case "inflight":
			if m.Value != 7 {
				t.Errorf("%+v", m)
			}
		case "took":
			if m.Histogram.Count() != 2 || m.Unit != "ns" {
				t.Errorf("%+v", m)
			}
		}
		s.Gauge("made while walking", "") // must not deadlock
	})
	if want := []string{"aborts counter", "calls counter", "inflight gauge", "took histogram"}; !slices.Equal(names, want) {
		t.Errorf("Each showed %v; want %v", names, want)
	}
}

func TestNamesHaveOneKind(t *testing.T) {
	s := NewSet()
	s.Counter("x", "")
	s.Histogram("h", "", "ns")
	for name, f := range map[string]func(){
		"a gauge":      func() { s.Gauge("x", "") },
		"another unit": func() { s.Histogram("h", "", "bytes") },
	} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.HasPrefix(text, "stats: ") {
					t.Errorf("%s: panic %q", name, text)
				}
			}()
			f()
		}()
	}
}

func TestNilDoesNothing(t *testing.T) {
	var s *Set
	c, g, h := s.Counter("c", ""), s.Gauge("g", ""), s.Histogram("h", "", "")
	c.Inc()
	c.Add(2)
	g.Set(1)
	g.Inc()
	g.Dec()
	h.Record(1)
	h.Merge(new(Histogram))
	h.Reset()
	h.Buckets(func(int64, int64, uint64) { t.Error("a bucket of nothing") })
	s.Each(func(Metric) { t.Error("a metric of nothing") })
	if c.Value() != 0 || g.Value() != 0 || h.Count() != 0 || h.Sum() != 0 || h.Max() != 0 || h.Mean() != 0 || h.Quantile(.5) != 0 {
		t.Error("nothing has a value")
	}
}

func TestSetFromManyGoroutines(t *testing.T) {
	var s Set // the zero value works
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 1000 {
				s.Counter("n", "").Inc()
				s.Gauge("g", "").Add(1)
			}
			s.Each(func(Metric) {})
		})
	}
	wg.Wait()
	if n, g := s.Counter("n", "").Value(), s.Gauge("g", "").Value(); n != 8000 || g != 8000 {
		t.Errorf("counted %d, %d; want 8000", n, g)
	}
}

func TestCountingDoesNotAllocate(t *testing.T) {
	s := NewSet()
	c, g, h := s.Counter("c", ""), s.Gauge("g", ""), s.Histogram("h", "", "ns")
	v := int64(1)
	if n := testing.AllocsPerRun(1000, func() {
		v = v * 7 & 0xffffffff
		c.Inc()
		g.Set(v)
		h.Record(v)
		v += h.Quantile(.99) & 1
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestKindNames(t *testing.T) {
	for k, want := range map[Kind]string{KindCounter: "counter", KindGauge: "gauge", KindHistogram: "histogram", 9: "kind 9"} {
		if k.String() != want {
			t.Errorf("%q; want %q", k, want)
		}
	}
}
