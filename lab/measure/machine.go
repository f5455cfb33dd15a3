package measure

import (
	"os"
	"runtime"
	"strings"

	"vidfilter/gpu"
	"vidfilter/kernels"
)

// Machine describes the machine of a report.
type Machine struct {
	CPU    string `json:"cpu"`    // the model
	Cores  int    `json:"cores"`  // available to the program
	Filter string `json:"filter"` // instruction set and threads of the CPU's filter
	GPU    *GPU   `json:"gpu"`    // nil when unused
}

// GPU is a device and its limits.
type GPU struct {
	Name            string  `json:"name"`
	Driver          string  `json:"driver"` // the newest CUDA it supports
	Compute         int     `json:"compute_capability"`
	Multiprocessors int     `json:"multiprocessors"`
	Clock           float64 `json:"clock_hz"`
	Cache           int     `json:"l2_bytes"`
	Memory          int64   `json:"memory_bytes"`
}

// describeMachine describes the backends; g may be nil.
func describeMachine(cpu *kernels.CPU, g *gpu.Backend) (Machine, error) {
	m := Machine{CPU: cpuModel(), Cores: runtime.GOMAXPROCS(0), Filter: cpu.Name()}
	if g == nil {
		return m, nil
	}
	d := g.Device()
	limits, err := d.Limits()
	m.GPU = &GPU{
		Name: d.Name, Driver: gpu.DriverVersion(), Compute: d.Compute,
		Multiprocessors: limits.Multiprocessors, Clock: limits.Clock, Cache: limits.Cache, Memory: d.Total,
	}
	return m, err
}

// cpuModel returns Linux's name of the processor, or its architecture.
func cpuModel() string {
	info, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}
