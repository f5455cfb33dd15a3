package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/formats"
	"vidfilter/gpu"
	"vidfilter/internal/cli"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// MaxParts is the most parts that are coded side by side.
const MaxParts = 64

// partThreads are the threads of each encoder that has others beside it. Their number is fixed,
// since the result depends on it.
const partThreads = 4

// Parts of a video that a job codes side by side last a twelfth of it, within these limits: a cut
// costs a key frame.
const (
	shortestPart = 10 * time.Second
	longestPart  = time.Minute
)

// divide returns the parts of the video that are coded side by side, and how many at a time; none
// to code it as one stream. Neither the machine nor the number of workers changes the parts.
func (j *job) divide(ctx context.Context) (parts []decode.Range, workers int) {
	workers, why := j.workers()
	if why == "" {
		parts, why = j.scan(ctx)
	}
	if why == "" {
		workers = min(workers, len(parts))
		j.ui.Debugf("encoding %d parts, %d side by side", len(parts), workers)
		return parts, workers
	}
	tell := j.ui.Debug
	if j.o.Parts > 1 {
		tell = j.ui.Info
	}
	tell("encoding the video as one stream: " + why)
	return nil, 0
}

// scan returns the parts of the video, or why it has none.
func (j *job) scan(ctx context.Context) (parts []decode.Range, whole string) {
	_, length := j.in.Estimate()
	o := j.o.DecodeOptions(j.ui)
	o.Log = nil
	cuts, err := decode.Scan(ctx, j.o.Input, o, min(max(length/12, shortestPart), longestPart), j.o.window())
	if err != nil {
		return nil, err.Error()
	}
	return cuts.Parts, cuts.Whole
}

// workers returns how many encoders the job may have, or why it has one.
func (j *job) workers() (n int, why string) {
	o := j.o
	codec := encode.CodecOf(o.Encoder)
	_, onCPU := j.backend.(*kernels.CPU)
	cores := o.Threads
	if cores == 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	v := j.in.Video().CodecParameters()
	alone := codec.Cores(v.Height())
	switch n = o.Parts; {
	case n == 1:
		return 1, "--parts 1"
	case o.wholeOnly() != "":
		return 1, o.wholeOnly()
	case j.target == nil && o.Format != formats.Null || j.target != nil && j.target.Direct():
		return 1, "the output is not a file"
	case n > 1:
		return n, ""
	case 2*cores < 3*alone || alone == 0:
		return 1, fmt.Sprintf("%s uses most of %d cores by itself", codec.Name, cores)
	case onCPU && !o.passes():
		return 1, "the filter uses all cores"
	}
	// Frames of 8 bits in 4:2:0: some 60 in the encoder with its references, as many in the decoder
	// and the filter.
	const perPixel = 120 * 3 / 2
	room := pipeline.FreeMemory() / 2 / (perPixel*int64(v.Width())*int64(v.Height()) + 1)
	// Half as many again as have a core for each thread, since none uses all of its threads.
	n = int(min(int64(3*cores/(2*partThreads)), room, MaxParts))
	if n < 2 {
		return 1, fmt.Sprintf("there are %d cores, and memory for %d encoders", cores, room)
	}
	return n, ""
}

// wholeOnly says why the video is one stream, whatever the machine; "" if it may be parts.
func (o *Options) wholeOnly() string {
	codec := encode.CodecOf(o.Encoder)
	f := formats.Of(o.Format)
	switch {
	case o.System != nil:
		return "a system of the lab filters"
	case !codec.Joins():
		return codec.Name + " has no parts that can be joined"
	case o.Bitrate > 0:
		return "--bitrate is the mean of a whole stream"
	case o.rateParam() != "":
		return "the parameter " + o.rateParam() + " is of a whole stream"
	case o.Part != nil || o.Join != "":
		return "it is a part"
	case o.Start > 0 || o.Duration > 0 || o.Frames > 0:
		return "a piece of the input is taken"
	case o.Compare != "":
		return "--compare"
	case o.GrainTable != "" || o.keepsGrain():
		return "grain is measured from picture to picture"
	case !f.Video() && f.Name != formats.Null:
		return "the output is a picture"
	}
	return ""
}

// rateParam returns the encoder's parameter that is of a whole stream, if one is given.
func (o *Options) rateParam() string {
	for _, name := range []string{"bitrate", "vbv-maxrate", "vbv-bufsize", "vbv-init", "crf-max", "nal-hrd", "hrd", "strict-cbr", "zones", "qpfile", "threads"} {
		if o.X264Params.Has(name) || o.params.Has(name) {
			return name
		}
	}
	return ""
}

