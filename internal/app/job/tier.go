package job

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode/video"
	"vidfilter/internal/machine"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// The CPU's share of --quality auto: good where it keeps up with the encoder, else fast. That takes
// up to a second to find out, so shorter jobs are not measured.
const (
	shortJob  = 30 * time.Second       // at good quality, as forecast
	trialTime = 500 * time.Millisecond // for the filters
	trialRoom = 100e6                  // bytes of frames
	mostTried = 12                     // frames
)

// trialPlaces are where in the video frames are tried. The later ones are for measurements close to
// the limit.
var trialPlaces = []float64{0.5, 0.25, 0.75}

// work is the processor time of a frame.
type work struct{ filter, encode time.Duration }

// settleQuality replaces --quality auto by the tier that the job uses on the CPU, and reports it.
// Processor time decides, which depends little on the load of the machine.
func (j *job) settleQuality(ctx context.Context) error {
	if !j.choosesQuality() {
		return nil
	}
	watched, unwatch := untilStop(ctx, j.stop)
	defer unwatch()
	w, err := j.tryGood(watched)
	if watched.Err() != nil {
		return context.Cause(watched)
	}
	if err != nil {
		j.ui.Debugf("--quality auto is fast: %v", err)
		return nil
	}
	j.tried = w
	j.settle(w)
	return nil
}

// settle sets the tier by the times of a frame.
func (j *job) settle(w work) {
	codec := video.CodecOf(j.o.Encoder)
	tier, subject, other := kernels.Fast, "good", "--quality good denoises better"
	if w.ratio(codec.Cores(j.to.height)) <= 1 {
		tier, subject, other = kernels.Good, "it", "--quality fast is faster, --quality good is this choice for sure"
	}
	j.ui.Info(fmt.Sprintf("denoising at quality %s, as %s takes %.0f ms of processor time a picture, and %s %.0f ms; %s",
		tier, subject, 1000*w.filter.Seconds(), strings.TrimPrefix(codec.Name, "lib"), 1000*w.encode.Seconds(), other))
	for _, o := range []**Options{&j.o, &j.undecided} {
		if *o != nil {
			own := **o
			kernels.Edit(&own.Filters, func(p *kernels.Denoise) { p.Quality = tier })
			*o = &own
		}
	}
}

// choosesQuality reports whether the tier is open, and the job long enough to measure it.
func (j *job) choosesQuality() bool {
	_, onCPU := j.backend.(forecaster)
	p, denoises := j.o.denoiser()
	frames, _ := j.in.Estimate()
	switch {
	case !onCPU || !denoises || p.Quality != kernels.AutoQuality:
		return false
	case j.o.Part != nil || j.o.Join != "" || j.o.Input == "-" || j.encoding != nil:
		return false
	}
	return float64(frames) > j.goodRate()*shortJob.Seconds()
}

// goodRate is the forecast of the denoiser's frames per second at good quality.
func (j *job) goodRate() float64 {
	p, _ := j.o.denoiser()
	p.Quality = kernels.Good
	v := j.in.Video().CodecParameters()
	rate, _ := j.backend.(forecaster).Expect(p, machine.Cores(), v.Width(), v.Height())
	return rate
}

// ratio compares the filters' time with the encoder's, each on the cores that it uses; 0: all.
func (w work) ratio(cores int) float64 {
	all := runtime.GOMAXPROCS(0)
	if cores == 0 {
		cores = all
	}
	return float64(w.filter) / float64(max(w.encode, 1)) * float64(min(cores, all)) / float64(all)
}

// rate returns about how many frames a job does in a second on all cores, with filters that are
// so many times faster.
func (w work) rate(faster float64) float64 {
	return float64(runtime.GOMAXPROCS(0)) / (w.filter.Seconds()/faster + w.encode.Seconds())
}

// tryGood measures the job at good quality on frames of several places.
func (j *job) tryGood(ctx context.Context) (w work, err error) {
	defer func(o *Options, before *reported, lost *string) {
		j.o, j.reported, j.grain, j.trial = o, before, nil, false
		j.lost.Store(lost)
	}(j.o, j.reported, j.lost.Load())
	own := *j.o
	kernels.Edit(&own.Filters, func(p *kernels.Denoise) { p.Quality = kernels.Good })
	j.o, j.trial = &own, true
	_, length := j.in.Estimate()
	n := 0
	for _, place := range trialPlaces {
		j.reported = &reported{}
		at, err := j.tryAt(ctx, j.o.Start+time.Duration(place*float64(length)))
		if err != nil {
			return w, err
		}
		if j.noise.clean == j.noise.frames { // they were copied, and others may not be
			threads := j.backend.(threaded).Threads()
			at.filter = time.Duration(float64(threads) / j.goodRate() * float64(time.Second))
		}
		w.filter, w.encode, n = w.filter+at.filter, w.encode+at.encode, n+1
		if r := w.ratio(video.CodecOf(j.o.Encoder).Cores(j.to.height)); r < 0.8 || r > 1.25 {
			break
		}
	}
	return work{w.filter / time.Duration(n), w.encode / time.Duration(n)}, nil
}

