package bench

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"vidfilter/decode"
	"vidfilter/gpu"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// DecodeRow is a clip decoded and filtered without an encoder, by one input or by several that
// decode its parts side by side.
type DecodeRow struct {
	Clip    string  `json:"clip"`
	Size    Size    `json:"size"`
	Radius  int     `json:"radius"`
	Device  string  `json:"device"`  // that filters: gpu or cpu
	Decoder string  `json:"decoder"` // cpu or nvdec
	Inputs  int     `json:"inputs"`
	GPUs    int     `json:"gpus"`
	Frames  int64   `json:"frames"`
	Time    Stat    `json:"time"`
	FPS     float64 `json:"fps"`
	CPU     float64 `json:"cpu"` // milliseconds of all cores a frame
	Skipped string  `json:"skipped"`
}

// decodeWay is one way to decode and filter a clip.
type decodeWay struct {
	row     DecodeRow
	backend kernels.Backend
	params  kernels.Bilateral
	parts   []decode.Range
	times   []time.Duration
	cpu     time.Duration
}

// inputsPerGPU are enough for the engines of one: an H100 has 7.
const inputsPerGPU = 8

// decodeClip measures the ways to decode and filter a clip, in turn.
func (r *run) decodeClip(ctx context.Context, s *EndSection, clip string) error {
	format, _, length, err := inspect(ctx, r.CPU, clip, 0)
	if err != nil {
		return err
	}
	devices := 1
	var all *gpu.Backend
	if r.GPU != nil {
		if all, err = gpu.Open(gpu.Options{Indexes: r.o.Indexes, All: len(r.o.Indexes) == 0, Log: r.o.Log}); err != nil {
			return err
		}
		defer func() { _ = all.Close() }()
		devices = all.Devices()
	}
	parts, err := cutEvenly(ctx, clip, length/time.Duration(inputsPerGPU*devices))
	if err != nil {
		return err
	}
	radius := r.radii([]int{1}, []int{1})[0]
	var ways []*decodeWay
	add := func(decoder string, gpus, inputs int, skipped string) {
		if inputs > 1 && len(parts) < 2 {
			return
		}
		device, backend := "gpu", kernels.Backend(all)
		switch gpus {
		case 0:
			device, backend = "cpu", r.CPU
		case 1:
			backend = r.GPU
		}
		ways = append(ways, &decodeWay{
			row: DecodeRow{Clip: filepath.Base(clip), Size: Size{Width: format.Width, Height: format.Height}, Radius: radius,
				Device: device, Decoder: decoder, GPUs: gpus, Inputs: min(inputs, len(parts)), Skipped: skipped},
			backend: backend, params: kernels.DefaultBilateral(radius), parts: parts,
		})
	}
	if r.GPU == nil {
		add("cpu", 0, 1, "")
	} else {
		nvdec := reason(tryNVDEC(ctx, r.GPU, clip))
		for _, inputs := range []int{1, inputsPerGPU} {
			add("cpu", 1, inputs, "")
			add("nvdec", 1, inputs, nvdec)
		}
		if devices > 1 {
			add("nvdec", devices, devices*inputsPerGPU, nvdec)
		}
	}
	for turn := range r.turns() {
		for _, w := range ways {
			if w.row.Skipped != "" {
				continue
			}
			r.say("%s: decoded by %s, %d at a time, turn %d of %d", w.row.Clip, w.row.Decoder, w.row.Inputs, turn+1, r.turns())
			if err := w.run(ctx, clip); err != nil {
				return err
			}
		}
	}
	for _, w := range ways {
		s.Decoded = append(s.Decoded, w.result())
	}
	return nil
}

// cutEvenly returns parts of a clip of about a length, as far as its key frames allow; one without
// limits if it cannot be cut.
func cutEvenly(ctx context.Context, clip string, length time.Duration) ([]decode.Range, error) {
	cuts, err := decode.Scan(ctx, clip, decode.Options{}, max(length*9/10, time.Millisecond), pipeline.Window{})
	if err != nil || len(cuts.Parts) == 0 {
		return []decode.Range{{}}, err
	}
	return cuts.Parts, nil
}

