package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/gpu"
	"vidfilter/internal/av"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// job is one run of the main command: what it holds is closed by close, in the order of use reversed.
type job struct {
	o       *options
	ui      *ui
	stop    <-chan struct{}
	backend kernels.Backend
	target  *encode.Target // nil when nothing is written
	frames  *pipeline.Pool // what decoders write into
	results *pipeline.Pool // what the filter writes into
	halves  *pipeline.Pool // what --compare writes into

	// For a kernel that filters RGBA: its inputs and its results.
	words, filtered *pipeline.Pool

	inFlight int // frames that may wait for the encoder

	in      *decode.Input
	out     *encode.Output
	unwatch func() // ends what untilStop began
	meters  pipeline.Meters
	copied  atomic.Int64 // frames that came from parts
	started time.Time
}

// filterFile does a whole job. The output has its name only when it is complete; see jobFunc for stop.
func filterFile(ctx context.Context, o *options, u *ui, stop <-chan struct{}) (result, error) {
	j := &job{o: o, ui: u, stop: stop, started: time.Now()}
	defer j.close()
	logTo(u)
	if err := j.open(ctx); err != nil {
		return j.result(), j.explain(err)
	}
	work := j.run
	if o.Join != "" {
		work = j.join
	}
	err := work(ctx)
	if j.stopped() && (o.Join != "" || o.Part != nil) {
		err = interruption{} // half of it is of no use
	}
	res := j.result()
	if err != nil {
		return res, j.explain(err)
	}
	return j.keep(ctx, res)
}

// quietLibraries keeps FFmpeg's own messages off the terminal: most are of no use to a person.
func quietLibraries() { av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {}) }

// logTo shows FFmpeg's own messages to those who ask for details, and to everyone what it says of a slip
// in --x264-params: it goes on without the option.
func logTo(u *ui) {
	av.SetLog(astiav.LogLevelWarning, func(_ astiav.LogLevel, line string) {
		if strings.Contains(line, "Error parsing option") {
			u.warn("--x264-params: %s", line)
			return
		}
		u.verbose("ffmpeg: %s", line)
	})
}

func (j *job) close() {
	if j.out != nil {
		j.out.Close()
	}
	if j.in != nil {
		j.in.Close()
	}
	if j.unwatch != nil {
		j.unwatch()
	}
	for _, p := range []*pipeline.Pool{j.frames, j.results, j.halves, j.words, j.filtered} {
		if p != nil {
			p.Close()
		}
	}
	if j.backend != nil {
		_ = j.backend.Close()
	}
	if j.target != nil {
		if err := j.target.Discard(); err != nil {
			j.ui.warn("%v", err)
		}
	}
}

func (j *job) open(ctx context.Context) (err error) {
	if j.backend, err = j.o.openBackend(j.ui); err != nil {
		return err
	}
	j.frames = pipeline.NewPool(j.backend.Input(), 1) // decoders draw by Take, which has no limit
	if j.in, err = decode.Open(j.untilStop(ctx), j.o.Input, j.frames, j.o.decodeOptions(j.ui)); err != nil {
		if j.stopped() {
			return interruption{} // nothing was there to keep
		}
		return err
	}
	path := "-"
	if j.o.Format != "null" {
		inputs := append(j.joined(), j.o.Input)
		if j.target, err = encode.OpenTarget(j.o.Output, j.o.overwritePolicy(j.ui, j.stop), inputs...); err != nil {
			return err
		}
		path = j.target.Path()
		j.ui.onAbandon(j.target.Abandon)
	}
	url := "file:" + path
	if path == "-" {
		url = "pipe:1"
	}
	if j.out, err = encode.Create(url, j.template(), j.o.encodeOptions(j.ui)); err != nil {
		return err
	}
	j.in.OnPacket(j.out.WritePacket)
	return nil
}

func (o *options) decodeOptions(u *ui) decode.Options {
	orders := map[string]decode.FieldOrder{
		"progressive": decode.Progressive, "tff": decode.TopFieldFirst, "bff": decode.BottomFieldFirst,
	}
	return decode.Options{
		Format: o.InputFormat, AllowNetwork: o.AllowNetwork, MaxPixels: o.MaxPixels, Threads: o.Threads,
		FieldOrder: orders[o.FieldOrder], Start: o.Start, Duration: o.Duration, Frames: o.Frames,
		Part: o.Part, Track: o.Join != "",
		KeepClock: o.Format == "mpegts", MaxErrorRate: o.MaxErrorRate, Maps: o.Map, NoAudio: o.NoAudio, NoSubs: o.NoSubs, Warn: u.warn,
	}
}

func (o *options) encodeOptions(u *ui) encode.Options {
	return encode.Options{
		Format: o.Format, Encoder: o.Encoder, CRF: o.CRF, Bitrate: o.Bitrate, Preset: o.Preset, Tune: o.Tune,
		GOP: o.GOP, Params: o.X264Params, PixelFormat: o.PixelFormat, Threads: o.Threads,
		Software: "vidfilter " + versionName(), Warn: u.warn,
	}
}

func (j *job) template() encode.Template {
	start, end := j.in.Part()
	return encode.Template{
		Context: j.in.Context(), Video: j.in.Video(), Others: j.in.Others(), FrameRate: j.in.FrameRate(),
		Shift: j.in.Shift(), Start: start, End: end, Cut: j.o.Start > 0 || j.o.Duration > 0 || j.o.Frames > 0,
		Part: j.o.Part != nil, Tag: j.partTag,
	}
}

