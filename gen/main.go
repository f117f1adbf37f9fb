package gen

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/thriftidl"
)

// Command is the command limosa-gen, and limosa gen. Its fields are what the
// command is called and where it writes.
type Command struct {
	Name   string // "limosa-gen" if empty
	Dir    string // working directory for relative paths; "" is the process's
	Stdout io.Writer
	Stderr io.Writer
}

const usage = `usage: %s [flags] FILES|DIRS...

Generates Go from .thrift files and all that they include; of a directory, from
all .thrift files below it. Exit codes: 0 done, 1 an error in an IDL or, with
-check, stale code, 2 wrong use or a missing file.

`

// options are the flags.
type options struct {
	out, prefix, plugin string
	include             []string
	check, quiet        bool
	lazy, long          bool
	paths               []string
}

// Main runs the command as a program does: with its arguments, and giving an
// exit code. stdin is not read.
func Main(args []string, _ io.Reader, stdout, stderr io.Writer) int {
	return Command{Stdout: stdout, Stderr: stderr}.Run(args)
}

// Run runs the command and gives its exit code: 0 when all is well, 1 for
// errors in an IDL, a plug-in that fails and stale code, 2 for wrong use.
func (c Command) Run(args []string) int {
	if c.Name == "" {
		c.Name = "limosa-gen"
	}
	o, err := c.flags(args)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return c.fail(2, err)
	}
	files, err := c.inputs(o.paths)
	if err != nil {
		return c.fail(2, err)
	}
	schema, err := thriftidl.Reader{Include: o.include}.Load(files...)
	if err != nil {
		return c.fail(1, err)
	}
	if !o.quiet {
		for _, w := range schema.Warnings {
			fmt.Fprintf(c.Stderr, "warning: %s\n", w.Head())
		}
	}
	out, code, err := c.generate(o, schema)
	if err != nil {
		return c.fail(code, err)
	}
	if err := clashesBelow(o.out, out); err != nil {
		return c.fail(1, err)
	}
	if o.check {
		return c.check(o, out)
	}
	if err := write(o.out, out); err != nil {
		return c.fail(1, err)
	}
	return 0
}

// fail prints one line for each error, and below an error of an IDL its place.
func (c Command) fail(code int, err error) int {
	if errs, ok := errors.AsType[idl.Errors](err); ok {
		fmt.Fprintln(c.Stderr, errs.Error())
		return code
	}
	fmt.Fprintf(c.Stderr, "%s: %v\n", c.Name, err)
	return code
}

func (c Command) flags(args []string) (*options, error) {
	var o options
	f := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.StringVar(&o.out, "out", ".", "the `directory` under which packages are written, by their namespace go")
	f.StringVar(&o.prefix, "prefix", "", "the import `path` of -out; by default worked out from the nearest go.mod")
	f.StringVar(&o.plugin, "plugin", "", "a `command` that is given the schema as JSON and gives further files as JSON: [{\"path\", \"content\"}]")
	f.BoolVar(&o.check, "check", false, "write nothing; exit 1 and name the files that are stale or missing")
	f.BoolVar(&o.lazy, "lazy", false, "give every struct a lazy view, not only those annotated with (lazy)")
	f.BoolVar(&o.long, "long", false, "no short names (Service, NewClient, Dial, Unimplemented) for the only service of a file")
	f.BoolVar(&o.quiet, "q", false, "no warnings")
	f.Func("I", "a `directory` to search for includes; may be repeated", func(s string) error {
		o.include = append(o.include, c.path(s))
		return nil
	})
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(c.Stdout, usage, c.Name)
		f.SetOutput(c.Stdout)
		f.PrintDefaults()
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	if f.NArg() == 0 {
		return nil, fmt.Errorf("no file is given; %s -h shows the usage", c.Name)
	}
	o.out, o.paths = c.path(o.out), f.Args()
	return &o, nil
}

func (c Command) path(p string) string {
	if c.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.Dir, p)
}

// inputs lists the files to read: those that are named, and of a directory all
// below it.
func (c Command) inputs(paths []string) ([]string, error) {
	var files []string
	for _, p := range paths {
		p = c.path(p)
		info, err := os.Stat(p)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p, cause(err))
		}
		if !info.IsDir() {
			files = append(files, p)
			continue
		}
		n := len(files)
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if d.IsDir() && path != p && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			if !d.IsDir() && filepath.Ext(path) == ".thrift" {
				files = append(files, path)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(files) == n {
			return nil, fmt.Errorf("%s: there is no .thrift file below it", p)
		}
	}
	return files, nil
}

// cause leaves out the path of a file error, which is shown already.
func cause(err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err
	}
	return err
}

func (c Command) generate(o *options, schema *idl.Schema) (files []File, code int, err error) {
	prefix := o.prefix
	if prefix == "" {
		if prefix, err = ImportPath(o.out); err != nil {
			return nil, 2, err
		}
	}
	files, err = Config{Prefix: strings.TrimSuffix(prefix, "/"), Lazy: o.lazy, Long: o.long}.Generate(schema)
	if err != nil {
		return nil, 1, err
	}
	if o.plugin == "" {
		return files, 0, nil
	}
	more, err := c.runPlugin(o.plugin, schema)
	if err != nil {
		return nil, 1, fmt.Errorf("plug-in %q: %w", o.plugin, err)
	}
	for _, f := range more {
		if slices.ContainsFunc(files, func(g File) bool { return filepath.Clean(g.Path) == filepath.Clean(f.Path) }) {
			return nil, 1, fmt.Errorf("plug-in %q: %s is written already", o.plugin, f.Path)
		}
		files = append(files, f)
	}
	return files, 0, nil
}

// runPlugin gives the schema to a command and takes its files.
func (c Command) runPlugin(command string, schema *idl.Schema) ([]File, error) {
	words := strings.Fields(command)
	if len(words) == 0 {
		return nil, errors.New("no command")
	}
	in, err := json.Marshal(schema)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, bytes.NewReader(in), &out, c.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	var files []File
	if err := json.Unmarshal(out.Bytes(), &files); err != nil {
		return nil, fmt.Errorf("its output is not a JSON list of {path, content}: %w", err)
	}
	for _, f := range files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return nil, fmt.Errorf("the path %q leads out of the output directory", f.Path)
		}
	}
	return files, nil
}

// check compares with what is there and writes nothing.
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

func writeFile(root *os.Root, path, content string) error {
	have, err := root.ReadFile(path)
	switch {
	case err == nil && string(have) == content:
		return nil
	case err == nil && strings.HasSuffix(path, Suffix) && madeFrom(have) == "":
		return errors.New("is there and was not written by limosa-gen; it is left alone")
	case err == nil && strings.HasSuffix(path, Suffix) && madeFrom(have) != madeFrom([]byte(content)):
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

// modulePath finds the module line of a go.mod.
func modulePath(mod string) string {
	for line := range strings.Lines(mod) {
		line, _, _ = strings.Cut(line, "//")
		if words := strings.Fields(line); len(words) == 2 && words[0] == "module" {
			return strings.Trim(words[1], "\"`")
		}
	}
	return ""
}
