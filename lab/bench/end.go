package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/internal/machine"
	"vidfilter/kernels"
	"vidfilter/lab/measure"
	"vidfilter/pipeline"
)

// EndSection has whole jobs: decode, filter, and encode to H.264 with the program's defaults. They
// do not write, so times do not include the disk.
type EndSection struct {
	Rows []EndRow `json:"rows"`
}

// EndRow is one clip filtered in one way.
type EndRow struct {
	Clip    string `json:"clip"`
	Size    Size   `json:"size"`
	Frames  int64  `json:"frames"`
	Radius  int    `json:"radius"`
	Decoder string `json:"decoder"` // cpu or nvdec
	Device  string `json:"device"`  // that filters: gpu or cpu
	Encoder string `json:"encoder"` // x264 or nvenc
	// The same decode and encode without a filter, alternating with the job.
	Plain Stat    `json:"plain"`
	Time  Stat    `json:"time"`     // of the job
	Floor float64 `json:"floor_ms"` // if no core waited: the least processor time, spread over all cores
	Ratio float64 `json:"ratio"`    // of the medians; 1 for a filter without cost
	FPS   float64 `json:"fps"`      // of the job
	// Busy milliseconds a frame of the decoder, the filter and the encoder in the last run, which
	// overlap and use threads of their own.
	Stages  [3]float64 `json:"stages_ms"`
	Skipped string     `json:"skipped"` // reason that it was not run; "" if it was
}

// The defaults of the program.
const (
	endCRF    = 18
	endPreset = "medium"
	endDepth  = 2 // frames between stages
)

// longest limits the CPU's filtering in one job, estimated from one frame.
const longest = 30 * time.Second

