package papers

import (
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/kerneltest"
)

// TestModules compares the list with the compiled modules: each module has only its variant's
// kernel, for its device, with the plan's parameter size and number of threads.
func TestModules(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range Library.Variants() {
		if seen[v.Name] {
			t.Errorf("%s is listed twice", v.Name)
		}
		seen[v.Name] = true
		text, err := v.PTX()
		if err != nil {
			t.Error(err)
			continue
		}
		size := planFor(t, v).Frame(false, kernels.DevicePlanes{}, kernels.DevicePlanes{}, kernels.DeviceMemory{})[0].ArgsSize
		kerneltest.CheckModule(t, v.Name, text, v.Compute, v.Threads[0]*v.Threads[1], size)
	}
}

func planFor(t *testing.T, v kernels.Variant) *kernels.Plan {
	t.Helper()
	plan, err := v.Planner(v.Adapt(kernels.DefaultBilateral(v.Radii[0])))(rgbaOf(1000, 501), limits)
	e2e.Must(t, err)
	return plan
}

// TestLaunches: launches stay within every device's limits.
func TestLaunches(t *testing.T) {
	for _, v := range Library.Variants() {
		for _, radius := range v.Radii {
			plan, err := v.Planner(v.Adapt(kernels.DefaultBilateral(radius)))(rgbaOf(1000, 501), limits)
			e2e.Must(t, err)
			for _, l := range plan.Frame(true, kernels.DevicePlanes{}, kernels.DevicePlanes{}, kernels.DeviceMemory{Handles: []uint64{1, 2, 3}}) {
				if l.Shared > 48<<10 || l.Block[0]*l.Block[1] > 1024 || l.ArgsSize > 4096 {
					t.Errorf("%s: block %v, %d bytes of shared memory, %d of parameters", v.Name, l.Block, l.Shared, l.ArgsSize)
				}
			}
		}
	}
}

// TestVariants: each variant has its paper, version and title, no priority, and a list of layouts.
func TestVariants(t *testing.T) {
	all := Library.Variants()
	if len(all) != 76 {
		t.Errorf("%d variants", len(all))
	}
	for _, v := range all {
		if d := Of(v); d.Paper == "" || d.Version == "" || d.Title == "" || v.Form.Priority != nil || v.Form.Layouts == nil {
			t.Errorf("%s: %+v", v.Name, d)
		}
	}
}
