package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"
)

// A view shows how something is getting on: on a terminal a block of lines that
// changes in place, elsewhere lines one after the other. Its methods may be
// called concurrently.
type view struct {
	// Set by newView, then constant.
	w        io.Writer
	progress *mpb.Progress // nil if not on a terminal
	bar      *mpb.Bar

	end1 sync.Once
	mu   struct {
		sync.Mutex
		block []viewLine
	}
}

// A viewLine is a line of the block; what is past stands back.
type viewLine struct {
	text string
	past bool
}

// newView shows on w, which is a terminal if live.
//
// The library redraws ten times a second, however often show is called: a load has more
// to say than a terminal can draw.
func newView(w io.Writer, live bool) *view {
	v := &view{w: w}
	if live {
		if s, ok := w.(screen); ok {
			w = s.Writer // a terminal, for which the library writes what it is to do
		}
		v.progress = mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(100*time.Millisecond))
		// The one bar is the first line of the block, and what extends it the rest.
		v.bar = v.progress.MustAdd(0, v.lines(0, 1), mpb.BarFillerTrim(), mpb.BarExtender(v.lines(1, 1<<30), false))
	}
	return v
}

// lines draws a part of the block.
func (v *view) lines(from, to int) mpb.BarFiller {
	return mpb.BarFillerFunc(func(w io.Writer, s decor.Statistics) error {
		v.mu.Lock()
		defer v.mu.Unlock()
		for i := from; i < min(to, len(v.mu.block)); i++ {
			line, end := v.mu.block[i].fit(s.AvailableWidth), "\n"
			if from == 0 {
				end = "" // the bar's own line is ended by the library
			}
			if _, err := io.WriteString(w, line+end); err != nil {
				return err
			}
		}
		return nil
	})
}

// fit gives the line as a terminal of some columns shows it: a line that wraps
// would be two for the terminal and one for whoever counts them.
func (l viewLine) fit(columns int) string {
	text := []rune(shown(strings.TrimRight(l.text, " ")))
	text = text[:min(len(text), max(columns-1, 1))]
	if l.past {
		return "\x1b[2m" + string(text) + "\x1b[0m" // faint
	}
	return string(text)
}

// show replaces the block; nothing where there is no terminal.
func (v *view) show(block ...viewLine) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mu.block = block
}

// line prints a line that stays, where there is no terminal; on one the block
// says the same.
func (v *view) line(format string, args ...any) {
	if v.progress == nil {
		fmt.Fprintf(v.w, format+"\n", args...)
	}
}

// end takes the block off and gives the terminal back. Only the first call counts.
func (v *view) end() {
	v.end1.Do(func() {
		if v.progress != nil {
			v.show()
			v.bar.Abort(true)
			v.progress.Wait()
		}
	})
}
