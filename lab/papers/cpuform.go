package papers

// #cgo CFLAGS: -std=c11 -O3 -Wall
// #cgo LDFLAGS: -lm
// #include "cpuform.h"
import "C"

import (
	"fmt"
	"runtime"
	"slices"

	"vidfilter/kernels"
)

// CPUVariant is a CPU form of one of the papers, written as the paper does it: to read and to
// compare with others, not to be fast. Each has one source, cpuform_*.c, whose header describes it
// and lists the changes. It takes RGBA, with fixed options. Its result is within one level of
// Reference's, and the same bits for any number of threads.
type CPUVariant struct {
	Name string // for --kernel
	Details
	Range   kernels.RangeWeight
	Threads int // the most threads that it uses, 0 for any number

	form *C.vf_form
}

// CPUVariants returns the list, in a fixed order: by paper, then as the paper builds one on the
// other.
func CPUVariants() []CPUVariant { return slices.Clone(cpuVariants) }

var cpuVariants = []CPUVariant{
	{Name: "cpu_sequential", Details: Details{Paper: "000", Version: "0", Title: "sequential", Semantics: Semantics{Channel, Skip}},
		Range: kernels.Gaussian, Threads: 1, form: &C.vf_form_sequential},
	{Name: "cpu_akers", Details: Details{Paper: "001", Version: "C", Title: "C", Semantics: Semantics{RGB, Zero}},
		Range: kernels.Lorentzian, Threads: 1, form: &C.vf_form_akers},
	{Name: "cpu_akers_threads", Details: Details{Paper: "001", Version: "OpenMP", Title: "multi-threaded C", Semantics: Semantics{RGB, Zero}},
		Range: kernels.Lorentzian, form: &C.vf_form_akers},
	singleSpectrum("cpu_naive", "BL_Naive", "naive", &C.vf_form_naive),
	singleSpectrum("cpu_tiles", "BL_Tiles", "tiles", &C.vf_form_tiles),
	singleSpectrum("cpu_simd", "BL_Intrinsic", "SIMD", &C.vf_form_simd),
	singleSpectrum("cpu_reduction", "BL_I_Reduction", "SIMD with reduction", &C.vf_form_reduction),
	singleSpectrum("cpu_pair", "pair-symmetric", "pair-symmetric", &C.vf_form_pair),
}

// singleSpectrum is a form of 003, which filters pictures of one channel.
func singleSpectrum(name, version, title string, form *C.vf_form) CPUVariant {
	return CPUVariant{Name: name, Details: Details{Paper: "003", Version: version, Title: title, Semantics: Semantics{Channel, Skip}},
		Range: kernels.Gaussian, form: form}
}

// NamedCPU returns the CPU form of that name.
func NamedCPU(name string) (CPUVariant, error) {
	if i := slices.IndexFunc(cpuVariants, func(v CPUVariant) bool { return v.Name == name }); i >= 0 {
		return cpuVariants[i], nil
	}
	return CPUVariant{}, fmt.Errorf("papers: there is no CPU form %q", name)
}

// Adapt returns p with the form's range weight. For another filter it returns the defaults of the
// bilateral one.
func (v CPUVariant) Adapt(p kernels.Planned) kernels.Planned {
	own, ok := p.(kernels.Bilateral)
	if !ok {
		own = kernels.DefaultBilateral(0)
	}
	own.Range = v.Range
	return own
}

// Does describes the supported options: "radius 0 to 15, gaussian".
func (v CPUVariant) Does() string {
	return fmt.Sprintf("radius 0 to %d, %s", kernels.MaxRadius, v.Range)
}

// Refuses returns the reason that the form does not support p, or nil.
func (v CPUVariant) Refuses(p kernels.Stage) error {
	if err := kernels.Validate(p); err != nil {
		return err
	}
	switch own, ok := p.(kernels.Bilateral); {
	case !ok:
		return fmt.Errorf("papers: %s does not do the %s filter", v.Name, p.Filter())
	case own.Range != v.Range:
		return fmt.Errorf("papers: %s does %s, not %s", v.Name, v.Does(), own.Range)
	}
	return nil
}

// ThreadsFor returns the number of threads for a wanted number; 0 is as many as the form can use.
func (v CPUVariant) ThreadsFor(wanted int) (int, error) {
	switch {
	case wanted < 0:
		return 0, fmt.Errorf("papers: %d threads", wanted)
	case v.Threads > 0 && wanted > v.Threads:
		return 0, fmt.Errorf("papers: %s is a program of %d thread, not of %d: leave their number out", v.Name, v.Threads, wanted)
	case wanted > 0:
		return wanted, nil
	case v.Threads > 0:
		return v.Threads, nil
	}
	return runtime.GOMAXPROCS(0), nil
}
