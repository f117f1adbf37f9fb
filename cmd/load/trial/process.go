package trial

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load"
)

// A Mark is what a process has used since it started.
type Mark struct {
	CPU     time.Duration // user and system
	Mallocs uint64
}

// TakeMark tells what this process has used.
func TakeMark() Mark {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return Mark{CPU: load.CPUTime(), Mallocs: m.Mallocs}
}

// A Hello is the first line that a server process says.
type Hello struct {
	Addr  string `json:",omitempty"`
	Error string `json:",omitempty"`
}

// Answer says addr, and then answers each line of in with what the process has
// to tell, until in ends: it is a pipe from the client's process, so that no
// server outlives its client.
func Answer(addr string, in io.Reader, out io.Writer, tell func() any) error {
	enc := json.NewEncoder(out)
	if err := enc.Encode(Hello{Addr: addr}); err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := enc.Encode(tell()); err != nil {
			return err
		}
	}
	return nil
}

// AnswerMarks is Answer with a mark for each line.
func AnswerMarks(addr string, in io.Reader, out io.Writer) error {
	return Answer(addr, in, out, func() any { return TakeMark() })
}

// A Process is a server process, as its client sees it.
type Process struct {
	Addr string
	Cmd  *exec.Cmd
	in   io.WriteCloser
	out  *json.Decoder
	errs strings.Builder
}

// Start starts a process that says its address and answers marks. What it has
// written to its standard error becomes part of the error if it does not come
// so far. Whoever gets a Process stops it.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{Cmd: cmd}
	p.Cmd.Stderr = &p.errs
	var err error
	if p.in, err = p.Cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	if err := p.Cmd.Start(); err != nil {
		return nil, err
	}
	var h Hello
	if err := p.out.Decode(&h); err != nil || h.Error != "" {
		p.Stop()
		return nil, fmt.Errorf("the server did not start: %s %s", h.Error, strings.TrimSpace(p.errs.String()))
	}
	p.Addr = h.Addr
	return p, nil
}

// Command gives a command that runs this program again in another role, with s
// as its one argument, and ends with ctx.
func Command(ctx context.Context, role string, s any) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return command(ctx, self, role, s)
}

// command is Command for a program that need not be this one: a peer whose
// stack is better not linked into the benchmark has one of its own.
func command(ctx context.Context, program, role string, s any) *exec.Cmd {
	arg, err := json.Marshal(s)
	if err != nil {
		panic(err) // a struct of numbers and strings
	}
	return exec.CommandContext(ctx, program, role, string(arg))
}

// Ask sends a line and reads what the process answers.
func (p *Process) Ask(line string, answer any) error {
	if _, err := io.WriteString(p.in, line+"\n"); err != nil {
		return err
	}
	return p.out.Decode(answer)
}

// Errors is what the process has written to its standard error. It is to be
// asked for after Stop, or when the process has ended.
func (p *Process) Errors() string { return strings.TrimSpace(p.errs.String()) }

// Mark asks the process for a mark.
func (p *Process) Mark() (m Mark, err error) {
	err = p.Ask("mark", &m)
	return m, err
}

// Stop ends the server, whatever it is doing, and waits for it.
func (p *Process) Stop() {
	p.in.Close()
	wait := time.Duration(0)
	if os.Getenv(ProfileDir) != "" {
		wait = 5 * time.Second // it ends by itself once it has written its profile
	}
	kill := time.AfterFunc(wait, func() { p.Cmd.Process.Kill() })
	p.Cmd.Wait()
	kill.Stop()
}

// ProfileDir is the variable that makes every process of a run write a CPU
// profile into a folder.
const ProfileDir = "LIMOSA_BENCH_PROFILE"

// StartProfile begins this process's profile, if one is wanted, in a file with
// the process's number as its name. A profile that cannot be written is told
// and does not end the run. end must be called before the process exits.
func StartProfile() (end func()) {
	dir := os.Getenv(ProfileDir)
	if dir == "" {
		return func() {}
	}
	f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%d.prof", os.Getpid())))
	if err != nil {
		fmt.Fprintln(os.Stderr, "no profile:", err)
		return func() {}
	}
	pprof.StartCPUProfile(f)
	return func() {
		pprof.StopCPUProfile()
		f.Close()
	}
}
