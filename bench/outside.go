package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/limosa-rpc/limosa/cmd/load/trial"
)

// outsidePeers lists the peers of the module bench/peers, which stays out of
// go.work so that its tree of dependencies changes nobody else's versions. Its
// programs are built when they are asked for.
func outsidePeers() (all []*peer) {
	for _, name := range []string{"kitex-ttheader", "kitex-framed", "kitex-mux", "kitex-grpc"} {
		all = append(all, &peer{Peer: trial.Peer{Name: name}, outside: "kitex"})
	}
	return append(all, &peer{Peer: trial.Peer{Name: "arpc"}, outside: "arpc"})
}

// errUnfetched says that nothing is broken: what a program is built from cannot
// be had on this machine.
var errUnfetched = errors.New("it cannot be built here")

// unreachable is how the go command names what a missing network or registry
// does.
var unreachable = regexp.MustCompile(`dial tcp|no such host|proxyconnect|i/o timeout|connection refused|reading https?://|disabled by GOPROXY=off|module lookup disabled`)

// programs builds what peers need from outside and gives the paths by folder;
// failed has, by folder as well, why there is none.
func programs(ctx context.Context, peers []*peer, scratch string) (paths map[string]string, failed map[string]error) {
	paths, failed = map[string]string{}, map[string]error{}
	for _, p := range peers {
		if p.outside == "" || paths[p.outside] != "" || failed[p.outside] != nil {
			continue
		}
		fmt.Fprintf(os.Stderr, "building bench/peers/%s\n", p.outside)
		path, err := build(ctx, p.outside, scratch)
		if err != nil {
			failed[p.outside] = err
		} else {
			paths[p.outside] = path
		}
	}
	return paths, failed
}

// build makes the program of one folder of bench/peers.
func build(ctx context.Context, folder, scratch string) (path string, err error) {
	where, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/limosa-rpc/limosa/bench").Output()
	dir := filepath.Join(strings.TrimSpace(string(where)), "peers")
	if err != nil || dir == "peers" {
		return "", fmt.Errorf("%w: the sources of bench are not here: %v", errUnfetched, err)
	}
	// Its go.mod follows those of the modules that it shares the load generator
	// with: a copy does, so that a measurement leaves the sources alone.
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(scratch, name), text, 0o666); err != nil {
			return "", err
		}
	}
	path = filepath.Join(scratch, folder)
	cmd := exec.CommandContext(ctx, "go", "build", "-modfile", filepath.Join(scratch, "go.mod"), "-mod=mod", "-o", path, "./"+folder)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		why := lines[len(lines)-1]
		if unreachable.Match(out) {
			return "", fmt.Errorf("%w, modules are missing: %s", errUnfetched, why)
		}
		return "", fmt.Errorf("build of bench/peers/%s: %w: %s", folder, err, why)
	}
	return path, nil
}
