package main

import (
	"fmt"
	"runtime"

	"vidfilter/gpu"
	"vidfilter/pipeline"
)

// A job keeps this many cores busy, x264 most of them, and takes this much memory at 4K. On 16 cores, 4K at the medium preset, four jobs at
// once take 0.67 of the time of one after another, two 0.72, eight 0.65.
const (
	coresPerJob  = 4
	memoryPerJob = 4 << 30
)

// slots is how many files are filtered at once: as many as cores and memory feed, and one for each GPU at least.
func slots(asked, gpus int) int {
	if asked > 0 {
		return asked
	}
	n := max((runtime.NumCPU()+coresPerJob/2)/coresPerJob, gpus)
	return max(1, min(n, int(pipeline.FreeMemory()/memoryPerJob)))
}

// spreadGPUs returns the GPUs over which jobs are spread that leave the device open: none where there are not several.
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
