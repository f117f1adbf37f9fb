package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestGen(t *testing.T) {
	idl, out := writeFile(t, "hello.thrift", testIDL), t.TempDir()
	bad := writeFile(t, "bad.thrift", "struct A {\n  1: strin name\n}\n")
	one := writeFile(t, "one.thrift", "namespace go one\nservice One {}\n")
	made := filepath.Join(out, "test", "hello.thrift.go")
	steps := []struct {
		args []string
		code int
		want string // part of stderr
	}{
		{[]string{idl, "-out", out, "-check"}, 1, "missing"},
		{[]string{idl, "-out", out}, 0, ""},
		{[]string{"--check", "-out=" + out, idl}, 0, ""},
		{[]string{idl, "-out", out, "-check", "-lazy"}, 1, "stale"},
		{[]string{one, "-out", out}, 0, ""},
		{[]string{one, "-out", out, "-check", "-long"}, 1, "stale"},
		{[]string{bad, "-out", out}, 1, "bad.thrift:2:6: "},
		{[]string{idl + "x", "-out", out}, 2, "hello.thriftx: no such file"},
		{[]string{"-out", out}, 2, "no file is given"},
		{[]string{idl, "-lang", "java"}, 2, "unknown flag -lang"},
	}
	for _, s := range steps {
		code, stdout, stderr := runTool(t, "", append([]string{"gen"}, s.args...)...)
		if code != s.code || stdout != "" || !strings.Contains(stderr, s.want) || s.want == "" && stderr != "" {
			t.Errorf("gen %v: exit code %d, want %d and %q\n%s%s", s.args, code, s.code, s.want, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(made); err != nil || !strings.Contains(string(text), "type Hello interface") {
		t.Errorf("%v: %.200s", err, text)
	}
	if err := os.WriteFile(made, []byte("package test\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := runTool(t, "", "gen", idl, "-check", "-out", out); code != 1 || !strings.Contains(errs, "stale") {
		t.Errorf("stale code: exit code %d, %s", code, errs)
	}
}

// A .proto file is one more IDL, with a flag of its own.
func TestGenProto(t *testing.T) {
	const text = "syntax = \"proto3\"; package a.b; message M { string s = 1; } service S { rpc Get(M) returns (M); }"
	idl, out := writeFile(t, "m.proto", text), t.TempDir()
	for _, args := range [][]string{{idl, "-out", out}, {idl, "-out", out, "-M", "m.proto=example.com/x/y", "-prefix", "example.com/x"}} {
		if code, stdout, stderr := runTool(t, "", append([]string{"gen"}, args...)...); code != 0 || stdout+stderr != "" {
			t.Errorf("gen %v: exit code %d\n%s%s", args, code, stdout, stderr)
		}
	}
	for _, name := range []string{"a/b/m.proto.go", "a/b/m.proto.codec.go", "y/m.proto.go"} {
		if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(name))); err != nil {
			t.Error(err)
		}
	}
	if code, _, stderr := runTool(t, "", "gen", idl, "-out", out, "-M", "m.proto"); code != 2 || !strings.Contains(stderr, "want FILE=PATH") {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}
