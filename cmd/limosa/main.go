// Command limosa is the tool beside the library: it makes projects and code
// from IDL files, calls and loads services, and shows the whole at work.
//
// Exit codes: 0 when it did what it was asked, 1 when that failed, 2 when it
// was asked wrongly (unknown command, bad flag, missing file, port in use).
// Results go to stdout; progress and errors, one line each, to stderr.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/mattn/go-isatty"
	"github.com/urfave/cli/v3"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// An app is one run of the tool, with all that it touches outside.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	live           bool // stderr is a terminal: progress may overwrite itself
	colour         bool // stdout is a terminal that shows colours
}

// A first signal ends the command in its own way, a second one the process: the handler is taken off by then.
func main() {
	// Commands end by ctx: a call is cancelled and says so to its server, a load prints what it
	// has measured, a demo closes its sockets.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the tool at once
	a := &app{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, live: isatty.IsTerminal(os.Stderr.Fd())}
	a.colour = wantsColour(isatty.IsTerminal(os.Stdout.Fd()))
	code := a.run(ctx, os.Args)
	stop()
	os.Exit(code)
}

// usageError is a way of asking that cannot be answered: exit code 2.
type usageError struct{ error }

// Unwrap gives what was wrong.
func (e usageError) Unwrap() error { return e.error }

// usagef is an error of the one who typed: exit code 2, where others are 1.
func usagef(format string, args ...any) error {
	return usageError{fmt.Errorf(format, args...)}
}

// codeError ends the run with a code and says nothing more: what there was to
// say was said.
type codeError int

// Error is for logs only: whoever returns a codeError has printed the reason.
func (e codeError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// run runs one command line, args[0] being the tool's name, and gives its exit
// code.
//
// An error is one line on stderr, with the command's name before it, so that a script's
// log says which of several has failed. An interrupt is told as such, whatever error the
// call under way came back with.
func (a *app) run(ctx context.Context, args []string) int {
	// What servers say is shown as text and never obeyed: everything passes here.
	a.stdout, a.stderr = screen{a.stdout}, screen{a.stderr}
	switch {
	// limosa help call is limosa call --help, for who knows it from git and go.
	case len(args) > 1 && args[1] == "help":
		args = append([]string{args[0]}, append(args[2:], "--help")...)
	case len(args) == 2 && (args[1] == "-version" || args[1] == "--version"):
		args = []string{args[0], "version"}
	}
	name := "limosa"
	root := a.root(&name)
	if len(args) > 2 && !strings.HasPrefix(args[1], "-") && root.Command(args[1]) == nil {
		args = args[:2] // --help of what is no command would be another error
	}
	err := root.Run(ctx, args)
	if err == nil {
		return exitOK
	}
	// Before anything is printed: the command has said what there was to say.
	if code, ok := errors.AsType[codeError](err); ok {
		return int(code)
	}
	text := err.Error()
	// An error that only came at the same time as the interrupt is told as what it is.
	if ctx.Err() != nil && errors.Is(err, context.Cause(ctx)) {
		text = "interrupted"
	}
	fmt.Fprintf(a.stderr, "%s: %s\n", name, oneLine(text))
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	return exitFailed
}

// root is the tree of commands. ran is set to the name of the one that runs.
//
// The tree is made anew for each run and belongs to it: tests run several at once.
func (a *app) root(ran *string) *cli.Command {
	root := &cli.Command{
		Name:      "limosa",
		Usage:     "services that call each other, from an IDL file to a measured call",
		UsageText: "limosa COMMAND [arguments and flags in any order]",
		Writer:    a.stdout, ErrWriter: a.stderr,
		HideHelpCommand: true, HideVersion: true,
		CustomRootCommandHelpTemplate: rootHelp,
		OnUsageError:                  badFlag,
		ExitErrHandler:                func(context.Context, *cli.Command, error) {}, // run decides
		Commands: []*cli.Command{
			a.newCommand(), a.genCommand(), a.breakingCommand(), a.listCommand(), a.describeCommand(), a.callCommand(), a.benchCommand(), a.demoCommand(), a.versionCommand(),
		},
	}
	var names []string
	for _, c := range root.Commands {
		names = append(names, c.Name)
		a.adopt(c, ran)
	}
	root.Action = func(_ context.Context, c *cli.Command) error {
		if c.NArg() == 0 {
			return cli.ShowRootCommandHelp(c)
		}
		return usagef("unknown command %q%s; there are %s (limosa --help)", c.Args().First(), didYouMean(c.Args().First(), names), strings.Join(names, ", "))
	}
	return root
}

// adopt gives a command what all commands have.
//
// The flag library would print its help at an error; errors are run's here, and so are
// the exit codes, which are a promise.
func (a *app) adopt(c *cli.Command, ran *string) {
	c.HideHelpCommand = true
	c.DisableSliceFlagSeparator = true // -H a=1,2 is one value
	c.CustomHelpTemplate = commandHelp
	c.OnUsageError = func(ctx context.Context, c *cli.Command, err error, sub bool) error {
		*ran = "limosa " + c.Name
		return badFlag(ctx, c, err, sub)
	}
	action := c.Action
	c.Action = func(ctx context.Context, c *cli.Command) error {
		*ran = "limosa " + c.Name
		return action(ctx, c)
	}
}

// badFlag makes the flag library's error one of usage, without the words that
// only a programmer needs.
//
// strconv and time put the function's name before the reason.
func badFlag(_ context.Context, c *cli.Command, err error, _ bool) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: "); ok {
		text = "unknown flag " + name + didYouMean(name, flagNames(c))
	}
	// The reason stands last, behind the text that could not be parsed, which the flag library
	// has named already.
	for _, noise := range []string{"strconv.ParseInt: parsing ", "strconv.ParseUint: parsing ", "strconv.ParseFloat: parsing ", "time: "} {
		if before, after, ok := strings.Cut(text, noise); ok {
			text = before + after[strings.LastIndex(after, ": ")+1:]
		}
	}
	return usagef("%s (%s --help)", strings.ReplaceAll(text, ":  ", ": "), c.FullName())
}

// flagNames gives a command's flags as they are written.
func flagNames(c *cli.Command) (names []string) {
	for _, f := range c.Flags {
		for _, name := range f.Names() {
			names = append(names, "-"+name)
		}
	}
	return names
}

// oneLine makes a text fit on one line.
func oneLine(s string) string {
	// With a semicolon, since lines of one error are often findings side by side.
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// outputFlag is -o, which all commands with results share.
//
// With json the results are one value a line on stdout, and nothing else is there.
func outputFlag() cli.Flag {
	return &cli.StringFlag{Name: "o", Value: "text", Usage: "output: text or json", Validator: func(s string) error {
		if s != "text" && s != "json" {
			return fmt.Errorf("output is text or json, not %q", s)
		}
		return nil
	}}
}

// printLine prints a line of -o json. Nobody puts it into a page of HTML, so that
// < and > stay what they are.
func (a *app) printLine(v any) error {
	// Encode ends with the end of the line, which is what separates two values.
	enc := json.NewEncoder(a.stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// nargs refuses a wrong number of arguments, naming what is wanted.
func nargs(c *cli.Command, low, high int, want string) error {
	if n := c.NArg(); n < low || n > high {
		plural := "s"
		if n == 1 {
			plural = ""
		}
		return usagef("want %s, got %d argument%s (%s --help)", want, n, plural, c.FullName())
	}
	return nil
}
