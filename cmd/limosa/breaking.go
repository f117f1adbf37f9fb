package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v3"

	"github.com/limosa-rpc/limosa/idl"
	"github.com/limosa-rpc/limosa/idl/breaking"
	"github.com/limosa-rpc/limosa/idl/readers"
)

// breakingCommand lists the rules in its help from the package that has them, so that
// none can be missing.
func (a *app) breakingCommand() *cli.Command {
	var rules strings.Builder
	for _, r := range breaking.Rules() {
		fmt.Fprintf(&rules, "  %-24s %-9s %s\n", r.Name, r.Harms, r.Text)
	}
	return &cli.Command{
		Name: "breaking", Usage: "tell which changes of IDL files break programs or code",
		UsageText: "limosa breaking -against DIR|REF [flags] [FILES|DIRS...]",
		Description: `Compares .thrift and .proto files with what they were: in another directory, or
in a commit, branch or tag of git. Of a directory all of them below it are
compared; without any argument it is idl, or else the working directory.

A directory given by -against stands for the working directory, or for the one
that is compared. Put git: before a ref that has a directory's name.

Each change is told as file:line:column, the rule that finds it, and whom it
harms: wire (programs of the two versions misunderstand each other), source
(code that uses what is generated has to be changed), behavior (both stay, and
mean something else). Exit code 0: no finding, 1: some, 2: asked wrongly.

Example:
  limosa breaking -against main -except source,default-changed idl

Rules:
` + strings.TrimRight(rules.String(), "\n"),
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "against", Usage: "directory with the old files, or a git ref such as main, v1.2.0, HEAD~1"},
			&cli.StringSliceFlag{Name: "except", Usage: "rules, or harms, to leave out, with commas between them; may be repeated"},
			&cli.StringSliceFlag{Name: "I", Usage: "directory to search for included files; may be repeated"},
			outputFlag(),
		},
		Action: a.breaking,
	}
}

// breaking loads the files of both sides and compares the two schemas. A file that only
// one side has is no error: the comparison tells what went with it.
func (a *app) breaking(ctx context.Context, c *cli.Command) error {
	except, err := parseExcept(c.StringSlice("except"))
	if err != nil {
		return err
	}
	if c.String("against") == "" {
		return usagef("against what? give -against DIR, or a git ref (%s --help)", c.FullName())
	}
	args := c.Args().Slice()
	if len(args) == 0 {
		// Where a project of limosa new has its files, or else wherever one stands.
		args = []string{"."}
		if isDir("idl") {
			args = []string{"idl"}
		}
	}
	before, err := openOldTree(ctx, c.String("against"), args)
	if err != nil {
		return err
	}
	var now, then []string // files, by their path in the new tree
	for _, arg := range args {
		arg = filepath.Clean(arg)
		if !isDir(arg) {
			if _, err := os.Stat(arg); err != nil {
				return usagef("%s: %s", arg, reason(err))
			}
			now = append(now, arg)
			if before.has(arg) {
				then = append(then, arg)
			}
			continue
		}
		// Both trees are asked: what is only in the old one is what was removed.
		found, err := idls().Below(arg)
		if err != nil {
			return err
		}
		old, err := before.below(arg)
		if err != nil {
			return err
		}
		now, then = append(now, found...), append(then, old...)
	}
	if len(now)+len(then) == 0 {
		return usagef("no %s file below %s", idls(), strings.Join(args, ", "))
	}
	include := c.StringSlice("I")
	oldSchema, err := a.load(readers.Source{Include: include, Open: before.open}, before.shown, then)
	if err != nil {
		return err
	}
	newSchema, err := a.load(readers.Source{Include: include}, filepath.Clean, now)
	if err != nil {
		return err
	}
	found := breaking.Compare(oldSchema, newSchema)
	found = slices.DeleteFunc(found, func(b *breaking.Change) bool { return except[b.Rule] || except[string(b.Harms)] })
	return a.tellBreaking(found, before, c.String("o"))
}

// parseExcept reads what is to be left out, and refuses what is no rule.
func parseExcept(flags []string) (map[string]bool, error) {
	except, known := map[string]bool{}, map[string]bool{}
	for _, r := range breaking.Rules() {
		known[r.Name], known[string(r.Harms)] = true, true
	}
	for _, list := range flags {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if !known[name] {
				return nil, usagef("-except %q: there is no such rule (limosa breaking --help)", name)
			}
			except[name] = true
		}
	}
	return except, nil
}

// load reads one side. Its errors are told one by one, with their files as shown has them.
//
// Each side has to be right by itself: with half a schema there would be findings that
// are none.
func (a *app) load(from readers.Source, shown func(string) string, paths []string) (*idl.Schema, error) {
	schema, err := idls().Load(from, paths...)
	errs, ok := errors.AsType[idl.Errors](err)
	if !ok {
		return schema, err
	}
	for _, e := range errs {
		// A copy: the finding belongs to the schema's reader.
		there := *e
		there.Path = shown(e.Path)
		fmt.Fprintf(a.stderr, "limosa breaking: %s\n", oneLine(there.Head()))
	}
	return nil, codeError(exitFailed)
}

// brokenLine is one line of -o json.
type brokenLine struct {
	Rule    string        `json:"rule"`
	Harms   breaking.Harm `json:"harms"`
	Tree    string        `json:"tree"` // new, or old for what is gone
	File    string        `json:"file"`
	Line    int           `json:"line"`
	Column  int           `json:"column"`
	Message string        `json:"message"`
	Source  string        `json:"source"`
}

// tellBreaking prints findings in the form of compilers, so that editors find the place.
// That there are none is said to people only: a script has the exit code.
func (a *app) tellBreaking(found []*breaking.Change, before *oldTree, format string) error {
	for _, b := range found {
		tree, path := "new", b.Path
		if b.Old {
			tree, path = "old", before.shown(b.Path)
		}
		// The message ends with a path in the new tree, which is put as the old tree shows it.
		if b.Was != "" {
			b.Msg = strings.TrimSuffix(b.Msg, b.Was) + before.shown(b.Was)
		}
		if format == "json" {
			if err := a.printLine(brokenLine{b.Rule, b.Harms, tree, path, b.Pos.Line, b.Pos.Col, b.Msg, b.Source}); err != nil {
				return err
			}
			continue
		}
		if _, err := fmt.Fprintf(a.stdout, "%s:%d:%d: %s: %s (%s)\n    %s\n", path, b.Pos.Line, b.Pos.Col, b.Harms, b.Msg, b.Rule, b.Source); err != nil {
			return err
		}
	}
	if len(found) > 0 {
		return codeError(exitFailed)
	}
	if a.live && format != "json" {
		fmt.Fprintln(a.stderr, a.green("nothing is broken"))
	}
	return nil
}

// isDir follows symbolic links; what cannot be looked at is no directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// reason leaves out a path that is told already.
func reason(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		return pe.Err.Error()
	}
	return err.Error()
}
