package gen

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// check compares with what is there and writes nothing: for a project's CI, where
// code that the IDL or the generator has left behind must not pass. It gives the exit
// code. Files that nobody generates any more are not looked for.
func (c Command) check(o *options, files []File) int {
	stale := 0
	for _, f := range files {
		path := filepath.Join(o.out, filepath.FromSlash(f.Path))
		have, err := os.ReadFile(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			fmt.Fprintf(c.Stderr, "%s: missing\n", path)
		case err != nil:
			fmt.Fprintf(c.Stderr, "%s: %v\n", path, cause(err))
		case string(have) != f.Content:
			fmt.Fprintf(c.Stderr, "%s: stale\n", path)
		default:
			continue
		}
		stale++
	}
	return min(stale, 1)
}

// write brings files below dir; those that are as they should be are not
// touched. It cannot be led out of dir, not even by symbolic links.
func write(dir string, files []File) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range files {
		if err := writeFile(root, filepath.FromSlash(f.Path), f.Content); err != nil {
			return fmt.Errorf("%s: %w", filepath.Join(dir, f.Path), cause(err))
		}
	}
	return nil
}

// writeFile writes one file, unless it is as it should be: its time stays, so that
// builds do not begin anew. What a person has written under its name is left alone,
// and so is what was made from another IDL: both are mistakes that would be lost.
func writeFile(root *os.Root, path, content string) error {
	have, err := root.ReadFile(path)
	switch {
	case err == nil && string(have) == content:
		return nil
	case err == nil && generatedName(path) && madeFrom(have) == "":
		return errors.New("is there and was not written by limosa-gen; it is left alone")
	case err == nil && generatedName(path) && madeFrom(have) != madeFrom([]byte(content)):
		return fmt.Errorf("was made from %s: if that is no more, delete it; else rename one of the files, or give one another namespace go", madeFrom(have))
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	if err := root.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	// Renamed into place, so that an interrupted run leaves no half file, under
	// a name of its own, so that two runs do not write into one.
	tmp := fmt.Sprintf("%s.%x.tmp", path, rand.Uint64())
	err = writeNew(root, tmp, content)
	if err == nil {
		err = root.Rename(tmp, path)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		root.Remove(tmp)
	}
	return err
}

// writeNew writes a file that is not there yet.
func writeNew(root *os.Root, path, content string) error {
	f, err := root.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.WriteString(content)
	return cmp.Or(err, f.Close())
}

// ImportPath works out the import path of a directory, which need not exist
// yet, from the nearest go.mod above it. It is "" if there is none.
func ImportPath(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for at := abs; ; at = filepath.Dir(at) {
		mod, err := os.ReadFile(filepath.Join(at, "go.mod"))
		if err == nil {
			module := modulePath(string(mod))
			if module == "" {
				return "", fmt.Errorf("%s names no module", filepath.Join(at, "go.mod"))
			}
			rel, err := filepath.Rel(at, abs)
			if err != nil {
				return "", err
			}
			if rel == "." {
				return module, nil
			}
			return module + "/" + filepath.ToSlash(rel), nil
		}
		if at == filepath.Dir(at) {
			return "", nil
		}
	}
}

// modulePath finds the module line of a go.mod; "" if there is none. The whole syntax
// of go.mod would need a module of its own.
func modulePath(mod string) string {
	for line := range strings.Lines(mod) {
		line, _, _ = strings.Cut(line, "//")
		if words := strings.Fields(line); len(words) == 2 && words[0] == "module" {
			return strings.Trim(words[1], "\"`")
		}
	}
	return ""
}
