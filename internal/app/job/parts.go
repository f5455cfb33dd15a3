package job

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode/formats"
	"vidfilter/encode/video"
	"vidfilter/gpu"
	"vidfilter/internal/av"
	"vidfilter/internal/machine"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// MaxParts is the most parts that are filtered side by side.
const MaxParts = 64

// partThreads are the threads of each encoder that has others beside it. Their number is fixed,
// since the result depends on it.
const partThreads = 4

// partsPerGPU side by side for one encoder keep most of a GPU's engines busy. More of them are
// faster in long videos, and slower in short ones, since the memory of frames that wait is pinned
// first.
const partsPerGPU = 4

// Parts of a video that are coded apart last a twelfth of it, within these limits: a cut costs a
// key frame. Parts for one encoder are free, and short, since their frames wait in memory.
const (
	shortestPart = 10 * time.Second
	longestPart  = time.Minute
	framesPart   = 4 * time.Second
)

// division is how a job filters parts of its video side by side.
type division struct {
	parts   []decode.Range // empty: the video is one stream
	workers int
	// coded means that each part has an encoder of its own. Otherwise one takes the frames of all,
	// in order.
	coded bool
}

// divide returns how the video is filtered. The machine decides only whether there are parts, not
// where they begin nor how they are coded.
func (j *job) divide(ctx context.Context) (d division) {
	why := j.choose(&d)
	if why == "" {
		d.parts, why = j.scan(ctx, d.coded)
	}
	if why == "" {
		d.workers = min(d.workers, len(d.parts))
		return d
	}
	tell := j.ui.Debug
	if j.o.Parts > 1 {
		tell = j.ui.Info
	}
	tell("encoding the video as one stream: " + why)
	return division{}
}

// scan returns the parts of the video, or why it stays whole.
func (j *job) scan(ctx context.Context, coded bool) (parts []decode.Range, whole string) {
	_, length := j.in.Estimate()
	shortest := framesPart
	if coded {
		shortest = min(max(length/12, shortestPart), longestPart)
	}
	cuts, err := decode.Scan(ctx, j.o.Input, j.o.decoding(nil), shortest, j.o.window())
	if err != nil {
		return nil, err.Error()
	}
	return cuts.Parts, cuts.Whole
}

// choose sets how many parts there may be side by side, and whether they are coded apart, or
// returns why the video is one stream.
func (j *job) choose(d *division) (whole string) {
	o := j.o
	whole = o.whole(oneEncoder)
	d.coded, d.workers = whole == "", o.Parts
	switch {
	case o.Parts == 1:
		return "--parts 1"
	case o.Part != nil || o.Join != "":
		return "it is a part"
	case o.whole(oneFilter) != "":
		return whole
	case j.to.retimed != "":
		return j.to.retimed
	case j.target == nil && o.Format != formats.Null || j.target != nil && j.target.Direct():
		return "the output is not a file"
	case o.Parts > 1:
		return ""
	case d.coded:
		d.workers, whole = j.encoders()
	case video.CodecOf(o.Encoder).Fast():
		d.workers, whole = j.decoders()
	}
	return whole
}

// decoders returns how many decoders work for one fast encoder by default, or why one does.
func (j *job) decoders() (n int, why string) {
	b, onGPU := j.backend.(coder)
	_, denoises := j.o.denoiser()
	switch {
	case !onGPU || j.decoding == nil || !j.in.OnDevice():
		return 1, "the CPU decodes"
	case denoises:
		return 1, "the denoiser is no faster than one decoder"
	}
	n = min(j.decoding.Engines(), partsPerGPU) * b.Devices()
	if n < 2 {
		return 1, "the GPU has one engine that decodes it"
	}
	return n, ""
}

