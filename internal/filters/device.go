package filters

import (
	"slices"
	"strings"

	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/kernels"
)

// DeviceChoice is the value of --device.
type DeviceChoice struct {
	Kind    string // auto, cpu, cuda
	Indexes []int  // of GPUs that share the work; nil: the first usable one
	All     bool   // all usable GPUs
}

// DeviceNames are values of --device.
var DeviceNames = []string{"auto", "cpu", "cuda", "cuda:all"}

// NewDevice returns the value of --device.
func NewDevice(p *DeviceChoice) *cli.Value[DeviceChoice] {
	return cli.Aliased(cli.Names(cli.NewValue(p, "NAME", ParseDevice), DeviceNames), usualDevice)
}

// usualDevice returns the meaning of gpu and nvidia.
func usualDevice(s string) string {
	s = strings.ToLower(s)
	for _, alias := range []string{"gpu", "nvidia"} {
		if rest, ok := strings.CutPrefix(s, alias); ok && (rest == "" || rest[0] == ':') {
			return "cuda" + rest
		}
	}
	return s
}

// ParseDevice reads a device.
func ParseDevice(s string) (DeviceChoice, error) {
	if s == "cuda:all" {
		return DeviceChoice{Kind: "cuda", All: true}, nil
	}
	if list, ok := strings.CutPrefix(s, "cuda:"); ok {
		indexes, err := parseIndexes(list)
		return DeviceChoice{Kind: "cuda", Indexes: indexes}, err
	}
	if !slices.Contains(DeviceNames, s) {
		return DeviceChoice{}, cli.UnknownName(append(slices.Clone(DeviceNames), "cuda:0", "cuda:0,2"), s)
	}
	return DeviceChoice{Kind: s}, nil
}

// parseIndexes reads numbers of GPUs: 0, or 0,2.
func parseIndexes(list string) (indexes []int, err error) {
	const hint = "GPUs are numbered from 0; vidfilter devices lists them"
	for n := range strings.SplitSeq(list, ",") {
		i, err := cli.IntIn(0, 255)(n)
		switch {
		case err != nil:
			return nil, cli.Usagef(hint, "no such number of a GPU")
		case slices.Contains(indexes, i):
			return nil, cli.Usagef(hint, "a GPU is named twice")
		}
		indexes = append(indexes, i)
	}
	return indexes, nil
}

// MaxThreads is the most threads that an option takes.
const MaxThreads = 4096

// Open opens a device that can filter by all stages. If auto falls back to the CPU, noGPU is the
// reason. o has the options of a GPU, without its indexes.
func Open(d DeviceChoice, threads int, stages []kernels.Stage, o gpu.Options) (b kernels.Backend, noGPU, err error) {
	if d.Kind != "cpu" {
		o.Indexes, o.All = d.Indexes, d.All
		b, err := openGPU(stages, o)
		if err == nil {
			return b, nil, nil
		}
		if d.Kind == "cuda" {
			return nil, nil, OnlyCPU(err)
		}
		noGPU = err
	}
	cpu, err := kernels.NewCPU(threads, "")
	if err != nil {
		return nil, nil, err
	}
	return cpu, noGPU, nil
}

// openGPU opens GPUs that support the stages, and begins to compile their kernels.
func openGPU(stages []kernels.Stage, o gpu.Options) (*gpu.Backend, error) {
	b, err := gpu.Open(o)
	if err != nil {
		return nil, err
	}
	for _, s := range stages {
		if err := b.Can(s); err != nil {
			_ = b.Close()
			return nil, err
		}
	}
	for _, s := range stages {
		b.Warm(s)
	}
	return b, nil
}

// OnlyCPU advises to filter on the CPU.
func OnlyCPU(err error) error { return hint.Add(err, "--device cpu filters on the CPU") }
