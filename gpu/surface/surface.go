// Package surface makes frames of the surfaces of a hardware decoder, on the device: planes of
// samples as FFmpeg's decoders make them, whatever the decoder's own order. The device and its
// memory belong to the caller, who runs the launches.
package surface

import (
	"embed"
	"unsafe"

	"vidfilter/kernels"
	"vidfilter/pipeline"
)

//go:embed ptx/*.ptx.gz
var modules embed.FS

// Library holds the kernels, which jobs do not choose from.
var Library = kernels.NewLibrary("gpu/surface", modules, &kernels.Form{Name: "surface", Variants: []kernels.Variant{
	{Name: "surface_8", Compute: 61, Defines: []string{kernels.Define("BYTES", 1)}},
	{Name: "surface_16", Compute: 61, Defines: []string{kernels.Define("BYTES", 2)}},
}})

// Kernel returns the kernel for samples of so many bytes.
func Kernel(bytes int) kernels.Variant { return Library.Variants()[bytes-1] }

// args is the parameter of the kernel: vs_args in cuda/surface.cu.
type args struct {
	to, from         uint64
	toPitch, pitch   int32 // bytes
	width, height    int32 // samples
	step, shiftRight int32 // samples, bits
}

const threadsX, threadsY, samples = 64, 4, 4 // as in cuda/surface.cu

// Takes reports whether surfaces of a layout can be taken apart: 4:2:0 and 4:4:4 in planes.
func Takes(l pipeline.Layout) bool {
	a := l.Arrangement()
	return a == pipeline.YUV420P || a == pipeline.YUV444P
}

// Split returns the launches that write the samples of a surface to a block, which is laid out for
// the format by PlanLayout(PitchAlign).
func Split(s pipeline.Surface, f pipeline.Format, block uint64) (all []kernels.Launch) {
	info := f.Layout.Info()
	bytes := info.SampleBytes()
	pairs := f.Layout.Arrangement() == pipeline.YUV420P
	offsets, pitches, _ := f.PlanLayout(pipeline.PitchAlign)
	for i := range f.NumPlanes() {
		width, height := f.PlaneSize(i)
		a := &args{to: block + uint64(offsets[i]), toPitch: int32(pitches[i]), width: int32(width / bytes), height: int32(height), step: 1}
		if a.from, a.pitch = s.Address[i], int32(s.Pitch[i]); pairs && i > 0 {
			a.from, a.pitch, a.step = s.Address[1]+uint64((i-1)*bytes), int32(s.Pitch[1]), 2
		}
		if bytes == 2 {
			a.shiftRight = int32(16 - info.Depth)
		}
		all = append(all, kernels.Launch{
			Grid:  [2]int{blocks(width/bytes, threadsX*samples), blocks(height, threadsY)},
			Block: [2]int{threadsX, threadsY},
			Args:  unsafe.Pointer(a), ArgsSize: unsafe.Sizeof(*a),
		})
	}
	return all
}

func blocks(n, of int) int { return (n + of - 1) / of }
