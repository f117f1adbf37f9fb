package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/urfave/cli/v3"
	"golang.org/x/mod/module"

	"github.com/limosa-rpc/limosa/idl/readers"
)

// newCommand finds out what can go wrong before it writes the first file.
func (a *app) newCommand() *cli.Command {
	return &cli.Command{
		Name: "new", Usage: "make a project that serves an IDL and runs at once",
		UsageText: "limosa new NAME [-idl thrift|proto] [-dir DIR]",
		Description: `NAME is the project's name or its module path. The project is an IDL file, the
code made from it, a main.go that serves it on :8888, a test, a Dockerfile and
a README.md; it builds without network. Run from a checkout of Limosa, its
go.mod refers to that checkout.

Example:
  limosa new hello && cd hello && go run .`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "idl", Usage: "language of the IDL: thrift, which it is if not given, or proto"},
			&cli.StringFlag{Name: "dir", Usage: "the project's own folder, new or empty; ./NAME if not given"},
			&cli.StringFlag{Name: "replace", Usage: "checkout of Limosa that the project is to use; found by itself if not given"},
		},
		Action: func(ctx context.Context, c *cli.Command) error {
			if err := nargs(c, 1, 1, "one NAME"); err != nil {
				return err
			}
			idl := cmp.Or(c.String("idl"), "thrift")
			if idl != "thrift" && idl != "proto" {
				return usagef("unknown IDL %q; it is thrift or proto", idl)
			}
			p, err := newProject(c.Args().First())
			if err != nil {
				return err
			}
			if standard(ctx, p.Module) {
				return usagef("%q cannot be a module's path, it is one of Go's own library; example.com/%[1]s can", p.Module)
			}
			p.IDL = idl
			p.Dir = c.String("dir")
			if p.Dir == "" {
				p.Dir = p.Name
			}
			if err := mustBeFree(p.Dir); err != nil {
				return err
			}
			lib, err := findLibrary(ctx, c.String("replace"))
			if err != nil {
				return err
			}
			if err := p.write(ctx, lib); err != nil {
				return err
			}
			_, err = io.WriteString(a.stdout, a.nextSteps(p))
			return err
		},
	}
}

// nextSteps tells what to type in a project that was just made.
func (a *app) nextSteps(p *project) string {
	var b strings.Builder
	fmt.Fprintf(&b, "made %s in %s; next:\n\n  cd %s\n", a.bold(p.Service), p.Dir, shellWord(p.Dir))
	steps := [][2]string{{"go run .", "serves on :8888"},
		{"limosa call :8888 " + p.Service + `/Echo '{"message":"hi"}'`, "in another terminal"},
		{"go generate", "after a change of idl/" + p.Name + "." + p.IDL}}
	if _, err := exec.LookPath("limosa"); err != nil { // this one was begun by go run, or by its path
		steps = slices.Insert(steps, 1, [2]string{p.Install, "limosa is not in the PATH yet"})
	}
	for _, step := range steps {
		fmt.Fprintf(&b, "  %-56s  # %s\n", step[0], step[1])
	}
	return b.String()
}

// shellWord writes a word so that a shell takes it as one.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("/._-+:,@%", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// A project is what the templates are filled in with.
type project struct {
	Name    string // last element of the module path; files are named after it
	Module  string // module path
	Package string // of the generated code
	Service string // in the IDL
	IDL     string // thrift or proto: what its file ends with
	Dir     string // where it is written to
	Replace string // checkout that go.mod refers to, or ""
	Install string // a command that installs limosa
}

// taken are names that main.go uses itself, so that no package may have them.
var taken = []string{"context", "flag", "fmt", "limosa", "main", "os", "rpc", "server", "signal", "syscall", "testing"}