// tryNVDEC returns why NVDEC cannot decode a clip, which may show only at the first picture.
func tryNVDEC(ctx context.Context, b *gpu.Backend, clip string) error {
	d, err := b.Decoding(nil)
	if err != nil {
		return err
	}
	defer d.Close()
	pool := pipeline.NewPool(b.Input(), 1)
	defer pool.Close()
	in, err := decode.Open(ctx, clip, pool, decode.Options{Device: d, MustDevice: true})
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := in.Next(ctx)
	if err != nil {
		return err
	}
	defer f.Release()
	if f.Device.Owner == nil {
		return errors.New("the CPU decodes the first picture")
	}
	return nil
}

func (w *decodeWay) result() DecodeRow {
	if len(w.times) > 0 {
		w.row.Time = measure.StatOf(w.times)
		w.row.FPS = 1000 * float64(w.row.Frames) / w.row.Time.Median
		w.row.CPU = float64(w.cpu.Milliseconds()) / float64(w.row.Frames) / float64(len(w.times))
	}
	return w.row
}

// run decodes and filters all parts once.
func (w *decodeWay) run(ctx context.Context, clip string) error {
	start, before := time.Now(), processorTime()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next, frames atomic.Int64
	parts := w.parts
	if w.row.Inputs == 1 {
		parts = []decode.Range{{}}
	}
	var wg sync.WaitGroup
	for range w.row.Inputs {
		wg.Go(func() {
			d, err := w.newDecoder()
			if err != nil {
				cancel(err)
				return
			}
			defer d.close()
			for k := next.Add(1) - 1; k < int64(len(parts)) && ctx.Err() == nil; k = next.Add(1) - 1 {
				n, err := d.part(ctx, clip, parts[k])
				if err != nil {
					cancel(err)
				}
				frames.Add(n)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%s, decoded by %s: %w", w.row.Clip, w.row.Decoder, err)
	}
	w.times = append(w.times, max(time.Since(start), 1))
	w.cpu += processorTime() - before
	if w.row.Frames != 0 && w.row.Frames != frames.Load() {
		return fmt.Errorf("bench: %s: %d frames, then %d", w.row.Clip, w.row.Frames, frames.Load())
	}
	w.row.Frames = frames.Load()
	return nil
}

// decoder decodes and filters parts one after another.
type decoder struct {
	backend     kernels.Backend
	params      kernels.Bilateral
	options     decode.Options
	in, results *pipeline.Pool
	spare       decode.Spare
	end         []func() // in reverse
}

func (w *decodeWay) newDecoder() (*decoder, error) {
	d := &decoder{backend: w.backend, params: w.params, options: decode.Options{MaxErrorRate: 1, NoAudio: true, NoSubs: true}}
	memory := pipeline.Allocator(w.backend)
	if b, ok := w.backend.(interface{ Share() (*gpu.Backend, func()) }); ok {
		share, end := b.Share()
		d.backend, memory, d.end = share, share.Input(), append(d.end, end)
		if w.row.Decoder == "nvdec" {
			decoding, err := share.Decoding(nil)
			if err != nil {
				d.close()
				return nil, err
			}
			d.options.Device, d.options.MustDevice, d.options.Spare = decoding, true, &d.spare
			d.end = append(d.end, decoding.Close, d.spare.Close)
		}
	}
	if w.row.Inputs > 1 {
		d.options.Threads = max(1, runtime.GOMAXPROCS(0)/w.row.Inputs)
	}
	d.in, d.results = pipeline.NewPool(memory, 1), pipeline.NewPool(d.backend, 2*endDepth+d.backend.Held(w.params))
	d.end = append(d.end, d.in.Close, d.results.Close)
	return d, nil
}

func (d *decoder) close() {
	for _, end := range slices.Backward(d.end) {
		end()
	}
}

// part decodes and filters one part, or all of the clip, and returns the number of frames.
func (d *decoder) part(ctx context.Context, clip string, part decode.Range) (int64, error) {
	o := d.options
	if part != (decode.Range{}) {
		o.Part = &part
	}
	in, err := decode.Open(ctx, clip, d.in, o)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	f, err := d.backend.Filter(d.params, d.results)
	if err != nil {
		return 0, err
	}
	var count counter
	err = pipeline.Run(ctx, in, []pipeline.Filter{f}, &count, pipeline.Options{Depth: endDepth})
	return int64(count), err
}

// counter is a sink that counts frames.
type counter int64

// Put releases a frame.
func (c *counter) Put(_ context.Context, f *pipeline.Frame) error {
	*c++
	f.Release()
	return nil
}

// Finish does nothing.
func (*counter) Finish(context.Context) error { return nil }

// processorTime returns the time that this process has spent on all cores.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
