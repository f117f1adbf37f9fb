package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
)

const (
	portWait  = 30 * time.Second      // for a server to listen: a cold Java on a busy machine takes seconds
	portPoll  = 50 * time.Millisecond // between two tries
	stopWait  = 10 * time.Second      // for a server to end once told to
	tailBytes = 16 << 10              // of a program's output that is kept at each end
)

// A process is a test program that runs.
type process struct {
	cmd    *exec.Cmd
	output *tail
	ended  chan struct{} // closed when it has ended
	err    error         // how; valid once ended is closed
}

// start runs args in dir until it ends, ctx ends, or stop is called.
func start(ctx context.Context, dir string, args []string) (*process, error) {
	p := &process{output: new(tail), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	p.cmd.Dir = dir
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = time.Second // a grandchild that holds the pipe does not hold us
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// byItself tells whether an end that stop has reported is the process's own
// doing, and not what SIGTERM does to a program that knows no orderly end.
func byItself(end error) error {
	if exit, ok := errors.AsType[*exec.ExitError](end); ok {
		// A Java machine catches the signal and says so in its own way.
		const javaTerminated = 128 + int(syscall.SIGTERM)
		status, ok := exit.Sys().(syscall.WaitStatus)
		if ok && (status.Signaled() && status.Signal() == syscall.SIGTERM || status.ExitStatus() == javaTerminated) {
			return nil
		}
	}
	if end == nil {
		return errors.New("ended by itself")
	}
	return fmt.Errorf("ended by itself: %w", end)
}

// stop ends the process: politely, so that it can say what it has served, then
// by force. It reports how the process ended.
func (p *process) stop() error {
	// The process may have ended; then there is nobody to tell.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(stopWait, func() { _ = p.cmd.Process.Kill() })
	<-p.ended
	if !kill.Stop() {
		return fmt.Errorf("did not end within %v of SIGTERM", stopWait)
	}
	return p.err
}

// listening waits until somebody accepts connections on port.
func (p *process) listening(ctx context.Context, port int) error {
	ctx, cancel := context.WithTimeout(ctx, portWait)
	defer cancel()
	tick := time.NewTicker(portPoll)
	defer tick.Stop()
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return c.Close()
		}
		select {
		case <-tick.C:
		case <-p.ended:
			return errEnded
		case <-ctx.Done():
			return fmt.Errorf("does not listen after %v", portWait)
		}
	}
}

var errEnded = errors.New("ended before it listened")

// Ports for servers come from below the range in which systems choose for
// port 0 and for outgoing connections. A port from that range, found free and
// given back, may belong to anybody's test by the time a Java has started; the
// client then talks to a stranger.
const firstPort, lastPort = 20_000, 32_000

// ports hands out ports, each once. The zero value is ready; safe for
// concurrent use.
type ports struct {
	mu struct {
		sync.Mutex
		next int
	}
}

// take gives a port that nobody listens on.
func (p *ports) take() (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.mu.next == 0 {
		p.mu.next = firstPort + rand.IntN(lastPort-firstPort) // two runs at a time seldom meet
	}
	for range lastPort - firstPort {
		port := p.mu.next
		if p.mu.next++; p.mu.next >= lastPort {
			p.mu.next = firstPort
		}
		// Every interface: that is what Apache's servers listen on.
		l, err := net.Listen("tcp", ":"+strconv.Itoa(port))
		if err == nil {
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no port is free from %d to %d", firstPort, lastPort)
}

// startServer starts p's server on a free port and waits until it listens.
func startServer(ctx context.Context, free *ports, p *peer, transport, protocol string) (*process, int, error) {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		port, err := free.take()
		if err != nil {
			return nil, 0, err
		}
		srv, err := start(ctx, p.dir, p.server(port, transport, protocol))
		if err != nil {
			return nil, 0, err
		}
		err = srv.listening(ctx, port)
		if err == nil {
			return srv, port, nil
		}
		// How it ends matters no more: it has not done its work.
		_ = srv.stop()
		if !errors.Is(err, errEnded) || attempt == attempts {
			return nil, 0, &programError{what: p.name + " server", err: err, output: srv.output.String()}
		}
	}
}

// runClient runs one client program to its end.
func runClient(ctx context.Context, p *peer, timeout time.Duration, args []string) (output string, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("still runs after %v", timeout))
	defer cancel()
	cl, err := start(ctx, p.dir, args)
	if err != nil {
		return "", err
	}
	<-cl.ended
	output = cl.output.String()
	switch err := cl.err; {
	case ctx.Err() != nil:
		return output, context.Cause(ctx)
	case err != nil:
		return output, err
	}
	return output, p.passed(output)
}

// A programError is a failure with the program's output, for the details.
type programError struct {
	what   string
	err    error
	output string
}

func (e *programError) Error() string { return e.what + ": " + e.err.Error() }
func (e *programError) Unwrap() error { return e.err }

// A tail keeps the first and the last bytes written to it. Safe for concurrent
// use.
type tail struct {
	mu struct {
		sync.Mutex
		head, rest []byte
		cut        bool
	}
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(p), tailBytes-len(t.mu.head))
	t.mu.head = append(t.mu.head, p[:n]...)
	t.mu.rest = append(t.mu.rest, p[n:]...)
	if over := len(t.mu.rest) - tailBytes; over > 0 {
		t.mu.rest = append(t.mu.rest[:0], t.mu.rest[over:]...)
		t.mu.cut = true
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.mu.cut {
		return string(t.mu.head) + "\n[…]\n" + string(t.mu.rest)
	}
	return string(t.mu.head) + string(t.mu.rest)
}
