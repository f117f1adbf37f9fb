package thriftidl

import (
	"fmt"
	"sort"

	"github.com/limosa-rpc/limosa/idl"
)

// maxErrors is how many errors of one load are collected; more help nobody.
const maxErrors = 10

// maxWarnings is large enough to see them all and small enough for any file.
const maxWarnings = 200

// findings collects errors and warnings while a schema is loaded.
type findings struct {
	errs  idl.Errors
	warns []*idl.Error
	full  bool
}

func (d *findings) errorf(f *idl.File, pos idl.Pos, format string, args ...any) {
	if len(d.errs) >= maxErrors {
		d.full = true
		return
	}
	d.errs = append(d.errs, f.Error(pos, fmt.Sprintf(format, args...)))
}

func (d *findings) warnf(f *idl.File, pos idl.Pos, format string, args ...any) {
	if len(d.warns) >= maxWarnings {
		return
	}
	d.warns = append(d.warns, f.Error(pos, fmt.Sprintf(format, args...)))
}

// err gives what was collected, sorted by line within each file.
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
	if d.full {
		last := d.errs[len(d.errs)-1]
		d.errs = append(d.errs, &idl.Error{Path: last.Path, Msg: "too many errors"})
	}
	return d.errs
}
