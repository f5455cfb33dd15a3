// Package surface makes frames of the surfaces of a hardware decoder, and surfaces for a hardware
// encoder of frames, on the device: frames have planes of samples as FFmpeg's software has them.
// The device and its memory belong to the caller, who runs the launches.
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
var Library = kernels.NewLibrary("gpu/surface", modules, &kernels.Form{Name: "surface", Variants: kernels.List(
	kernels.Variant{Name: "surface_8", Compute: 61, Defines: []string{kernels.Define("BYTES", 1)}},
	kernels.Variant{Name: "surface_16", Compute: 61, Defines: []string{kernels.Define("BYTES", 2)}},
)})

// Kernel returns the kernel for samples of a number of bytes.
func Kernel(bytes int) kernels.Variant { return Library.Variants()[bytes-1] }

// args is the parameter of the kernel: vs_args in cuda/surface.cu.
type args struct {
	to, from       uint64
	toPitch, pitch int32 // bytes
	width, height  int32 // samples
	toStep, step   int32 // samples
	shift          int32 // bits to the right; below 0: to the left
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
		a := rowsOf(f, i)
		a.to, a.toPitch = block+uint64(offsets[i]), int32(pitches[i])
		if a.from, a.pitch = s.Address[i], int32(s.Pitch[i]); pairs && i > 0 {
			a.from, a.pitch, a.step = s.Address[1]+uint64((i-1)*bytes), int32(s.Pitch[1]), 2
		}
		if bytes == 2 {
			a.shift = int32(16 - info.Depth)
		}
		all = append(all, a.launch())
	}
	return all
}

// Joins reports whether surfaces can be made of frames of a layout: 4:2:0, in planes or with pairs
// of chroma, and 4:4:4 in planes.
func Joins(l pipeline.Layout) bool { return Takes(l) || l.Arrangement() == pipeline.NV12 }

// Join returns the launches that write the samples of a frame to a surface. planes are the
// frame's.
func Join(planes kernels.DevicePlanes, f pipeline.Format, s pipeline.Surface) (all []kernels.Launch) {
	info := f.Layout.Info()
	bytes := info.SampleBytes()
	pairs := f.Layout.Arrangement() == pipeline.YUV420P
	for i := range f.NumPlanes() {
		a := rowsOf(f, i)
		a.from, a.pitch = planes.Addr[i], int32(planes.Pitch[i])
		if a.to, a.toPitch = s.Address[i], int32(s.Pitch[i]); pairs && i > 0 {
			a.to, a.toPitch, a.toStep = s.Address[1]+uint64((i-1)*bytes), int32(s.Pitch[1]), 2
		}
		if bytes == 2 {
			a.shift = int32(info.Depth + info.Shift - 16)
		}
		all = append(all, a.launch())
	}
	return all
}

// rowsOf returns the arguments for a plane's rows of samples, side by side.
func rowsOf(f pipeline.Format, plane int) *args {
	width, height := f.PlaneSize(plane)
	return &args{width: int32(width / f.Layout.Info().SampleBytes()), height: int32(height), step: 1, toStep: 1}
}

func (a *args) launch() kernels.Launch {
	return kernels.Launch{
		Grid:  [2]int{blocks(int(a.width), threadsX*samples), blocks(int(a.height), threadsY)},
		Block: [2]int{threadsX, threadsY},
		Args:  unsafe.Pointer(a), ArgsSize: unsafe.Sizeof(*a),
	}
}

func blocks(n, of int) int { return (n + of - 1) / of }
