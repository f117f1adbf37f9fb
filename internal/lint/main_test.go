package lint_test

import (
	"fmt"
	"os"
	"testing"
)

// TestMain moves to the top of the repository: what the tests read, and the
// paths that they print, begin there.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(m.Run())
}
