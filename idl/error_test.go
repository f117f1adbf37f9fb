package idl

import (
	"errors"
	"io/fs"
	"strings"
	"testing"
)

// An error is shown with its line and a caret, as far as it has them.
func TestErrorText(t *testing.T) {
	for name, c := range map[string]struct {
		err  Error
		want string
	}{
		"a whole file":                {Error{Path: "a.thrift", Msg: "is gone"}, "a.thrift: is gone"},
		"without a source":            {Error{Path: "a.thrift", Pos: Pos{3, 7}, Msg: "no"}, "a.thrift:3:7: no"},
		"at the begin":                {Error{Path: "a.thrift", Pos: Pos{3, 1}, Msg: "no", Source: "struct"}, "a.thrift:3:1: no\n    struct\n    ^"},
		"within":                      {Error{Path: "a.thrift", Pos: Pos{3, 8}, Msg: "no", Source: "struct A"}, "a.thrift:3:8: no\n    struct A\n           ^"},
		"at the end":                  {Error{Path: "a.thrift", Pos: Pos{3, 7}, Msg: "no", Source: "struct"}, "a.thrift:3:7: no\n    struct\n          ^"},
		"beyond the end":              {Error{Path: "a.thrift", Pos: Pos{3, 70}, Msg: "no", Source: "struct"}, "a.thrift:3:70: no\n    struct\n          ^"},
		"no column":                   {Error{Path: "a.thrift", Pos: Pos{3, 0}, Msg: "no", Source: "struct"}, "a.thrift:3:0: no\n    struct\n    ^"},
		"behind tabs":                 {Error{Path: "a.thrift", Pos: Pos{3, 4}, Msg: "no", Source: "\t\t struct"}, "a.thrift:3:4: no\n    \t\t struct\n    \t\t ^"},
		"behind letters of two bytes": {Error{Path: "a.thrift", Pos: Pos{1, 6}, Msg: "no", Source: "äö A"}, "a.thrift:1:6: no\n    äö A\n       ^"},
	} {
		if got := c.err.Error(); got != c.want {
			t.Errorf("%s\n gives %q\n want  %q", name, got, c.want)
		}
		head, _, _ := strings.Cut(c.want, "\n")
		if got := c.err.Head(); got != head {
			t.Errorf("%s: the head is %q, want %q", name, got, head)
		}
	}
}

// Errors are joined by lines, and each of them and its cause can be asked for.
func TestErrorsText(t *testing.T) {
	first := &Error{Path: "a.thrift", Msg: "cannot be opened", Err: fs.ErrNotExist}
	errs := Errors{first, {Path: "b.thrift", Pos: Pos{1, 1}, Msg: "no", Source: "x"}}
	if got := errs.Error(); got != "a.thrift: cannot be opened\nb.thrift:1:1: no\n    x\n    ^" {
		t.Errorf("%q", got)
	}
	var err error = errs
	if !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
		t.Error("the cause is not to be found")
	}
	if one, ok := errors.AsType[*Error](err); !ok || one != first {
		t.Errorf("the first error is %v", one)
	}
	if got := (Errors{}).Error(); got != "" {
		t.Errorf("no errors are %q", got)
	}
}

func TestSourceLine(t *testing.T) {
	const text = "one\ntwo\r\n\nfour"
	for line, want := range map[int]string{-1: "one", 0: "one", 1: "one", 2: "two", 3: "", 4: "four", 5: "", 99: ""} {
		if got := SourceLine(text, line); got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
	long := strings.Repeat("x", 400)
	if SourceLine(long, 1) != long || SourceLine(long+"x", 1) != "" {
		t.Error("the longest line that is shown")
	}
	f := &File{Path: "a.thrift", Text: text}
	if got := f.Error(Pos{2, 2}, "no").Error(); got != "a.thrift:2:2: no\n    two\n     ^" {
		t.Errorf("%q", got)
	}
	if got := f.Error(Pos{}, "no").Error(); got != "a.thrift: no" {
		t.Errorf("%q", got)
	}
}