// tryAt filters and encodes frames from a time on.
func (j *job) tryAt(ctx context.Context, at time.Duration) (w work, err error) {
	frames, err := j.framesAt(ctx, at)
	defer func() { releaseAll(frames) }()
	if err != nil {
		return w, err
	}
	chain := j.chainOf(j.backend, j.o.filters(), mostTried+framesInFlight)
	defer chain.Close()
	var results []*pipeline.Frame
	defer func() { releaseAll(results) }()
	n := 0
	if w.filter, err = processorTime(func() error { n, err = tryFilter(ctx, chain, &frames, &results); return err }); err != nil {
		return w, err
	}
	if len(results) == 0 {
		return w, fmt.Errorf("no result in %v", trialTime)
	}
	w.filter /= time.Duration(n)
	out := j.trialCoder(func(*astiav.Packet) error { return nil })
	defer out.Close()
	if err := out.Open(results[0]); err != nil {
		return w, err
	}
	n = len(results)
	w.encode, err = processorTime(func() error {
		for len(results) > 0 {
			f := results[0]
			results = results[1:]
			if err := out.Put(ctx, f); err != nil {
				return err
			}
		}
		return out.Finish(ctx)
	})
	w.encode /= time.Duration(n)
	return w, err
}

// trialCoder returns a coder of the job's output whose packets are not written.
func (j *job) trialCoder(give func(*astiav.Packet) error) *video.Coder {
	template, options := j.template(), j.encodeOptions(nil)
	template.Facts, template.Look, template.Allow = nil, nil, nil
	if options.Threads == 0 {
		options.Threads = threadsIn(machine.OwnMemory(), j.frameSize())
	}
	return video.NewPart(template, options, give)
}

// framesAt decodes a few frames from a time on. The decoder is closed, so that it works no more.
func (j *job) framesAt(ctx context.Context, at time.Duration) (frames []*pipeline.Frame, err error) {
	d := j.o.decoding(nil)
	d.Start, d.Duration, d.Frames, d.VideoOnly = at, 0, 0, true
	in, err := decode.Open(ctx, j.o.Input, j.frames, d)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	for range max(2*j.o.window().After+1, min(mostTried, int(trialRoom)/j.frameSize())) {
		f, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return frames, err
		}
		frames = append(frames, f)
	}
	return frames, nil
}

// tryFilter filters frames, which it takes, for trialTime. It returns how many results came, and
// the first of them in results.
func tryFilter(ctx context.Context, chain *pipeline.Chain, frames, results *[]*pipeline.Frame) (n int, err error) {
	filter, err := chain.Open()
	if err != nil {
		return 0, err
	}
	defer pipeline.Discard(filter)
	emit := func(f *pipeline.Frame) error {
		if n++; len(*results) < mostTried {
			*results = append(*results, f)
		} else {
			f.Release()
		}
		return nil
	}
	for began := time.Now(); len(*frames) > 0 && time.Since(began) < trialTime; {
		f := (*frames)[0]
		*frames = (*frames)[1:]
		if err := filter.Process(ctx, f, emit); err != nil {
			return n, err
		}
	}
	if n == 0 { // the filters hold back all that they got
		err = filter.Flush(ctx, emit)
	}
	return n, err
}

// quality names the tier of the job's denoiser; "" without one.
func (j *job) quality() string {
	p, denoises := j.o.denoiser()
	_, onCPU := j.backend.(threaded)
	switch {
	case !denoises || j.o.Join != "":
		return ""
	case p.Quality != kernels.AutoQuality:
		return p.Quality.String()
	case onCPU:
		return kernels.Fast.String()
	}
	return kernels.Good.String()
}

// partsQuality returns the tier of the parts of a video if --quality leaves it open, else "".
func (o *SegmentOptions) partsQuality(ctx context.Context, frames *pipeline.Pool) (string, error) {
	p, denoises := o.denoiser()
	switch {
	case !denoises || p.Quality != kernels.AutoQuality:
		return "", nil
	case o.Device.Kind == "cuda":
		return kernels.Good.String(), nil
	}
	cpu, err := kernels.NewCPU(o.Threads, "")
	if err != nil {
		return "", err
	}
	defer cpu.Close()
	in, err := decode.Open(ctx, o.Input, frames, o.decoding(nil))
	if err != nil {
		return "", err
	}
	defer in.Close()
	quiet := terminal.NewUI(terminal.Stdio{Err: io.Discard}, terminal.UIOptions{ScreenOptions: terminal.ScreenOptions{Quiet: true}})
	j := &job{o: &o.Options, ui: quiet, backend: cpu, frames: frames, in: in, reported: &reported{}}
	if err := j.foresee(ctx); err != nil {
		return "", err
	}
	j.settleCodec()
	j.settleDepth()
	err = j.settleQuality(ctx)
	return j.quality(), err
}

// processorTime returns the time of the process on all cores while it does something.
func processorTime(do func() error) (time.Duration, error) {
	from := machine.ProcessorTime()
	err := do()
	return machine.ProcessorTime() - from, err
}

func releaseAll(frames []*pipeline.Frame) {
	for _, f := range frames {
		f.Release()
	}
}
