package lint_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	markdownLink = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	codeBlock    = regexp.MustCompile("(?ms)^```.*?^```$")
	pageInSource = regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b`)
)

// TestLintDocsInSource finds pages that the sources name and that are not there.
func TestLintDocsInSource(t *testing.T) {
	files, err := exec.Command("git", "ls-files", "-z", "*.go", "*.s", ".ci", "Makefile").Output()
	if err != nil {
		t.Skip("skipped: this tree is not a git checkout:", err)
	}
	pages := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // removed and not yet committed
		}
		for _, page := range pageInSource.FindAllString(string(text), -1) {
			pages++
			if _, err := os.Stat(page); err != nil {
				t.Errorf("%s names %s, which is not there", name, page)
			}
		}
	}
	if pages < 10 {
		t.Errorf("only %d pages found: the search is not to be trusted", pages)
	}
}

// TestLintDocsLinks finds links to files that are not there.
func TestLintDocsLinks(t *testing.T) {
	files, err := exec.Command("git", "ls-files", "-z", "*.md").Output()
	if err != nil {
		t.Skip("skipped: this tree is not a git checkout:", err)
	}
	links := 0
	for name := range strings.SplitSeq(strings.TrimRight(string(files), "\x00"), "\x00") {
		text, err := os.ReadFile(name)
		if err != nil || strings.Contains(name, "template/") {
			continue // removed and not yet committed, or the page of a project that is yet to be made
		}
		for _, m := range markdownLink.FindAllStringSubmatch(codeBlock.ReplaceAllString(string(text), ""), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, ":") {
				continue
			}
			links++
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), target)); err != nil {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	}
	if links < 10 {
		t.Errorf("only %d links found: the search is not to be trusted", links)
	}
}
