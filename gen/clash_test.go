package gen

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// tree reads what is below dir.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// A run for each file gives the same bytes as one for all, in any order; the
// other tests compile these.
func TestSeparateRuns(t *testing.T) {
	paths, err := filepath.Glob("testdata/idl/*.thrift")
	if err != nil || len(paths) < 5 {
		t.Fatal(err, paths)
	}
	want := tree(t, "testdata/golden")
	for name, next := range map[string]func(i int) int{
		"forward":  func(i int) int { return i },
		"backward": func(i int) int { return len(paths) - 1 - i },
	} {
		out := t.TempDir()
		for i := range paths {
			code, _, stderr := run("", "-q", "-out", out, "-prefix", "github.com/limosa-rpc/limosa/gen/testdata/golden", paths[next(i)])
			if code != 0 {
				t.Fatalf("%s, %s: exit %d\n%s", name, paths[next(i)], code, stderr)
			}
		}
		got := tree(t, out)
		for path := range want {
			if got[path] != want[path] {
				t.Errorf("%s: %s is not what one run gives", name, path)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d files, want %d", name, len(got), len(want))
		}
	}
}

// What two files of a namespace would both declare is refused in one run and in
// separate ones, nothing is written, and the text says what helps.
func TestClashes(t *testing.T) {
	const short = `each is the only service of its file: write (go.short = "false") behind all but one, or give -long`
	for name, c := range map[string]struct {
		a, b, names, flag string
		advice            string // "": it is no clash
	}{
		"two services":       {"service A {}", "service B {}", "Dial, NewClient, Service, Unimplemented", "", short},
		"long":               {"service A {}", "service B {}", "", "-long", ""},
		"annotated":          {"service A {}", `service B {} (go.short = "false")`, "", "", ""},
		"several in one":     {"service A {}", "service B {} service C {}", "", "", ""},
		"a struct Service":   {"struct Service {}", "service B {}", "Service", "", short},
		"one name":           {"struct S {}", "enum S { V }", "S", "", adviceRename},
		"one name in Go":     {"struct my_s { 1: i32 n = 1 }", "struct MyS { 1: i32 n = 1 }", "MyS, NewMyS", "", adviceRename},
		"constant and enum":  {"const i32 EV = 1", "enum E { V }", "EV", "", adviceRename},
		"nothing":            {"struct S {}", "struct T {}", "", "", ""},
		"fields and methods": {"struct S { 1: i32 a }", "struct T { 1: i32 a }", "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			put(t, filepath.Join(dir, "a.thrift"), "namespace go x.n\n"+c.a)
			put(t, filepath.Join(dir, "b.thrift"), "namespace go x.n\n"+c.b)
			flags := append(strings.Fields(c.flag), "-q")
			check := func(code int, stderr, want string) {
				t.Helper()
				if c.advice == "" && (code != 0 || stderr != "") || c.advice != "" && (code != 1 || !strings.Contains(stderr, want) || !strings.Contains(stderr, c.advice)) {
					t.Errorf("exit %d: %s\nwant %s … %s", code, stderr, want, c.advice)
				}
			}
			code, _, stderr := run(dir, append(flags, "-out", "one", "a.thrift", "b.thrift")...)
			check(code, stderr, "x/n has "+c.names+" already, from ")
			if code, _, stderr := run(dir, append(flags, "-out", "two", "a.thrift")...); code != 0 {
				t.Fatal(stderr)
			}
			before := tree(t, filepath.Join(dir, "two"))
			code, _, stderr = run(dir, append(flags, "-out", "two", "b.thrift")...)
			check(code, stderr, "b.thrift.go: the Go package has "+c.names+" already, from "+filepath.Join(dir, "two/x/n/a.thrift.go")+", which an earlier run made from a.thrift: if that is no more, delete")
			if c.advice != "" {
				if !maps.Equal(before, tree(t, filepath.Join(dir, "two"))) {
					t.Error("something was written")
				}
				code, _, stderr = run(dir, append(flags, "-check", "-out", "two", "b.thrift")...)
				check(code, stderr, "b.thrift.go: the Go package has ")
			}
		})
	}
}

// Two files that would become one do not overwrite each other.
func TestOneFileOfTwo(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "a-b.thrift"), "namespace go n\nstruct A {}")
	put(t, filepath.Join(dir, "a_b.thrift"), "namespace go n\nstruct B {}")
	if code, _, stderr := run(dir, "-out", "out", "a-b.thrift"); code != 0 {
		t.Fatal(stderr)
	}
	code, _, stderr := run(dir, "-out", "out", "a_b.thrift")
	if code != 1 || !strings.Contains(stderr, "out/n/a_b.thrift.codec.go: was made from a-b.thrift: if that is no more, delete it") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
