package vidfilter_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// layered draws the imports between rooms: the packages below one folder. A room stands above all
// that it imports. Rooms whose packages import each other's, in both directions, share a place.
func layered(imports map[string][]string) string {
	rooms := slices.Sorted(maps.Keys(imports))
	reach := map[string]map[string]bool{}
	for _, r := range rooms {
		reach[r] = map[string]bool{}
		reachable(imports, r, reach[r])
	}
	var rows [][]string
	placed := map[string]bool{}
	for len(placed) < len(rooms) {
		var row []string
		var now []string
		for _, r := range rooms {
			if !placed[r] && allBelow(r, reach, placed) {
				now = append(now, r)
			}
		}
		for len(now) > 0 {
			together := slices.DeleteFunc(slices.Clone(now), func(q string) bool { return q != now[0] && !reach[now[0]][q] })
			row = append(row, strings.Join(together, " + "))
			now = slices.DeleteFunc(now, func(q string) bool { return slices.Contains(together, q) })
			for _, q := range together {
				placed[q] = true
			}
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	for i, row := range slices.Backward(rows) {
		b.WriteString(centred(strings.Join(row, "   ")))
		if i > 0 {
			b.WriteString(centred("▼"))
		}
	}
	return b.String()
}

// allBelow reports whether a room reaches only placed rooms, and rooms that reach it.
func allBelow(r string, reach map[string]map[string]bool, placed map[string]bool) bool {
	for q := range reach[r] {
		if !placed[q] && !reach[q][r] {
			return false
		}
	}
	return true
}

func reachable(imports map[string][]string, from string, seen map[string]bool) {
	for _, to := range imports[from] {
		if !seen[to] {
			seen[to] = true
			reachable(imports, to, seen)
		}
	}
}

// centred is a line of the drawing. Rows wider than a page continue on the next line.
func centred(s string) string {
	const width = 100
	if runes := []rune(s); len(runes) > width {
		cut := strings.LastIndex(string(runes[:width]), "   ")
		return centred(s[:cut]) + centred(s[cut+3:])
	}
	return strings.TrimRight(strings.Repeat(" ", 4+(width-len([]rune(s)))/2)+s, " ") + "\n"
}

// roomImports returns the rooms that each room of the program imports. Tests, packages for tests
// only and the packages of undrawn are left out.
func roomImports(all []source) map[string][]string {
	drawn := map[string][]string{}
	for _, s := range all {
		from, ok := roomOf(s.folder)
		if !ok || s.test {
			continue
		}
		drawn[from] = append(drawn[from], nil...)
		for _, imported := range s.imports {
			folder, ours := strings.CutPrefix(imported, module+"/")
			if to, ok := roomOf(folder); ours && ok && to != from && !slices.Contains(drawn[from], to) {
				drawn[from] = append(drawn[from], to)
			}
		}
	}
	return drawn
}

// roomOf returns a package's room: its top folder, or the one below internal.
func roomOf(folder string) (room string, ok bool) {
	r, found := ruleFor(folder)
	if !found || r.folder == "." || strings.HasPrefix(r.what, "for tests") || strings.HasPrefix(folder, "internal/e2e") ||
		slices.Contains(undrawn, folder) {
		return "", false
	}
	parts := strings.Split(folder, "/")
	if parts[0] == "internal" {
		return strings.Join(parts[:2], "/"), true
	}
	return parts[0], true
}

// undrawn packages are programs that write files of the project, and drawn scenes.
var undrawn = []string{"kernels/mkptx", "interlace/learn", "internal/licenses/gather", "samples/gen", "samples/scene", ".ci"}

// A drawing has each room once, above its imports, and rooms of an import cycle together.
func TestLayered(t *testing.T) {
	got := layered(map[string][]string{"app": {"lib", "util"}, "lib": {"twin"}, "twin": {"lib", "util"}, "util": nil})
	var rows []string
	for line := range strings.Lines(got) {
		rows = append(rows, strings.TrimSpace(line))
	}
	if want := []string{"app", "▼", "lib + twin", "▼", "util", ""}; !slices.Equal(append(rows, ""), want) {
		t.Errorf("drawn %q, want %q", rows, want)
	}
}
