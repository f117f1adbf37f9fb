package trial

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// callTimeout is the deadline of every call.
const callTimeout = time.Second

// A Row is what one measurement showed, as it is printed.
type Row struct {
	Bench   string `json:"bench"`
	Peer    string `json:"peer"`
	Skipped string `json:"skipped,omitempty"`
	*Figures
}

// Figures are a row's numbers. Times are in microseconds; those of CPU and the
// allocations are per verified call.
type Figures struct {
	Round        int     `json:"round"`
	Mode         string  `json:"mode"` // closed, or open: latency counts from the time that a call was due
	Callers      int     `json:"callers"`
	Payload      int     `json:"payload"`
	Rate         float64 `json:"rate"`
	Arrivals     string  `json:"arrivals,omitempty"`
	Conns        int     `json:"conns"`
	Work         string  `json:"work"`
	Beside       int     `json:"beside"`
	GOGC         int     `json:"gogc,omitempty"`
	Calls        uint64  `json:"calls"`
	Errors       uint64  `json:"errors"`
	CallsPerS    float64 `json:"calls_per_s"`
	P50          float64 `json:"p50_us"`
	P99          float64 `json:"p99_us"`
	CPU          float64 `json:"cpu_us"`
	ClientCPU    float64 `json:"client_cpu_us"`
	ServerCPU    float64 `json:"server_cpu_us"`
	GeneratorCPU float64 `json:"generator_cpu_us,omitempty"` // taken off cpu_us and client_cpu_us
	ClientAllocs float64 `json:"client_allocs"`
	ServerAllocs float64 `json:"server_allocs"`
	LagP99       float64 `json:"lag_p99_us,omitempty"` // how late calls of an open loop were begun
	Waits        uint64  `json:"waits,omitempty"`      // of these calls the clock had to wake
	Unfinished   uint64  `json:"unfinished,omitempty"` // calls that were due and could not be begun
	BesideCalls  uint64  `json:"beside_calls,omitempty"`
	BesideErrors uint64  `json:"beside_errors,omitempty"`
	FirstError   string  `json:"first_error,omitempty"`
}

// A Window is what both processes have used between two moments.
type Window struct {
	Length         time.Duration
	Client, Server Mark
}

// measure is what a client process does: start the server, call it, and tell
// what the measured window showed. The server is a process of its own, so that
// neither's collector, timers and threads stand in the other's figures, and its
// CPU time is what the kernel says of it.
func measure(ctx context.Context, p *Peer, s Setting) (*Row, error) {
	work := handlerWork(s.Work)
	addr, serverMark := "", func() (Mark, error) { return Mark{}, nil }
	if p.Serve != nil {
		server, err := Start(Command(ctx, Server, s))
		if err != nil {
			return nil, err
		}
		defer server.Stop()
		addr, serverMark = server.Addr, server.Mark
	}
	target, err := p.Dial(ctx, addr, s.Conns, work)
	if err != nil {
		return nil, err
	}
	defer target.Close()
	calls, err := newCallers(ctx, target, s)
	if err != nil {
		return nil, err
	}

	beside := startBeside(ctx, calls, s)
	marks := new(Marker)
	config := load.Config{
		Call: calls.do, Callers: s.Callers, Rate: s.Rate, Warmup: s.Duration / 2, Duration: s.Duration,
		Begin: func() { beside.begin(); marks.Take(serverMark) },
		End:   func() { marks.Take(serverMark); beside.end() },
	}
	if s.Arrivals == Poisson {
		config.Poisson, config.Seed, config.Precise = true, uint64(s.Seed), true
	}
	res, err := load.Run(ctx, config)
	if err != nil {
		return nil, err
	}
	besideCalls, besideErrors := beside.stop()

	// Timers, the collector and this harness allocate as well: what they do
	// while nobody calls is taken off.
	marks.Take(serverMark)
	time.Sleep(max(s.Duration/8, 100*time.Millisecond))
	marks.Take(serverMark)
	if marks.Err != nil {
		return nil, marks.Err
	}
	if res.Calls == 0 {
		return nil, fmt.Errorf("no call succeeded within %v; first error: %v", s.Duration, res.First)
	}
	r := newRow(s, res, marks.Window(0), marks.Window(2))
	r.BesideCalls, r.BesideErrors = besideCalls, besideErrors
	return r, nil
}

// newRow makes figures of a result. busy is the measured window, idle one of
// about the same processes without calls, whose allocations in proportion to
// its length are taken off. Nothing is taken off of the CPU time: at rest it is
// far below the error of one measurement.
func newRow(s Setting, res *load.Result, busy, idle Window) *Row {
	n := float64(res.Calls)
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	allocs := func(busyMallocs, idleMallocs uint64) float64 {
		idleShare := float64(idleMallocs) * float64(busy.Length) / float64(idle.Length)
		return max(float64(busyMallocs)-idleShare, 0) / n
	}
	f := &Figures{
		Round: s.Round, Mode: "closed", Callers: s.Callers, Payload: s.Payload, Rate: s.Rate, Conns: s.Conns, Work: s.Work, Beside: s.Beside, GOGC: s.GOGC,
		Calls: res.Calls, Errors: res.Errors, CallsPerS: res.PerSecond(),
		P50: us(res.Latency.Quantile(.5)), P99: us(res.Latency.Quantile(.99)),
		ClientCPU: us(busy.Client.CPU) / n, ServerCPU: us(busy.Server.CPU) / n,
		ClientAllocs: allocs(busy.Client.Mallocs, idle.Client.Mallocs), ServerAllocs: allocs(busy.Server.Mallocs, idle.Server.Mallocs),
	}
	f.CPU = f.ClientCPU + f.ServerCPU
	if s.Rate > 0 {
		f.Mode, f.Arrivals = "open", s.Arrivals
		f.LagP99, f.Unfinished = us(res.Lag.Quantile(.99)), res.Unfinished
		f.Waits = res.Waits
	}
	if res.First != nil {
		f.FirstError = res.First.Error()
	}
	return &Row{Bench: "rpc", Peer: s.Peer, Figures: f}
}

