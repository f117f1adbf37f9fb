package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCall(t *testing.T) {
	idl, addr := writeFile(t, "hello.thrift", testIDL), new(testServer).serve(t)
	file := writeFile(t, "request.json", `{"message":"from a file"}`)
	for _, c := range []struct {
		method, body, stdin string
		code                int
		want                string // stdout without white space
		errs                string // part of stderr
	}{
		{method: "Hello/Echo", body: `{"message":"hi"}`, want: `{"message":"hi"}`},
		{method: "Hello/Echo", body: `{"req":{"message":"hi"}}`, want: `{"message":"hi"}`},
		{method: "hello/echo", body: "-", stdin: `{"message":"é\u0022"}`, want: `{"message":"é\""}`},
		{method: "hello.Hello/ECHO", body: "@" + file, want: `{"message":"fromafile"}`},
		{method: "Hello/Echo", body: "{}", want: `{"message":""}`},
		{method: "Hello/Echo", body: "", want: `{"message":""}`},
		{method: "Hello/add", body: `{"a":40,"b":2}`, want: "42"},
		{method: "Hello/add", body: `{"b":9007199254740993}`, want: "9007199254740993"},
		{method: "Hello/twice", body: `{"n":4}`, want: "8"},
		{method: "Hello/twice", body: `4`, want: "8"},
		{method: "Hello/ping", want: "null"},
		{method: "Hello/Echo", body: `{"message":"oops"}`, code: 1, want: `{"why":"askedfor"}`, errs: "Hello/Echo answered with its exception Oops\n"},
		{method: "Hello/Echo", body: `{"message":"denied"}`, code: 1, errs: "PermissionDenied: Hello/Echo at " + addr + ": not you\n"},
	} {
		args := []string{"call", "-idl", idl, addr, c.method}
		if c.body != "" {
			args = append(args, c.body)
		}
		code, out, errs := runTool(t, c.stdin, args...)
		if got := strings.Join(strings.Fields(out), ""); code != c.code || got != c.want || !strings.Contains(errs, c.errs) || c.errs == "" && errs != "" {
			t.Errorf("%s %s: exit code %d, %s\n%s\nwant %d, %s", c.method, c.body, code, got, errs, c.code, c.want)
		}
		if strings.Count(errs, "\n") > 1 {
			t.Errorf("%s %s: more than one line on stderr:\n%s", c.method, c.body, errs)
		}
	}
}

