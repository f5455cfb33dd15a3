package batchrun

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/filters"
	"vidfilter/internal/hint"
	"vidfilter/internal/machine"
)

// limits are how much a worker and its processes together may use of the machine.
type limits struct {
	Cores  int   // 0 for all
	Memory int64 // bytes; 0 for all
	Device filters.DeviceChoice
}

// leastMemory is enough for small pictures.
const leastMemory = 512 << 20

func (l *limits) flags(t cli.Table) {
	t.Add(cli.NewValue(&l.Cores, "N", cli.IntIn(1, 1<<16)), "cores", "", "cores to use (default all)")
	t.Add(cli.NewValue(&l.Memory, "SIZE", parseMemory), "memory", "", "memory to use (default all)")
	t.Add(filters.NewDevice(&l.Device), "device", "", "devices to use: auto (default, all) cpu cuda:0,2")
}

func parseMemory(s string) (int64, error) {
	n, err := parseBytes(s)
	if err == nil && n < leastMemory {
		return 0, cli.Usagef("a part of a 4K video takes up to 4GB", "less than 512MB")
	}
	return n, err
}

// apply limits this process and those that it starts later, and returns the environment of those.
// It comes before the first use of a GPU.
func (l *limits) apply(env []string) ([]string, error) {
	machine.UseMemory(l.Memory)
	if l.Cores > 0 {
		if err := machine.UseCores(l.Cores); err != nil {
			return nil, err
		}
	}
	visible, set := l.visible(cli.Lookup(env, visibleGPUs))
	if !set {
		return env, nil
	}
	if err := os.Setenv(visibleGPUs, visible); err != nil {
		return nil, err
	}
	return append(env, visibleGPUs+"="+visible), nil
}

// visibleGPUs is a variable of the CUDA driver, which hides all other GPUs from a process.
const visibleGPUs = "CUDA_VISIBLE_DEVICES"

// visible returns the value of visibleGPUs for the devices, which count among those visible
// before; set is false if it stays as it is.
func (l *limits) visible(before string) (value string, set bool) {
	switch {
	case l.Device.Kind == "cpu":
		return "-1", true
	case l.Device.Indexes == nil:
		return "", false
	}
	names := strings.Split(before, ",")
	var chosen []string
	for _, i := range l.Device.Indexes {
		name := strconv.Itoa(i)
		if before != "" {
			name = "none" // ends the list for the driver
			if i < len(names) {
				name = strings.TrimSpace(names[i])
			}
		}
		chosen = append(chosen, name)
	}
	return strings.Join(chosen, ","), true
}

// devices returns the devices among which jobs without --device are spread, and the names of the
// GPUs.
func (l *limits) devices() (devices, gpus []string) {
	if l.Device.Kind == "cpu" {
		return []string{"cpu"}, nil
	}
	return spreadGPUs()
}

// check returns an error if GPUs were asked for that are not there.
func (l *limits) check(gpus []string) error {
	if want := max(1, len(l.Device.Indexes)); l.Device.Kind != "cuda" || len(gpus) >= want {
		return nil
	}
	err := fmt.Errorf("%w: --device: %d of the GPUs can be used", contract.NewClass(contract.ExitDevice, "a GPU is missing"), len(gpus))
	return hint.Add(err, "vidfilter devices lists the GPUs; --device auto uses those that are there, or the CPU")
}
