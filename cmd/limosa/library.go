package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
)

// modulePath is the library's.
const modulePath = "github.com/limosa-rpc/limosa"

// A library is the copy of Limosa that a new project is to use.
//
// A project has to build at once and without network: hence sums and requirements.
type library struct {
	dir     string // where its sources lie
	version string // what go.mod requires
	replace string // what go.mod replaces it by; "" for a released version
	sums    string // go.sum's lines for the library itself; "" if replaced

	goVersion string // that it needs; set by modFiles
}

// findLibrary finds it: the checkout that is named, the one that this binary
// was built from, the one that the working directory lies in, or else the
// release that this binary is a part of.
//
// The order is from what was said to what can only be guessed.
func findLibrary(ctx context.Context, named string) (*library, error) {
	if named != "" {
		dir, err := filepath.Abs(named)
		if err != nil {
			return nil, usageError{err}
		}
		if !isCheckout(dir) {
			return nil, usagef("%s is no checkout of %s", named, modulePath)
		}
		return replacedBy(dir), nil
	}
	var starts []string
	// Without -trimpath the binary knows where its sources were.
	if _, file, _, ok := runtime.Caller(0); ok && filepath.IsAbs(file) {
		starts = append(starts, filepath.Dir(file))
	}
	if wd, err := os.Getwd(); err == nil {
		starts = append(starts, wd)
	}
	for _, dir := range starts {
		// Upwards to the root of the volume, whose folder is its own.
		for ; ; dir = filepath.Dir(dir) {
			if isCheckout(dir) {
				return replacedBy(dir), nil
			}
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	return findRelease(ctx)
}

// replacedBy is the library of a checkout. go.mod needs a version all the same.
func replacedBy(dir string) *library {
	return &library{dir: dir, version: "v0.0.0", replace: dir}
}

// install is what to type for the command limosa: of the checkout, or of the latest release.
func (l *library) install() string {
	if l.replace != "" {
		return "go -C " + shellWord(filepath.Join(l.replace, "cmd")) + " install ./limosa"
	}
	return "go install " + modulePath + "/cmd/limosa@latest"
}

// isCheckout reports whether dir is the root of the library's module.
func isCheckout(dir string) bool {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	return err == nil && modfile.ModulePath(data) == modulePath
}

// findRelease gives the release that this binary was linked with.
func findRelease(ctx context.Context) (*library, error) {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range info.Deps {
			if dep.Path == modulePath && dep.Replace == nil && dep.Version != "(devel)" {
				return release(ctx, dep.Version)
			}
		}
	}
	return nil, errors.New("this binary belongs to no release and its checkout is not found; name one with -replace DIR")
}

// release asks the go command for a version of the library, which it takes
// from its cache or from the network.
func release(ctx context.Context, version string) (*library, error) {
	return releaseOf(ctx, modulePath, version)
}

// releaseOf is release for one of the library's modules.
func releaseOf(ctx context.Context, module, version string) (*library, error) {
	var stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json", module+"@"+version)
	cmd.Dir = os.TempDir() // outside of any module, whose files it could touch
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOWORK=off"), &stderr
	out, err := cmd.Output()
	var got struct{ Error, Dir, Sum, GoModSum string }
	broken := json.Unmarshal(out, &got)
	switch {
	case got.Error != "": // it says why in its output, not on stderr
		return nil, fmt.Errorf("%s %s: %s", module, version, got.Error)
	case err != nil:
		return nil, fmt.Errorf("%s %s: %w: %s", module, version, err, strings.TrimSpace(stderr.String()))
	case broken != nil:
		return nil, fmt.Errorf("go mod download: %w", broken)
	}
	return &library{dir: got.Dir, version: version, sums: fmt.Sprintf("%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n",
		module, version, got.Sum, got.GoModSum)}, nil
}

// protoNeeds are the modules that the generator for .proto files needs besides the
// library's own two.
var protoNeeds = []string{"github.com/bufbuild/protocompile", "golang.org/x/sync", "google.golang.org/protobuf"}

// modFiles makes go.mod and go.sum of a project that uses the library, so that
// it builds without `go mod tidy`: all that the library requires is required
// here as well, and its sums hold for it. idl is thrift or proto, whose generator
// stands in the module cmd.
func (l *library) modFiles(ctx context.Context, module, idl string) (mod, sum []byte, err error) {
	theirs, sums, err := l.modules(l.dir)
	if err != nil {
		return nil, nil, err
	}
	l.goVersion = theirs.Go.Version
	needs, sums := theirs.Require, append([]byte(l.sums), sums...)
	tool := modulePath + "/gen/limosa-gen"
	var b strings.Builder
	fmt.Fprintf(&b, "module %s\n\ngo %s\n\nrequire %s %s\n\n", modfile.AutoQuote(module), l.goVersion, modulePath, l.version)
	replaced := []string{""}
	if idl == "proto" {
		tool = modulePath + "/cmd/limosa-gen"
		replaced = append(replaced, "/cmd")
		cmd, err := l.command(ctx)
		if err != nil {
			return nil, nil, err
		}
		theirs, more, err := l.modules(cmd.dir)
		if err != nil {
			return nil, nil, err
		}
		for _, r := range theirs.Require {
			if slices.Contains(protoNeeds, r.Mod.Path) {
				needs = slices.DeleteFunc(needs, func(x *modfile.Require) bool { return x.Mod.Path == r.Mod.Path })
				needs = append(needs, r)
			}
		}
		sums = mergeLines(sums, append([]byte(cmd.sums), more...))
		fmt.Fprintf(&b, "require %s/cmd %s // indirect\n\n", modulePath, l.version)
	}
	fmt.Fprintf(&b, "tool %s\n\n", tool)
	for _, r := range needs {
		fmt.Fprintf(&b, "require %s %s // indirect\n\n", r.Mod.Path, r.Mod.Version)
	}
	for _, part := range replaced {
		if l.replace != "" {
			fmt.Fprintf(&b, "replace %s%s => %s\n", modulePath, part, modfile.AutoQuote(filepath.ToSlash(l.replace)+part))
		}
	}
	ours, err := modfile.Parse("go.mod", []byte(b.String()), nil)
	if err != nil {
		return nil, nil, err
	}
	ours.Cleanup()
	mod, err = ours.Format()
	return mod, sums, err
}

// command gives the module of the commands, of the same version.
func (l *library) command(ctx context.Context) (*library, error) {
	if l.replace != "" {
		return &library{dir: filepath.Join(l.dir, "cmd")}, nil
	}
	return releaseOf(ctx, modulePath+"/cmd", l.version)
}

// modules reads a module's go.mod and go.sum, which need not be there.
func (l *library) modules(dir string) (mod *modfile.File, sums []byte, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, nil, err
	}
	if mod, err = modfile.Parse(filepath.Join(dir, "go.mod"), data, nil); err != nil {
		return nil, nil, err
	}
	sums, err = os.ReadFile(filepath.Join(dir, "go.sum"))
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	return mod, sums, err
}

// mergeLines gives the lines of both texts, sorted, each once.
func mergeLines(a, b []byte) []byte {
	// The go command keeps go.sum in this order too, so that it finds nothing to change.
	lines := slices.Sorted(strings.Lines(string(a) + string(b)))
	return []byte(strings.Join(slices.Compact(lines), ""))
}
