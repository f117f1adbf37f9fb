package main

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/limosa-rpc/limosa"
	limosaecho "github.com/limosa-rpc/limosa/bench/echo/limosa/echo"
	"github.com/limosa-rpc/limosa/cmd/load/trial"
	"github.com/limosa-rpc/limosa/rpc"
)

// A rollingRow is what became of the calls of one client while the server at
// its one address was restarted, killed or stopped several times. Every call
// has an id of its own, and each server notes those that it begins in a file,
// before it does anything else.
type rollingRow struct {
	Bench string `json:"bench"`
	Peer  string `json:"peer"`
	Mode  string `json:"mode"`
	Times int    `json:"times"` // so often it happened

	Calls  int `json:"calls"`
	Failed int `json:"failed"`
	// Of the failed ones, by what the client was told of them.
	NotSent   int `json:"not_sent"`
	Refused   int `json:"refused"`
	Maybe     int `json:"maybe"`
	Processed int `json:"processed"`

	Unsafe     int `json:"failed_unsafe"` // failed although they were safe to repeat: not sent, or refused
	Duplicated int `json:"duplicated"`    // begun more than once
	False      int `json:"false_safe"`    // told not sent or refused, and yet begun
	Lost       int `json:"lost"`          // answered, and not in the ledger
	Wrong      int `json:"wrong"`         // answers to another call

	Recovered  float64 `json:"recovered_s"` // the longest from a server that is ready to the first answer
	FirstError string  `json:"first_error,omitempty"`
}

const (
	childRolling   = "child-rolling"
	rollingCallers = 16
	rollingTimeout = time.Second
)

var rollingModes = []string{"drain", "kill9", "stop"}

// A rollingPlan is what the flags ask for.
type rollingPlan struct {
	modes []string
	times int
	every time.Duration
	json  bool
}

// parseRolling reads the flags of the rolling benchmark.
func parseRolling(args []string) (*rollingPlan, error) {
	p := new(rollingPlan)
	fs := flag.NewFlagSet("rolling", flag.ContinueOnError)
	modes := fs.String("mode", strings.Join(rollingModes, ","), "drain (SIGTERM, and a new server at the address), kill9 (SIGKILL, and a new one) or stop (SIGSTOP, SIGCONT)")
	fs.IntVar(&p.times, "times", 5, "how often, in each mode")
	fs.DurationVar(&p.every, "d", time.Second, "time between two of them")
	err := parseShared(fs, args, &p.json, "calls while the server at their one address is restarted, killed or stopped")
	if err == nil {
		p.modes, err = parseNames(*modes, rollingModes)
	}
	if err == nil && (p.times < 1 || p.every <= 0) {
		err = usageError{"-times is at least 1, -d above 0"}
	}
	return p, err
}

// rollingMain replaces servers while calls are made, and counts what the callers notice of it.
func rollingMain(ctx context.Context, args []string) error {
	p, err := parseRolling(args)
	if err != nil {
		return err
	}
	rows := json.NewEncoder(os.Stdout)
	var all []*rollingRow
	for _, mode := range p.modes {
		fmt.Fprintf(os.Stderr, "%s, %d times\n", mode, p.times)
		r, err := p.run(ctx, mode)
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		if err := rows.Encode(r); err != nil {
			return err
		}
		all = append(all, r)
	}
	if !p.json {
		rollingTable(os.Stderr, all)
	}
	return rollingFault(all)
}

// rollingFault tells what of rows no client may be told, nil: nothing.
func rollingFault(rows []*rollingRow) error {
	var all []error
	for _, r := range rows {
		if r.Duplicated+r.False+r.Lost+r.Wrong > 0 {
			all = append(all, fmt.Errorf("%s: of %d calls %d were begun twice, %d were said not to be and were, %d were answered and not begun, %d got another's answer",
				r.Mode, r.Calls, r.Duplicated, r.False, r.Lost, r.Wrong))
		}
	}
	return errors.Join(all...)
}

// rollingTable prints failures and latency by setting, for people.
func rollingTable(w io.Writer, rows []*rollingRow) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "mode\tcalls\tfailed\tnot sent\trefused\tmaybe\tprocessed\ttwice\tfalse\tlost\twrong\trecovered s\t")
	for _, r := range rows {
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t\n", r.Mode, r.Calls, r.Failed, r.NotSent, r.Refused, r.Maybe, r.Processed, r.Duplicated, r.False, r.Lost, r.Wrong, r.Recovered)
	}
	t.Flush()
}

// A rollingSetting is what a server's process is told.
type rollingSetting struct{ Addr, Ledger string }

// run calls a server that comes and goes.
func (p *rollingPlan) run(ctx context.Context, mode string) (*rollingRow, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(p.times+2)*(p.every+30*time.Second))
	defer cancel()
	dir, err := os.MkdirTemp("", "limosa-rolling-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	s := rollingSetting{Addr: addr, Ledger: filepath.Join(dir, "ledger")}
	server, err := startRolling(ctx, s)
	if err != nil {
		return nil, err
	}
	calls := &rollingCalls{answered: make(chan struct{}, 1)}
	stop := calls.begin(addr)
	row := &rollingRow{Bench: "rolling", Peer: "limosa", Mode: mode, Times: p.times}
	for range p.times {
		time.Sleep(p.every)
		if server, err = p.disturb(ctx, mode, server, s); err != nil {
			break
		}
		row.Recovered = max(row.Recovered, calls.next().Seconds())
	}
	time.Sleep(p.every)
	stop()
	if server != nil {
		server.Stop()
	}
	if err != nil {
		return nil, err
	}
	return row, calls.judge(row, s.Ledger)
}

