package media

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// cost is the time of a run of the program, with its children.
type cost struct{ wall, cpu time.Duration }

func costOf(t *testing.T, args ...string) cost {
	t.Helper()
	cmd := exec.Command(e2e.Program, args...)
	began := time.Now()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v: %s", args, err, out)
	}
	return cost{time.Since(began), cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
}

// spread is a median with its quartiles.
type spread struct{ low, median, high float64 }

func quartiles(values []float64) spread {
	slices.Sort(values)
	n := len(values) - 1
	return spread{values[n/4], (values[n/2] + values[(n+1)/2]) / 2, values[n-n/4]}
}

func (s spread) String() string { return fmt.Sprintf("%.4g (%.4g to %.4g)", s.median, s.low, s.high) }

// TestSandboxCost measures the cost of the sandbox: the same job with and without it, in turns, in
// VIDFILTER_COST pairs. Other load on the machine affects both runs of a pair, and the median drops
// the pairs where it does not. The input is VIDFILTER_COST_INPUT, or the sample.
func TestSandboxCost(t *testing.T) {
	pairs, err := strconv.Atoi(os.Getenv("VIDFILTER_COST"))
	if err != nil || pairs < 3 {
		t.Skip("a measurement: make sandbox-cost")
	}
	in := os.Getenv("VIDFILTER_COST_INPUT")
	if in == "" {
		in = "../../../samples/noisy.mp4"
	}
	offered(t)
	out := filepath.Join(t.TempDir(), "out.mp4")
	job := []string{"-i", in, "-o", out, "-y", "--progress", "none", "--device", "cpu", "--threads", "2", "--sandbox"}
	info := []string{"info", in, "--sandbox"}
	// measure returns seconds more with the sandbox, and the ratios.
	measure := func(pairs int, args []string) (more, ratio map[string]spread) {
		var took [2][2][]float64 // wall and CPU; more and ratio
		for i := range pairs {
			var c [2]cost
			for k := range c {
				which := (i + k) % 2 // the first of a pair also alternates
				c[which] = costOf(t, append(slices.Clone(args), []string{"off", "on"}[which])...)
			}
			for k, v := range [2][2]time.Duration{{c[0].wall, c[1].wall}, {c[0].cpu, c[1].cpu}} {
				took[k][0] = append(took[k][0], 1000*(v[1]-v[0]).Seconds())
				took[k][1] = append(took[k][1], v[1].Seconds()/v[0].Seconds())
			}
		}
		more, ratio = map[string]spread{}, map[string]spread{}
		for k, name := range []string{"wall", "cpu"} {
			more[name], ratio[name] = quartiles(took[k][0]), quartiles(took[k][1])
		}
		return more, ratio
	}
	costOf(t, append(slices.Clone(job), "on")...) // reads the files
	more, _ := measure(4*pairs, info)
	t.Logf("info: %v ms more, %v ms of processor time (medians of %d pairs, and quartiles)", more["wall"], more["cpu"], 4*pairs)
	for _, name := range []string{"wall", "cpu"} {
		if more[name].low > 30 {
			t.Errorf("the sandbox costs %v ms a job (%s)", more[name], name)
		}
	}
	more, ratio := measure(pairs, job)
	t.Logf("a job: %v times as long, %v times the processor time; %v and %v ms more (%d pairs)", ratio["wall"], ratio["cpu"], more["wall"], more["cpu"], pairs)
	for _, name := range []string{"wall", "cpu"} {
		if ratio[name].low > 1.01 && more[name].low > 30 {
			t.Errorf("the sandbox costs %v of a job's time (%s)", ratio[name], name)
		}
	}
}
