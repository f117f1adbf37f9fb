package gen

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Two runs at once write the same files: each ends well, the files are whole,
// and what lies beside them is nobody's but its owner's.
func TestRunsAtOnce(t *testing.T) {
	dir := t.TempDir()
	const n = 4
	for i := range n { // of another length each, so that a mixture shows
		put(t, filepath.Join(dir, fmt.Sprintf("%d/a.thrift", i)), "namespace go a\n"+strings.Repeat("// more\n", i)+"struct A { 1: i32 n }")
	}
	stranger := filepath.Join(dir, "out/a/a.thrift.go.tmp")
	put(t, stranger, "not yours")
	for range 10 {
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if code, _, stderr := run(dir, "-out", "out", fmt.Sprintf("%d/a.thrift", i)); code != 0 {
					t.Errorf("exit %d: %s", code, stderr)
				}
			})
		}
		all.Wait()
	}
	got, err := os.ReadFile(filepath.Join(dir, "out/a/a.thrift.codec.go"))
	if err != nil || !strings.HasSuffix(string(got), "struct A{1:i32 n}\n`\n}\n") {
		t.Errorf("%v\n%s", err, got)
	}
	if got, err := os.ReadFile(stranger); err != nil || string(got) != "not yours" {
		t.Errorf("a file of somebody else: %q, %v", got, err)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, "out/a/*")); len(files) != 3 {
		t.Errorf("left behind: %v", files)
	}
}

func TestImportGroups(t *testing.T) {
	s := load(t, map[string]string{"a.thrift": "include \"base.thrift\"\nstruct A { 1: i32 n, 2: base.B b }", "base.thrift": "struct B {}"}, "a.thrift")
	files, err := Config{Prefix: "hello"}.Generate(s) // a module's path need not have a dot
	if err != nil {
		t.Fatal(err)
	}
	want := "import (\n\t\"encoding/binary\"\n\n\t\"github.com/limosa-rpc/limosa/thrift/impl\"\n\t\"hello/base\"\n)\n"
	if !strings.Contains(files[0].Content, want) {
		t.Errorf("%.600s\nwant %s", files[0].Content, want)
	}
}