// TakeOff subtracts what the load generator itself costs, as the row of Null of
// the same round shows it, from the client's CPU time. Waking a caller is nearly
// all of it; a call that was overdue when its caller became free costs no
// waking, so that a client that is too slow for the rate has less taken off.
func (r *Row) TakeOff(null *Row) {
	wakes := 1.0
	if null.Waits > 0 {
		wakes = min(float64(r.Waits)/float64(r.Calls)/(float64(null.Waits)/float64(null.Calls)), 1)
	}
	r.GeneratorCPU = min(null.ClientCPU*wakes, r.ClientCPU)
	r.ClientCPU -= r.GeneratorCPU
	r.CPU -= r.GeneratorCPU
}

// A Marker takes marks of both processes at one moment after the other.
type Marker struct {
	at     []time.Time
	client []Mark
	server []Mark
	Err    error
}

// Take marks this process and the server, which tells its own.
func (m *Marker) Take(server func() (Mark, error)) {
	s, err := server()
	if err != nil && m.Err == nil {
		m.Err = fmt.Errorf("the server process is gone: %w", err)
	}
	m.at, m.client, m.server = append(m.at, time.Now()), append(m.client, TakeMark()), append(m.server, s)
}

// Window is what lies between mark i and the next one.
func (m *Marker) Window(i int) Window {
	between := func(marks []Mark) Mark {
		return Mark{CPU: marks[i+1].CPU - marks[i].CPU, Mallocs: marks[i+1].Mallocs - marks[i].Mallocs}
	}
	return Window{Length: m.at[i+1].Sub(m.at[i]), Client: between(m.client), Server: between(m.server)}
}

// callers are the calls of one client process, one for each caller and one
// more for the caller beside them.
type callers struct {
	calls  []Call
	limits []limit
}

// newCallers prepares all calls before the load begins, so that dialling is no
// part of what is measured. Callers share one text and have messages of their
// own; the caller beside them has another text.
func newCallers(ctx context.Context, t *Target, s Setting) (*callers, error) {
	c := &callers{limits: make([]limit, s.Callers+1)}
	text := RandomText(s.Payload, s.Seed)
	for worker := range s.Callers + 1 {
		if worker == s.Callers {
			if s.Beside == 0 {
				break
			}
			text = RandomText(s.Beside, s.Seed+1)
		}
		call, err := t.Caller(ctx, worker, text)
		if err != nil {
			return nil, fmt.Errorf("caller %d: %w", worker, err)
		}
		c.calls = append(c.calls, call)
	}
	return c, nil
}

// do is load.Config's Call. One worker has one limit, so no lock is needed.
func (c *callers) do(ctx context.Context, worker int, seq uint64) error {
	return c.calls[worker](c.limits[worker].context(ctx), int64(seq))
}

// A limit is the context that one caller makes its calls with: cancellable, and
// with a deadline of callTimeout, up to half of it more. It is renewed when it
// has come nearer than that and not for each call, because the four
// allocations and half a microsecond of context.WithTimeout would be most of
// what a small call costs, and say nothing about the stack below.
type limit struct {
	ctx    context.Context
	cancel context.CancelFunc
	until  time.Time
}

// context gives the context of the next call. The one before ends with it, for
// which no call of this caller waits any more.
func (l *limit) context(parent context.Context) context.Context {
	now := time.Now()
	if l.until.Sub(now) < callTimeout {
		if l.cancel != nil {
			l.cancel()
		}
		l.until = now.Add(callTimeout * 3 / 2)
		l.ctx, l.cancel = context.WithDeadline(parent, l.until)
	}
	return l.ctx
}

// A besideLoad is the caller of large messages that runs beside the others.
type besideLoad struct {
	cancel   context.CancelFunc
	done     sync.WaitGroup
	inWindow atomic.Bool
	calls    atomic.Uint64
	errors   atomic.Uint64
}

// startBeside makes large calls, one after the other, from now until stop, if
// the setting has any. They show what large messages do to small ones on the
// same connections, so they are under way before the window begins; counted is
// what ends in it.
func startBeside(parent context.Context, c *callers, s Setting) *besideLoad {
	b := new(besideLoad)
	ctx, cancel := context.WithCancel(parent)
	b.cancel = cancel
	if s.Beside == 0 {
		return b
	}
	b.done.Go(func() {
		for seq := uint64(0); ctx.Err() == nil; seq++ {
			err := c.do(ctx, s.Callers, seq)
			switch {
			case !b.inWindow.Load():
			case err == nil:
				b.calls.Add(1)
			case ctx.Err() == nil:
				b.errors.Add(1)
			}
		}
	})
	return b
}

// begin has calls count from now on; those before were to warm up.
func (b *besideLoad) begin() { b.inWindow.Store(true) }
func (b *besideLoad) end()   { b.inWindow.Store(false) }

// stop ends the load and gives the calls and errors of the measured window.
func (b *besideLoad) stop() (calls, errors uint64) {
	b.cancel()
	b.done.Wait()
	return b.calls.Load(), b.errors.Load()
}