// openPools makes the pools behind the filter. What the filter keeps comes on top, so that it is never short.
func (j *job) openPools() {
	v := j.in.Video().CodecParameters()
	j.inFlight = j.o.inFlight(v.Width(), v.Height())
	j.results = pipeline.NewPool(j.backend, j.inFlight+j.backend.Held())
	j.halves = pipeline.NewPool(j.backend, j.inFlight)
}

func (j *job) filter() (pipeline.Filter, error) {
	j.openPools()
	f, err := j.named()
	if err != nil {
		return nil, err
	}
	switch j.o.Compare {
	case "side":
		return pipeline.Compare(f, pipeline.CompareSide, j.halves), nil
	case "split":
		return pipeline.Compare(f, pipeline.CompareSplit, j.halves), nil
	}
	return f, nil
}

func (j *job) run(ctx context.Context) error {
	f, err := j.filter()
	if err != nil {
		return err
	}
	defer j.ui.track(j.snapshot)()
	err = pipeline.Run(ctx, j.in, []pipeline.Filter{f}, j.out, pipeline.Options{
		Depth: max(1, j.inFlight/2), Stop: j.stop, Meters: &j.meters,
	})
	j.tellGPU()
	switch {
	case err != nil && j.stopped() && j.meters.Encode.Frames() == 0:
		return interruption{} // nothing was there to keep
	case errors.Is(err, gpu.ErrDevice):
		return j.o.otherwise(err)
	}
	return err
}

// untilStop returns a context that ends when the person wants to stop, and with it a read that waits for
// a silent pipe. The frames read by then still come.
func (j *job) untilStop(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-j.stop:
			cancel(interruption{})
		case <-quit:
		}
	})
	j.unwatch = func() {
		close(quit)
		wg.Wait()
		cancel(nil)
	}
	return ctx
}

func (j *job) stopped() bool {
	select {
	case <-j.stop:
		return true
	default:
		return false
	}
}

func (j *job) snapshot() snapshot {
	total, length := j.in.Estimate()
	times, onGPU := j.gpuStats()
	return snapshot{
		OnGPU: onGPU, GPU: times,
		Frames: j.frameCount(), Total: total, OutTime: j.out.Time(), TotalTime: length, Bytes: j.out.Bytes(),
		DecodeBusy: j.meters.Decode.Busy(), FilterBusy: j.meters.Filter.Busy(), EncodeBusy: j.meters.Encode.Busy(),
	}
}

// explain puts the name that the person knows in place of the temporary one.
func (j *job) explain(err error) error {
	if j.target == nil {
		return err
	}
	return j.target.Explain(err)
}

func (j *job) result() result {
	res := result{Elapsed: time.Since(j.started), Frames: j.frameCount(), Interrupted: j.stopped()}
	if st, err := os.Stat(j.o.Input); err == nil && st.Mode().IsRegular() {
		res.InBytes = st.Size()
	}
	if j.in != nil {
		res.Damage = j.in.Damage().Counts()
	}
	if j.out != nil {
		res.OutBytes, res.OutDuration = j.out.Bytes(), j.out.Time()
		maps.Copy(res.Damage, j.out.Damage())
	}
	return res
}

// keep checks the finished file and gives it its name. What is wrong with it is said, and does not lose it.
func (j *job) keep(ctx context.Context, res result) (result, error) {
	if n := j.in.Copied + j.in.Converted; n > 0 {
		j.ui.verbose("%d frames were copied and %d converted before the filter", j.in.Copied, j.in.Converted)
	}
	var faults []error
	if j.target != nil && !j.target.Direct() && !encode.Image(j.o.Format) {
		err := j.out.Verify()
		if err != nil && (j.o.Part != nil || j.o.Join != "") {
			return res, unfit{err}
		}
		if err != nil {
			faults = append(faults, err)
		} else {
			res.Verified = true
		}
	}
	if j.target != nil {
		if err := j.target.Commit(); err != nil {
			return res, err
		}
		res.Output = j.o.Output
		if st, err := os.Stat(j.o.Output); err == nil && st.Mode().IsRegular() {
			res.OutBytes = st.Size()
		}
	}
	if len(res.Damage) > 0 {
		faults = append(faults, damaged{j.o.Input})
	}
	if j.o.Stats && !res.Interrupted {
		j.measure(ctx, &res)
	}
	res.Elapsed = time.Since(j.started)
	return res, j.explainAll(faults)
}

// damaged is the end of a job that took what it could from a damaged input.
type damaged struct{ input string }

func (d damaged) Error() string {
	return d.input + " is damaged; everything that could be read is in the output"
}
func (d damaged) Unwrap() error { return encode.ErrDamaged }

// explainAll makes one line of several faults.
func (j *job) explainAll(faults []error) error {
	var all error
	for _, f := range faults {
		if all == nil {
			all = j.explain(f)
			continue
		}
		all = fmt.Errorf("%w; %w", all, j.explain(f))
	}
	return all
}

func (j *job) measure(ctx context.Context, res *result) {
	o := j.o.decodeOptions(j.ui)
	o.Warn = nil
	score, err := compareVideos(ctx, clip{j.o.Input, o}, clip{j.o.Output, decode.Options{Threads: j.o.Threads, FieldOrder: o.FieldOrder}})
	if err != nil {
		j.ui.warn("PSNR and SSIM are not measured: %v", err)
		return
	}
	res.PSNR, res.SSIM, res.HasStats = score.PSNR(), score.SSIM, true
}
