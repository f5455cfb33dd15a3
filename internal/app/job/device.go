package job

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"time"

	"vidfilter/decode"
	"vidfilter/encode/formats"
	"vidfilter/encode/video"
	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/internal/hint"
	"vidfilter/internal/machine"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Abilities that only some backends have.
type (
	// threaded backends filter on threads of the CPU.
	threaded interface{ Threads() int }
	// forecaster backends know their frames per second ahead: as asked, and at fast quality.
	forecaster interface {
		Expect(p kernels.Denoise, cores, width, height int) (asked, fast float64)
	}
	// coder backends have devices that decode and encode video.
	coder interface {
		Devices() int
		Decoding(host *pipeline.Pool) (*gpu.Decoding, error)
		Encoding() (*gpu.Encoding, error)
	}
	// holder backends have frames in memory of their own, which may stay there for an encoder.
	holder interface {
		Devices() int
		Free() int64
		KeepResults(p *pipeline.Pool)
		KeepBetween(p *pipeline.Pool)
		KeepBoth(p *pipeline.Pool)
	}
	// sharer backends filter several streams side by side, each on one device.
	sharer interface{ Share() (*gpu.Backend, func()) }
	// timer backends measure their work.
	timer interface {
		Stats() gpu.Stats
		ColdStart() gpu.ColdStart
	}
)

// OpenBackend opens the device of --device. auto falls back to the CPU; the caller reports that by
// tell once the job has begun.
func (o *Options) OpenBackend(u *terminal.UI) (b kernels.Backend, tell func(), err error) {
	d := o.Device
	if o.Join != "" {
		d = filters.DeviceChoice{Kind: "cpu"}
	}
	b, noGPU, err := filters.Open(d, o.Threads, o.Stages(), o.gpuOptions(u))
	if err != nil {
		return nil, nil, err
	}
	u.Debug("filtering on " + b.Name())
	tell = func() {
		if noGPU != nil {
			u.Info(fmt.Sprintf("no GPU (%v): filtering on the CPU", noGPU))
		}
	}
	return b, tell, nil
}

// decodeOptions returns the options of the decoder. If NVDEC is to decode, it prepares the GPU of
// the filter's backend: close d after the input. Otherwise d is nil.
func (j *job) decodeOptions(filters kernels.Backend) (o decode.Options, d *gpu.Decoding, err error) {
	o = j.o.DecodeOptions(j.ui)
	how, _, _ := strings.Cut(j.o.HWAccel, ",") // nvenc alone decodes as auto does
	must := how == "nvdec"
	b, onGPU := filters.(coder)
	switch {
	case how == "none", j.o.Join != "", !must && (!onGPU || j.o.passes() && j.encoding == nil): // a join decodes nothing
		return o, nil, nil
	case !onGPU:
		return o, nil, hint.Says("--hwaccel nvdec decodes on the GPU that filters, and the job filters on the CPU", "--hwaccel auto does without", gpu.ErrDevice)
	}
	host := j.frames
	if b.Devices() == 1 && j.onlyDevice(filters) {
		host = nil
	}
	if d, err = b.Decoding(host); err != nil {
		if must {
			return o, nil, hint.Add(err, "--hwaccel auto does without")
		}
		j.ui.Debugf("decoding on the CPU: %v", err)
		return o, nil, nil
	}
	o.Device, o.MustDevice, o.OnHost = d, must, host != nil
	p, denoises := j.o.denoiser()
	o.Quantisers = denoises && p.Noise == 0 && p.Known == nil
	return o, d, nil
}

// onlyDevice reports whether only the GPU reads the samples of the input: a filter or an encoder.
func (j *job) onlyDevice(b kernels.Backend) bool {
	encodes := j.encoding != nil && j.encoding.Beside(b)
	for _, s := range j.o.Stages() {
		if !onDevice(b, s) {
			return false
		}
	}
	return (!j.o.passes() || encodes) && !j.looksOnHost()
}

// looksOnHost reports whether the CPU reads the samples of frames beside the filter.
func (j *job) looksOnHost() bool {
	return j.o.Compare != "" || j.o.GrainTable != "" || j.o.keepsGrain()
}

