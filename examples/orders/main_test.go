package main

import (
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	var out strings.Builder
	if err := run(&out); err != nil {
		t.Fatal(err)
	}
	const want = `Orders/place for ada: OK
  ada-1: 1000 cents
Orders/place for ada: InvalidArgument
  InvalidArgument, deadline: false
Orders/place for ada: Unknown
  only 2 of globe
`
	if got, rest := out.String()[:min(len(want), out.Len())], out.String()[min(len(want), out.Len()):]; got != want || !strings.Contains(rest, "  DeadlineExceeded, deadline: true\n") {
		t.Errorf("it prints\n%s", out.String())
	}
}
