// Package device is the denoiser's form for CUDA: its kernels, and the launches that prepare and
// denoise a picture. It agrees with the reference as package denoise says; whoever runs the
// launches has the device and its memory.
package device

import (
	"embed"

	"vidfilter/kernels"
)

//go:embed ptx/*.ptx.gz
var modules embed.FS

// Library holds the kernels, which jobs do not choose from by themselves.
var Library = kernels.NewLibrary("denoise/device", modules,
	form("denoise_planes", at("denoise_planes", "SMOOTH", 0), at("denoise_smooth", "SMOOTH", 1)),
	form("denoise_pyramid", at("denoise_pyramid", "", 0)),
	form("denoise_rim", at("denoise_rim", "", 0)),
	form("denoise_coarsest", at("denoise_coarsest", "", 0)),
	form("denoise_finer", at("denoise_finer", "FINEST", 0), at("denoise_finest", "FINEST", 1)),
	form("denoise_refine", at("denoise_refine", "", 0)),
	form("denoise_first", at("denoise_first4", "STRIDE", 4), at("denoise_first5", "STRIDE", 5)),
	form("denoise_second", at("denoise_second6", "STRIDE", 6)),
	form("denoise_finish", at("denoise_pilot", "PILOT", 1), at("denoise_finish", "PILOT", 0), at("denoise_clear", "PILOT", 2)),
)

func form(name string, variants ...kernels.Variant) *kernels.Form {
	return &kernels.Form{Name: name, Variants: variants}
}

// at is a variant for all devices, of a value of a macro.
func at(name, macro string, value int) kernels.Variant {
	v := kernels.Variant{Name: name, Compute: 61}
	if macro != "" {
		v.Defines = []string{kernels.Define(macro, value)}
	}
	return v
}

// named returns a kernel of the library.
func named(name string) kernels.Variant {
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
