package config

import (
	"fmt"
	"strings"
)

// closest returns the candidate that word was probably meant to be, "" for none:
// one that it begins with or that begins with it, or the one at the smallest
// edit distance if that is small for the word's length.
func closest(word string, candidates []string) string {
	best, least := "", 2+len(word)/4
	for _, c := range candidates {
		d := distance(strings.ToLower(word), strings.ToLower(c))
		if shorter := min(len(word), len(c)); shorter >= 3 && strings.EqualFold(word[:shorter], c[:shorter]) {
			d = min(d, 1)
		}
		if d < least {
			best, least = c, d
		}
	}
	return best
}

// distance is the number of single-byte insertions, deletions, substitutions and
// swaps of neighbours between a and b (optimal string alignment).
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			substitute := last[j-1]
			if a[i-1] != b[j-1] {
				substitute++
			}
			row[j] = min(last[j]+1, row[j-1]+1, substitute)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// instead is the hint for a word that is none of known.
func instead(word string, known []string) string {
	if near := closest(word, known); near != "" {
		return fmt.Sprintf("did you mean %s?", near)
	}
	return "write one of: " + strings.Join(known, ", ")
}