// freeAddr is an address that servers can have one after the other.
func freeAddr() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// startRolling starts one server's process.
func startRolling(ctx context.Context, s rollingSetting) (*trial.Process, error) {
	return trial.Start(trial.Command(ctx, childRolling, s))
}

// disturb does to the server what mode says, and gives the one that serves then.
func (p *rollingPlan) disturb(ctx context.Context, mode string, server *trial.Process, s rollingSetting) (*trial.Process, error) {
	process := server.Cmd.Process
	switch mode {
	case "stop":
		err := pauseProcess(process)
		time.Sleep(2 * rollingTimeout)
		return server, errors.Join(err, resumeProcess(process))
	case "kill9":
		if err := process.Kill(); err != nil {
			return nil, err
		}
		server.Stop()
		return startRolling(ctx, s)
	}
	// The new one waits for the address, which the old one gives up as soon as
	// it drains.
	if err := process.Signal(syscall.SIGTERM); err != nil {
		return nil, err
	}
	fresh, err := startRolling(ctx, s)
	server.Cmd.Wait() //nolint:errcheck // its drain is over; what it was worth the ledger tells
	server.Stop()
	return fresh, err
}

// rollingCalls are the calls of one client.
type rollingCalls struct {
	mu       sync.Mutex
	ids      int64
	outcomes map[int64]error
	wrong    int
	answered chan struct{} // capacity 1: a call was
}

// begin has callers call until stop, which waits for them.
func (c *rollingCalls) begin(addr string) (stop func()) {
	c.outcomes = map[int64]error{}
	caller := &limosa.Client{Target: addr}
	client := limosaecho.NewEchoClient(caller)
	ctx, cancel := context.WithCancel(context.Background())
	var work sync.WaitGroup
	for range rollingCallers {
		work.Go(func() {
			for ctx.Err() == nil {
				c.one(client)
			}
		})
	}
	return func() { cancel(); work.Wait(); caller.Close() }
}

// one makes one call and counts how it went.
func (c *rollingCalls) one(client *limosaecho.EchoClient) {
	c.mu.Lock()
	c.ids++
	id := c.ids
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), rollingTimeout)
	defer cancel()
	m, err := client.Echo(ctx, &limosaecho.Message{ID: id})
	c.mu.Lock()
	c.outcomes[id] = err
	if err == nil && m.ID != id {
		c.wrong++
	}
	c.mu.Unlock()
	if err == nil {
		select {
		case c.answered <- struct{}{}:
		default:
		}
		return
	}
	time.Sleep(time.Millisecond) // a dead server is not to be asked at full speed
}

// next gives the time until the next answer, or until nobody can believe in it.
func (c *rollingCalls) next() time.Duration {
	select {
	case <-c.answered: // an old one
	default:
	}
	began := time.Now()
	select {
	case <-c.answered:
	case <-time.After(10 * time.Second):
	}
	return time.Since(began)
}

// judge compares what callers were told with what servers did.
func (c *rollingCalls) judge(row *rollingRow, ledger string) error {
	notes, err := os.ReadFile(ledger)
	if err != nil {
		return err
	}
	begun := map[int64]int{}
	for ; len(notes) >= 8; notes = notes[8:] {
		begun[int64(binary.LittleEndian.Uint64(notes))]++
	}
	row.Calls, row.Wrong = len(c.outcomes), c.wrong
	for id, err := range c.outcomes {
		n := begun[id]
		if n > 1 {
			row.Duplicated++
		}
		if err == nil {
			if n == 0 {
				row.Lost++
			}
			continue
		}
		row.Failed++
		row.FirstError = cmp.Or(row.FirstError, err.Error())
		safe := true
		switch rpc.SentOf(err) {
		case rpc.NotSent:
			row.NotSent++
		case rpc.Refused:
			row.Refused++
		case rpc.Maybe:
			row.Maybe++
			safe = false
		case rpc.Processed:
			row.Processed++
			safe = false
		}
		if safe {
			row.Unsafe++
			if n > 0 {
				row.False++
			}
		}
	}
	return nil
}

// A rollingServer notes each call that it begins. A note is one write to the
// end of a file, which the kernel keeps whatever becomes of the process.
type rollingServer struct{ ledger *os.File }

// Echo writes the call's number down before it answers, so that calls that ran twice or were lost can be counted.
func (s rollingServer) Echo(_ context.Context, m *limosaecho.Message) (*limosaecho.Message, error) {
	if _, err := s.ledger.Write(binary.LittleEndian.AppendUint64(nil, uint64(m.ID))); err != nil {
		return nil, err
	}
	return m, nil
}

// rollingChildMain is a server's process: it drains at SIGTERM, as one in a cluster does.
func rollingChildMain(ctx context.Context, args []string) error {
	var s rollingSetting
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return usageError{childRolling + " is for bench itself"}
	}
	ledger, err := os.OpenFile(s.Ledger, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer ledger.Close()
	l, err := limosa.Listen(s.Addr)
	for by := time.Now().Add(10 * time.Second); errors.Is(err, syscall.EADDRINUSE) && time.Now().Before(by); l, err = limosa.Listen(s.Addr) {
		time.Sleep(time.Millisecond) // the one before is about to give it up
	}
	if err != nil {
		return errors.Join(err, json.NewEncoder(os.Stdout).Encode(trial.Hello{Error: err.Error()}))
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		trial.AnswerMarks(s.Addr, os.Stdin, os.Stdout) //nolint:errcheck // its end is the process's
		cancel()
	}()
	server := &limosa.Server{Services: []rpc.Service{limosaecho.Service(rollingServer{ledger})}, Drain: 5 * time.Second}
	return server.Serve(ctx, l)
}
