package testdriver

import (
	"fmt"
	"strings"
	"testing"
)

// Modules that a real driver rejects are rejected.
func TestModules(t *testing.T) {
	good := module("words", 64, 61)
	specific := strings.NewReplacer("6.0", "8.0", "sm_61", "sm_90a").Replace(good)
	for _, m := range []struct {
		name, options, text string
		result              int
	}{
		{"good", "", good, 0},
		{"several", "", good + strings.ReplaceAll(good[strings.Index(good, ".visible"):], "words", "other"), 0},
		{"empty", "", "", 200},
		{"no PTX", "", "\x7fELF", 200},
		{"cut", "", good[:len(good)-3], 218},
		{"no target", "", strings.Replace(good, ".target sm_61", "", 1), 218},
		{"newer device", "compute=75", module("words", 64, 80), 209},
		{"same device", "compute=80", module("words", 64, 80), 0},
		{"another device only", "compute=100", specific, 209},
		{"this device only", "", specific, 0},
		{"older driver", "version=8000", good, 222},
		{"the oldest driver", "version=9000", good, 0},
		{"newer PTX", "version=11040", strings.Replace(good, "6.0", "7.5", 1), 222},
		{"the newest PTX", "version=11050", strings.Replace(good, "6.0", "7.5", 1), 0},
	} {
		t.Run(m.name, func(t *testing.T) {
			if *gpu && m.options != "" {
				t.Skip("not about a real GPU")
			}
			c := startAnywhere(t, m.options)
			c.want(m.result, "cuModuleLoadData", c.alloc(8), c.text(m.text))
			c.want(m.result, "cuModuleLoadDataEx", c.alloc(8), c.text(m.text), 0, 0, 0)
		})
	}
}

// A kernel is found only if the PTX has it, it was compiled for the CPU, and both match.
func TestFunctions(t *testing.T) {
	c := start(t, "").open(0)
	m := c.get("cuModuleLoadData", c.text(module("words", 64, 61)))
	if a, b := c.get("cuModuleGetFunction", m, c.text("words")), c.get("cuModuleGetFunction", m, c.text("words")); a != b {
		t.Error("two handles for one kernel")
	}
	c.want(500, "cuModuleGetFunction", c.alloc(8), m, c.text("sum"))
	f := c.get("cuModuleGetFunction", m, c.text("words"))
	c.must("cuModuleUnload", m)
	if result := c.launch(f, copyRun, 0, 0, 0); result != 400 {
		t.Errorf("a kernel of an unloaded module answers %d", result)
	}
	m = c.get("cuModuleLoadData", c.text(module("nowhere", 64, 61)))
	c.want(500, "cuModuleGetFunction", c.alloc(8), m, c.text("nowhere"))
	m = c.get("cuModuleLoadData", c.text(strings.Replace(module("sum", 64, 61), "[24]", "[32]", 1)))
	c.want(500, "cuModuleGetFunction", c.alloc(8), m, c.text("sum"))
	c.must("cuModuleUnload", m)
	c.want(400, "cuModuleGetFunction", c.alloc(8), m, c.text("sum"))
	c.complained("nowhere.so")
	c.complained("kernel sum: its PTX is not of the source that was compiled for the CPU")
}

// Launches beyond every device's limits are refused immediately.
func TestLaunchLimits(t *testing.T) {
	c := startAnywhere(t, "")
	fits := run{kernel: "part", threads: 64, compute: 80, grid: [2]int{3, 2}, block: [2]int{64, 1}, shared: 48 << 10, what: 10, out: 128}
	if got := c.mustRun(fits); got[0] != 2 || got[127] != 2 {
		t.Errorf("got %v", got)
	}
	for name, change := range map[string]func(r *run){
		"no block":            func(r *run) { r.grid[0] = 0 },
		"no thread":           func(r *run) { r.block[1] = 0 },
		"many threads":        func(r *run) { r.block[1] = 2 },
		"many rows of blocks": func(r *run) { r.grid[1] = 65536 },
		"much shared memory":  func(r *run) { r.shared++ },
	} {
		r := fits
		change(&r)
		if _, result := c.run(r); result != 1 {
			t.Errorf("%s: answers %d, want 1", name, result)
		}
	}
	f := c.function(fits)
	c.want(1, "cuFuncSetAttribute", f, 8, 227<<10+1)
	c.must("cuFuncSetAttribute", f, 8, 227<<10)
	fits.shared = 227 << 10
	if result := c.launch(f, fits, 0, c.get("cuMemAlloc_v2", 512), 0); result != 0 {
		t.Errorf("with leave for more shared memory: answers %d", result)
	}
	c.must("cuCtxSynchronize")
}

// The limit of shared memory per block depends on the device.
func TestSharedMemory(t *testing.T) {
	for compute, kilobytes := range map[int]int{61: 48, 70: 96, 75: 64, 80: 163, 89: 99, 90: 227} {
		c := start(t, fmt.Sprintf("compute=%d", compute)).open(0)
		r := copyRun
		r.compute = 61
		f := c.function(r)
		c.must("cuFuncSetAttribute", f, 8, kilobytes<<10)
		c.want(1, "cuFuncSetAttribute", f, 8, kilobytes<<10+1)
		if got := c.attribute(97, 0); got != uint64(kilobytes<<10) {
			t.Errorf("compute capability %d: %d bytes, want %d KiB", compute, got, kilobytes)
		}
	}
}