// newProject derives all names from NAME.
//
// Of a module path the last element counts; its words, as in my-shop, make the service's
// name, MyShop.
func newProject(name string) (*project, error) {
	// One element need not look like a host, as CheckPath wants it.
	if err := module.CheckImportPath(name); err != nil {
		return nil, usagef("%q cannot be a project's name or module path: %w", name, err)
	}
	p := &project{Name: path.Base(name), Module: name, IDL: "thrift"}
	words := strings.FieldsFunc(p.Name, func(r rune) bool { return r == '-' || r == '_' || r == '.' })
	for _, w := range words {
		p.Package += strings.ToLower(w)
		p.Service += strings.ToUpper(w[:1]) + w[1:]
	}
	switch {
	case !identifier(p.Package):
		return nil, usagef("%q cannot be a project's name: want letters and digits, such as hello or my-shop", p.Name)
	case token.IsKeyword(p.Package):
		return nil, usagef("%q cannot be a project's name: %s is a keyword of Go", p.Name, p.Package)
	case types.Universe.Lookup(p.Package) != nil || p.Package == "init":
		return nil, usagef("%q cannot be a project's name: %s means something in Go", p.Name, p.Package)
	case p.Package == "internal" || slices.Contains(strings.Split(name, "/"), "vendor"):
		return nil, usagef("%q cannot be a project's name: Go does not import from every folder that is called internal or vendor", name)
	case !namespace(p.Package):
		return nil, usagef("%q cannot be a project's name: %s is a word of Thrift", p.Name, p.Package)
	case slices.Contains(taken, p.Package):
		return nil, usagef("%q cannot be a project's name: its main.go uses %s for something else", p.Name, p.Package)
	case slices.Contains([]string{"Request", "Response", "Service", "Dial", "NewClient"}, p.Service):
		return nil, usagef("%q cannot be a project's name: its generated code has another %s", p.Name, p.Service)
	}
	return p, nil
}

// identifier reports whether s is an ASCII name in both Go and Thrift.
func identifier(s string) bool {
	if s == "" || unicode.IsDigit(rune(s[0])) {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r)
	})
}

// namespace reports whether an IDL can have its code in a package of that name: its
// reader knows which words Thrift keeps for itself.
func namespace(pkg string) bool {
	_, err := readers.Thrift(readers.Source{Open: func(string) ([]byte, error) { return []byte("namespace go " + pkg), nil }}, []string{"a.thrift"})
	return err == nil
}

// standard reports whether Go's own library has a package of that path: with a module of
// the same path its import is ambiguous. The go command knows them; without one
// nothing can be built anyway.
func standard(ctx context.Context, path string) bool {
	cmd := exec.CommandContext(ctx, "go", "list", "-e", "-f", "{{.Standard}}", "--", path)
	cmd.Dir = os.TempDir()                                          // outside of any module
	cmd.Env = append(os.Environ(), "GO111MODULE=off", "GOWORK=off") // asks no network
	out, err := cmd.Output()
	return err == nil && strings.HasPrefix(string(out), "true")
}

// mustBeFree refuses a folder that holds something.
func mustBeFree(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usagef("%s cannot be the project's folder: %w", dir, err)
	case len(entries) > 0:
		return usagef("%s is not empty; give another folder with -dir", dir)
	}
	return nil
}

// ownWorkspace keeps a workspace around the project, such as that of the
// checkout, from taking the project for one of its folders and refusing it.
const ownWorkspace = `// The folders above belong to another workspace; this project is its own.
go %s

use .
`

// withinWorkspace reports whether a folder above dir has a go.work.
func withinWorkspace(dir string) bool {
	for up := filepath.Dir(dir); up != dir; dir, up = up, filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, "go.work")); err == nil {
			return true
		}
	}
	return false
}

// write makes the project's files. What it has written stays when it fails:
// the folder was empty before.
func (p *project) write(ctx context.Context, lib *library) error {
	p.Replace, p.Install = lib.replace, lib.install()
	files, err := p.render()
	if err != nil {
		return err
	}
	abs, err := filepath.Abs(p.Dir)
	if err != nil {
		return err
	}
	mod, sum, err := lib.modFiles(ctx, p.Module, p.IDL)
	if err != nil {
		return err
	}
	files["go.mod"], files["go.sum"] = mod, sum
	if withinWorkspace(abs) {
		files["go.work"] = fmt.Appendf(nil, ownWorkspace, lib.goVersion)
	}
	for name, text := range files {
		to := filepath.Join(abs, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o666); err != nil {
			return err
		}
	}
	return p.generate(abs)
}
