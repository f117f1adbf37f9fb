package sim

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/rpc"
)

// A simPlan is all that happens to a simulated world from outside. It is drawn
// from the seed before anything runs, so that no draw depends on which goroutine
// comes first.
type simPlan struct {
	seed     uint64
	masks    simMasks
	weather  simWeather
	tiny     bool // small messages on connections of few bytes at a time
	limited  bool // limits low enough to be met
	secure   bool // TLS
	vanishes bool // a connection becomes a dead path
	handlers limosa.Handlers
	drain    time.Duration
	server   rpc.Limits
	client   rpc.Limits
	hosts    []string
	clients  []simClientPlan
	calls    []*simCall
	actions  []simAction // in the order of time
}

// A simWeather says which faults there are.
type simWeather uint8

const (
	calm   simWeather = iota // none: every call ends as its handler says
	gentle                   // servers are drained and replaced: no call may be lost
	harsh                    // everything
)

func (w simWeather) String() string { return [...]string{"calm", "gentle", "harsh"}[w] }

type simClientPlan struct {
	name, host string
	form       limosa.Form
}

// A simAction is one thing that is done at a moment.
type simAction struct {
	at   time.Duration
	what simWhat
	call *simCall
	a, b string // hosts
	n    int    // which of the links
	up   bool   // the direction
	d    time.Duration
}

type simWhat uint8

const (
	doCall simWhat = iota
	doCancel
	doBreak
	doHold
	doRelease
	doStall
	doUnstall
	doPartition
	doHeal
	doRoll    // drain a server, its successor listens at once
	doRestart // drain a server, its successor listens when it has ended
	doKill    // every connection of a server breaks and its handlers end
	doReplace // a client is closed, another one follows
	doVanish  // a connection becomes a dead path
)

var simWhats = [...]string{"call", "cancel", "break", "hold", "release", "stall", "unstall", "partition", "heal", "roll", "restart", "kill", "replace", "vanish"}

func (a simAction) String() string {
	switch a.what {
	case doCall:
		return a.call.String()
	case doCancel:
		return fmt.Sprint("cancel ", a.call.id)
	}
	return fmt.Sprintf("%s %s %s link %d up %v for %v", simWhats[a.what], a.a, a.b, a.n, a.up, a.d)
}

// A simCall is one call: what its caller and its handler do, and what became of
// it.
type simCall struct {
	id       int
	client   int
	kind     rpc.Kind
	behaves  simBehaviour
	at       time.Duration
	takes    time.Duration // its handler, before it answers
	timeout  time.Duration // 0: none
	cancel   time.Duration // from its start; negative: never
	request  int           // bytes of each message
	answer   int
	messages int // of a stream
	leave    int // its caller leaves a stream after so many; negative: never

	// Guarded by simWorld.mu.
	begun, ended  bool
	beganAt       time.Time
	endedAt       time.Time
	cancelledAt   time.Time
	cancelContext func()
	err           error
	starts        int // of its handler
	startedAt     time.Time
	returned      bool
}

// A simBehaviour is what a handler does.
type simBehaviour uint8

const (
	answers  simBehaviour = iota
	fails                 // with NotFound
	panics                // which its caller sees as Internal
	exits                 // by runtime.Goexit, the same
	waits                 // until its context ends
	stubborn              // as answers, without a look at its context
)

func (b simBehaviour) String() string {
	return [...]string{"answers", "fails", "panics", "exits", "waits", "stubborn"}[b]
}

func (c *simCall) String() string {
	return fmt.Sprintf("call %d by client %d: kind %d, %v after %v, timeout %v, cancel %v, %d bytes for %d, %d messages, leave %d",
		c.id, c.client, c.kind, c.behaves, c.takes, c.timeout, c.cancel, c.request, c.answer, c.messages, c.leave)
}

// simRand draws what plans are made of.
type simRand struct{ *rand.Rand }

func (r simRand) chance(p float64) bool { return r.Float64() < p }

// size is between low and high, small ones as likely as large ones.
func (r simRand) size(low, high float64) int { return int(r.between(low, high)) }

func (r simRand) between(low, high float64) int64 {
	return int64(math.Exp(math.Log(low) + r.Float64()*(math.Log(high)-math.Log(low))))
}

// span is a duration between low and high, to the nanosecond, so that moments
// differ.
func (r simRand) span(low, high time.Duration) time.Duration {
	return time.Duration(r.between(float64(low), float64(high)))
}

