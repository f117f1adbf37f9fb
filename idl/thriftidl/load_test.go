package thriftidl

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/limosa-rpc/limosa/idl"
)

func TestIncludes(t *testing.T) {
	files := map[string]string{
		"dir/main.thrift":   "include \"b.thrift\"\ninclude \"lib/c.thrift\"\nstruct S { 1: b.B b, 2: c.C c }",
		"dir/b.thrift":      "include \"lib/c.thrift\"\nstruct B { 1: c.C c }",
		"inc/lib/c.thrift":  "struct C {}",
		"dir/loop.thrift":   "include \"loop2.thrift\"",
		"dir/loop2.thrift":  "include \"loop.thrift\"",
		"dir/hidden.thrift": "include \"b.thrift\"\nstruct S { 1: c.C c }",
	}
	th := Reader{Include: []string{"other", "inc"}, Open: func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}}
	s, err := th.Load("dir/main.thrift", "dir/b.thrift")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range s.Files {
		names = append(names, fmt.Sprint(f.Path, f.Listed))
	}
	if got := strings.Join(names, " "); got != "inc/lib/c.thriftfalse dir/b.thrifttrue dir/main.thrifttrue" {
		t.Error(got)
	}
	if _, err := th.Load("dir/loop.thrift"); err == nil || !strings.Contains(err.Error(),
		"dir/loop2.thrift:1:9: files include each other: dir/loop.thrift -> dir/loop2.thrift -> dir/loop.thrift") {
		t.Error(err)
	}
	if _, err := th.Load("dir/hidden.thrift"); err == nil { // only what a file includes itself is visible
		t.Error("an include of an include is visible")
	}
	if _, err := th.Load("gone.thrift"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

// Where includes are searched, in which order, and what is read how often.
func TestIncludeSearch(t *testing.T) {
	for name, c := range map[string]struct {
		files   []string
		include []string
		path    string // included by "dir/a.thrift"
		want    string // the files in their order, or the error
	}{
		"beside the file":         {[]string{"dir/b.thrift", "b.thrift", "inc/b.thrift"}, []string{"inc"}, "b.thrift", "dir/b.thrift dir/a.thrift"},
		"not in the working dir":  {[]string{"b.thrift"}, nil, "b.thrift", `dir/a.thrift:1:9: cannot include "b.thrift": file does not exist`},
		"in a directory":          {[]string{"inc/b.thrift"}, []string{"no", "inc"}, "b.thrift", "inc/b.thrift dir/a.thrift"},
		"the first directory":     {[]string{"one/b.thrift", "two/b.thrift"}, []string{"one", "two"}, "b.thrift", "one/b.thrift dir/a.thrift"},
		"in none":                 {nil, []string{"one", "two"}, "b.thrift", `dir/a.thrift:1:9: cannot include "b.thrift": not in dir, one, two: file does not exist`},
		"above":                   {[]string{"b.thrift"}, nil, "../b.thrift", "b.thrift dir/a.thrift"},
		"below":                   {[]string{"dir/sub/b.thrift"}, nil, "sub/b.thrift", "dir/sub/b.thrift dir/a.thrift"},
		"absolute":                {[]string{"/abs/b.thrift"}, []string{"inc"}, "/abs/b.thrift", "/abs/b.thrift dir/a.thrift"},
		"absolute and not there":  {nil, []string{"inc"}, "/abs/b.thrift", `dir/a.thrift:1:9: cannot include "/abs/b.thrift": file does not exist`},
		"itself by a longer path": {nil, nil, "../dir/a.thrift", "dir/a.thrift:1:9: files include each other: dir/a.thrift -> dir/a.thrift"},
		"another ending":          {[]string{"dir/b.idl"}, nil, "b.idl", "dir/b.idl dir/a.thrift"},
	} {
		t.Run(name, func(t *testing.T) {
			opened := map[string]int{}
			reader := Reader{Include: c.include, Open: func(path string) ([]byte, error) {
				opened[path]++
				if path == "dir/a.thrift" {
					return fmt.Appendf(nil, "include %q\ninclude %[1]q", c.path), nil
				}
				if slices.Contains(c.files, path) {
					return nil, nil // an empty file, as an Open may give it
				}
				return nil, fs.ErrNotExist
			}}
			s, err := reader.Load("dir/a.thrift", "./dir/../dir/a.thrift")
			var got []string
			if errs, ok := errors.AsType[idl.Errors](err); ok {
				got = append(got, errs[0].Head())
			} else {
				for _, f := range s.Files {
					got = append(got, f.Path)
					if opened[f.Path] != 1 {
						t.Errorf("%s was opened %d times", f.Path, opened[f.Path])
					}
				}
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("gives %q\nwant  %q", got, c.want)
			}
		})
	}
}

// A chain of includes has an end, and a file that many include is read once.
func TestIncludeDepth(t *testing.T) {
	chain := func(n int) error {
		files := map[string]string{}
		for i := range n {
			files[fmt.Sprintf("%d.thrift", i)] = fmt.Sprintf("include \"%d.thrift\"", i+1)
		}
		files[fmt.Sprintf("%d.thrift", n)] = ""
		_, err := load(files, "0.thrift")
		return err
	}
	if err := chain(maxIncludes - 1); err != nil {
		t.Error(err)
	}
	if err := chain(maxIncludes); err == nil || !strings.HasPrefix(err.Error(), "255.thrift:1:9: includes go deeper than 256 files") {
		t.Error(err)
	}
}

// Files that include each other in a fan would be read 2 to the nth times.
func TestIncludeFan(t *testing.T) {
	files, opened := map[string]string{}, 0
	const n = 100
	for i := range n {
		files[fmt.Sprintf("%d.thrift", i)] = fmt.Sprintf("include \"%d.thrift\"\ninclude \"x/../%[1]d.thrift\"", i+1)
	}
	files[fmt.Sprintf("%d.thrift", n)] = "struct S {}"
	_, err := Reader{Open: func(path string) ([]byte, error) {
		opened++
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, fs.ErrNotExist
	}}.Load("0.thrift")
	if err != nil || opened != n+1 {
		t.Errorf("%v; %d files were opened, want %d", err, opened, n+1)
	}
}

// The zero Reader reads from the file system.
func TestReadsFiles(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"a.thrift": "include \"b.thrift\"\nstruct A { 1: b.B b }", "inc/b.thrift": "struct B {}"} {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(text), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	a := filepath.Join(dir, "a.thrift")
	s, err := Reader{Include: []string{filepath.Join(dir, "inc")}}.Load(a)
	if err != nil || len(s.Files) != 2 || s.Files[1].Path != a || s.Files[1].Name != "a" || s.Files[1].Language != idl.Thrift || s.Files[0].Listed {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := (Reader{}).Load(a); !strings.Contains(fmt.Sprint(err), "a.thrift:1:9: cannot include \"b.thrift\": no such file or directory") {
		t.Error(err)
	}
	if _, err := (Reader{}).Load(dir); err == nil { // a directory cannot be read as a file
		t.Error("a directory was read")
	}
}
