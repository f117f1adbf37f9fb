package gen

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/readers"
)

// Command is the command limosa-gen, and limosa gen. Its fields are what the
// command is called, what it reads, and where it writes. Run takes these steps, and
// writes nothing if one of them fails:
//
//	flags      the arguments
//	inputs     files and folders to the files that are meant
//	read       files to a schema, by the reader of each IDL; warnings are printed
//	generate   schema to Go files, and those of a plug-in
//	clashes    against what other runs have left in the same folders
//	check, or  compare, for CI
//	write      only what is not as it should be
type Command struct {
	Name   string // "limosa-gen" if empty
	Dir    string // working directory for relative paths; "" is the process's
	Stdout io.Writer
	Stderr io.Writer
	// Readers has the reader of each IDL by the ending of its files; nil: Limosa's own.
	Readers readers.Set
}

// usage is shown with the name of the command and the endings that it reads.
const usage = `usage: %[1]s [flags] FILES|DIRS...

Generates Go from %[2]s files and all that they include; of a directory, from
all %[2]s files below it. Exit codes: 0 done, 1 an error in an IDL or, with
-check, stale code, 2 wrong use or a missing file.

`

// options are the flags.
type options struct {
	out, prefix, plugin string
	include             []string
	check, quiet        bool
	lazy, long          bool
	packages            map[string]string
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
	if c.Readers == nil {
		c.Readers = readers.Builtin()
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
	schema, err := c.Readers.Load(readers.Source{Include: o.include}, files...)
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

// fail prints one line for each error, and below an error of an IDL its place. It
// gives code.
func (c Command) fail(code int, err error) int {
	if errs, ok := errors.AsType[idl.Errors](err); ok {
		fmt.Fprintln(c.Stderr, errs.Error())
		return code
	}
	fmt.Fprintf(c.Stderr, "%s: %v\n", c.Name, err)
	return code
}

// flags reads the arguments. flag.ErrHelp: the usage was asked for, and printed.
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
	o.packages = map[string]string{}
	f.Func("M", "`FILE=PATH`: the Go package of a .proto file, in place of its go_package; may be repeated", func(s string) error {
		name, at, ok := strings.Cut(s, "=")
		if !ok || name == "" || at == "" {
			return errors.New("want FILE=PATH")
		}
		o.packages[name] = at
		return nil
	})
	err := f.Parse(args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(c.Stdout, usage, c.Name, strings.Join(c.Readers.Endings(), " and "))
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

// path makes a path that is relative to the command's directory one that the process
// can open.
func (c Command) path(p string) string {
	if c.Dir == "" || filepath.IsAbs(p) {
		return p
	}
	return filepath.Join(c.Dir, p)
}

// inputs lists the files to read: those that are named, and of a directory all
// below it whose ending has a reader, folders with a dot in front left out. A
// directory without any is a mistake.
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
		below, err := c.Readers.Below(p)
		if err != nil {
			return nil, err
		}
		if len(below) == 0 {
			return nil, fmt.Errorf("%s: there is no %s file below it", p, c.Readers)
		}
		files = append(files, below...)
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

// generate makes all files, a plug-in's too. code is the exit code for an error: what
// the user has to change differs.
func (c Command) generate(o *options, schema *idl.Schema) (files []File, code int, err error) {
	prefix := o.prefix
	if prefix == "" {
		if prefix, err = ImportPath(o.out); err != nil {
			return nil, 2, err
		}
	}
	files, err = Config{Prefix: strings.TrimSuffix(prefix, "/"), Lazy: o.lazy, Long: o.long, Packages: o.packages}.Generate(schema)
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

// runPlugin gives the schema to a command and takes its files. The command is split at
// blanks and run without a shell; what it prints for people goes to ours. Its paths
// are checked here, and by write once more.
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
