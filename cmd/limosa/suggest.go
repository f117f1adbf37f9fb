package main

import (
	"fmt"
	"strings"
)

// didYouMean names the word of a list that is nearest to what was written, as
// ` (did you mean "call"?)`, or nothing if none is near.
//
// Near is a third of the letters that were written.
func didYouMean(written string, words []string) string {
	best, near := "", (len(written)+1)/3
	for _, w := range words {
		if d := distance(strings.ToLower(written), strings.ToLower(w), near); d <= near {
			best, near = w, d-1
		}
	}
	if best == "" || len(written) > 64 {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// distance is how many letters must be put in, left out, changed or swapped
// with the next one to make b of a (Damerau and Levenshtein, without overlaps);
// above most it is any number above most.
func distance(a, b string, most int) int {
	if len(a)-len(b) > most || len(b)-len(a) > most || len(a) > 64 {
		return most + 1
	}
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
