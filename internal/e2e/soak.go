package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// SoakLength returns how long VIDFILTER_SOAK wants a soak to take, and skips the test without it.
func SoakLength(t *testing.T) time.Duration {
	t.Helper()
	length, err := time.ParseDuration(os.Getenv("VIDFILTER_SOAK"))
	if err != nil || length < time.Minute {
		t.Skip("a soak: make test-soak, or VIDFILTER_SOAK=10m")
	}
	return length
}

// Series are measurements of one thing over time.
type Series struct {
	Name  string
	Unit  string
	Limit float64 // of growth over the whole soak
	at    []float64
	value []float64
}

// Add adds a measurement at a time since the start.
func (s *Series) Add(at time.Duration, value float64) {
	s.at, s.value = append(s.at, at.Seconds()), append(s.value, value)
}

// Check fails the test if the series grows: by the median slope of all pairs of measurements
// (Theil and Sen), which a few that are off do not move. The first quarter, in which pools and
// caches fill, is left out.
func (s *Series) Check(t *testing.T, length time.Duration) {
	t.Helper()
	from := len(s.at) / 4
	at, value := s.at[from:], s.value[from:]
	if len(at) < 12 {
		t.Errorf("%s: %d measurements", s.Name, len(s.at))
		return
	}
	var slopes []float64
	for i := range at {
		for j := range i {
			slopes = append(slopes, (value[i]-value[j])/(at[i]-at[j]))
		}
	}
	slices.Sort(slopes)
	growth := slopes[len(slopes)/2] * length.Seconds()
	sorted := slices.Sorted(slices.Values(value))
	t.Logf("%s: median %.4g %s, %.4g to %.4g, %+.3g over %v (limit %g), %d measurements",
		s.Name, sorted[len(sorted)/2], s.Unit, sorted[0], sorted[len(sorted)-1], growth, length, s.Limit, len(value))
	if growth > s.Limit {
		t.Errorf("%s grows by %.3g %s in %v", s.Name, growth, s.Unit, length)
	}
}

// Use is the resources of a process and its children.
type Use struct {
	Memory  float64 // private, MB
	Files   float64 // open descriptors
	Threads float64
}

// UseOf adds up a process and, with all, its children and theirs.
func UseOf(pid int, all bool) (u Use) {
	for _, pid := range family(pid, all) {
		dir := fmt.Sprintf("/proc/%d/", pid)
		var size, resident, shared float64
		statm, _ := os.ReadFile(dir + "statm") // empty once it has ended
		_, _ = fmt.Sscan(string(statm), &size, &resident, &shared)
		u.Memory += (resident - shared) * float64(os.Getpagesize()) / 1e6
		files, _ := os.ReadDir(dir + "fd")
		threads, _ := os.ReadDir(dir + "task")
		u.Files += float64(len(files))
		u.Threads += float64(len(threads))
	}
	return u
}

func family(pid int, all bool) []int {
	pids := []int{pid}
	if !all {
		return pids
	}
	parents := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, name := range stats {
		text, err := os.ReadFile(name)
		end := bytes.LastIndexByte(text, ')')
		if err != nil || end < 0 {
			continue
		}
		fields := strings.Fields(string(text[end+1:])) // state, parent, ...
		if len(fields) < 2 {
			continue
		}
		child, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		parent, _ := strconv.Atoi(fields[1])
		parents[parent] = append(parents[parent], child)
	}
	for i := 0; i < len(pids); i++ {
		pids = append(pids, parents[pids[i]]...)
	}
	return pids
}

// Family returns a process and its children and theirs.
func Family(pid int) []int { return family(pid, true) }
