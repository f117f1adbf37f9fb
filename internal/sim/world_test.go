package sim

import (
	"context"
	"crypto/ed25519"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"hash/fnv"
	"log/slog"
	"math/big"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"github.com/limosa-rpc/limosa"
	"github.com/limosa-rpc/limosa/buf"
	"github.com/limosa-rpc/limosa/internal/rig"
	"github.com/limosa-rpc/limosa/netio"
	"github.com/limosa-rpc/limosa/netio/pipe"
	"github.com/limosa-rpc/limosa/netio/simnet"
	"github.com/limosa-rpc/limosa/rpc"
	"github.com/limosa-rpc/limosa/rpc/stub"
	"github.com/limosa-rpc/limosa/stats"
)

// The bounds that a simulated world is held to, beyond what was asked for.
const (
	simMoment  = 5 * time.Millisecond // from the end of a call's context to the end of the call
	simLast    = 3 * time.Minute      // from the last fault to the end of the last call and handler
	simPatient = 100 * time.Second    // how long a handler waits for the end of its context
	simRecover = time.Minute          // from the last fault to a call that works
	simJoin    = 4 * time.Second      // from the end of a drain to that of Serve, whatever handlers do
)

// A simWorld runs one plan: clients, servers and a network between them, in
// virtual time, and what is known of every call.
type simWorld struct {
	// Set by newSimWorld, then constant.
	plan    *simPlan
	net     *simnet.Net
	began   time.Time
	methods map[rpc.Kind]*rpc.Method
	stats   *stats.Set // of all servers and clients

	work sync.WaitGroup // calls

	mu struct {
		sync.Mutex
		clients    []*limosa.Client
		servers    map[string]*simServer
		handlers   int // that run
		pending    int // calls that have begun and not ended
		trace      []string
		hash       uint64
		violations []string
		drains     int             // servers that were drained or killed
		lossy      map[string]bool // clients with a connection that breaks by itself
		cutOff     map[string]bool // hosts where calls ran on at the end of a drain
		leftBy     map[int]bool    // clients that were closed before all that they had accepted had left
	}
	retired sync.WaitGroup // servers and clients that were replaced
}

// A simServer is one run of a server at its host.
type simServer struct {
	host  string
	stop  context.CancelFunc
	ended chan struct{} // closed when Serve has returned
	drain time.Duration
}

func newSimWorld(p *simPlan) *simWorld {
	w := &simWorld{plan: p, began: time.Now(), stats: stats.NewSet(), methods: map[rpc.Kind]*rpc.Method{}}
	for kind, name := range []string{"unary", "oneway", "count", "join", "chat"} {
		k := rpc.Kind(kind)
		w.methods[k] = &rpc.Method{Service: "Sim", Name: name, Kind: k, Codec: rig.Text{}, New: stub.New[string, string]}
	}
	w.mu.servers, w.mu.lossy, w.mu.cutOff, w.mu.leftBy = map[string]*simServer{}, map[string]bool{}, map[string]bool{}, map[int]bool{}
	w.net = simnet.New(w.shape)
	for _, host := range p.hosts {
		w.serve(host)
	}
	for i := range p.clients {
		w.mu.clients = append(w.mu.clients, w.newClient(i))
	}
	return w
}

// shape is the plan's.
func (w *simWorld) shape(n int, from, to string) pipe.Config {
	cfg := w.plan.shape(n, from, to)
	if cfg.LoseAfter > 0 {
		w.mu.Lock()
		w.mu.lossy[from] = true
		w.mu.Unlock()
	}
	return cfg
}

// simLogged is what a caller is told of an error that the server has logged. The
// id is drawn by chance, and is no part of a trace.
var simLogged = regexp.MustCompile(`internal error [A-Z2-7]{8}`)

// event adds a line to the trace.
func (w *simWorld) event(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eventLocked(format, args...)
}

func (w *simWorld) eventLocked(format string, args ...any) {
	line := fmt.Sprintf("%12v  ", time.Since(w.began)) + simLogged.ReplaceAllString(fmt.Sprintf(format, args...), "internal error")
	h := fnv.New64a()
	fmt.Fprint(h, w.mu.hash, line)
	w.mu.hash = h.Sum64()
	w.mu.trace = append(w.mu.trace, line)
}

// failLocked notes that something is wrong.
func (w *simWorld) failLocked(format string, args ...any) {
	w.eventLocked("WRONG: "+format, args...)
	w.mu.violations = append(w.mu.violations, fmt.Sprintf(format, args...))
}

func (w *simWorld) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.failLocked(format, args...)
}

func (w *simWorld) failed() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.mu.violations) > 0
}

