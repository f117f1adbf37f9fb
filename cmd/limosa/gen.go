package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/gen"
	"github.com/limosa-rpc/limosa/idl/readers"
)

// genCommand is limosa-gen under another name. Its flags are declared here again
// for --help and suggestions, and handed on as they are, so that the two cannot
// come to differ in what they do.
func (a *app) genCommand() *cli.Command {
	return &cli.Command{
		Name: "gen", Usage: "make Go from IDL files",
		UsageText: "limosa gen [flags] FILES|DIRS...",
		Description: `The same as the program limosa-gen. Makes two Go files, types and their codecs,
of each IDL file and of all that they include; of a directory, of all .thrift and
.proto files below it. Methods with streams become iterators, iter.Seq2[*T, error], on both sides.

Example:
  limosa gen -out gen idl/hello.thrift`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Value: ".", Usage: "directory under which packages are written, by their namespace go (. if not given)"},
			&cli.StringFlag{Name: "prefix", Usage: "import path of -out; worked out from the nearest go.mod if not given"},
			&cli.StringSliceFlag{Name: "I", Usage: "directory to search for included files; may be repeated"},
			&cli.StringSliceFlag{Name: "M", Usage: "FILE=PATH: the Go package of a .proto file, in place of its go_package; may be repeated"},
			&cli.StringFlag{Name: "plugin", Usage: "command that gets the schema as JSON on stdin and gives further files: [{path, content}]"},
			&cli.BoolFlag{Name: "lazy", Usage: "give every struct a lazy view, not only those annotated with (lazy)"},
			&cli.BoolFlag{Name: "long", Usage: "no short names (Service, NewClient, Dial, Unimplemented) for the only service of a file"},
			&cli.BoolFlag{Name: "check", Usage: "write nothing; exit code 1 names the files that are stale or missing"},
			&cli.BoolFlag{Name: "q", Usage: "no warnings"},
		},
		Action: func(_ context.Context, c *cli.Command) error {
			if c.NArg() == 0 {
				return usagef("no file is given (%s --help)", c.FullName())
			}
			args := []string{"-out", c.String("out"), "-prefix", c.String("prefix"), "-plugin", c.String("plugin")}
			for _, dir := range c.StringSlice("I") {
				args = append(args, "-I", dir)
			}
			for _, file := range c.StringSlice("M") {
				args = append(args, "-M", file)
			}
			for _, name := range []string{"lazy", "long", "check", "q"} {
				if c.Bool(name) {
					args = append(args, "-"+name)
				}
			}
			args = append(append(args, "--"), c.Args().Slice()...)
			cmd := gen.Command{Readers: idls(), Name: "limosa gen", Stdout: a.stdout, Stderr: a.stderr}
			if code := cmd.Run(args); code != exitOK {
				return codeError(code)
			}
			if a.live && !c.Bool("check") {
				fmt.Fprintf(a.stderr, "made from %s\n", strings.Join(c.Args().Slice(), ", "))
			}
			return nil
		},
	}
}

// generate makes a new project's code from its IDL, as go generate will make it
// in the project: a test compares the two.
func (p *project) generate(dir string) error {
	schema, err := idls().Load(readers.Source{}, filepath.Join(dir, "idl", p.Name+"."+p.IDL))
	if err != nil {
		return err
	}
	files, err := gen.Config{Prefix: p.Module + "/gen"}.Generate(schema)
	if err != nil {
		return err
	}
	for _, f := range files {
		to := filepath.Join(dir, "gen", filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(to, []byte(f.Content), 0o666); err != nil {
			return err
		}
	}
	return nil
}