// apart is the error of a part. The video is then coded again as one stream.
type apart struct{ error }

func (a apart) Unwrap() error { return a.error }

// runParts filters and codes parts of the video side by side and writes them in order, with
// everything else that the input holds.
func (j *job) runParts(ctx context.Context, parts []decode.Range, workers int) error {
	j.in.Track()
	first, err := j.in.Next(ctx)
	switch {
	case err != nil && j.stopped():
		return cli.Interruption{}
	case err != nil:
		return apart{err}
	}
	if first.PTS != parts[0].Start {
		err = apart{fmt.Errorf("the video begins at %d instead of %d", first.PTS, parts[0].Start)}
	} else {
		err = j.out.BeginCoded(first)
	}
	first.Release()
	if err != nil {
		return err
	}
	untrack := j.ui.Track(j.snapshot)
	s := newSequence(len(parts), pipeline.FreeMemory()/8)
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() { j.work(ctx, parts, s, workers) })
	}
	wg.Go(func() {
		select {
		case <-j.stop:
			s.stop()
		case <-ctx.Done():
		}
	})
	err = j.writeParts(ctx, s)
	cancel(err)
	wg.Wait()
	untrack()
	j.tellGPU()
	j.tellNoise()
	j.extras = s.extras
	for _, c := range s.coders {
		if err == nil {
			err = asApart(j.out.Join(c))
		}
	}
	j.vain.Store(j.meters.Encode.Frames() - j.out.Frames())
	if j.stopped() && j.out.Frames() == 0 {
		return cli.Interruption{} // there is nothing to keep
	}
	j.written.Store(err == nil && !j.stopped())
	return err
}

func asApart(err error) error {
	if err == nil {
		return nil
	}
	return apart{err}
}

// work codes parts until none is left.
func (j *job) work(ctx context.Context, parts []decode.Range, s *sequence, workers int) {
	for {
		k, ctx, ok := s.take(ctx)
		if !ok {
			return
		}
		if err := j.codePart(ctx, parts[k], s, k, workers); err != nil {
			s.fail(k, apart{err})
			return
		}
		s.done(k)
	}
}

// share returns the backend of a part: one of the GPUs that filter, or the CPU.
func (j *job) share() (b kernels.Backend, end func()) {
	if b, ok := j.backend.(*gpu.Backend); ok {
		return b.Share()
	}
	return j.backend, func() {}
}

// codePart filters and codes one part.
func (j *job) codePart(ctx context.Context, part decode.Range, s *sequence, k, workers int) error {
	b, end := j.share()
	defer end()
	j.ui.Debugf("part %d: filtering on %s", k+1, b.Name())
	options, decoding, err := j.decodeOptions(b)
	if err != nil {
		return err
	}
	if decoding != nil {
		defer decoding.Close()
	}
	options.Part, options.Log = &part, nil
	if options.Threads == 0 {
		options.Threads = max(1, runtime.GOMAXPROCS(0)/workers)
	}
	in, err := decode.Open(ctx, j.o.Input, j.frames, options)
	if err != nil {
		return err
	}
	defer in.Close()
	pool := j.poolOfResults(b)
	defer pool.Close()
	f, err := j.filterInto(b, pool)
	if err != nil {
		return err
	}
	o := j.o.encodeOptions(nil)
	o.Threads = partThreads
	out := encode.NewCoder(j.template(), o, func(p *astiav.Packet) error { return s.give(ctx, k, p) })
	defer out.Close()
	err = pipeline.Run(ctx, in, []pipeline.Filter{f}, out, pipeline.Options{Depth: max(1, j.inFlight/2), Stop: j.stop, Meters: &j.meters})
	if err == nil && len(in.Damage().Counts()) > 0 {
		err = errors.New("it is damaged")
	}
	s.add(out, in.Extras())
	return err
}

// writeParts writes all packets of the sequence.
func (j *job) writeParts(ctx context.Context, s *sequence) error {
	for {
		p, err := s.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		err = j.place(ctx, p)
		p.Free()
		if err != nil {
			return err
		}
	}
	if !j.stopped() {
		if err := j.in.Rest(ctx); err != io.EOF {
			return err
		}
	}
	return j.out.Finish(ctx)
}