// encoders returns how many encoders a job whose parts are coded apart has by default, or why it
// has one.
func (j *job) encoders() (n int, why string) {
	codec := video.CodecOf(j.o.Encoder)
	_, onCPU := j.backend.(threaded)
	cores := j.o.Threads
	if cores == 0 {
		cores = runtime.GOMAXPROCS(0)
	}
	alone := codec.Cores(j.to.height)
	switch {
	case 2*cores < 3*alone || alone == 0:
		return 1, fmt.Sprintf("%s uses most of %d cores by itself", codec.Name, cores)
	case onCPU && !j.o.passes():
		return 1, "the filter uses all cores"
	}
	// Some 60 frames are in the encoder with its references, as many in the decoder and the filter.
	room := machine.FreeMemory() / 2 / int64(120*j.frameSize())
	// Half as many again as there are cores for, since an encoder's threads are not always busy.
	n = int(min(int64(3*cores/(2*partThreads)), room, MaxParts))
	if n < 2 {
		return 1, fmt.Sprintf("there are %d cores, and memory for %d encoders", cores, room)
	}
	return n, ""
}

// frameSize returns the bytes of a frame before or behind the filters, whichever is larger, by the
// input's header.
func (j *job) frameSize() int {
	v := j.in.Video().CodecParameters()
	f := pipeline.Format{Layout: pipeline.YUV420P, Width: v.Width(), Height: v.Height()}
	if j.to.width*j.to.height > f.Width*f.Height {
		f.Width, f.Height = j.to.width, j.to.height
	}
	if l, _, native := av.LayoutOf(v.PixelFormat()); native {
		f.Layout = l
	}
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	return max(size, 1)
}

// Whole returns why one process must filter and encode the whole video; "" if others may take
// parts.
func (o *Options) Whole() string { return o.whole(oneProcess) }

// whole returns why the video must have one filter, encoder or process; "" if its parts can have
// their own.
func (o *Options) whole(n one) string {
	for k := range n + 1 {
		for name, why := range o.set(k.because("")) {
			return "--" + name + " " + why
		}
	}
	if why := o.undivided(); why != "" {
		return why
	}
	f, codec, rate := formats.Of(o.Format), video.CodecOf(o.Encoder), o.rateParam()
	switch {
	case !f.Video() && f.Name != formats.Null:
		return "the output is a picture"
	case n >= oneEncoder && !codec.Joins():
		return codec.Name + " has no parts that can be joined"
	case n >= oneEncoder && rate != "":
		return "the parameter " + rate + " is of a whole stream"
	}
	return ""
}

