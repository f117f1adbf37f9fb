package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
)

// offline runs the go command in dir so that nothing can be fetched or put
// right on the way.
func offline(t *testing.T, dir string, args ...string) string {
	t.Helper()
	return run(t, dir, []string{"GOWORK=off", "GOFLAGS=-mod=readonly", "GOPROXY=off", "CGO_ENABLED=0"}, args...)
}

// run runs the go command in dir with additions to its environment.
func run(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

func needGo(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("SKIPPED: there is no go command here, so a new project cannot be built")
	}
}

// A project as `limosa new` makes it builds without network, is small, answers
// a call, refuses a port that is taken, and ends when it is told to.
func TestNewBuildsAndAnswers(t *testing.T) {
	needGo(t)
	dir := filepath.Join(t.TempDir(), "hello")
	if code, out, errs := runTool(t, "", "new", "hello", "-idl", "thrift", "-dir", dir); code != 0 || !strings.Contains(out, "made Hello in "+dir+"; next:\n\n  cd "+dir+"\n  go run . ") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	bin := filepath.Join(t.TempDir(), "hello.exe")
	offline(t, dir, "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	if info, err := os.Stat(bin); err != nil || info.Size() > 8e6 {
		t.Errorf("the binary: %v, %d bytes; at most 8 MB are allowed", err, info.Size())
	}
	linked := offline(t, dir, "version", "-m", bin)
	if n := strings.Count(linked, "\n\tdep\t"); n > 3 || !strings.Contains(linked, "\n\tdep\t"+modulePath+"\t") {
		t.Errorf("%d modules are linked:\n%s", n, linked)
	}

	server := exec.Command(bin, "-addr", "127.0.0.1:0")
	stdout, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	defer server.Process.Kill()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	addr, ok := strings.CutPrefix(strings.TrimSpace(line), "hello: serving on ")
	if err != nil || !ok {
		t.Fatalf("%v: %q", err, line)
	}
	code, out, errs := runTool(t, "", "call", addr, "Hello/Echo", `{"message":"hi"}`)
	if code != 0 || !strings.Contains(out, `"hi"`) {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}

	second := exec.Command(bin, "-addr", addr)
	var stderr bytes.Buffer
	second.Stderr = &stderr
	_ = second.Run() // its exit code is looked at
	if second.ProcessState.ExitCode() != 2 || strings.Count(stderr.String(), "\n") != 1 {
		t.Errorf("on a port in use: exit code %d\n%s", second.ProcessState.ExitCode(), &stderr)
	}

	if runtime.GOOS == "windows" {
		return // no SIGTERM
	}
	if err := server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := server.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v", err)
	}
}

// All of a project's files are in order, and its own tools run offline: for both IDLs.
func TestNewIsClean(t *testing.T) {
	needGo(t)
	for _, idl := range []string{"thrift", "proto"} {
		t.Run(idl, func(t *testing.T) { newIsClean(t, idl) })
	}
}

func newIsClean(t *testing.T, idl string) {
	dir := filepath.Join(t.TempDir(), "x")
	if code, out, errs := runTool(t, "", "new", "example.com/team/my-shop", "-dir", dir, "-idl", idl); code != 0 || !strings.Contains(out, "\n  limosa call :8888 MyShop/Echo ") {
		t.Fatalf("exit code %d\n%s%s", code, out, errs)
	}
	for _, name := range []string{"README.md", "Dockerfile", "main.go", "main_test.go", "go.mod", "go.sum", "idl/my-shop." + idl} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if readme, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || !strings.Contains(string(readme), "`limosa call :8888 MyShop/Echo ") {
		t.Errorf("README.md does not say how the service is called: %v\n%s", err, readme)
	}
	if other, _ := filepath.Glob(filepath.Join(dir, "idl", "*")); len(other) != 1 {
		t.Errorf("files of the other IDL: %v", other)
	}
	bin := filepath.Join(t.TempDir(), "shop.exe")
	offline(t, dir, "build", "-trimpath", "-ldflags=-s -w", "-o", bin, ".")
	if info, err := os.Stat(bin); err != nil || info.Size() > 9e6 {
		t.Errorf("the binary: %v, %d bytes; at most 9 MB are allowed", err, info.Size())
	}
	if linked := offline(t, dir, "version", "-m", bin); strings.Contains(linked, "google.golang.org/protobuf") || strings.Count(linked, "\n\tdep\t") > 3 {
		t.Errorf("what the generator needs is linked:\n%s", linked)
	}
	before := tree(t, dir)
	offline(t, dir, "vet", "./...")
	offline(t, dir, "test", "./...")
	offline(t, dir, "generate", "./...")
	if out := offline(t, dir, "run", "cmd/gofmt", "-l", "."); out != "" {
		t.Errorf("not gofmt clean: %s", out)
	}
	after := tree(t, dir)
	for name, text := range after {
		if before[name] != text {
			t.Errorf("go generate changed %s", name)
		}
	}
	if code, _, errs := runTool(t, "", "new", "hello", "-dir", dir, "-idl", idl); code != 2 || !strings.Contains(errs, "not empty") {
		t.Errorf("made over another project: exit code %d, %s", code, errs)
	}
}

// A project within another workspace, such as the checkout, is its own.
func TestNewWithinWorkspace(t *testing.T) {
	needGo(t)
	above := t.TempDir()
	if err := os.WriteFile(filepath.Join(above, "go.work"), []byte("go 1.26\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(above, "a", "hello")
	if code, _, errs := runTool(t, "", "new", "hello", "-dir", dir, "-idl", "thrift"); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	run(t, dir, []string{"GOWORK=", "GOFLAGS=", "GOPROXY=off"}, "vet", "./...")
}

func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestProjectNames(t *testing.T) {
	for name, want := range map[string]project{
		"hello":                {Name: "hello", Module: "hello", Package: "hello", Service: "Hello", IDL: "thrift"},
		"example.com/a/b-c_d2": {Name: "b-c_d2", Module: "example.com/a/b-c_d2", Package: "bcd2", Service: "BCD2", IDL: "thrift"},
		"UserStore":            {Name: "UserStore", Module: "UserStore", Package: "userstore", Service: "UserStore", IDL: "thrift"},
	} {
		if p, err := newProject(name); err != nil || *p != want {
			t.Errorf("%s: %+v, %v; want %+v", name, p, err, want)
		}
	}
	for _, name := range []string{"", ".", "..", "/", "a/", "a b", "-x", "request", "service", "dial", "type", "rpc", "über", "7up", "a..b/c\x00"} {
		if p, err := newProject(name); err == nil {
			t.Errorf("%q was taken: %+v", name, p)
		}
	}
}

// What is to be typed next works as it stands, where the command was begun by go run too.
func TestNewTellsHowToInstall(t *testing.T) {
	bin := t.TempDir()
	const step = " install ./limosa"
	for _, there := range []bool{false, true} {
		if there {
			if err := os.WriteFile(filepath.Join(bin, "limosa"), []byte("#!/bin/sh\n"), 0o777); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("PATH", bin)
		dir := filepath.Join(t.TempDir(), "hello")
		_, out, _ := runTool(t, "", "new", "hello", "-dir", dir)
		readme, err := os.ReadFile(filepath.Join(dir, "README.md"))
		if err != nil || strings.Contains(out, step) == there || !strings.Contains(string(readme), step) {
			t.Errorf("limosa is in the PATH: %v; %v\n%s%s", there, err, out, readme)
		}
	}
}
