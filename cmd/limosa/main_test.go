package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// runTool runs a command line and gives what came of it.
func runTool(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	a := &app{stdin: strings.NewReader(stdin), stdout: &out, stderr: &errs}
	code = a.run(t.Context(), append([]string{"limosa"}, args...))
	return code, out.String(), errs.String()
}

const testIDL = `namespace go test
struct Request { 1: string message }
struct Response { 1: string message }
exception Oops { 1: string why }
service Base { void ping() }
service Hello extends Base {
  Response Echo(1: Request req) throws (1: Oops oops)
  i64 add(1: i64 a, 2: i64 b)
  i64 twice(1: i64 n)
  oneway void note(1: string text)
}
`

func writeFile(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// Whatever is wrong with a command line: its exit code, nothing on stdout, and
// one line on stderr that says what.
func TestBadInput(t *testing.T) {
	idl := writeFile(t, "hello.thrift", testIDL)
	bad := writeFile(t, "bad.thrift", "struct A {\n  1: strin name\n}\n")
	full := filepath.Dir(idl)
	for _, c := range []struct {
		args string
		code int
		want string // part of the line
	}{
		{"nope", 2, `unknown command "nope"; there are new, gen, breaking, list, describe, call, bench, demo, version`},
		{"cal", 2, `unknown command "cal" (did you mean "call"?); there are`},
		{"-nope", 2, "unknown flag -nope"},
		{"version -nope", 2, "limosa version: unknown flag -nope (limosa version --help)"},
		{"version extra", 2, "want no arguments"},
		{"version -o yaml", 2, `output is text or json, not "yaml"`},
		{"demo -d", 2, "flag needs an argument"},
		{"demo -d soon", 2, `invalid value "soon" for flag -d`},
		{"demo -d 1ms", 2, "too short"},
		{"new", 2, "want one NAME"},
		{"new a b -idl thrift", 2, "want one NAME, got 2 arguments"},
		{"new hello -idl thirft", 2, `unknown IDL "thirft"`},
		{"new hello -idl avro", 2, "unknown IDL \"avro\"; it is thrift or proto"},
		{"call :1 S/M -idl a.proto", 2, "a.proto: "},
		{"new hello -idl xml", 2, `unknown IDL "xml"`},
		{"new func -idl thrift", 2, "keyword"},
		{"new context -idl thrift", 2, "main.go uses context"},
		{"new error", 2, "error means something in Go"},
		{"new example.com/init", 2, "init means something in Go"},
		{"new example.com/internal", 2, "called internal"},
		{"new vendor/hello", 2, "or vendor"},
		{"new list", 2, "list is a word of Thrift"},
		{"new log", 2, `"log" cannot be a module's path`},
		{"new net/http", 2, "example.com/net/http can"},
		{"new 1st -idl thrift", 2, "cannot be a project's name"},
		{"new ../up -idl thrift", 2, "cannot be a project's name"},
		{"new hello -idl thrift -dir " + full, 2, "is not empty"},
		{"new hello -idl thrift -dir " + idl, 2, "cannot be the project's folder"},
		{"new hello -idl thrift -replace " + full + " -dir " + full + "/x", 2, "is no checkout"},
		{"call :1", 2, "want ADDR Service/Method"},
		{"call -idl " + full + "/missing.thrift :1 Hello/Echo", 2, "missing.thrift: no such file"},
		{"call 127.0.0.1:1 Hello/Echo", 1, "asking the server for its IDL: "},
		{"list", 2, "which IDL?"},
		{"list -idl " + idl + " extra extra", 2, "at most one ADDR"},
		{"describe :8888", 2, "want Service/Method, Service or Type behind :8888 (limosa list :8888 shows what there is)"},
		{"describe", 2, "[ADDR] Service/Method"},
		{"describe -idl " + idl + " Nothing", 2, `no service or type "Nothing"; it has Base, Hello, Request, Response, Oops`},
		{"call -idl " + filepath.Dir(idl) + " :1 Hello/Echo", 2, "is a directory; name one file in it"},
		{"call -idl " + idl + " :1 Hello/Echo -cert c.pem", 2, "-cert and -key belong together"},
		{"call -idl " + idl + " :1 Hello/Echo -cacert /nowhere.pem", 2, "no such file"},
		{"call -idl " + idl + " :1 Hello/Echo -cacert " + idl, 2, "no certificate in PEM form"},
		{"call -idl " + idl + " :1 Hello/Echo -servername x", 2, "-servername is for TLS"},
		{"call -idl " + idl + " unix:///tmp/x Hello/Echo -tls", 2, "TLS is for TCP"},
		{"call -idl " + idl + " :1 Hello/Echo -P novalue", 2, `-P "novalue" is not key=value`},
		{"call -idl " + idl + " :1 Hello/Echo -transport framd", 2, `unknown -transport "framd" (did you mean "framed"?)`},
		{"call -idl " + bad + " :1 A/b", 1, "bad.thrift:2:6: "},
		{"call -idl " + idl + " :1 Hello", 2, `"Hello" is not Service/Method`},
		{"call -idl " + idl + " :1 Bye/Echo", 2, `no service "Bye" in the IDL; it has Base, Hello`},
		{"call -idl " + idl + " :1 Hello/Nope", 2, `service Hello has no method "Nope" (did you mean "note"?); it has Echo, add, twice, note, ping`},
		{"call -idl " + idl + " nowhere Hello/Echo", 2, "want host:port"},
		{"call -idl " + idl + " etcd://x/y Hello/Echo", 2, `unknown scheme "etcd"; want host:port`},
		{"call -idl " + idl + " :1 Hello/Echo {", 2, "no JSON: unexpected end of JSON input at byte 1"},
		{"call -idl " + idl + " :1 Hello/Echo {}x", 2, "no JSON: invalid character 'x'"},
		{"call -idl " + idl + " :1 Hello/Echo @" + full + "/missing.json", 2, "missing.json: no such file"},
		{"call -idl " + idl + ` :1 Hello/Echo {"massage":"hi"}`, 2, "massage"},
		{"call -idl " + idl + ` :1 Hello/Echo {"message":5}`, 2, "message"},
		{"call -idl " + idl + ` :1 Hello/add {"a":1e30}`, 2, "a"},
		{"call -idl " + idl + " :1 Hello/Echo -H a=b -transport framed", 2, "no place for metadata"},
		{"call -idl " + idl + " :1?thrift=buffered Hello/Echo -H a=b", 2, "no place for metadata"},
		{"call -idl " + idl + " :1?thrift=framed Hello/Echo -transport buffered", 2, "give one of them"},
		{"call -idl " + idl + " :1 Hello/Echo -H novalue", 2, `-H "novalue" is not key=value`},
		{"call -idl " + idl + " :1 Hello/Echo -H limosa-x=1", 2, "reserved"},
		{"call -idl " + idl + " :1 Hello/Echo -transport http", 2, `unknown -transport "http"`},
		{"bench -idl " + idl + " :1 Hello/Echo -c 0", 2, "-c 0: want"},
		{"bench -idl " + idl + " :1 Hello/Echo -c many", 2, `invalid value "many" for flag -c`},
		{"bench -idl " + idl + " :1 Hello/Echo -rate -1", 2, "-rate -1: want"},
		{"bench -idl " + idl + " :1 Hello/Echo -d -1s", 2, "-d -1s: want"},
		{"bench -idl " + idl + " :1 Hello/Echo -json {", 2, "no JSON"},
		// Nobody listens on port 1 of a machine that runs tests.
		{"call -idl " + idl + " 127.0.0.1:1 Hello/Echo {}", 1, "Unavailable"},
		{"bench -idl " + idl + " 127.0.0.1:1 Hello/Echo -d 50ms", 1, "the first call failed"},
	} {
		t.Run(c.args, func(t *testing.T) {
			code, stdout, stderr := runTool(t, "", strings.Split(c.args, " ")...)
			if code != c.code || stdout != "" {
				t.Errorf("exit code %d and %q on stdout, want %d and nothing", code, stdout, c.code)
			}
			if !strings.HasPrefix(stderr, "limosa") || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.want) {
				t.Errorf("stderr is not one line with %q:\n%s", c.want, stderr)
			}
		})
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{}, {"help"}, {"--help"}, {"-h"}} {
		code, out, errs := runTool(t, "", args...)
		if code != 0 || errs != "" || !strings.Contains(out, "Commands:") {
			t.Errorf("limosa %v: exit code %d\n%s%s", args, code, out, errs)
		}
	}
	for _, name := range []string{"new", "gen", "breaking", "call", "bench", "demo", "version"} {
		for _, args := range [][]string{{name, "--help"}, {"help", name}, {name, "-help"}} {
			code, out, errs := runTool(t, "", args...)
			if code != 0 || errs != "" || !strings.Contains(out, "\nUsage:\n  limosa "+name) || !strings.Contains(out, "\nExample:\n  limosa "+name) {
				t.Errorf("limosa %v: exit code %d\n%s%s", args, code, out, errs)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	if code, out, errs := runTool(t, "", "--version"); code != 0 || errs != "" || !strings.HasPrefix(out, "limosa ") {
		t.Errorf("limosa --version: exit code %d\n%s%s", code, out, errs)
	}
	code, out, _ := runTool(t, "", "version", "-o", "json")
	var v versionInfo
	if err := json.Unmarshal([]byte(out), &v); err != nil || code != 0 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if v.Version == "" || v.Go != runtime.Version() || v.Platform != runtime.GOOS+"/"+runtime.GOARCH {
		t.Errorf("%+v", v)
	}
	if code, out, _ := runTool(t, "", "version"); code != 0 || !strings.HasPrefix(out, "limosa "+v.Version+" go1.") {
		t.Errorf("exit code %d: %s", code, out)
	}
}

// Flags stand anywhere, with one dash or two, with a space or an =.
func TestFlagsAnywhere(t *testing.T) {
	idl := writeFile(t, "hello.thrift", testIDL)
	for _, args := range [][]string{
		{"call", "127.0.0.1:1", "Hello/Echo", "{}", "-idl", idl, "-timeout", "3s"},
		{"call", "--timeout=3s", "127.0.0.1:1", "-idl=" + idl, "Hello/Echo", "{}"},
		{"call", "-timeout=3s", "--idl", idl, "127.0.0.1:1", "Hello/Echo", "-v", "{}"},
	} {
		if code, _, errs := runTool(t, "", args...); code != 1 || !strings.Contains(errs, "Unavailable") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}
