package main

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// A project that is made by a released binary has no replace line, and the
// sums of the release are those that the go command finds. The release is this
// tree, given by a module proxy made of files.
func TestNewFromRelease(t *testing.T) {
	needGo(t)
	if runtime.GOOS == "windows" {
		t.Skip("SKIPPED: the paths of the proxy's files are written for unix")
	}
	const version = "v0.9.1"
	proxy := t.TempDir()
	at := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
	if err := os.MkdirAll(at, 0o777); err != nil {
		t.Fatal(err)
	}
	zip, err := os.Create(filepath.Join(at, version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	if err := modzip.CreateFromDir(zip, module.Version{Path: modulePath, Version: version}, "../.."); err != nil {
		t.Fatal(err)
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{version + ".mod": string(mod), version + ".info": `{"Version":"` + version + `"}`, "list": version + "\n"} {
		if err := os.WriteFile(filepath.Join(at, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cached := strings.TrimSpace(offline(t, ".", "env", "GOMODCACHE"))
	t.Setenv("GOPROXY", "file://"+proxy+",file://"+filepath.Join(cached, "cache", "download")+",off")
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	lib, err := release(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	p, err := newProject("example.com/hello")
	if err != nil {
		t.Fatal(err)
	}
	p.Dir = t.TempDir()
	if err := p.write(t.Context(), lib); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(p.Dir, "go.mod"))
	if err != nil || strings.Contains(string(text), "replace") || !strings.Contains(string(text), modulePath+" "+version) {
		t.Errorf("%v:\n%s", err, text)
	}
	// x/sys was not asked for until now: the proxy has it, readonly go.sum does too.
	t.Setenv("GOWORK", "off")
	run(t, p.Dir, nil, "build", "-mod=readonly", "-o", os.DevNull, ".")
	run(t, p.Dir, nil, "vet", "-mod=readonly", "./...")

	if _, err := release(t.Context(), "v0.9.2"); err == nil || !strings.Contains(err.Error(), modulePath+" v0.9.2: ") {
		t.Errorf("a version that is not there: %v", err)
	}
}

// What a binary without a release and without a checkout is told.
func TestNoRelease(t *testing.T) {
	if _, err := findRelease(t.Context()); err == nil || !strings.Contains(err.Error(), "-replace DIR") {
		t.Errorf("findRelease = %v; a test binary belongs to no release", err)
	}
}
