package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
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
	params  kernels.Params
	parts   []decode.Range
	times   []time.Duration
	cpu     time.Duration
}

// shortestPart is the least length of a part that an input decodes.
const shortestPart = 2 * time.Second

// decodeClip measures the ways to decode and filter a clip, in turn.
func (r *run) decodeClip(ctx context.Context, s *EndSection, clip string) error {
	format, _, err := inspect(ctx, r.CPU, clip, 0)
	if err != nil {
		return err
	}
	cuts, err := decode.Scan(ctx, clip, decode.Options{}, shortestPart, decode.Window{})
	if err != nil {
		return err
	}
	parts := cuts.Parts
	if len(parts) == 0 { // one that lasts as long as there are frames
		parts = []decode.Range{{}}
	}
	radius := r.radii([]int{1}, []int{1})[0]
	var ways []*decodeWay
	add := func(device, decoder string, b kernels.Backend, inputs int, skipped string) {
		if inputs > 1 && len(parts) < 2 {
			return
		}
		ways = append(ways, &decodeWay{
			row: DecodeRow{Clip: filepath.Base(clip), Size: Size{Width: format.Width, Height: format.Height}, Radius: radius,
				Device: device, Decoder: decoder, Inputs: inputs, Skipped: skipped},
			backend: b, params: kernels.DefaultParams(radius), parts: parts,
		})
	}
	if r.GPU == nil {
		add("cpu", "cpu", r.CPU, 1, "")
	} else {
		several := min(runtime.GOMAXPROCS(0), len(parts))
		nvdec := ""
		if err := tryNVDEC(ctx, r.GPU, clip); err != nil {
			nvdec = err.Error()
		}
		for _, inputs := range []int{1, several} {
			add("gpu", "cpu", r.GPU, inputs, "")
			add("gpu", "nvdec", r.GPU, inputs, nvdec)
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

// tryNVDEC returns why NVDEC cannot decode a clip.
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
	in.Close()
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
			for k := next.Add(1) - 1; k < int64(len(parts)) && ctx.Err() == nil; k = next.Add(1) - 1 {
				n, err := w.part(ctx, clip, parts[k])
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

// part decodes and filters one part, or all of the clip, and returns the number of frames.
func (w *decodeWay) part(ctx context.Context, clip string, part decode.Range) (int64, error) {
	b, onGPU := w.backend.(*gpu.Backend)
	var memory pipeline.Allocator = w.backend
	if onGPU {
		memory = b.Input()
	}
	pool := pipeline.NewPool(memory, 1)
	defer pool.Close()
	o := decode.Options{MaxErrorRate: 1, NoAudio: true, NoSubs: true}
	if part != (decode.Range{}) {
		o.Part = &part
	}
	if w.row.Inputs > 1 {
		o.Threads = max(1, runtime.GOMAXPROCS(0)/w.row.Inputs)
	}
	if w.row.Decoder == "nvdec" {
		d, err := b.Decoding(nil)
		if err != nil {
			return 0, err
		}
		defer d.Close()
		o.Device, o.MustDevice = d, true
	}
	in, err := decode.Open(ctx, clip, pool, o)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	results := pipeline.NewPool(w.backend, 2*endDepth+w.backend.Held(w.params))
	defer results.Close()
	f, err := w.backend.Filter(w.params, results)
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