// undivided returns why the filters need the whole video; "" if its parts will do.
func (o *Options) undivided() string {
	for _, s := range o.filters() {
		if w, ok := s.(kernels.Undivided); ok {
			if why := w.Whole(); why != "" {
				return why
			}
		}
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

// partFailed is the error of a part. The video is then filtered again as one stream.
type partFailed struct{ error }

func (a partFailed) Unwrap() error { return a.error }

// runParts filters parts of the video side by side and writes them in order, with everything else
// that the input holds.
func (j *job) runParts(ctx context.Context, d division) error {
	j.in.Track(j.to.halves)
	first, err := j.in.Next(ctx)
	switch {
	case err != nil && j.stopped():
		return terminal.Interruption{}
	case err != nil:
		return partFailed{err}
	}
	if at := first.PTS; at != d.parts[0].Start {
		first.Release()
		return partFailed{fmt.Errorf("the video begins at %d instead of %d", at, d.parts[0].Start)}
	}
	if first, err = j.filtered(ctx, first); err != nil {
		return partFailed{err}
	}
	format := first.Format
	if d.coded {
		err = j.out.BeginCoded(first)
	}
	first.Release()
	if err != nil {
		return err
	}
	if !d.coded {
		j.ahead, j.side = new(pipeline.Meters), d.workers
	}
	untrack := j.ui.Track(j.snapshot)
	if d.coded {
		err = j.codeParts(ctx, d)
	} else {
		err = j.filterParts(ctx, d, format)
	}
	untrack()
	if !errors.As(err, new(partFailed)) {
		j.reportGPU()
		j.reportNoise()
		j.reportFlicker()
		j.reportRepairs()
	}
	j.discarded.Store(j.meters.Encode.Frames() - j.out.Frames())
	if j.stopped() && j.out.Frames() == 0 {
		return terminal.Interruption{} // it has no result to keep
	}
	j.written.Store(err == nil && !j.stopped())
	return err
}

// codeParts codes parts side by side and writes their packets.
func (j *job) codeParts(ctx context.Context, d division) error {
	j.ui.Debugf("encoding %d parts, %d side by side", len(d.parts), d.workers)
	size := func(p *astiav.Packet) int64 { return int64(p.Size()) }
	s := newSequence(len(d.parts), size, (*astiav.Packet).Free, machine.FreeMemory()/8, math.MaxInt)
	o := j.encodeOptions(nil)
	o.Threads = partThreads
	var mu sync.Mutex
	var coders []*video.Coder
	work := func(ctx context.Context, w *worker, k int) error {
		out := video.NewPart(j.template(), o, func(p *astiav.Packet) error {
			own := p.Clone()
			if own == nil {
				return errors.New("out of memory")
			}
			return s.give(ctx, k, own)
		})
		defer out.Close()
		err := w.run(ctx, d.parts[k], out, &j.meters)
		mu.Lock()
		defer mu.Unlock()
		coders = append(coders, out)
		return err
	}
	err := sideBySide(ctx, j, s, d.workers, 0, work, func(ctx context.Context) error { return j.writePackets(ctx, s) })
	if err != nil {
		return err
	}
	for _, c := range coders {
		if err := j.out.Join(c); err != nil {
			return partFailed{err}
		}
	}
	return nil
}

// filterParts filters parts side by side and has one encoder take their frames, which have a
// format.
func (j *job) filterParts(ctx context.Context, d division, f pipeline.Format) error {
	most := j.mostWaiting(f)
	j.ui.Debugf("filtering %d parts, %d side by side", len(d.parts), d.workers)
	s := newSequence(len(d.parts), func(*pipeline.Frame) int64 { return 1 }, (*pipeline.Frame).Release, int64(most), j.inFlight)
	work := func(ctx context.Context, w *worker, k int) error {
		return w.run(ctx, d.parts[k], framesTo{s, k}, j.ahead)
	}
	return sideBySide(ctx, j, s, d.workers, max(1, most/d.workers), work, func(ctx context.Context) error {
		return pipeline.Run(ctx, inOrder{j, s}, nil, j.out, pipeline.Options{Depth: max(1, j.inFlight/2), Meters: &j.meters})
	})
}

// mostWaiting returns how many frames of parts may wait for the encoder. By default they take at
// most an eighth of the memory that is free where they are.
func (j *job) mostWaiting(f pipeline.Format) int {
	if j.o.FramesInFlight > 0 {
		return j.o.FramesInFlight
	}
	free := machine.FreeMemory()
	if b, ok := j.backend.(holder); ok && j.encoding != nil {
		if here := b.Free(); here < free || b.Devices() == 1 {
			free = here
		}
	}
	_, _, size := f.PlanLayout(pipeline.PitchAlign)
	return int(max(1, free/8/int64(size)))
}

// sideBySide has workers do the parts of a sequence while its items are written. Each may have so
// many results wait.
func sideBySide[T any](ctx context.Context, j *job, s *sequence[T], workers, waiting int,
	work func(ctx context.Context, w *worker, k int) error, write func(context.Context) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer context.AfterFunc(ctx, func() { s.end(context.Cause(ctx)) })()
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			w, err := j.newWorker(workers, waiting)
			if err != nil {
				s.end(partFailed{err})
				return
			}
			defer w.close()
			w.found = s.add
			for {
				k, ctx, ok := s.take(ctx)
				if !ok {
					return
				}
				j.ui.Debugf("part %d: filtering on %s", k+1, w.backend.Name())
				if err := work(ctx, w, k); err != nil {
					s.fail(k, partFailed{err})
					return
				}
				if j.stopped() { // the part may have ended early, and none may follow it
					s.stop()
				}
				s.done(k)
			}
		})
	}
	wg.Go(func() {
		select {
		case <-j.stop:
			s.stop()
		case <-ctx.Done():
		}
	})
	err := write(ctx)
	cancel(err)
	wg.Wait()
	s.end(context.Cause(ctx)) // frees the rest
	j.extras, j.damage = s.extras, s.damage
	return err
}

