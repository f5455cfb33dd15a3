package graph

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"

	"vidfilter/pipeline"
)

// Graphs that were checked, run or refused leave no memory behind.
func TestMemory(t *testing.T) {
	pool := newPool(t, 1)
	all := func() {
		for _, graph := range []string{"split[a][b];[a]gblur[c];[c][b]blend", "scale=32:32:nosuch=1", "movie=f", "scale=w=(", "blend"} {
			_ = Check(graph)
		}
		run(t, open(t, "bwdif=1,vflip", Options{}), clip(t, pool, small, 2))
		src := frames(clip(t, pool, small, 1))
		if err := pipeline.Run(t.Context(), &src, []pipeline.Filter{open(t, "crop=640:480", Options{})}, &results{}, pipeline.Options{}); err == nil {
			t.Error("a crop larger than the picture is taken")
		}
	}
	kilobytes := func() int {
		debug.FreeOSMemory()
		b, err := os.ReadFile("/proc/self/statm")
		must(t, err)
		n, err := strconv.Atoi(strings.Fields(string(b))[1])
		must(t, err)
		return n * os.Getpagesize() / 1024
	}
	for range 100 {
		all()
	}
	before := kilobytes()
	for range 200 {
		all()
	}
	if after := kilobytes(); after > before+4000 {
		t.Errorf("200 rounds take %d kB", after-before)
	}
}
