package lint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// The tables here are policy, not a description: a build that does not pass is
// mended in the code that broke the rule. docs/architecture.md explains them.

const modulePath = "github.com/limosa-rpc/limosa"

// floors is the plan of the house: a package imports lower floors only. A
// package that is not listed sits half a floor above the nearest listed parent.
var floors = map[string]float64{
	"internal/invariant": 0, "internal/sys": 0, "internal/lint": 0, "stats": 0,
	"buf": 1, "tune": 1, "idl": 1, "idl/readers": 1.75,
	"rpc": 2, "rpc/stub": 2.5, "internal/codec": 2, "http1": 2, "http2": 2, "gen": 2,
	"netio": 3, "netio/simnet": 3.75, "wire": 3, "thrift": 3, "protobuf": 3, "discovery": 3, "internal/route": 3,
	"mux": 4, "shm": 4, "ttheader": 4, "dubbo": 4, "grpc": 4, "connect": 4, "govern": 4, "internal/hook": 4, "internal/secure": 4,
	"web": 5, "endpoint": 5, "internal/inproc": 5, "internal/serve": 5,
	"":              6,
	"internal/json": 1, "internal/shape": 2,
	"internal/thrift/raw": 2.5, "internal/thrift/plan": 2.6, "internal/thrift/lazy": 2.7, "internal/thrift/tjson": 2.7, "thrift/impl": 2.8, "internal/thrift/thrifttest": 3.5,
	"internal/protobuf/raw": 2.5, "internal/protobuf/plan": 2.6, "internal/protobuf/pjson": 2.7, "protobuf/impl": 2.8, "internal/protobuf/prototest": 3.5,
	"limosatest": 7, "admin": 7, "config": 7, "telemetry": 7, "agent": 7, "worker": 7,
	"grpc/health": 7, "grpc/health/internal/healthpb": 6.5, "grpc/reflection": 7, "grpc/reflection/internal/reflectpb": 6.5,
	"discovery/etcd": 7, "internal/rig": 7, "reflection": 7, "reflection/internal/describe": 6.5, "internal/sim": 7, "internal/metamorph": 7.5,
	// What the binary and the module bench share: above the face, below the binary.
	"cmd/load":   7.5,
	"cmd/shop":   7.5,
	"cmd/limosa": 8,
	// The second generator, and the reader that both have.
	"cmd/protoparse": 7.5,
	"cmd/limosa-gen": 8,
	// Generated code imports the face.
	"protobuf/known": 7, "internal/protobuf/prototest/made": 7,
}

// modules are the workspace's modules by folder, and whether the root module
// and its users may never see them.
var modules = map[string]struct{ leaf bool }{
	"":               {},
	"config":         {},
	"discovery/etcd": {},
	"telemetry":      {},
	"worker":         {},
	"cmd":            {leaf: true},
	"bench":          {leaf: true},
	"interop":        {leaf: true},
}

var rootRequires = []string{"golang.org/x/sys", "golang.org/x/net", "google.golang.org/protobuf"}

// A hello must stay small, and must not pay for what it does not speak: the
// IDL and Protobuf's run time are not needed to serve Thrift.
var notInFace = []string{"net/http", "google.golang.org/protobuf", modulePath + "/idl"}

// notImportedByFace may be linked by the standard library (log/slog names
// encoding/json; the linker drops what nobody calls), but not by our packages.
var notImportedByFace = []string{"encoding/json"}

// A listed is what go list tells of a package.
type listed struct {
	Dir, ImportPath, Name, Export      string
	Standard                           bool
	GoFiles, TestGoFiles, XTestGoFiles []string
	IgnoredGoFiles, Imports            []string
}

// rel is the package's path below the module, "" for the root package.
func (p *listed) rel() string {
	return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, modulePath), "/")
}

func (p *listed) ours() bool {
	return p.ImportPath == modulePath || strings.HasPrefix(p.ImportPath, modulePath+"/")
}

// workspace is every package of every module of go.work.
var workspace = sync.OnceValues(func() ([]*listed, error) { return goList("work") })

func goList(args ...string) ([]*listed, error) {
	const fields = "-json=Dir,ImportPath,Name,Export,GoFiles,TestGoFiles,XTestGoFiles,IgnoredGoFiles,Imports,Standard"
	out, err := goTool(append([]string{"list", "-e", fields}, args...)...)
	if err != nil {
		return nil, err
	}
	var pkgs []*listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		p := new(listed)
		if err := dec.Decode(p); err == io.EOF {
			return pkgs, nil
		} else if err != nil {
			return nil, err
		}
		pkgs = append(pkgs, p)
	}
}

func goTool(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, errors.New("go " + strings.Join(args, " ") + ": " + err.Error() + "\n" + stderr.String())
	}
	return out, nil
}

// packages gives the workspace's packages that hold Go files.
func packages(t *testing.T) []*listed {
	t.Helper()
	all, err := workspace()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(all), func(p *listed) bool {
		return !p.ours() || len(p.GoFiles)+len(p.IgnoredGoFiles)+len(p.TestGoFiles)+len(p.XTestGoFiles) == 0
	})
}

