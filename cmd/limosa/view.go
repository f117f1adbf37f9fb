package main

import (
	"fmt"
	"io"
	"sync"

	tea "github.com/charmbracelet/bubbletea"
)

// A view shows how something is getting on: on a terminal a block of text that
// changes in place, elsewhere lines one after the other. Its methods may be
// called concurrently.
type view struct {
	// Set by newView, then constant.
	w       io.Writer
	program *tea.Program  // nil if not on a terminal
	done    chan struct{} // closed when program has ended
	close   sync.Once
}

// newView shows on w, which is a terminal if live.
func newView(w io.Writer, live bool) *view {
	v := &view{w: w, done: make(chan struct{})}
	if !live {
		close(v.done)
		return v
	}
	// Keys and signals stay with the tool: Ctrl-C must end the run, not the view.
	v.program = tea.NewProgram(&block{}, tea.WithOutput(w), tea.WithInput(nil), tea.WithoutSignalHandler())
	go func() {
		defer close(v.done)
		// A view that cannot be drawn is no reason to fail what it shows.
		_, _ = v.program.Run()
	}()
	return v
}

// show replaces the block; nothing where there is no terminal.
func (v *view) show(text string) {
	if v.program != nil {
		v.program.Send(blockText(text))
	}
}

// line prints a line that stays, where there is no terminal; on one the block
// says the same.
func (v *view) line(format string, args ...any) {
	if v.program == nil {
		fmt.Fprintf(v.w, format+"\n", args...)
	}
}

// end takes the block off and gives the terminal back. Only the first call counts.
func (v *view) end() {
	v.close.Do(func() {
		if v.program != nil {
			v.program.Send(blockText(""))
			v.program.Quit()
		}
		<-v.done
	})
}

// A block is the model of the terminal library: a text.
type block struct{ text string }

type blockText string

func (b *block) Init() tea.Cmd { return nil }

func (b *block) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	if t, ok := m.(blockText); ok {
		b.text = string(t)
	}
	return b, nil
}

func (b *block) View() string { return b.text }