func oneOf[T any](r simRand, of ...T) T { return of[r.IntN(len(of))] }

// newSimPlan draws the plan of a seed.
func newSimPlan(seed uint64, masks simMasks) *simPlan {
	r := simRand{rand.New(rand.NewPCG(seed, 1))}
	p := &simPlan{seed: seed, masks: masks, weather: harsh}
	switch n := r.IntN(10); {
	case n < 2:
		p.weather = calm
	case n < 4:
		p.weather = gentle
	}
	p.tiny = r.chance(.3)
	p.limited = p.weather == harsh && r.chance(.3)
	p.handlers = oneOf(r, limosa.Spare, limosa.Spare, limosa.Inline, limosa.Goroutines)
	p.secure = r.chance(.1) && !p.tiny // else handshakes take seconds
	p.drain = r.span(100*time.Millisecond, 10*time.Second)
	if p.weather == gentle {
		p.drain = 30 * time.Second
	}
	if p.limited {
		p.drawLimits(r)
	}
	for i := range 1 + r.IntN(2) {
		p.hosts = append(p.hosts, fmt.Sprint("server", i))
	}
	for i := range 1 + r.IntN(3) {
		form := limosa.TTHeader
		if r.chance(.35) {
			form = oneOf(r, limosa.Framed, limosa.Buffered, limosa.THeader)
		}
		p.clients = append(p.clients, simClientPlan{fmt.Sprint("client", i), p.hosts[r.IntN(len(p.hosts))], form})
	}
	length := r.span(50*time.Millisecond, 20*time.Second)
	p.drawCalls(r, length)
	if p.weather != calm {
		p.drawFaults(r, length)
		p.drawCrossings()
	}
	slices.SortStableFunc(p.actions, func(a, b simAction) int { return cmp.Compare(a.at, b.at) })
	return p
}

func (p *simPlan) drawLimits(r simRand) {
	some := func(to *int, low, high float64) {
		if r.chance(.4) {
			*to = r.size(low, high)
		}
	}
	some(&p.client.CallsPerConn, 1, 20)
	some(&p.client.Abandoned, 1, 8)
	some(&p.client.StreamsPerConn, 1, 6)
	some(&p.client.QueuedBytes, 1, 64<<10)
	some(&p.server.CallsPerConn, 1, 20)
	some(&p.server.CallsPerServer, 1, 20)
	some(&p.server.StreamsPerConn, 1, 6)
	some(&p.server.QueuedBytes, 1, 64<<10)
	some(&p.server.MessageBytes, 32<<10, 1<<20)
	some(&p.client.MessageBytes, 32<<10, 1<<20)
	some(&p.server.HeldPerConn, 1, 1<<20) // it is two messages at least
	some(&p.client.HeldPerConn, 1, 1<<20)
	some(&p.server.Conns, 1, 8)
	for _, d := range []*time.Duration{&p.client.WriteStall, &p.server.WriteStall, &p.client.FrameRest, &p.server.FrameRest, &p.client.Idle, &p.server.ServerIdle, &p.server.QueueTime, &p.client.Silence} {
		if r.chance(.3) {
			*d = r.span(500*time.Millisecond, 30*time.Second)
		}
	}
}

// drawCalls draws some tens of calls, many of them in bursts.
func (p *simPlan) drawCalls(r simRand, length time.Duration) {
	n := 5 + r.IntN(40)
	at, left := time.Duration(0), 0
	for id := range n {
		if left == 0 {
			at = time.Duration(r.Float64() * float64(length))
			left = 1 + r.IntN(12)
		}
		left--
		p.add(r, &simCall{id: id, at: at, client: r.IntN(len(p.clients))})
	}
}

