package main

import (
	"bytes"
	"strings"
	"sync"
	"testing"
)

func TestViewPlain(t *testing.T) {
	var b bytes.Buffer
	v := newView(&b, false)
	v.show(viewLine{text: "never seen"})
	v.line("row %d", 1)
	v.end()
	v.end()
	if b.String() != "row 1\n" {
		t.Errorf("%q", b.String())
	}
}

// On a terminal the block is drawn, lines are not, and nothing waits for keys.
func TestViewLive(t *testing.T) {
	drawn := &lookFor{text: "second", found: make(chan struct{})}
	v := newView(drawn, true)
	v.show(viewLine{text: "first"}, viewLine{text: "second", past: true})
	v.line("row %d", 1)
	<-drawn.found
	v.end()
	v.end()
	all := drawn.b.String()
	if strings.Contains(all, "row 1") || !strings.Contains(all, "first") || strings.Index(all, "first") > strings.Index(all, "second") {
		t.Errorf("%q", all)
	}
}

// lookFor keeps what is written and tells when a text has come.
type lookFor struct {
	text  string
	found chan struct{}
	b     bytes.Buffer
	once  sync.Once
}

func (l *lookFor) Write(p []byte) (int, error) {
	n, err := l.b.Write(p)
	if strings.Contains(l.b.String(), l.text) {
		l.once.Do(func() { close(l.found) })
	}
	return n, err
}

func TestViewFits(t *testing.T) {
	for _, c := range []struct {
		line viewLine
		want string
	}{
		{viewLine{text: "short"}, "short"},
		{viewLine{text: "as long as this"}, "as long a"},
		{viewLine{text: "ünïcödé is wide"}, "ünïcödé i"},
		{viewLine{text: "past    ", past: true}, "\x1b[2mpast\x1b[0m"},
	} {
		if got := c.line.fit(10); got != c.want {
			t.Errorf("%q in 10 columns is %q, want %q", c.line.text, got, c.want)
		}
	}
}
