// Package device is the CUDA form of package interlace: its kernels, and the launches that keep
// fields and make pictures of them. It agrees with the reference bit by bit. The device and its
// memory belong to the caller, who runs the launches. Each kernel is compiled twice, for samples of
// 8 bits in bytes and for those of 9 to 16 bits in two.
package device

import (
	"embed"

	"vidfilter/denoise/device"
	"vidfilter/kernels"
)

//go:embed ptx/*.ptx.gz
var modules embed.FS

// Library holds the kernels, which jobs do not choose from by themselves.
var Library = kernels.NewLibrary("interlace/device", modules, both("interlace_lines"), both("interlace_estimate"), both("interlace_blend"))

// both returns the form of a source, with a kernel for each size of samples.
func both(name string) *kernels.Form {
	return &kernels.Form{Name: name, Variants: []kernels.Variant{
		{Name: name, Compute: 61, Defines: []string{kernels.Define("BYTES", 1)}},
		{Name: name + deep, Compute: 61, Defines: []string{kernels.Define("BYTES", 2)}},
	}}
}

// deep ends the names of the kernels for samples of more than 8 bits.
const deep = "_16"

// Kernels returns the kernels for samples of so many bits, the search's among them.
func Kernels(depth int) []kernels.Variant {
	all := device.SearchKernels(depth)
	for _, v := range Library.Variants() {
		if v.Name == v.Form.Name == (depth == 8) {
			all = append(all, v)
		}
	}
	return all
}

// named returns a kernel for samples of so many bits.
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
