package main

import "os"

// Colours are for terminals, and for people who have not said that they want none.

func (a *app) bold(s string) string  { return a.sgr("1", s) }
func (a *app) faint(s string) string { return a.sgr("2", s) }
func (a *app) green(s string) string { return a.sgr("32", s) }

// sgr sets a text in a terminal's way of showing (ECMA-48, SGR).
func (a *app) sgr(how, s string) string {
	if !a.colour {
		return s
	}
	return "\x1b[" + how + "m" + s + "\x1b[0m"
}

// wantsColour reports whether an output that may be a terminal is to have
// colours (https://no-color.org).
func wantsColour(terminal bool) bool {
	return terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
}
