package text

import "strings"

// Closest returns the candidate that name is most likely a typo of, or "" if all are far: at most
// one edit for short names and a third of the letters for longer ones, or a unique prefix.
func Closest(name string, candidates []string) string {
	best, bestCost := "", max(1, len(name)/3)+1
	name = strings.ToLower(name)
	for _, c := range candidates {
		if cost := editDistance(name, strings.ToLower(c)); cost < bestCost && cost < len(c) {
			best, bestCost = c, cost
		}
	}
	if best != "" {
		return best
	}
	return onlyWithPrefix(name, candidates)
}

func onlyWithPrefix(prefix string, candidates []string) string {
	found := ""
	for _, c := range candidates {
		if len(prefix) < 2 || !strings.HasPrefix(c, prefix) {
			continue
		}
		if found != "" {
			return ""
		}
		found = c
	}
	return found
}

// editDistance counts insertions, deletions, replacements and swaps of neighbours (Damerau,
// optimal string alignment) between a and b in bytes.
func editDistance(a, b string) int {
	const longest = 64 // longer input is no typo of a name
	if len(a) > longest || len(b) > longest {
		return max(len(a), len(b))
	}
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
