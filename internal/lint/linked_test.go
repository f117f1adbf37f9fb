package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// hellos are the least servers, and what they must not need. Sizes are of stripped programs for linux/amd64, with room
// for a few releases of Go; that of Thrift was 7.8 MB before there was gRPC.
var hellos = []struct {
	path   string
	size   int64 // bytes
	banned []string
}{
	{"./examples/guide/hello", 7_300_000, []string{"golang.org/x/net", "google.golang.org/protobuf", "net/http", "MODULE/web", "MODULE/http1", "MODULE/http2", "MODULE/grpc", "MODULE/connect", "MODULE/protobuf", "MODULE/idl"}},
	{"./internal/lint/testdata/grpchello", 7_900_000, []string{"google.golang.org/protobuf", "net/http", "MODULE/idl"}},
}

// TestLinked sees to it that a small program stays small: what it needs, how large it is, and that nothing in it looks
// methods up by names or numbers that the linker cannot know. One such function, and all exported methods of all types
// are linked, which is a sixth of the program.
func TestLinked(t *testing.T) {
	for _, h := range hellos {
		deps, err := exec.Command("go", "list", "-deps", h.path).Output()
		if err != nil {
			t.Fatalf("%s: %v", h.path, err)
		}
		all := strings.Fields(string(deps))
		for _, b := range h.banned {
			b = strings.Replace(b, "MODULE", "github.com/limosa-rpc/limosa", 1)
			if i := slices.IndexFunc(all, func(p string) bool { return p == b || strings.HasPrefix(p, b+"/") }); i >= 0 {
				t.Errorf("%s needs %s", h.path, all[i])
			}
		}
		binary := filepath.Join(t.TempDir(), "hello")
		told, err := exec.Command("go", "build", "-ldflags=-s -w -dumpdep", "-o", binary, h.path).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", h.path, err, told)
		}
		for line := range strings.Lines(string(told)) {
			from, to, _ := strings.Cut(strings.TrimSpace(line), " -> ")
			if strings.HasSuffix(to, " <ReflectMethod>") {
				t.Errorf("%s: %s looks methods up: %s uses it", h.path, strings.TrimSuffix(to, " <ReflectMethod>"), from)
			}
		}
		if !strings.Contains(string(told), "main.main -> ") {
			t.Errorf("%s: the linker has not told what uses what", h.path)
		}
		info, err := os.Stat(binary)
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: %d bytes", h.path, info.Size())
		if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && info.Size() > h.size {
			t.Errorf("%s has %d bytes, above %d", h.path, info.Size(), h.size)
		}
	}
}
