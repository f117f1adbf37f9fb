package mux

import "github.com/limosa-rpc/limosa/stats"

// A Total counts what all connections of a server or client hold, in metrics
// that may be shown. Its methods may be called concurrently; a nil Total counts
// nothing and is never full.
//
// A Total may have shares, each for some of the connections, such as those of
// one peer address: what a share counts its Total counts too, and a share is
// full if either is.
type Total struct {
	// Set by NewTotal or Share, then constant.
	limit   int64
	of      *Total // not nil: this is a share of it, or is shown by it
	held    *stats.Gauge
	refused *stats.Counter // of it and its shares

	decoding semaphore // what requests may become
	promised semaphore // what answers may weigh that are being made
}

// Share makes a share of t for limit bytes, 0 being no limit.
func (t *Total) Share(limit int) *Total {
	return &Total{limit: int64(limit), of: t, held: new(stats.Gauge), refused: new(stats.Counter)}
}

// add counts n bytes, which may be fewer than none.
func (t *Total) add(n int) {
	for ; t != nil; t = t.of {
		t.held.Add(int64(n))
	}
}

// gauges are those that count what t counts.
func (t *Total) gauges() (all []*stats.Gauge) {
	for ; t != nil; t = t.of {
		all = append(all, t.held)
	}
	return all
}

// NewTotal makes a Total for limit bytes, 0 being no limit, and shows it in set:
// held_bytes, and calls_refused because of it, each with prefix before it. Several
// may be shown in one set, which then has their sums. set may be nil.
func NewTotal(limit int, set *stats.Set, prefix string) *Total {
	t := &Total{limit: int64(limit), held: new(stats.Gauge), refused: new(stats.Counter)}
	if set != nil {
		set.Gauge(prefix+"held_limit_bytes", "What connections may hold before new calls are refused; 0: no limit. The latest, of several that count here.").Set(int64(limit))
		t.of = &Total{
			held:    set.Gauge(prefix+"held_bytes", "What peers make this side hold, over all connections, to within a few KB for each."),
			refused: set.Counter(prefix+"held_refused_calls", "Calls that were refused because of what is held."),
		}
	}
	return t
}

// Held is the number of bytes that are held, to within a few KB a connection.
func (t *Total) Held() int {
	if t == nil {
		return 0
	}
	return int(t.held.Value())
}

// Refused is the number of calls that were refused because of what is held.
func (t *Total) Refused() int {
	if t == nil {
		return 0
	}
	return int(t.refused.Value())
}

// Full reports whether new work is to be refused.
func (t *Total) Full() bool {
	for ; t != nil; t = t.of {
		if t.limit > 0 && t.held.Value() > t.limit {
			return true
		}
	}
	return false
}

// over reports whether a quarter more is held than may be.
func (t *Total) over() bool {
	for ; t != nil; t = t.of {
		if t.overAlone() {
			return true
		}
	}
	return false
}

// overAlone is over, whatever t is a share of.
func (t *Total) overAlone() bool { return t.limit > 0 && t.held.Value() > t.limit+t.limit/4 }

// refuse counts a call that was refused.
func (t *Total) refuse() {
	for ; t != nil; t = t.of {
		t.refused.Inc()
	}
}