func (p *simPlan) add(r simRand, c *simCall) {
	c.cancel, c.leave = -1, -1
	if p.clients[c.client].form == limosa.TTHeader {
		c.kind = oneOf(r, rpc.Unary, rpc.Unary, rpc.Unary, rpc.Unary, rpc.Unary, rpc.Oneway, rpc.ServerStream, rpc.ClientStream, rpc.Bidi)
	} else if r.chance(.1) {
		c.kind = rpc.Oneway
	}
	c.behaves = oneOf(r, answers, answers, answers, answers, answers, answers, fails, panics, exits, waits, stubborn)
	if r.chance(.5) {
		c.takes = r.span(time.Microsecond, 3*time.Second)
	}
	c.request, c.answer = r.size(1, 2000), r.size(1, 2000)
	if p.tiny {
		c.request, c.answer = r.size(1, 200), r.size(1, 200)
	} else if r.chance(.15) {
		*oneOf(r, &c.request, &c.answer) = r.size(8<<10, 900<<10)
	}
	if c.kind > rpc.Oneway {
		c.messages = 1 + r.IntN(12)
		c.request, c.answer = min(c.request, 40<<10), min(c.answer, 40<<10)
		if r.chance(.2) {
			c.leave = r.IntN(c.messages)
		}
	}
	if r.chance(.5) || c.behaves == waits {
		c.timeout = r.span(100*time.Microsecond, 10*time.Second)
	}
	if r.chance(.15) {
		c.cancel = r.span(1, 2*time.Second)
		if r.chance(.5) {
			c.cancel = 0
		}
	}
	if c.kind == rpc.Oneway && c.behaves == waits {
		c.behaves = answers // nobody would end it
	}
	p.calls = append(p.calls, c)
	p.actions = append(p.actions, simAction{at: c.at, what: doCall, call: c})
	if c.cancel >= 0 {
		p.actions = append(p.actions, simAction{at: c.at + c.cancel, what: doCancel, call: c})
	}
}

// drawFaults draws what befalls connections, hosts and clients.
func (p *simPlan) drawFaults(r simRand, length time.Duration) {
	kinds := []simWhat{doRoll}
	if p.weather == harsh {
		kinds = []simWhat{doBreak, doBreak, doHold, doHold, doStall, doStall, doPartition, doRoll, doRestart, doKill, doReplace, doVanish}
	}
	for range 1 + r.IntN(8) {
		c := r.IntN(len(p.clients))
		a := simAction{
			at: time.Duration(r.Float64() * float64(length)), what: kinds[r.IntN(len(kinds))],
			a: p.clients[c].name, b: p.clients[c].host, n: r.IntN(4), up: r.chance(.5), d: r.span(100*time.Microsecond, 5*time.Second),
		}
		if r.chance(.4) && len(p.calls) > 0 { // in the middle of something
			a.at = p.calls[r.IntN(len(p.calls))].at + r.span(1, 100*time.Millisecond)
		}
		p.vanishes = p.vanishes || a.what == doVanish
		end := a
		end.at += a.d
		switch a.what {
		case doHold:
			end.what = doRelease
		case doStall:
			end.what = doUnstall
		case doPartition:
			end.what = doHeal
		default:
			p.actions = append(p.actions, a)
			continue
		}
		p.actions = append(p.actions, a, end)
	}
}

// drawCrossings moves some drains so that calls of clients that are idle till then
// cross the end of their connections, a second later: they begin so little before
// that they come after it.
func (p *simPlan) drawCrossings() {
	r := simRand{rand.New(rand.NewPCG(p.seed, 2))}
	for i := range p.actions {
		a := &p.actions[i]
		if a.what != doRoll && a.what != doRestart || !r.chance(.4) {
			continue
		}
		c := p.calls[r.IntN(len(p.calls))]
		if at := c.at - time.Second + r.span(10*time.Microsecond, 20*time.Millisecond); at > 0 {
			a.at, a.a, a.b = at, p.clients[c.client].name, p.clients[c.client].host
		}
	}
}

// shape is how the connection number n behaves.
func (p *simPlan) shape(n int, _, _ string) pipe.Config {
	r := simRand{rand.New(rand.NewPCG(p.seed, 1000+uint64(n)))}
	cfg := pipe.Config{WriteStall: p.server.WriteStall}
	if r.chance(.7) {
		cfg.Delay = r.span(10*time.Microsecond, 20*time.Millisecond)
	}
	if r.chance(.5) {
		cfg.Buffer = r.size(2<<10, 256<<10)
	}
	low := 4096.
	if p.tiny {
		low = 1
		if r.chance(.5) {
			cfg.Buffer = r.size(1, 1000)
		}
	}
	if r.chance(.4) {
		cfg.MaxSend = r.size(low, 64<<10)
	}
	if r.chance(.4) {
		cfg.MaxReceive = r.size(low, 64<<10)
	}
	if p.weather == harsh && r.chance(.25) {
		cfg.LoseAfter = int64(r.size(1, 50_000))
	}
	return cfg
}
