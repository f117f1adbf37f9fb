package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v3"
)

// A versionInfo is what version tells of this binary.
type versionInfo struct {
	Version  string `json:"version"`            // of the module cmd; (devel) when built from a checkout
	Library  string `json:"library,omitempty"`  // of the module limosa that is linked in
	Go       string `json:"go"`                 // the toolchain that built it
	Platform string `json:"platform"`           // os/arch
	Revision string `json:"revision,omitempty"` // of the checkout, if the build recorded it
	Time     string `json:"time,omitempty"`     // of that revision
	Modified bool   `json:"modified,omitempty"` // the checkout had changes
}

// versionCommand prints what a report of a defect has to say.
func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "tell the version of this binary, of Go and of the sources",
		UsageText: "limosa version [-o json]",
		Description: `Example:
  limosa version -o json`,
		Flags: []cli.Flag{outputFlag()},
		Action: func(_ context.Context, c *cli.Command) error {
			if err := nargs(c, 0, 0, "no arguments"); err != nil {
				return err
			}
			v := readVersion()
			if c.String("o") == "json" {
				return a.printLine(v)
			}
			fmt.Fprintf(a.stdout, "limosa %s %s %s\n", v.Version, v.Go, v.Platform)
			if v.Revision != "" {
				changed := ""
				if v.Modified {
					changed = " with changes"
				}
				fmt.Fprintf(a.stdout, "revision %s of %s%s\n", v.Revision, v.Time, changed)
			}
			return nil
		},
	}
}

// readVersion reads what the linker has recorded. A test's binary and one built
// with -buildvcs=false have less; what is missing stays empty.
func readVersion() versionInfo {
	v := versionInfo{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, dep := range info.Deps {
		if dep.Path == modulePath {
			v.Library = dep.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