// worker filters parts one after another, on one device.
type worker struct {
	job      *job
	backend  kernels.Backend
	end      func()
	options  decode.Options
	decoding *gpu.Decoding
	spare    decode.Spare // of decoding
	chain    *pipeline.Chain
	found    func(extras []string, damage map[string]int64) // called for each part
}

// newWorker returns one of several workers. waiting is how many of its results may wait for the
// encoder.
func (j *job) newWorker(workers, waiting int) (w *worker, err error) {
	w = &worker{job: j, backend: j.backend, end: func() {}}
	if b, ok := j.backend.(sharer); ok {
		w.backend, w.end = b.Share()
	}
	if w.options, w.decoding, err = j.decodeOptions(w.backend); err != nil {
		w.end()
		return nil, err
	}
	w.options.Spare = &w.spare
	w.options.Log = terminal.LogTo(slog.LevelInfo, func(level slog.Level, msg string) {
		if level == slog.LevelInfo { // that the CPU decodes; warnings come of the whole video
			j.fallBack.Do(func() { j.ui.Info(msg) })
		}
	})
	if w.options.Threads == 0 {
		w.options.Threads = max(1, runtime.GOMAXPROCS(0)/workers)
	}
	w.chain = j.chainOf(w.backend, j.o.filters(), j.inFlight+waiting)
	return w, nil
}

func (w *worker) close() {
	w.chain.Close()
	w.spare.Close()
	if w.decoding != nil {
		w.decoding.Close()
	}
	w.end()
}

// run decodes and filters a part.
func (w *worker) run(ctx context.Context, part decode.Range, to pipeline.Sink, m *pipeline.Meters) error {
	j, o := w.job, w.options
	o.Part = &part
	in, err := decode.Open(ctx, j.o.Input, j.frames, o)
	if err != nil {
		return err
	}
	defer in.Close()
	f, err := w.chain.Open()
	if err != nil {
		return err
	}
	err = pipeline.Run(ctx, in, []pipeline.Filter{f}, to, pipeline.Options{Depth: max(1, j.inFlight/2), Stop: j.stop, Meters: m})
	damage := in.Damage().Counts()
	if err == nil && len(damage) > 0 && !j.stopped() {
		err = errors.New("it is damaged")
	}
	w.found(in.Extras(), damage)
	return err
}

// writePackets writes all packets of the sequence.
func (j *job) writePackets(ctx context.Context, s *sequence[*astiav.Packet]) error {
	for {
		p, err := s.next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		err = j.place(ctx, p)
		p.Free()
		if err != nil {
			return orApart(err)
		}
	}
	if !j.stopped() {
		if err := j.in.Rest(ctx); err != io.EOF {
			return orApart(err)
		}
	}
	return j.out.Finish(ctx)
}

// framesTo is a sink that gives frames to a part of a sequence.
type framesTo struct {
	s *sequence[*pipeline.Frame]
	k int
}

func (t framesTo) Put(ctx context.Context, f *pipeline.Frame) error { return t.s.give(ctx, t.k, f) }

func (framesTo) Finish(context.Context) error { return nil }

// inOrder is the source of the frames of all parts. Packets of other streams are written before the
// frames that they are due with.
type inOrder struct {
	job *job
	s   *sequence[*pipeline.Frame]
}

func (o inOrder) Next(ctx context.Context) (*pipeline.Frame, error) {
	f, err := o.s.next(ctx)
	switch {
	case err == io.EOF && !o.job.stopped():
		return nil, orApart(o.job.in.Rest(ctx))
	case err != nil:
		return nil, err
	}
	if _, err := o.job.in.Follow(ctx, f.PTS); err != nil {
		f.Release()
		return nil, orApart(err)
	}
	return f, nil
}

// orApart has the video filtered as one stream if it is not the sum of its parts.
func orApart(err error) error {
	if errors.As(err, new(*decode.PartError)) {
		return partFailed{err}
	}
	return err
}
