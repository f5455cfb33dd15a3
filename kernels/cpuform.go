package kernels

// #cgo LDFLAGS: -lm
// #include "cpuform.h"
import "C"

import (
	"fmt"
	"runtime"
	"strings"
)

// CPUVariant is a CPU form of one of the papers, done as the paper does it: to be read, and to be measured beside others, not to be
// fast. Each has one source, cpuform_*.c, whose header says what it is and what had to be changed. It takes RGBA and has one
// meaning; its result is Reference's to within one level, and the same bits for any number of threads.
type CPUVariant struct {
	Name     string // for --kernel
	Paper    string // "000", as in the list of papers
	Version  string // what the paper calls it
	Title    string // for tables
	Range    RangeWeight
	Distance Distance
	Border   Border
	Threads  int // the most threads that it uses, 0 where it takes any number

	form *C.vf_form
}

// CPUVariants returns the list, in an order that does not change: by paper, then as the paper builds one on the other.
func CPUVariants() []CPUVariant { return append([]CPUVariant(nil), cpuVariants...) }

var cpuVariants = []CPUVariant{
	{Name: "cpu_sequential", Paper: "000", Version: "0", Title: "sequential",
		Range: Gaussian, Distance: Channel, Border: Skip, Threads: 1, form: &C.vf_form_sequential},
	{Name: "cpu_akers", Paper: "001", Version: "C", Title: "C",
		Range: Lorentzian, Distance: RGB, Border: Zero, Threads: 1, form: &C.vf_form_akers},
	{Name: "cpu_akers_threads", Paper: "001", Version: "OpenMP", Title: "multi-threaded C",
		Range: Lorentzian, Distance: RGB, Border: Zero, form: &C.vf_form_akers},
	singleSpectrum("cpu_naive", "BL_Naive", "naive", &C.vf_form_naive),
	singleSpectrum("cpu_tiles", "BL_Tiles", "tiles", &C.vf_form_tiles),
	singleSpectrum("cpu_simd", "BL_Intrinsic", "SIMD", &C.vf_form_simd),
	singleSpectrum("cpu_reduction", "BL_I_Reduction", "SIMD with reduction", &C.vf_form_reduction),
	singleSpectrum("cpu_pair", "pair-symmetric", "pair-symmetric", &C.vf_form_pair),
}

// singleSpectrum is a form of 003, which filters pictures of one channel.
func singleSpectrum(name, version, title string, form *C.vf_form) CPUVariant {
	return CPUVariant{Name: name, Paper: "003", Version: version, Title: title,
		Range: Gaussian, Distance: Channel, Border: Skip, form: form}
}

// NamedCPU returns the CPU form of that name.
func NamedCPU(name string) (CPUVariant, error) {
	var names []string
	for _, v := range cpuVariants {
		if v.Name == name {
			return v, nil
		}
		names = append(names, v.Name)
	}
	return CPUVariant{}, fmt.Errorf("kernels: there is no CPU form %q: choose from %s", name, strings.Join(names, ", "))
}

// Adapt returns p with the form's range weight, distance and border, and of another filter the defaults of the bilateral one.
func (v CPUVariant) Adapt(p Params) Params {
	if p.Filter != Bilateral {
		p = Params{Radius: p.Radius}.WithDefaults()
	}
	p.Range, p.Distance, p.Border = v.Range, v.Distance, v.Border
	return p
}

// Does says in words what the form does: "radius 0 to 15, gaussian, channel, border skip".
func (v CPUVariant) Does() string {
	return fmt.Sprintf("radius 0 to %d, %s, %s, border %s", MaxRadius, v.Range, v.Distance, v.Border)
}

// takes reports why the form does not do what p asks for.
func (v CPUVariant) takes(p Params) error {
	if err := p.Validate(); err != nil {
		return err
	}
	if p.Filter != Bilateral {
		return fmt.Errorf("kernels: %s does not do the %s filter", v.Name, p.Filter)
	}
	if p != v.Adapt(p) {
		return fmt.Errorf("kernels: %s does %s, not %s, %s, border %s", v.Name, v.Does(), p.Range, p.Distance, p.Border)
	}
	return nil
}

// threads returns how many threads the form runs on when so many are wanted, 0 for as many as it can use.
func (v CPUVariant) threads(wanted int) (int, error) {
	switch {
	case wanted < 0:
		return 0, fmt.Errorf("kernels: %d threads", wanted)
	case v.Threads > 0 && wanted > v.Threads:
		return 0, fmt.Errorf("kernels: %s is a program of %d thread, not of %d: leave their number out", v.Name, v.Threads, wanted)
	case wanted > 0:
		return wanted, nil
	case v.Threads > 0:
		return v.Threads, nil
	}
	return runtime.GOMAXPROCS(0), nil
}
