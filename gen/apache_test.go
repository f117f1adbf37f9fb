package gen

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// What the compiler of Apache Thrift 0.25.0 says to `thrift --gen go -r` of each
// .thrift file below test/ and tutorial/: it accepts all but these, which it
// refuses in this line. Found by running it; docs/how/idl.md tells how.
const apacheFiles = 95

var apacheRefuses = map[string]int{"test/BrokenConstants.thrift": 21}

// apache gives the folder of Apache Thrift's sources.
func apache(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/apache/thrift@v0.25.0")
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := cmd.Output()
	var mod struct{ Dir string }
	if err == nil {
		err = json.Unmarshal(out, &mod)
	}
	if err != nil || mod.Dir == "" {
		t.Skipf("NOT TESTED: the sources of Apache Thrift 0.25.0 are not to be had: %v", err)
	}
	return mod.Dir
}

// TestApache generates Go from every file of Apache's tests and tutorials, each
// in a tree of its own, and compiles it against this module.
func TestApache(t *testing.T) {
	if testing.Short() {
		t.Skip("NOT TESTED: compiling takes a while")
	}
	src := apache(t)
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	work := module(t, root)
	var seen, refused int
	for _, top := range []string{"test", "tutorial"} {
		err := filepath.WalkDir(filepath.Join(src, top), func(path string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".thrift" {
				return err
			}
			seen++
			name, _ := filepath.Rel(src, path)
			out := fmt.Sprintf("t%02d", seen)
			code, _, stderr := run(work, "-q", "-out", out, path)
			line := apacheRefuses[filepath.ToSlash(name)]
			if line == 0 && code != 0 {
				t.Errorf("%s: Apache accepts it; exit %d\n%s", name, code, stderr)
			}
			if line != 0 {
				refused++
				if want := fmt.Sprintf("%s:%d:", path, line); code != 1 || !strings.HasPrefix(stderr, want) {
					t.Errorf("%s: exit %d, want an error in line %d\n%s", name, code, line, stderr)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if seen != apacheFiles || refused != len(apacheRefuses) {
		t.Errorf("%d files, %d refused: the table above is of %d and %d", seen, refused, apacheFiles, len(apacheRefuses))
	}
	for _, args := range [][]string{{"build", "-trimpath", "./..."}, {"vet", "-trimpath", "./..."}} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = work
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// module makes an empty module that uses the one at root as it is on disk.
func module(t *testing.T, root string) string {
	t.Helper()
	dir := t.TempDir()
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^module .*$`).ReplaceAllString(string(mod), "module apache.test")
	text += "\nrequire github.com/limosa-rpc/limosa v0.0.0\n\nreplace github.com/limosa-rpc/limosa => " + root + "\n"
	put(t, filepath.Join(dir, "go.mod"), text)
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	put(t, filepath.Join(dir, "go.sum"), string(sum))
	return dir
}

// TestCompact bounds the size of generated code by the size of the IDL.
func TestCompact(t *testing.T) {
	path := filepath.Join(apache(t), "test", "ThriftTest.thrift")
	s, err := thriftidl.Reader{}.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	files, err := Config{}.Generate(s)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?s)/\*.*?\*/`).ReplaceAllString(s.Files[0].Text, "")
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "//")
	})
	goLines := 0
	for _, f := range files {
		goLines += strings.Count(f.Content, "\n")
	}
	t.Logf("%d lines of Go for %d of IDL: %.1f", goLines, len(lines), float64(goLines)/float64(len(lines)))
	if goLines > 15*len(lines) {
		t.Error("more than 15 lines of Go for a line of IDL")
	}
}
