// Package device is the CUDA form of package interlace: its kernels, and the launches that store
// fields and compute pictures. Its results match the reference bit for bit. The caller owns the
// device and its memory, and runs the launches. Each kernel is compiled for samples of 8 bits in
// one byte and of 9 to 16 bits in two bytes.
package device

import (
	"embed"

	"vidfilter/denoise/device"
	"vidfilter/kernels"
)

//go:embed ptx/*.ptx.gz
var modules embed.FS

// Library holds the kernels. Jobs do not select from them.
var Library = kernels.NewLibrary("interlace/device", modules, both("interlace_lines"), both("interlace_estimate"), both("interlace_blend"))

// both returns the form of a source, with a kernel for each sample size.
func both(name string) *kernels.Form {
	return &kernels.Form{Name: name, Variants: kernels.List(
		kernels.Variant{Name: name, Compute: 61, Defines: []string{kernels.Define("BYTES", 1)}},
		kernels.Variant{Name: name + deep, Compute: 61, Defines: []string{kernels.Define("BYTES", 2)}},
	)}
}

// deep is the suffix of kernels for samples of more than 8 bits.
const deep = "_16"

// Kernels returns all kernels for a depth in bits, including the search kernels.
func Kernels(depth int) []kernels.Variant {
	all := device.SearchKernels(depth)
	for _, v := range Library.Variants() {
		if v.Name == v.Form.Name == (depth == 8) {
			all = append(all, v)
		}
	}
	return all
}

// named returns the kernel for a depth in bits.
func named(name string, depth int) kernels.Variant {
	if depth > 8 {
		name += deep
	}
	v, err := Library.Named(name)
	if err != nil {
		panic(err)
	}
	return v
}
