package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// setupSkips is the exit status by which a setup script says that a tool is
// missing.
const setupSkips = 3

// setUp installs and builds what the peers need. A peer whose tools are
// missing is marked as skipped; anything else that goes wrong is an error.
func setUp(ctx context.Context, o *options, peers []*peer) error {
	why, err := runSetup(ctx, o, "compiler")
	if err != nil {
		return err
	}
	for _, p := range peers {
		if p.name == limosaName {
			if err := buildLimosa(ctx, o); err != nil {
				return err
			}
			continue
		}
		if p.skip = why; p.skip != "" {
			continue // no compiler, no generated code
		}
		if p.skip, err = runSetup(ctx, o, p.name); err != nil {
			return err
		}
	}
	return nil
}

// runSetup runs setup/NAME.sh. skip says which tool is missing, if one is.
func runSetup(ctx context.Context, o *options, name string) (skip string, err error) {
	script := filepath.Join(o.root, "interop", "thrift", "setup", name+".sh")
	cmd := exec.CommandContext(ctx, "bash", script)
	cmd.Env = append(os.Environ(), "LIMOSA_INTEROP_CACHE="+o.cache)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == setupSkips {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		return lines[len(lines)-1], nil
	}
	if err != nil {
		return "", fmt.Errorf("setup of %s: %w", name, err)
	}
	return "", nil
}

// buildLimosa makes a module of its own in the run's folder: the programs of
// testdata/peer, and the code that Limosa's generator makes from Apache's IDL.
func buildLimosa(ctx context.Context, o *options) error {
	idl, err := apacheIDL(ctx)
	if err != nil {
		return err
	}
	dir := o.work
	sources, err := filepath.Glob(filepath.Join(o.root, "interop", "thrift", "testdata", "peer", "*.go"))
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("no sources of Limosa's programs below %s: %w", o.root, err)
	}
	for _, src := range append(sources, filepath.Join(o.root, "go.sum")) {
		if err := copyFile(filepath.Join(dir, filepath.Base(src)), src); err != nil {
			return err
		}
	}
	mod := fmt.Sprintf("module thriftpeer\n\ngo 1.26.0\n\nrequire github.com/limosa-rpc/limosa v0.0.0\n\n"+
		"replace github.com/limosa-rpc/limosa => %s\n", o.root)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o644); err != nil {
		return err
	}
	fmt.Fprintln(os.Stderr, "setup: limosa: generating and building")
	// The IDL's namespace for Go is thrifttest: the package's folder below dir.
	if err := runGo(ctx, o.root, "run", "./gen/limosa-gen", "-q", "-out", dir, idl); err != nil {
		return fmt.Errorf("limosa-gen on ThriftTest.thrift: %w", err)
	}
	args := append([]string{"build", "-mod=mod", "-o", "peer"}, o.build...)
	if err := runGo(ctx, dir, append(args, ".")...); err != nil {
		return fmt.Errorf("build of Limosa's test programs: %w", err)
	}
	return nil
}

// apacheIDL finds ThriftTest.thrift in Go's module cache; compiler.sh has put
// it there.
func apacheIDL(ctx context.Context) (string, error) {
	cmd := exec.CommandContext(ctx, "go", "env", "GOMODCACHE")
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go env: %w", err)
	}
	idl := filepath.Join(string(bytes.TrimSpace(out)), "github.com", "apache", "thrift@"+apacheVersion, "test", "ThriftTest.thrift")
	if _, err := os.Stat(idl); err != nil {
		return "", fmt.Errorf("the IDL of Apache Thrift: %w", err)
	}
	return idl, nil
}

// apacheVersion is the release under test; setup/lib.sh names the same.
const apacheVersion = "v0.25.0"

// runGo runs the go command outside of any workspace: the module at dir alone
// says what is built.
func runGo(ctx context.Context, dir string, args ...string) error {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

func copyFile(to, from string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o644)
}
