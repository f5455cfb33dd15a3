// Package device is the denoiser's form for CUDA: its kernels, and the launches that prepare and
// denoise a picture. It agrees with the reference within the limits of package denoise. The device
// and its memory belong to the caller, who runs the launches. Kernels that read or write samples
// are compiled twice, for 8 bits in one byte and for 9 to 16 bits in two. The search compares
// bytes.
package device

import (
	"embed"
	"slices"
	"strings"

	"vidfilter/kernels"
)

//go:embed ptx/*.ptx.gz
var modules embed.FS

// Library holds the kernels, which jobs do not choose from by themselves.
var Library = kernels.NewLibrary("denoise/device", modules,
	form("denoise_planes", both(at("denoise_planes", "SMOOTH", 0), at("denoise_smooth", "SMOOTH", 1))...),
	form("denoise_pyramid", at("denoise_pyramid", "", 0)),
	form("denoise_rim", at("denoise_rim", "", 0)),
	form("denoise_coarsest", at("denoise_coarsest", "", 0)),
	form("denoise_finer", at("denoise_finer", "FINEST", 0), at("denoise_finest", "FINEST", 1)),
	form("denoise_refine", at("denoise_refine", "", 0)),
	form("denoise_first", both(at("denoise_first4", "STRIDE", 4), at("denoise_first5", "STRIDE", 5))...),
	form("denoise_second", both(at("denoise_second6", "STRIDE", 6))...),
	form("denoise_sum", both(at("denoise_sum", "", 0))...),
	form("denoise_finish", append(both(at("denoise_pilot", "PILOT", 1), at("denoise_finish", "PILOT", 0)), at("denoise_clear", "PILOT", 2))...),
	form("denoise_coarse", both(at("denoise_shrink", "COARSE", 0), at("denoise_compare", "COARSE", 1), at("denoise_apply", "COARSE", 2))...),
)

// deep ends the names of the kernels for samples of more than 8 bits, in 16.
const deep = "_16"

func form(name string, variants ...kernels.Variant) *kernels.Form {
	return &kernels.Form{Name: name, Variants: kernels.List(variants...)}
}

// both adds to each of the variants the one for deeper samples.
func both(variants ...kernels.Variant) []kernels.Variant {
	for _, v := range variants {
		v.Name += deep
		v.Defines = append(slices.Clone(v.Defines), kernels.Define("BYTES", 2))
		variants = append(variants, v)
	}
	return variants
}

// Kernels returns the kernels for samples of a depth.
func Kernels(depth int) (all []kernels.Variant) {
	for _, v := range Library.Variants() {
		if !strings.HasSuffix(v.Name, deep) {
			all = append(all, named(v.Name, depth))
		}
	}
	return all
}

// Deep returns the kernels for deeper samples alone.
func Deep() []kernels.Variant {
	return slices.DeleteFunc(Library.Variants(), func(v kernels.Variant) bool { return !strings.HasSuffix(v.Name, deep) })
}

// at is a variant for all devices, of a value of a macro.
func at(name, macro string, value int) kernels.Variant {
	v := kernels.Variant{Name: name, Compute: 61}
	if macro != "" {
		v.Defines = []string{kernels.Define(macro, value)}
	}
	return v
}

// named returns a kernel of the library for samples of a depth.
func named(name string, depth int) kernels.Variant {
	if depth > 8 {
		if v, err := Library.Named(name + deep); err == nil {
			return v
		}
	}
	v, err := Library.Named(name)
	if err != nil {
		panic(err)
	}
	return v
}

// Run is a launch of one of the kernels.
type Run struct {
	Kernel kernels.Variant
	kernels.Launch
}
