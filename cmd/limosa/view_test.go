package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestViewPlain(t *testing.T) {
	var b bytes.Buffer
	v := newView(&b, false)
	v.show("never seen")
	v.line("row %d", 1)
	v.end()
	v.end()
	if b.String() != "row 1\n" {
		t.Errorf("%q", b.String())
	}
}

// On a terminal the block is drawn, lines are not, and nothing waits for keys.
func TestViewLive(t *testing.T) {
	var b bytes.Buffer
	v := newView(&b, true)
	v.show("a block\n")
	v.line("row %d", 1)
	v.end()
	v.end()
	if strings.Contains(b.String(), "row 1") {
		t.Errorf("%q", b.String())
	}
}
