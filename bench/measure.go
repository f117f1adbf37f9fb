package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// callTimeout is the deadline of every call.
const callTimeout = time.Second

// A row is what one measurement showed, as it is printed.
type row struct {
	Bench   string `json:"bench"`
	Peer    string `json:"peer"`
	Skipped string `json:"skipped,omitempty"`
	*figures
}

// figures are a row's numbers. Times are in microseconds; those of CPU and the
// allocations are per verified call.
type figures struct {
	Round        int     `json:"round"`
	Mode         string  `json:"mode"` // closed, or open: latency counts from the time that a call was due
	Callers      int     `json:"callers"`
	Payload      int     `json:"payload"`
	Rate         float64 `json:"rate"`
	Conns        int     `json:"conns"`
	Work         string  `json:"work"`
	Beside       int     `json:"beside"`
	Calls        uint64  `json:"calls"`
	Errors       uint64  `json:"errors"`
	CallsPerS    float64 `json:"calls_per_s"`
	P50          float64 `json:"p50_us"`
	P99          float64 `json:"p99_us"`
	CPU          float64 `json:"cpu_us"`
	ClientCPU    float64 `json:"client_cpu_us"`
	ServerCPU    float64 `json:"server_cpu_us"`
	ClientAllocs float64 `json:"client_allocs"`
	ServerAllocs float64 `json:"server_allocs"`
	BesideCalls  uint64  `json:"beside_calls,omitempty"`
	BesideErrors uint64  `json:"beside_errors,omitempty"`
	FirstError   string  `json:"first_error,omitempty"`
}

// A window is what both processes have used between two moments.
type window struct {
	length         time.Duration
	client, server mark
}

// measure is what a client process does: start the server, call it, and tell
// what the measured window showed.
func measure(ctx context.Context, p *peer, s setting) (*row, error) {
	work := handlerWork(s.Work)
	addr, serverMark := "", func() (mark, error) { return mark{}, nil }
	if p.serve != nil {
		server, err := startServer(ctx, s)
		if err != nil {
			return nil, err
		}
		defer server.stop()
		addr, serverMark = server.addr, server.mark
	}
	target, err := p.dial(ctx, addr, s.Conns, work)
	if err != nil {
		return nil, err
	}
	defer target.close()
	calls, err := newCallers(ctx, target, s)
	if err != nil {
		return nil, err
	}

	beside := startBeside(ctx, calls, s)
	marks := new(marker)
	res, err := load.Run(ctx, load.Config{
		Call: calls.do, Callers: s.Callers, Rate: s.Rate, Warmup: s.Duration / 2, Duration: s.Duration,
		Begin: func() { beside.begin(); marks.take(serverMark) },
		End:   func() { marks.take(serverMark); beside.end() },
	})
	if err != nil {
		return nil, err
	}
	besideCalls, besideErrors := beside.stop()

	// Timers, the collector and this harness allocate as well: what they do
	// while nobody calls is taken off.
	marks.take(serverMark)
	time.Sleep(max(s.Duration/8, 100*time.Millisecond))
	marks.take(serverMark)
	if marks.err != nil {
		return nil, marks.err
	}
	if res.Calls == 0 {
		return nil, fmt.Errorf("no call succeeded within %v; first error: %v", s.Duration, res.First)
	}
	r := newRow(s, res, marks.window(0), marks.window(2))
	r.BesideCalls, r.BesideErrors = besideCalls, besideErrors
	return r, nil
}

func newRow(s setting, res *load.Result, busy, idle window) *row {
	n := float64(res.Calls)
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	allocs := func(busyMallocs, idleMallocs uint64) float64 {
		idleShare := float64(idleMallocs) * float64(busy.length) / float64(idle.length)
		return max(float64(busyMallocs)-idleShare, 0) / n
	}
	f := &figures{
		Round: s.Round, Mode: "closed", Callers: s.Callers, Payload: s.Payload, Rate: s.Rate, Conns: s.Conns, Work: s.Work, Beside: s.Beside,
		Calls: res.Calls, Errors: res.Errors, CallsPerS: res.PerSecond(),
		P50: us(res.Latency.Quantile(.5)), P99: us(res.Latency.Quantile(.99)),
		ClientCPU: us(busy.client.CPU) / n, ServerCPU: us(busy.server.CPU) / n,
		ClientAllocs: allocs(busy.client.Mallocs, idle.client.Mallocs), ServerAllocs: allocs(busy.server.Mallocs, idle.server.Mallocs),
	}
	f.CPU = f.ClientCPU + f.ServerCPU
	if s.Rate > 0 {
		f.Mode = "open"
	}
	if res.First != nil {
		f.FirstError = res.First.Error()
	}
	return &row{Bench: "rpc", Peer: s.Peer, figures: f}
}

// A marker takes marks of both processes at one moment after the other.
type marker struct {
	at     []time.Time
	client []mark
	server []mark
	err    error
}

func (m *marker) take(server func() (mark, error)) {
	s, err := server()
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("the server process is gone: %w", err)
	}
	m.at, m.client, m.server = append(m.at, time.Now()), append(m.client, takeMark()), append(m.server, s)
}

// window is what lies between mark i and the next one.
func (m *marker) window(i int) window {
	between := func(marks []mark) mark {
		return mark{CPU: marks[i+1].CPU - marks[i].CPU, Mallocs: marks[i+1].Mallocs - marks[i].Mallocs}
	}
	return window{length: m.at[i+1].Sub(m.at[i]), client: between(m.client), server: between(m.server)}
}

// callers are the calls of one client process, one for each caller and one
// more for the caller beside them.
type callers struct {
	calls  []call
	limits []limit
}

func newCallers(ctx context.Context, t *target, s setting) (*callers, error) {
	c := &callers{limits: make([]limit, s.Callers+1)}
	text := randomText(s.Payload, s.Seed)
	for worker := range s.Callers + 1 {
		if worker == s.Callers {
			if s.Beside == 0 {
				break
			}
			text = randomText(s.Beside, s.Seed+1)
		}
		call, err := t.caller(ctx, worker, text)
		if err != nil {
			return nil, fmt.Errorf("caller %d: %w", worker, err)
		}
		c.calls = append(c.calls, call)
	}
	return c, nil
}

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

func startBeside(parent context.Context, c *callers, s setting) *besideLoad {
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

func (b *besideLoad) begin() { b.inWindow.Store(true) }
func (b *besideLoad) end()   { b.inWindow.Store(false) }

// stop ends the load and gives the calls and errors of the measured window.
func (b *besideLoad) stop() (calls, errors uint64) {
	b.cancel()
	b.done.Wait()
	return b.calls.Load(), b.errors.Load()
}

// randomText gives n letters, the same for the same seed.
func randomText(n int, seed int64) string {
	r := rand.New(rand.NewPCG(uint64(seed), uint64(n)))
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(r.IntN(26))
	}
	return string(b)
}