// floorOf gives a package's floor. Packages of leaf modules other than the
// command's stand outside of the house; nothing may import them.
func floorOf(rel string) (floor float64, known bool) {
	if f, ok := floors[rel]; ok {
		return f, true
	}
	for parent, up := rel, 0.5; ; up += 0.5 {
		i := strings.LastIndexByte(parent, '/')
		if i < 0 {
			return 0, false
		}
		parent = parent[:i]
		if f, ok := floors[parent]; ok {
			return f + up, true
		}
	}
}

func moduleOf(rel string) string {
	for dir := rel; dir != ""; {
		if _, ok := modules[dir]; ok {
			return dir
		}
		i := strings.LastIndexByte(dir, '/')
		if i < 0 {
			break
		}
		dir = dir[:i]
	}
	return ""
}

// outside reports packages of the modules that drive peers, and the examples:
// they may import what they like, and nobody imports them.
func outside(rel string) bool {
	m := moduleOf(rel)
	return m == "bench" || m == "interop" || example(rel)
}

func example(rel string) bool { return strings.HasPrefix(rel, "examples/") }

func TestLayerImportsGoDownward(t *testing.T) {
	for _, p := range packages(t) {
		rel := p.rel()
		if outside(rel) {
			continue
		}
		own, known := floorOf(rel)
		if !known {
			t.Errorf("package %s has no floor; the plan is in docs/architecture.md", p.ImportPath)
			continue
		}
		for _, path := range p.Imports {
			q := listed{ImportPath: path}
			if !q.ours() {
				continue
			}
			if outside(q.rel()) {
				t.Errorf("%s imports %s, which is there to be run, not imported", p.ImportPath, path)
				continue
			}
			floor, known := floorOf(q.rel())
			if !known || floor >= own {
				t.Errorf("%s (floor %v) imports %s (floor %v): arrows go downward only", p.ImportPath, own, path, floor)
			}
		}
	}
}

func TestLayerModules(t *testing.T) {
	for _, p := range packages(t) {
		from := moduleOf(p.rel())
		for _, path := range p.Imports {
			q := listed{ImportPath: path}
			if to := moduleOf(q.rel()); q.ours() && to != from && to != "" && !modules[from].leaf {
				t.Errorf("%s imports %s of the module %s, which would pull that module's dependencies into its users", p.ImportPath, path, to)
			}
		}
	}
	data, err := os.ReadFile("go.work")
	if err != nil {
		t.Fatal(err)
	}
	for dir := range modules {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
			continue
		}
		if line := "./" + dir; dir != "" && !slices.Contains(strings.Fields(string(data)), line) {
			t.Errorf("go.work does not use %s", line)
		}
	}
}

// TestLayerDependencies holds what a user's go.mod would get from the root module.
func TestLayerDependencies(t *testing.T) {
	out, err := goTool("mod", "edit", "-json")
	if err != nil {
		t.Fatal(err)
	}
	var mod struct{ Require, Replace []struct{ Path string } }
	if err := json.Unmarshal(out, &mod); err != nil {
		t.Fatal(err)
	}
	for _, r := range mod.Require {
		if !slices.Contains(rootRequires, r.Path) {
			t.Errorf("the root module requires %s; allowed are %s", r.Path, strings.Join(rootRequires, ", "))
		}
	}
	if len(mod.Replace) > 0 {
		t.Errorf("the root module has %d replace lines: its users would not get them", len(mod.Replace))
	}
}

// TestLayerFaceStaysSmall holds what the root package links, with everything
// that it imports.
func TestLayerFaceStaysSmall(t *testing.T) {
	linked, err := goList("-deps", ".")
	if err != nil {
		t.Fatal(err)
	}
	within := func(path string, list []string) bool {
		return slices.ContainsFunc(list, func(b string) bool { return path == b || strings.HasPrefix(path, b+"/") })
	}
	for _, p := range linked {
		if within(p.ImportPath, notInFace) {
			t.Errorf("the root package links %s", p.ImportPath)
		}
		for _, path := range p.Imports {
			if !p.Standard && within(path, notImportedByFace) {
				t.Errorf("the root package links %s, which imports %s", p.ImportPath, path)
			}
		}
	}
}

// TestLayerFloorOf keeps the half-floor rule from rotting: a table that
// answered "unknown" or 0 for everything would let everything pass.
func TestLayerFloorOf(t *testing.T) {
	for rel, want := range map[string]float64{"netio/conntest": 3.5, "gen/limosa-gen": 2.5, "thrift/dynamic": 3.5, "": 6, "discovery/etcd": 7, "cmd/limosa/x/y": 9} {
		if got, known := floorOf(rel); !known || got != want {
			t.Errorf("floorOf(%q) = %v, %v; want %v", rel, got, known, want)
		}
	}
	for _, rel := range []string{"util", "internal/helpers", "cmd/other"} {
		if f, known := floorOf(rel); known {
			t.Errorf("floorOf(%q) = %v; want unknown", rel, f)
		}
	}
}