func (w *simWorld) newClient(i int) *limosa.Client {
	c := w.plan.clients[i]
	client := &limosa.Client{Target: c.host + ":1", Thrift: c.form, Limits: w.plan.client, Stats: w.stats, Logger: slog.New(slog.DiscardHandler)}
	if w.plan.secure {
		client.TLS = &tls.Config{InsecureSkipVerify: true}
	}
	rig.DialOn(client, func(ctx context.Context, _, addr string, _ *netio.Config) (netio.Conn, error) {
		nc, err := w.net.Dial(ctx, c.name, strings.TrimSuffix(addr, ":1"))
		w.event("%s dials %s: %v", c.name, addr, err)
		return nc, err
	})
	return client
}

// simCertificate is what servers that speak TLS show: always the same, and of the
// same size.
var simCertificate = sync.OnceValue(func() *tls.Config {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Unix(1<<34, 0)}
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		panic(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}, SessionTicketsDisabled: true}
})

// serve starts a server at host.
func (w *simWorld) serve(host string) {
	l, err := w.net.Listen(host)
	if err != nil {
		w.fail("listen: %v", err)
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &simServer{host: host, stop: stop, ended: make(chan struct{}), drain: w.plan.drain}
	server := &limosa.Server{
		Services: []rpc.Service{w.service()}, Limits: w.plan.server, Handlers: w.plan.handlers,
		Drain: s.drain, Stats: w.stats, Logger: slog.New(slog.DiscardHandler),
	}
	if w.plan.secure {
		server.TLS = simCertificate()
	}
	w.mu.Lock()
	w.mu.servers[host] = s
	w.mu.Unlock()
	w.event("%s listens", host)
	go func() {
		defer close(s.ended)
		err := server.Serve(ctx, netio.NewListener(l, nil))
		w.event("%s has ended: %v", host, err)
	}()
}

// run does what the plan says, then waits for the end of everything and looks
// at what is left.
func (w *simWorld) run() {
	for i, a := range w.plan.actions {
		time.Sleep(time.Until(w.began.Add(a.at)))
		w.act(a)
		if i+1 == len(w.plan.actions) || w.plan.actions[i+1].at > a.at {
			synctest.Wait()
			w.check()
		}
		if w.failed() {
			return
		}
	}
	w.end()
}

// act does one thing.
func (w *simWorld) act(a simAction) {
	w.event("%v", a)
	switch a.what {
	case doCall:
		w.start(a.call)
		return
	case doCancel:
		w.cancel(a.call)
		return
	case doRelease, doUnstall: // whatever the network holds: the link that was meant may be gone
		w.net.Release(a.a, a.b)
		return
	case doPartition:
		w.net.Partition(a.a, a.b)
		return
	case doHeal:
		w.net.Heal(a.a, a.b)
		return
	case doRoll, doRestart, doKill:
		w.restart(a)
		return
	case doReplace:
		w.replace(a)
		return
	}
	links := w.net.Links(a.a, a.b)
	if len(links) == 0 {
		return
	}
	link, dir := links[max(0, len(links)-1-a.n)], simnet.Down
	if a.up {
		dir = simnet.Up
	}
	switch a.what {
	case doBreak:
		link.Break()
	case doVanish:
		link.Vanish()
		// What cannot be asked for a sign is given up by the system, some time.
		time.AfterFunc(90*time.Second, link.Break)
	case doHold:
		link.Hold(dir)
	case doStall:
		link.Stall(dir, true)
	}
}

// restart ends the server of a host; another one follows.
func (w *simWorld) restart(a simAction) {
	w.mu.Lock()
	s := w.mu.servers[a.b]
	if s != nil {
		delete(w.mu.servers, a.b)
		w.mu.drains++
	}
	w.mu.Unlock()
	if s == nil {
		return // it is being restarted already
	}
	s.stop()
	if a.what == doKill {
		for _, l := range w.net.Links("", a.b) {
			l.Break()
		}
	}
	w.retired.Go(func() { w.awaitServer(s) })
	switch a.what {
	case doRoll:
		synctest.Wait() // until it listens no more
		w.serve(a.b)
	case doKill:
		w.retired.Go(func() {
			time.Sleep(a.d)
			w.serve(a.b)
		})
	default:
		w.retired.Go(func() {
			<-s.ended
			time.Sleep(a.d)
			w.serve(a.b)
		})
	}
}

// awaitServer waits until Serve has returned, no longer than it may take.
func (w *simWorld) awaitServer(s *simServer) {
	stopped := time.Now()
	bound := s.drain + simJoin
	defer time.AfterFunc(s.drain, func() { w.noteCutOff(s.host) }).Stop()
	select {
	case <-s.ended:
	case <-time.After(bound):
		w.fail("%s was told to end %v ago and runs still", s.host, time.Since(stopped))
	}
}

// noteCutOff is called when the drain of a server at host is over.
func (w *simWorld) noteCutOff(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.plan.calls {
		if c.starts > 0 && !c.returned && w.plan.clients[c.client].host == host {
			w.mu.cutOff[host] = true
		}
	}
}

// replace closes a client while it may have calls; another one follows.
func (w *simWorld) replace(a simAction) {
	for i, c := range w.plan.clients {
		if c.name != a.a {
			continue
		}
		w.mu.Lock()
		old := w.mu.clients[i]
		w.mu.clients[i] = w.newClient(i)
		w.mu.Unlock()
		w.retired.Go(func() { w.shutdown(i, old, a.d) })
	}
}

// shutdown closes a client of the i-th kind and notes whether it says that what it had
// accepted was left: then oneway calls need not have run.
func (w *simWorld) shutdown(i int, c *limosa.Client, d time.Duration) {
	name := w.plan.clients[i].name
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	began, done := time.Now(), make(chan struct{})
	go func() {
		defer close(done)
		if c.Shutdown(ctx) != nil {
			w.mu.Lock()
			w.mu.leftBy[i] = true
			w.mu.Unlock()
		}
	}()
	select {
	case <-done:
		w.event("%s is closed", name)
	case <-time.After(d + time.Second):
		w.fail("%s was given %v to close and has not after %v", name, d, time.Since(began))
	}
}

// end ends all faults, waits until nothing runs any more, sees whether clients
// work, closes everything and looks at what is left.
func (w *simWorld) end() {
	w.event("the faults end")
	w.net.HealAll()
	if !w.await("replaced servers and clients", &w.retired, w.plan.drain+simLast) || !w.await("calls", &w.work, simLast) {
		return
	}
	for deadline := time.Now().Add(simLast); w.running() > 0; {
		time.Sleep(time.Second)
		if time.Now().After(deadline) {
			w.fail("%d handlers run still, %v after the last fault", w.running(), simLast)
			return
		}
	}
	w.probe()
	w.closeAll()
	if w.failed() {
		return
	}
	w.judgeAll()
	time.Sleep(20 * time.Minute) // for whatever has a timer
	synctest.Wait()
	w.checkAccounts()
	if left := simGoroutines(); len(left) > 0 {
		w.fail("%d goroutines are left", len(left))
	}
	if n := buf.Live(); n > 0 {
		w.fail("%d blocks are left: %s", n, buf.Unreleased())
	}
}

// checkAccounts sees that nothing is held, and nothing open.
func (w *simWorld) checkAccounts() {
	left := map[string]int64{"rpc_server_held_bytes": -1, "rpc_client_held_bytes": -1, "rpc_server_conns": -1, "rpc_client_conns": -1}
	w.stats.Each(func(m stats.Metric) {
		if _, ok := left[m.Name]; ok {
			left[m.Name] = m.Value
		}
	})
	for name, n := range left {
		if n != 0 {
			w.fail("%s is %d in the end", name, n)
		}
	}
}

func (w *simWorld) running() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.mu.handlers
}

