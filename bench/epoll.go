package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// The C programs, compiled anew for each run.
var (
	//go:embed epoll/client.c
	clientSource []byte
	//go:embed epoll/server.c
	serverSource []byte
)

// shortAtOnce is how many of accept's connections are open at a time.
const shortAtOnce = 32

// cPrograms are the paths of the compiled programs.
type cPrograms struct{ client, server string }

// A noCompiler says why there are no C programs on this machine.
type noCompiler struct{ why string }

// Error says why the floor in C cannot be measured here.
func (e noCompiler) Error() string { return e.why }

// buildC compiles the C programs. done removes them.
func buildC(ctx context.Context) (progs cPrograms, done func(), err error) {
	if runtime.GOOS != "linux" {
		return progs, nil, noCompiler{"the client is a C program over epoll, which " + runtime.GOOS + " does not have"}
	}
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		return progs, nil, noCompiler{"the client is a C program, and there is no gcc here to compile it"}
	}
	dir, err := os.MkdirTemp("", "limosa-bench-")
	if err != nil {
		return progs, nil, err
	}
	done = func() { os.RemoveAll(dir) }
	for name, source := range map[string][]byte{"client": clientSource, "server": serverSource} {
		cmd := exec.CommandContext(ctx, gcc, "-O2", "-x", "c", "-o", filepath.Join(dir, name), "-")
		cmd.Stdin = strings.NewReader(string(source))
		if out, err := cmd.CombinedOutput(); err != nil {
			done()
			return progs, nil, fmt.Errorf("gcc: %w: %s", err, strings.TrimSpace(string(out)))
		}
	}
	return cPrograms{filepath.Join(dir, "client"), filepath.Join(dir, "server")}, done, nil
}

// A cResult is what the C client says.
type cResult struct {
	Count     uint64
	Seconds   float64
	P50, P99  float64       // microseconds
	ServerCPU time.Duration // user and system, over the window
}

// against runs the C client against a server process.
func (progs cPrograms) against(ctx context.Context, server *trial.Process, mode string, args ...int64) (*cResult, error) {
	_, port, err := net.SplitHostPort(server.Addr)
	if err != nil {
		return nil, err
	}
	words := []string{mode, port, strconv.Itoa(server.Cmd.Process.Pid)}
	for _, n := range args {
		words = append(words, strconv.FormatInt(n, 10))
	}
	var stderr strings.Builder
	cmd := exec.CommandContext(ctx, progs.client, words...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%w: %s", err, strings.TrimSpace(stderr.String()))
	}
	r := new(cResult)
	if err := json.Unmarshal(out, r); err != nil {
		return nil, fmt.Errorf("the client's result: %w", err)
	}
	if r.Count == 0 || r.Seconds <= 0 || r.ServerCPU <= 0 {
		return nil, fmt.Errorf("the client's result is empty: %s", out)
	}
	return r, nil
}

// startEcho starts the server process of a peer.
func startEcho(ctx context.Context, peer, cServer string) (*trial.Process, error) {
	if peer == "c-epoll" {
		return trial.Start(exec.CommandContext(ctx, cServer))
	}
	return trial.Start(trial.Command(ctx, childEcho, echoSetting{Peer: peer}))
}

// measureNet measures one setting of the net benchmark in processes of its own.
func measureNet(ctx context.Context, p *netPlan, progs cPrograms, s netSetting) (*netRow, error) {
	ctx, cancel := context.WithTimeout(ctx, 4*p.window+30*time.Second)
	defer cancel()
	server, err := startEcho(ctx, s.Peer, progs.server)
	if err != nil {
		return nil, err
	}
	defer server.Stop()
	c, err := progs.against(ctx, server, "echo", int64(s.Conns), int64(s.Payload), int64(s.Depth),
		(p.window / 2).Milliseconds(), p.window.Milliseconds(), p.seed)
	if err != nil {
		return nil, err
	}
	return &netRow{
		Messages: c.Count, MsgsPerS: float64(c.Count) / c.Seconds, P50: c.P50, P99: c.P99,
		ServerCPU: float64(c.ServerCPU) / float64(time.Microsecond) / float64(c.Count),
	}, nil
}
