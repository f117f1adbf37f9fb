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
	const want = "billing: \"hunter2\" OK\ncrawler: \"\" PermissionDenied\n"
	if out.String() != want {
		t.Errorf("it prints\n%s", out.String())
	}
}
