package batchrun

import (
	"slices"
	"testing"

	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/filters"
)

// The processes of a worker see the GPUs that it may use only, which count among those that it
// sees itself.
func TestVisibleGPUs(t *testing.T) {
	for _, c := range []struct {
		device, before, want string
		set                  bool
	}{
		{"auto", "", "", false},
		{"auto", "1", "", false},
		{"cuda", "", "", false},
		{"cuda:all", "2,3", "", false},
		{"cpu", "", "-1", true},
		{"cpu", "2,3", "-1", true},
		{"cuda:0,2", "", "0,2", true},
		{"cuda:1", "4,GPU-ab, MIG-cd", "GPU-ab", true},
		{"cuda:2,0", "4,GPU-ab, MIG-cd", "MIG-cd,4", true},
		{"cuda:0,1", "4", "4,none", true},
	} {
		d, err := filters.ParseDevice(c.device)
		if err != nil {
			t.Fatal(err)
		}
		l := limits{Device: d}
		if got, set := l.visible(c.before); got != c.want || set != c.set {
			t.Errorf("%s of %q: %q %t, want %q %t", c.device, c.before, got, set, c.want, c.set)
		}
	}
}

// A worker for GPUs that are not there does not start.
func TestMissingGPUs(t *testing.T) {
	for device, need := range map[string]int{"auto": 0, "cpu": 0, "cuda": 1, "cuda:all": 1, "cuda:3": 1, "cuda:0,2": 2} {
		d, err := filters.ParseDevice(device)
		if err != nil {
			t.Fatal(err)
		}
		l := limits{Device: d}
		for n := range 3 {
			if code := contract.ExitCode(l.check(make([]string, n))); (code == contract.ExitDone) != (n >= need) || code != contract.ExitDone && code != contract.ExitDevice {
				t.Errorf("%s with %d GPUs: exit code %d", device, n, code)
			}
		}
	}
}

// A limit of memory goes to the processes of a worker, and a limit too low for any is refused.
func TestMemoryOfWorker(t *testing.T) {
	p := programOf("off", []string{"HOME=/"}, 2, 1<<30)
	if got := cli.Lookup(p.Env, "VIDFILTER_SHARERS_MEMORY"); got != "1073741824" {
		t.Errorf("the memory of its processes is %q", got)
	}
	if p = programOf("off", []string{"HOME=/"}, 2, 0); slices.ContainsFunc(p.Env, func(e string) bool { return e == "VIDFILTER_SHARERS_MEMORY=0" }) {
		t.Errorf("no limit: %q", p.Env)
	}
	for size, ok := range map[string]bool{"8GB": true, "512MB": false, "600MB": true, "1": false, "x": false} {
		if n, err := parseMemory(size); (err == nil) != ok {
			t.Errorf("%s is %d, %v", size, n, err)
		}
	}
}

// Shares are whole numbers of credentials.
func TestParseShare(t *testing.T) {
	share, err := parseShare("alice=3,render-07=1000")
	if err != nil || len(share) != 2 || share["alice"] != 3 || share["render-07"] != 1000 {
		t.Errorf("%v, %v", share, err)
	}
	for _, wrong := range []string{"", "alice", "alice=", "alice=0", "alice=-1", "alice=1.5", "alice=1001", "=3", "a b=3", "all=3", "alice=1,alice=2", "alice=1,"} {
		if share, err := parseShare(wrong); err == nil {
			t.Errorf("%q is %v", wrong, share)
		}
	}
}