// chooseNVENC replaces the encoder by NVENC's of the same codec, for --hwaccel nvenc.
func (o *Options) chooseNVENC(named bool) error {
	codec := video.CodecOf(o.Encoder)
	if !strings.HasSuffix(o.HWAccel, "nvenc") || codec.OnDevice != "" {
		return nil
	}
	format, _ := OutputFormat(o.Output, o.Format) // checkFiles tells what is wrong with it
	if f := formats.Of(format); f.Family == formats.Picture {
		return cli.Usagef("leave nvenc out", "NVENC encodes video, and %s is a format of pictures", f.Name)
	}
	twin, ok := video.CodecOnDevice(codec)
	switch {
	case !ok:
		return cli.Usagef("choose --codec h264, hevc or av1, or leave nvenc out", "NVENC does not encode what the encoder %s does", codec.Name)
	case named:
		return cli.Usagef("give --encoder "+twin.Name+", or leave nvenc out", "the encoder %s works on the CPU, and --hwaccel names NVENC", codec.Name)
	}
	o.Encoder = twin.Name
	return nil
}

// usesNVENC reports whether the encoder is NVENC's.
func (o *Options) usesNVENC() bool { return video.CodecOf(o.Encoder).OnDevice != "" }

// openEncoding prepares the GPU for NVENC: the one that filters or, if the CPU does, one for it
// alone.
func (j *job) openEncoding() (err error) {
	if !j.o.usesNVENC() || j.o.Join != "" {
		return nil
	}
	b, ok := j.backend.(coder)
	if !ok {
		o := j.o.gpuOptions(j.ui)
		if o.All = false; len(o.Indexes) > 1 {
			o.Indexes = o.Indexes[:1]
		}
		if j.encoder, err = gpu.Open(o); err != nil {
			return hint.Add(err, "NVENC needs an NVIDIA GPU; without it the CPU encodes")
		}
		b = j.encoder
	}
	j.encoding, err = b.Encoding()
	return err
}

func (o *Options) gpuOptions(u *terminal.UI) gpu.Options {
	return gpu.Options{Indexes: o.Device.Indexes, All: o.Device.All, Streams: o.Streams, Patience: o.patience, Log: u.Logger}
}

// framesInFlight is how many frames may wait for the encoder: enough to even out the stages, and
// few beside the frames in the decoder and encoder.
const framesInFlight = 4

// mostInFlight is how many bytes of frames may wait for the encoder: four frames at 8K, one at
// 8192x8192. The CPU takes so long for a frame that a third of it will do.
const mostInFlight = 198e6

// inFlight returns how many frames of size bytes may wait for the encoder.
func (o *Options) inFlight(size int, onCPU bool) int {
	if o.FramesInFlight > 0 {
		return o.FramesInFlight
	}
	most := int64(mostInFlight)
	if onCPU {
		most /= 3
	}
	if free := machine.FreeMemory(); free > 0 {
		most = min(most, free/8)
	}
	room := most / int64(max(size, 1))
	return int(min(max(room, 1), framesInFlight))
}

// threadsIn returns how many threads an encoder may start in a job's memory, 0 for any number. Each
// holds some frames of size bytes.
func threadsIn(memory int64, size int) int {
	const part, frames = 4, 3
	n := int(min(memory/part/frames/int64(size), math.MaxInt32))
	if 2*n >= 3*runtime.GOMAXPROCS(0) { // x264 likes no more
		return 0
	}
	return max(n, 1)
}

func (j *job) gpuTimes() *terminal.GPUTimes {
	b, ok := j.backend.(timer)
	if !ok {
		return nil
	}
	s := b.Stats()
	in, kernel, out := s.PerFrame(j.o.onDevice())
	return &terminal.GPUTimes{CopyIn: in, Kernel: kernel, CopyOut: out, Overlap: s.Overlap()}
}

// onDevice returns how many of the job's filters run on the GPU.
func (o *Options) onDevice() (n int) {
	for _, s := range o.filters() {
		if _, planned := s.(kernels.Planned); planned {
			n++
		}
	}
	return n
}

// reportGPU reports GPU times with --verbose.
func (j *job) reportGPU() {
	b, ok := j.backend.(timer)
	if !ok || b.Stats().Frames == 0 {
		return
	}
	t := j.gpuTimes()
	j.ui.Debugf("cold start: %v", b.ColdStart())
	j.ui.Debugf("a frame on the GPU: copy in %s, kernel %s, copy out %s; overlap %.2f",
		milliseconds(t.CopyIn), milliseconds(t.Kernel), milliseconds(t.CopyOut), t.Overlap)
}

func milliseconds(d time.Duration) string {
	return fmt.Sprintf("%.3f ms", float64(d)/float64(time.Millisecond))
}