func TestCallOneway(t *testing.T) {
	s := new(testServer)
	idl, addr := writeFile(t, "hello.thrift", testIDL), s.serve(t)
	if code, out, errs := runTool(t, "", "call", "-idl", idl, addr, "Hello/note", `"remember"`); code != 0 || out != "" || errs != "" {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	if got := <-s.notes; got != "remember" {
		t.Errorf("the service got %q", got)
	}
}

func TestCallTransports(t *testing.T) {
	idl, addr := writeFile(t, "hello.thrift", testIDL), new(testServer).serve(t)
	for _, transport := range formNames() {
		for _, more := range [][]string{nil, {"-multiplexed"}} {
			args := append([]string{"call", "-idl", idl, addr, "Hello/add", `{"a":1,"b":2}`, "-transport", transport, "-timeout", "0"}, more...)
			if code, out, errs := runTool(t, "", args...); code != 0 || out != "3\n" {
				t.Errorf("%v: exit code %d\n%s%s", args, code, out, errs)
			}
		}
	}
}

func TestCallMetadata(t *testing.T) {
	idl, addr := writeFile(t, "hello.thrift", testIDL), new(testServer).serve(t)
	code, out, errs := runTool(t, "", "call", "-idl", idl, addr, "Hello/Echo", `{"message":"hi"}`, "-H", "tenant=a=1,b=2", "-v")
	if code != 0 || !strings.Contains(errs, "seen: a=1,b=2") || !strings.Contains(errs, "Hello/Echo at "+addr+" took ") {
		t.Errorf("exit code %d\n%s%s", code, out, errs)
	}
	code, out, _ = runTool(t, "", "call", "-idl", idl, addr, "Hello/Echo", `{"message":"hi"}`, "-H", "tenant=t1", "-o", "json")
	var r callReport
	if err := json.Unmarshal([]byte(out), &r); err != nil || code != 0 || strings.Count(out, "\n") != 1 {
		t.Fatalf("exit code %d, %v: %s", code, err, out)
	}
	if string(r.Result) != `{"message":"hi"}` || !slices.Equal(r.Metadata["seen"], []string{"t1"}) || r.TookUs <= 0 || r.Peer != addr {
		t.Errorf("%s", out)
	}
}

func TestCallReportsFailure(t *testing.T) {
	idl, addr := writeFile(t, "hello.thrift", testIDL), new(testServer).serve(t)
	for _, c := range []struct{ message, timeout, code, exception string }{
		{"oops", "10s", "", "Oops"}, {"denied", "10s", "PermissionDenied", ""}, {"slow", "100ms", "DeadlineExceeded", ""},
	} {
		code, out, errs := runTool(t, "", "call", "-idl", idl, addr, "Hello/Echo", `{"message":"`+c.message+`"}`, "-timeout", c.timeout, "-o", "json")
		var r callReport
		if err := json.Unmarshal([]byte(out), &r); err != nil || code != 1 || errs != "" {
			t.Fatalf("exit code %d, %v: %s%s", code, err, out, errs)
		}
		if r.Error == nil {
			r.Error = &callError{}
		}
		if r.Error.Code != c.code || r.Exception != c.exception {
			t.Errorf("%s: %s", c.message, out)
		}
	}
}

// What a method with one argument takes without its name, and what is left as
// it is.
func TestArgumentsByName(t *testing.T) {
	idl := writeFile(t, "args.thrift", `
		struct Plain { 1: string text }
		struct Odd { 1: string req, 2: Plain other }
		service S {
			void plain(1: Plain req)
			void odd(1: Odd req)
			void number(1: i64 n = 7)
			void many(1: map<string, string> m)
			void items(1: list<i32> l)
			void none()
			void two(1: string a, 2: string b)
		}`)
	for _, c := range []struct{ method, body, want string }{
		{"plain", `{}`, `{"req":{}}`},
		{"plain", `{"text":"x"}`, `{"req":{"text":"x"}}`},
		{"plain", `{"req":{"text":"x"}}`, `{"req":{"text":"x"}}`},
		{"odd", `{"req":"x"}`, `{"req":{"req":"x"}}`},
		{"odd", `{"req":{"req":"x"}}`, `{"req":{"req":"x"}}`},
		{"odd", `{"req":"x","other":{}}`, `{"req":{"req":"x","other":{}}}`},
		{"number", `{}`, `{}`},
		{"number", `{"n":3}`, `{"n":3}`},
		{"number", ` 3 `, `{"n":3}`},
		{"many", `{}`, `{"m":{}}`},
		{"many", `{"a":"b"}`, `{"m":{"a":"b"}}`},
		{"many", `{"m":{"a":"b"}}`, `{"m":{"a":"b"}}`},
		{"items", `[1,2]`, `{"l":[1,2]}`},
		{"none", `{}`, `{}`},
		{"two", `{"a":"x"}`, `{"a":"x"}`},
	} {
		schema, err := loadIDL([]string{idl}, nil)
		if err != nil {
			t.Fatal(err)
		}
		s, m, err := findMethod(schema.Schema, "S/"+c.method)
		if err != nil {
			t.Fatal(err)
		}
		got, err := (&target{service: s, method: m}).byName([]byte(c.body))
		if err != nil || string(got) != c.want {
			t.Errorf("%s %s: %s, %v; want %s", c.method, c.body, got, err, c.want)
		}
	}
}

func TestOutcome(t *testing.T) {
	schema, err := loadIDL([]string{writeFile(t, "hello.thrift", testIDL)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ method, result, want string }{
		{"Echo", "\x0c\x00\x00\x00\x00", ""},
		{"Echo", "\x0c\x00\x01\x00\x00", "exception Oops"},
		{"Echo", "\x0c\x00\x05\x00\x00", "field 5"},
		{"Echo", "\x0c\xff\xff\x00\x00", "field -1"},
		{"Echo", "\x00", "no result"},
		{"Echo", "\x0c\x00", "no result"},
		{"Echo", "", "empty"},
		{"ping", "\x00", ""},
		{"note", "", ""},
	} {
		s, m, err := findMethod(schema.Schema, "Hello/"+c.method)
		if err != nil {
			t.Fatal(err)
		}
		err = (&target{service: s, method: m}).outcome([]byte(c.result))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s answered %q: %v, want %q", c.method, c.result, err, c.want)
		}
	}
}

func TestFindMethod(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"base.thrift": "namespace * org.base\nservice S { void inBase() }\nservice T extends S { void more() }",
		"main.thrift": "include \"base.thrift\"\nservice S extends base.T { void inMain(), void INMAIN() }",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	schema, err := loadIDL([]string{filepath.Join(dir, "main.thrift")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"S/inMain": "main S inMain", "S/INMAIN": "main S INMAIN", "s/inmain": "main S inMain", "S/more": "main S more", "S/inbase": "main S inBase",
		"base.S/inBase": "base S inBase", "org.base.S/inBase": "base S inBase", "T/inBase": "base T inBase",
		"base.S/inMain": "", "other.S/inMain": "", "S/": "", "/x": "", "S": "", "main.T/more": "",
	} {
		got := ""
		if s, m, err := findMethod(schema.Schema, path); err == nil {
			got = s.File.Name + " " + s.Name + " " + m.Name
		}
		if got != want {
			t.Errorf("%s is %q, want %q", path, got, want)
		}
	}
}
