package trial

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// The first arguments that make a program a server or a client of one trial;
// the second one is the Setting.
const (
	Server = "child-server"
	Client = "child-client"
)

// A Setting is one trial: what a client process and its server are told.
type Setting struct {
	Peer     string
	Round    int
	Callers  int
	Payload  int           // bytes of the message's string
	Rate     float64       // calls a second; 0: closed loop
	Arrivals string        // of an open loop
	Conns    int           // connections; 0: what the peer makes by itself
	Work     string        // what the handler does
	Beside   int           // bytes of the messages of one more caller; 0: there is none
	GOGC     int           // of both processes; 0: untouched
	Duration time.Duration // of the measured window
	Seed     int64
}

// How the calls of an open loop come.
const (
	Even    = "even"    // at even times, paced by the runtime's timers: some at once each millisecond
	Poisson = "poisson" // at random times, each paced precisely
)

// What a handler can do with its time.
const (
	WorkNone  = "none"
	WorkSleep = "sleep1ms"
	WorkBurn  = "burn20us"
)

// handlerWork gives what a handler does for each call. Sleeping stands for a
// service that asks others, and shows what a stack does with many handlers at
// once; burning for one that computes, and shows how fairly they share a CPU.
func handlerWork(name string) func() {
	switch name {
	case WorkSleep:
		return func() { time.Sleep(time.Millisecond) }
	case WorkBurn:
		return func() {
			for began := time.Now(); time.Since(began) < 20*time.Microsecond; {
			}
		}
	}
	return func() {}
}

// Run measures s in a process of program ("": this one), which starts the
// server. Both have scratch as their temporary folder.
func Run(ctx context.Context, program string, s Setting, scratch string) (*Row, error) {
	// A peer that hangs costs its own measurement only.
	ctx, cancel := context.WithTimeout(ctx, 4*s.Duration+20*time.Second)
	defer cancel()
	cmd := Command(ctx, Client, s)
	if program != "" {
		cmd = command(ctx, program, Client, s)
	}
	cmd.Env = append(os.Environ(), "TMPDIR="+scratch)
	if s.GOGC != 0 {
		cmd.Env = append(cmd.Env, "GOGC="+strconv.Itoa(s.GOGC)) // the server inherits it
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	// A grandchild that has the pipes open would keep Output waiting.
	cmd.WaitDelay = time.Second
	out, err := cmd.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, strings.TrimPrefix(lines[0], "bench: "))
	}
	r := &Row{Figures: new(Figures)}
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("the client's row: %w", err)
	}
	return r, nil
}

// Child is what a process of a trial does, as its role says, with one of peers.
func Child(ctx context.Context, peers []*Peer, role string, args []string) error {
	var s Setting
	if len(args) != 1 || json.Unmarshal([]byte(args[0]), &s) != nil {
		return fmt.Errorf("%s is for bench itself", role)
	}
	i := slices.IndexFunc(peers, func(p *Peer) bool { return p.Name == s.Peer })
	if i < 0 {
		return fmt.Errorf("no such peer: %s", s.Peer)
	}
	// A stack that prints lines of its own must not print them between ours.
	out := os.Stdout
	os.Stdout = os.Stderr
	if role == Server {
		return serve(ctx, peers[i], s, out)
	}
	r, err := measure(ctx, peers[i], s)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(r)
}

// serve runs a server until the standard input ends, and answers each line with
// a mark.
func serve(ctx context.Context, p *Peer, s Setting, out io.Writer) error {
	addr, err := p.Serve(ctx, handlerWork(s.Work))
	if err != nil {
		return errors.Join(err, json.NewEncoder(out).Encode(Hello{Error: err.Error()}))
	}
	return AnswerMarks(addr, os.Stdin, out)
}

// Program is the main function of a program that is nothing but peers: bench
// starts it in both roles. It gives the exit code.
func Program(peers ...*Peer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if len(os.Args) != 3 || os.Args[1] != Server && os.Args[1] != Client {
		fmt.Fprintln(os.Stderr, "bench starts this program: go run ./bench rpc -peers ...")
		return 2
	}
	end := StartProfile()
	err := Child(ctx, peers, os.Args[1], os.Args[2:])
	end()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}
