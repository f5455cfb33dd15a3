package batchrun

import (
	"fmt"
	"path"
	"runtime"
	"slices"

	"vidfilter/batch"
	"vidfilter/encode/formats"
	"vidfilter/gpu"
	"vidfilter/internal/machine"
)

// A job uses this many cores, most of them for x264, this many threads, and this much memory at 4K.
// On 16 cores, 4K at preset medium, four jobs at once take 0.67 of the time of one after another,
// two take 0.72 and eight 0.65.
const (
	coresPerJob   = 4
	threadsPerJob = 64
	memoryPerJob  = 4 << 30
)

// slots returns how many files to filter at once by default: one for so many cores, and at least
// one for each GPU, if memory and threads allow.
func slots(asked, gpus, cores int) int {
	if asked > 0 {
		return asked
	}
	n := max((runtime.GOMAXPROCS(0)+cores/2)/cores, gpus)
	if free := machine.FreeThreads(); free > 0 {
		n = min(n, int(free/threadsPerJob))
	}
	return max(1, min(n, int(machine.FreeMemory()/memoryPerJob)))
}

// cores returns the cores that a file of the batch takes: one if all are pictures, most of whose
// jobs is not spread over threads.
func (b *batchJob) cores() int {
	video := func(item batch.Item) bool {
		f, _ := formats.ByEnding(path.Ext(item.Output))
		return f.Family != formats.Picture
	}
	if b.o.Watch != "" || slices.ContainsFunc(b.plan.Items, video) {
		return coresPerJob
	}
	return 1
}

// spreadGPUs returns the GPUs among which jobs without --device are spread: none unless there
// are several.
func spreadGPUs() (devices, names []string) {
	all, err := gpu.Devices()
	if err != nil {
		return nil, nil
	}
	for _, d := range all {
		if d.Usable() == nil {
			devices, names = append(devices, fmt.Sprint(d)), append(names, d.Name)
		}
	}
	if len(devices) < 2 {
		devices = nil
	}
	return devices, names
}
