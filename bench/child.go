package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// The arguments that make this program a server or a client of one measurement.
const (
	childServer = "child-server"
	childClient = "child-client"
)

// A mark is what a process has used since it started.
type mark struct {
	CPU     time.Duration // user and system
	Mallocs uint64
}

func takeMark() mark {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return mark{CPU: load.CPUTime(), Mallocs: m.Mallocs}
}

// A hello is the first line that a server process says.
type hello struct {
	Addr  string `json:",omitempty"`
	Error string `json:",omitempty"`
}

func childMain(ctx context.Context, role string, args []string) error {
	if len(args) != 1 {
		return usageError{role + " is for bench itself"}
	}
	var s setting
	if err := json.Unmarshal([]byte(args[0]), &s); err != nil {
		return usageError{err.Error()}
	}
	p := findPeer(s.Peer)
	if p == nil || p.later != "" {
		return usageError{"no such peer: " + s.Peer}
	}
	if role == childServer {
		return serveMarks(ctx, p, s, os.Stdin, os.Stdout)
	}
	r, err := measure(ctx, p, s)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// serveMarks runs a server until in ends, and answers each line with a mark.
// It ends with its client, however that ends, because in is a pipe from it.
func serveMarks(ctx context.Context, p *peer, s setting, in io.Reader, out io.Writer) error {
	addr, err := p.serve(ctx, handlerWork(s.Work))
	if err != nil {
		return errors.Join(err, json.NewEncoder(out).Encode(hello{Error: err.Error()}))
	}
	return answerMarks(addr, in, out)
}

// answerMarks says addr, and then answers each line of in with a mark.
func answerMarks(addr string, in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	if err := enc.Encode(hello{Addr: addr}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := enc.Encode(takeMark()); err != nil {
			return err
		}
	}
	return nil
}

// handlerWork gives what a handler does for each call.
func handlerWork(name string) func() {
	switch name {
	case workSleep:
		return func() { time.Sleep(time.Millisecond) }
	case workBurn:
		return func() {
			for began := time.Now(); time.Since(began) < 20*time.Microsecond; {
			}
		}
	}
	return func() {}
}

// A process is a server process, as its client sees it.
type process struct {
	addr string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	errs strings.Builder
}

// startServer starts this program again as the server of s.
func startServer(ctx context.Context, s setting) (*process, error) {
	return startChild(childCommand(ctx, childServer, s))
}

// startChild starts a process that says its address and answers marks.
func startChild(cmd *exec.Cmd) (*process, error) {
	p := &process{cmd: cmd}
	p.cmd.Stderr = &p.errs
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	var h hello
	if err := p.out.Decode(&h); err != nil || h.Error != "" {
		p.stop()
		return nil, fmt.Errorf("the server did not start: %s %s", h.Error, strings.TrimSpace(p.errs.String()))
	}
	p.addr = h.Addr
	return p, nil
}

// childCommand gives a command that ends with the process that runs it.
func childCommand(ctx context.Context, role string, s any) *exec.Cmd {
	arg, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.CommandContext(ctx, self, role, string(arg))
}

func (p *process) mark() (m mark, err error) {
	if _, err = io.WriteString(p.in, "mark\n"); err == nil {
		err = p.out.Decode(&m)
	}
	return m, err
}

// stop ends the server, whatever it is doing, and waits for it.
func (p *process) stop() {
	p.in.Close()
	wait := time.Duration(0)
	if os.Getenv(profileDir) != "" {
		wait = 5 * time.Second // it ends by itself once it has written its profile
	}
	kill := time.AfterFunc(wait, func() { p.cmd.Process.Kill() })
	p.cmd.Wait()
	kill.Stop()
}
