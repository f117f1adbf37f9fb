package lint_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const guideCode = "examples/guide"

// guidePages are the pages whose blocks of code are regions of files below
// guideCode, which are compiled and run.
func guidePages(t *testing.T) []string {
	t.Helper()
	pages, err := filepath.Glob("docs/guide/*.md")
	if err != nil || len(pages) < 10 {
		t.Fatalf("%d pages of the guide, %v", len(pages), err)
	}
	return append(pages, "README.md")
}

// TestGuideCode compares each block of Go and Thrift on the guide's pages with
// the region that the line above the block names:
//
//	<!-- examples/guide/errors_test.go errors-caller -->
//
// With -update the pages get what the regions hold.
func TestGuideCode(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range guidePages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		got, problems := fillBlocks(string(text), func(file, name string) (string, error) {
			shown[file+" "+name] = true
			return region(file, name)
		})
		if *update && got != string(text) {
			if err := os.WriteFile(page, []byte(got), 0o666); err != nil {
				t.Fatal(err)
			}
		} else if got != string(text) {
			problems = append(problems, "its code is not what the regions hold (go test ./internal/lint -run Guide -update writes it)")
		}
		for _, p := range problems {
			t.Errorf("%s: %s", page, p)
		}
	}
	for _, r := range regions(t) {
		if !shown[r] {
			t.Errorf("no page shows the region %s", r)
		}
	}
}

var (
	blockSource = regexp.MustCompile(`^<!-- (\S+) (\S+) -->$`)
	regionBegin = regexp.MustCompile(`^\s*//guide:begin (\S+)$`)
	regionEnd   = regexp.MustCompile(`^\s*//guide:end$`)
)

// fillBlocks gives the page with the code of its Go and Thrift blocks replaced
// by what source gives for the file and the name above each.
func fillBlocks(page string, source func(file, name string) (string, error)) (filled string, problems []string) {
	var out []string
	lines := strings.Split(page, "\n")
	for i := 0; i < len(lines); i++ {
		out = append(out, lines[i])
		if !strings.HasPrefix(lines[i], "```go") && !strings.HasPrefix(lines[i], "```thrift") {
			continue
		}
		end := i + 1
		for end < len(lines) && lines[end] != "```" {
			end++
		}
		var m []string
		if i > 0 {
			m = blockSource.FindStringSubmatch(lines[i-1])
		}
		code, err := "", fmt.Errorf("no line above it names a region")
		if m != nil {
			code, err = source(m[1], m[2])
		}
		if err != nil {
			problems = append(problems, fmt.Sprintf("the block in line %d: %v", i+1, err))
			out = append(out, lines[i+1:end]...)
		} else {
			out = append(out, strings.Split(code, "\n")...)
		}
		i = end - 1 // the fence at the end comes next
	}
	return strings.Join(out, "\n"), problems
}

// region gives the lines of a region, without the indent that they share and
// without the marks of others within it.
func region(file, name string) (string, error) {
	if !strings.HasPrefix(file, guideCode+"/") {
		return "", fmt.Errorf("%s is not below %s", file, guideCode)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var lines []string
	depth := 0 // of marks within the region; 0: outside of it
	for line := range strings.SplitSeq(string(text), "\n") {
		begin := regionBegin.FindStringSubmatch(line)
		switch {
		case depth == 0 && begin != nil && begin[1] == name:
			depth = 1
		case depth == 0:
		case begin != nil:
			depth++
		case regionEnd.MatchString(line):
			if depth--; depth == 0 {
				return dedent(lines), nil
			}
		default:
			lines = append(lines, line)
		}
	}
	return "", fmt.Errorf("%s has no region %s with an end", file, name)
}

// dedent takes away the indent that all lines share, and empty lines at both ends.
func dedent(lines []string) string {
	indent, first := "", true
	for _, l := range lines {
		if l == "" {
			continue
		}
		own := l[:len(l)-len(strings.TrimLeft(l, " \t"))]
		if first {
			indent, first = own, false
		}
		for !strings.HasPrefix(own, indent) {
			indent = indent[:len(indent)-1]
		}
	}
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimPrefix(l, indent))
	}
	return strings.Trim(strings.Join(out, "\n"), "\n")
}

// regions gives "file name" for every region below guideCode.
func regions(t *testing.T) (all []string) {
	t.Helper()
	err := filepath.WalkDir(guideCode, func(path string, d os.DirEntry, err error) error {
		if err != nil || !slices.Contains([]string{".go", ".thrift"}, filepath.Ext(path)) || strings.HasSuffix(path, ".thrift.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			if m := regionBegin.FindStringSubmatch(line); m != nil {
				all = append(all, filepath.ToSlash(path)+" "+m[1])
			}
		}
		return nil
	})
	if err != nil || len(all) < 10 {
		t.Fatalf("%d regions, %v", len(all), err)
	}
	return all
}

// TestGuideFillBlocks holds the finder itself to a page that is right and to
// pages that are not.
func TestGuideFillBlocks(t *testing.T) {
	source := func(file, name string) (string, error) {
		if name != "r" {
			return "", fmt.Errorf("no region")
		}
		return "a\nb", nil
	}
	for _, c := range []struct{ page, want, problem string }{
		{"x\n<!-- f r -->\n```go\na\nb\n```\ny", "x\n<!-- f r -->\n```go\na\nb\n```\ny", ""},
		{"<!-- f r -->\n```go\nold\n```", "<!-- f r -->\n```go\na\nb\n```", ""},
		{"<!-- f r -->\n```thrift\n```", "<!-- f r -->\n```thrift\na\nb\n```", ""},
		{"<!-- f q -->\n```go\nold\n```", "<!-- f q -->\n```go\nold\n```", "the block in line 2: no region"},
		{"```go\nold\n```", "```go\nold\n```", "the block in line 1: no line above it names a region"},
		{"```sh\nold\n```", "```sh\nold\n```", ""},
	} {
		got, problems := fillBlocks(c.page, source)
		if got != c.want || strings.Join(problems, "; ") != c.problem {
			t.Errorf("fillBlocks(%q) = %q, %q; want %q, %q", c.page, got, problems, c.want, c.problem)
		}
	}
	if got, want := dedent([]string{"", "\t\ta", "", "\t\t\tb", "\t}", ""}), "\ta\n\n\t\tb\n}"; got != want {
		t.Errorf("dedent = %q, want %q", got, want)
	}
}