// await waits for g, no longer than d.
func (w *simWorld) await(what string, g *sync.WaitGroup, d time.Duration) bool {
	done := make(chan struct{})
	go func() {
		defer close(done)
		g.Wait()
	}()
	pause, deadline := 10*time.Millisecond, time.Now().Add(d)
	for time.Now().Before(deadline) {
		select {
		case <-done:
			return true
		case <-time.After(pause):
		}
		pause = min(pause*5/4, time.Second)
		if w.check(); w.failed() {
			return false
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.plan.calls {
		if c.begun && !c.ended {
			w.failLocked("call %d has not ended", c.id)
		}
	}
	w.failLocked("%s have not ended %v after the last fault", what, d)
	return false
}

// probe sees whether every client works again.
func (w *simWorld) probe() {
	for i, client := range w.mu.clients {
		deadline := time.Now().Add(simRecover)
		for {
			x := stub.NewCall[string, string](w.methods[rpc.Unary], "Sim")
			x.Args = "probe"
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			err := client.Do(ctx, &x.Call)
			cancel()
			if err == nil {
				break
			}
			w.event("%s probes: %v", w.plan.clients[i].name, err)
			if time.Now().After(deadline) {
				w.fail("%s does not work again, %v after the last fault: %v", w.plan.clients[i].name, simRecover, err)
				break
			}
			time.Sleep(250 * time.Millisecond)
		}
	}
}

// closeAll closes clients and servers.
func (w *simWorld) closeAll() {
	for i, c := range w.mu.clients {
		w.shutdown(i, c, time.Second)
	}
	time.Sleep(time.Second) // for what is on its way
	for _, host := range w.plan.hosts {
		if s := w.mu.servers[host]; s != nil {
			s.stop()
			w.awaitServer(s)
		}
	}
}

// simGoroutines gives the stacks of the goroutines in the bubble but this one.
func simGoroutines() []string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	var found []string
	for i, g := range strings.Split(string(stacks), "\n\n") {
		head, _, _ := strings.Cut(g, "\n")
		own := strings.Contains(g, "internal/synctest.Run(") || strings.Contains(g, "testing/synctest.testingSynctestTest(")
		if i > 0 && !own && strings.Contains(head, "synctest bubble") {
			found = append(found, g)
		}
	}
	return found
}
