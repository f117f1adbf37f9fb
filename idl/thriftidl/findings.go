package thriftidl

import (
	"fmt"
	"sort"

	"github.com/limosa-rpc/limosa/idl"
)

// maxErrors is how many errors of one load are collected; more help nobody, and a
// hostile file must not turn each of its bytes into a line of text.
const maxErrors = 10

// maxWarnings is large enough to see them all and small enough for any file.
const maxWarnings = 200

// findings collects errors and warnings while a schema is loaded. The phases of a
// load share one: whether anything was found decides whether the next phase runs.
type findings struct {
	errs  idl.Errors
	warns []*idl.Error
	full  bool // there were more errors than maxErrors
}

// errorf notes what makes a file useless. Each text is quoted from the file at once:
// files are not kept for it.
func (d *findings) errorf(f *idl.File, pos idl.Pos, format string, args ...any) {
	if len(d.errs) >= maxErrors {
		d.full = true
		return
	}
	d.errs = append(d.errs, f.Error(pos, fmt.Sprintf(format, args...)))
}

// warnf notes what is taken, and may not mean what its writer meant.
func (d *findings) warnf(f *idl.File, pos idl.Pos, format string, args ...any) {
	if len(d.warns) >= maxWarnings {
		return
	}
	d.warns = append(d.warns, f.Error(pos, fmt.Sprintf(format, args...)))
}

// err gives what was collected, sorted by line within each file; files come in the
// order of their first finding. The phases find things in another order than a
// reader of the file does.
func (d *findings) err() error {
	if len(d.errs) == 0 {
		return nil
	}
	order := map[string]int{}
	for _, e := range d.errs {
		if _, ok := order[e.Path]; !ok {
			order[e.Path] = len(order)
		}
	}
	sort.SliceStable(d.errs, func(i, j int) bool {
		a, b := d.errs[i], d.errs[j]
		if a.Path != b.Path {
			return order[a.Path] < order[b.Path]
		}
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line < b.Pos.Line
		}
		return a.Pos.Col < b.Pos.Col
	})
	// A line of its own, without a place: it is about all of them.
	if d.full {
		last := d.errs[len(d.errs)-1]
		d.errs = append(d.errs, &idl.Error{Path: last.Path, Msg: "too many errors"})
	}
	return d.errs
}