func (r *run) end(ctx context.Context) (*EndSection, error) {
	s := &EndSection{}
	if r.o.Input != "" {
		return s, r.endClip(ctx, s, r.o.Input)
	}
	folder, err := os.MkdirTemp("", "vidfilter-bench-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(folder)
	for _, size := range r.sizes([]Size{size1080, size4K}, []Size{size1080}) {
		r.say("drawing a clip of %s", size)
		clip, err := makeClip(ctx, r.CPU, folder, size, r.clipFrames())
		if err != nil {
			return s, err
		}
		if err := r.endClip(ctx, s, clip); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (r *run) clipFrames() int {
	if r.o.Quick {
		return 24
	}
	return 100
}

// turns is the number of runs of each job.
func (r *run) turns() int {
	if r.o.Quick {
		return 1
	}
	return 3
}

// endClip alternates between the jobs of one clip, so that changes of the machine's speed affect
// all of them.
func (r *run) endClip(ctx context.Context, s *EndSection, clip string) error {
	jobs, err := r.jobs(ctx, clip)
	if err != nil {
		return err
	}
	for turn := range r.turns() {
		for _, j := range jobs {
			if j.skipped != "" {
				continue
			}
			r.say("%s: %s, turn %d of %d", filepath.Base(clip), j, turn+1, r.turns())
			if err := j.run(ctx, clip, r.mostFrames()); err != nil {
				return err
			}
		}
	}
	for _, j := range jobs {
		if j.plain == nil {
			continue
		}
		row, err := j.row(clip)
		if err != nil {
			return err
		}
		s.Rows = append(s.Rows, row)
	}
	return nil
}

// mostFrames is the number of frames used of a clip, 0 for all.
func (r *run) mostFrames() int64 {
	if r.o.Quick {
		return int64(r.clipFrames())
	}
	return 0
}

// endWay is a way for whole jobs to decode and to encode.
type endWay struct {
	decoder string // cpu or nvdec
	encoder string // x264 or nvenc
	skipped string // reason that it cannot be; "" if it can
}

// ways returns the ways for a clip. With NVDEC and NVENC pictures stay in the GPU's memory.
func (r *run) ways(ctx context.Context, clip string, format pipeline.Format) []endWay {
	all := []endWay{{decoder: "cpu", encoder: "x264"}}
	if r.GPU == nil {
		return all
	}
	decodes, encodes := tryNVDEC(ctx, r.GPU, clip), tryNVENC(r.GPU, format)
	return append(all, endWay{"nvdec", "x264", reason(decodes)}, endWay{"nvdec", "nvenc", reason(encodes, decodes)})
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

// tryNVENC returns why NVENC cannot encode frames of a format to H.264.
func tryNVENC(b *gpu.Backend, f pipeline.Format) error {
	e, err := b.Encoding()
	if err != nil {
		return err
	}
	defer e.Close()
	return e.Supports("h264", f.Layout, f.Width, f.Height)
}

// reason returns the text of the first error, or "".
func reason(errs ...error) string {
	for _, err := range errs {
		if err != nil {
			return err.Error()
		}
	}
	return ""
}

// jobs returns the jobs of a clip, for each way first the one without a filter.
func (r *run) jobs(ctx context.Context, clip string) (all []*endJob, err error) {
	format, frames, err := inspect(ctx, r.CPU, clip, r.mostFrames())
	if err != nil {
		return nil, err
	}
	for _, w := range r.ways(ctx, clip, format) {
		plain := &endJob{endWay: w, gpu: r.GPU, memory: r.CPU, format: format}
		if w.decoder == "nvdec" {
			plain.memory = r.GPU.Input()
		}
		all = append(all, plain)
		radii := r.radii([]int{1, 5}, []int{1, 5})
		if w.skipped != "" {
			radii = radii[:1] // prints the reason once
		}
		for _, radius := range radii {
			filtered := *plain
			filtered.plain, filtered.params = plain, kernels.DefaultBilateral(radius)
			if r.GPU != nil {
				j := filtered
				j.device, j.backend, j.memory = "gpu", r.GPU, r.GPU.Input()
				if _, err := r.checkBackend(ctx, r.GPU, j.params, format.Layout); err != nil {
					return nil, err
				}
				all = append(all, &j)
			}
			if w.decoder == "cpu" {
				j := filtered
				j.device, j.backend = "cpu", r.CPU
				if _, err := r.checkBackend(ctx, r.CPU, j.params, format.Layout); err != nil {
					return nil, err
				}
				if j.skipped, err = r.tooSlow(ctx, j.params, format, frames); err != nil {
					return nil, err
				}
				all = append(all, &j)
			}
		}
	}
	return all, nil
}

// tooSlow times one frame on the CPU, and returns the reason to skip a run of that many, or "".
func (r *run) tooSlow(ctx context.Context, p kernels.Bilateral, f pipeline.Format, frames int64) (string, error) {
	src, dst := measure.Picture(f), pipeline.Blank(f)
	start := time.Now()
	if err := measure.FilterOnce(ctx, r.CPU, p, dst, src); err != nil {
		return "", err
	}
	if all := time.Since(start) * time.Duration(frames); all > longest {
		return fmt.Sprintf("the filter alone would take %.0f s", all.Seconds()), nil
	}
	return "", nil
}

// inspect returns the format of a clip's frames and the container's estimate of their number.
func inspect(ctx context.Context, cpu *kernels.CPU, clip string, most int64) (f pipeline.Format, frames int64, err error) {
	pool := pipeline.NewPool(cpu, 1)
	defer pool.Close()
	in, err := decode.Open(ctx, clip, pool, decode.Options{Frames: most})
	if err != nil {
		return f, 0, err
	}
	defer in.Close()
	frames, _ = in.Estimate()
	if most > 0 {
		frames = most
	}
	first, err := in.Next(ctx)
	if err != nil {
		return f, 0, fmt.Errorf("bench: read %s: %w", clip, err)
	}
	defer first.Release()
	return first.Format, frames, nil
}

// endJob is one way of filtering a clip, and its times so far.
type endJob struct {
	endWay
	plain   *endJob         // the same without a filter; nil for that one
	device  string          // that filters; "" for the job without a filter
	backend kernels.Backend // also nil for it
	gpu     *gpu.Backend    // of NVDEC and NVENC
	memory  pipeline.Allocator
	params  kernels.Bilateral
	format  pipeline.Format

	times  []time.Duration
	busy   time.Duration // of all cores, in the run that took the least, or 0
	frames int64
	stages [3]float64
}

func (j *endJob) String() string {
	filter := "no filter"
	if j.backend != nil {
		filter = fmt.Sprintf("%s at radius %d", j.device, j.params.Radius)
	}
	return fmt.Sprintf("%s, from %s to %s", filter, j.decoder, j.encoder)
}

// run runs the job once.
func (j *endJob) run(ctx context.Context, clip string, most int64) error {
	start, busy := time.Now(), machine.ProcessorTime()
	frames, err := j.filter(ctx, clip, most)
	if err != nil {
		return fmt.Errorf("%s, %s: %w", filepath.Base(clip), j, err)
	}
	j.times, j.frames = append(j.times, max(time.Since(start), 1)), frames
	if busy = machine.ProcessorTime() - busy; j.busy == 0 || busy < j.busy {
		j.busy = busy
	}
	return nil
}

func (j *endJob) filter(ctx context.Context, clip string, most int64) (frames int64, err error) {
	pool := pipeline.NewPool(j.memory, 1)
	defer pool.Close()
	from := decode.Options{Frames: most, MaxErrorRate: 1, NoAudio: true, NoSubs: true}
	if j.decoder == "nvdec" {
		host := pool
		if j.backend != nil || j.encoder == "nvenc" {
			host = nil
		}
		d, err := j.gpu.Decoding(host)
		if err != nil {
			return 0, err
		}
		defer d.Close()
		from.Device, from.MustDevice = d, true
	}
	in, err := decode.Open(ctx, clip, pool, from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	to := encode.Options{Format: "null", CRF: endCRF, Preset: endPreset}
	if j.encoder == "nvenc" {
		e, err := j.gpu.Encoding()
		if err != nil {
			return 0, err
		}
		defer e.Close()
		to.Encoder, to.Device = "h264_nvenc", e
	}
	out, err := encode.Create("pipe:1", encode.TemplateOf(in), to)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	var filters []pipeline.Filter
	if j.backend != nil {
		results := pipeline.NewPool(j.backend, 2*endDepth+j.backend.Held(j.params))
		defer results.Close()
		if j.encoder == "nvenc" {
			j.gpu.KeepResults(results)
		}
		f, err := j.backend.Filter(j.params, results)
		if err != nil {
			return 0, err
		}
		filters = append(filters, f)
	}
	var meters pipeline.Meters
	err = pipeline.Run(ctx, in, filters, out, pipeline.Options{Depth: endDepth, Meters: &meters})
	frames = meters.Encode.Frames()
	for i, m := range []*pipeline.Meter{&meters.Decode, &meters.Filter, &meters.Encode} {
		j.stages[i] = measure.Milliseconds(m.Busy()) / float64(max(frames, 1))
	}
	return frames, err
}

// row compares the job with the one without a filter.
func (j *endJob) row(clip string) (EndRow, error) {
	row := EndRow{
		Clip: filepath.Base(clip), Size: Size{Width: j.format.Width, Height: j.format.Height}, Frames: j.plain.frames, Radius: j.params.Radius,
		Decoder: j.decoder, Device: j.device, Encoder: j.encoder, Skipped: j.skipped,
	}
	if j.skipped != "" {
		return row, nil
	}
	if j.frames != j.plain.frames {
		return row, fmt.Errorf("bench: %s, %s: %d frames, without a filter %d", row.Clip, j, j.frames, j.plain.frames)
	}
	row.Plain, row.Time = measure.StatOf(j.plain.times), measure.StatOf(j.times)
	row.Floor = measure.Milliseconds(j.busy) / float64(runtime.GOMAXPROCS(0))
	row.Ratio = row.Time.Median / row.Plain.Median
	row.FPS, row.Stages = 1000*float64(j.frames)/row.Time.Median, j.stages
	return row, nil
}
