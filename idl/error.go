package idl

import (
	"fmt"
	"strings"
)

// An Error is one finding in a file.
type Error struct {
	Path   string `json:"path"`
	Pos    Pos    `json:"pos"` // zero: the file as a whole
	Msg    string `json:"msg"`
	Source string `json:"source,omitempty"` // the line, without its end
	Err    error  `json:"-"`                // the cause, where there is one, such as fs.ErrNotExist
}

// Unwrap gives the cause, if any.
func (e *Error) Unwrap() error { return e.Err }

// Error gives "file:line:column: message", and below it the line with a caret
// under the column.
func (e *Error) Error() string {
	if e.Pos.Line == 0 {
		return e.Path + ": " + e.Msg
	}
	head := fmt.Sprintf("%s:%d:%d: %s", e.Path, e.Pos.Line, e.Pos.Col, e.Msg)
	if e.Source == "" {
		return head
	}
	return head + "\n    " + e.Source + "\n    " + caret(e.Source, e.Pos.Col)
}

// Head is the first line of Error alone.
func (e *Error) Head() string {
	first, _, _ := strings.Cut(e.Error(), "\n")
	return first
}

// caret keeps tabs, so that the mark stands right whatever a tab's width is.
func caret(line string, col int) string {
	var b strings.Builder
	for _, r := range line[:min(max(col-1, 0), len(line))] {
		if r == '\t' {
			b.WriteByte('\t')
		} else {
			b.WriteByte(' ')
		}
	}
	b.WriteByte('^')
	return b.String()
}

// Errors are all findings of one load, at most ten, in the order of the files
// and lines.
type Errors []*Error

// Error joins them with line ends.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, x := range e {
		lines[i] = x.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap lets errors.As find an *Error.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, x := range e {
		errs[i] = x
	}
	return errs
}

// SourceLine gives a line of a text, counted from 1, without its end; "" if there
// is none, or if it is too long to be shown.
func SourceLine(text string, line int) string {
	for ; line > 1; line-- {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return ""
		}
		text = rest
	}
	first, _, _ := strings.Cut(text, "\n")
	first = strings.TrimSuffix(first, "\r")
	if len(first) > 400 { // a line nobody wants to see whole
		return ""
	}
	return first
}

// Error makes a finding at a place of the file, for readers and for those who
// check more than a reader does.
func (f *File) Error(pos Pos, msg string) *Error {
	return &Error{Path: f.Path, Pos: pos, Msg: msg, Source: SourceLine(f.Text, pos.Line)}
}
