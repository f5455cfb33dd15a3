package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/denoise/grain"
	"vidfilter/encode"
	"vidfilter/encode/formats"
	"vidfilter/encode/target"
	"vidfilter/encode/video"
	"vidfilter/gpu"
	"vidfilter/internal/av"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/filters"
	"vidfilter/internal/hint"
	"vidfilter/internal/machine"
	"vidfilter/internal/stages"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// job is one run of the main command. close frees its parts in reverse order of use.
type job struct {
	o       *Options
	ui      *terminal.UI
	stop    <-chan struct{}
	backend kernels.Backend
	target  *target.File   // nil without an output file
	frames  *pipeline.Pool // for decoders

	decoding *gpu.Decoding // nil: on the CPU
	encoding *gpu.Encoding // nil: on the CPU
	encoder  *gpu.Backend  // of encoding, if the backend is none; nil: it is

	chain  *pipeline.Chain // of the filters, for the video as one stream; nil: not open yet
	halves *pipeline.Pool  // for --compare

	grain      *grain.Filter // nil: grain is not measured
	grainTable *target.File  // nil: none is written

	late      *video.LateFieldsError // of a job that begins again; nil: it does not
	undecided *Options               // before settleCodec chose a codec; nil: it did not

	extras   []string // see decode.Input.Extras, of parts
	inFlight int      // frames that may wait for the encoder

	in      *decode.Input
	to      filterOutput // of in
	trial   bool         // filters are opened to try them on a blank picture
	tried   work         // at good quality, by settleQuality; 0: not measured
	out     *encode.Output
	unwatch func() // ends untilStop
	rest    func() // ends progress reports to the parent, unless nil
	meters  pipeline.Meters
	ahead   *pipeline.Meters // of parts whose frames wait for the encoder, or nil
	side    int              // how many of them are filtered at once
	damage  map[string]int64 // of parts

	*reported

	fallBack sync.Once // reports once that the CPU decodes a part

	copied    atomic.Int64 // frames copied from parts
	discarded atomic.Int64 // frames coded that are not in the output
	written   atomic.Bool  // every frame is in the output

	lost    atomic.Pointer[string] // a property that filters dropped at the end
	started time.Time
}

// Run filters a file. The output gets its name once it is complete. Closing stop ends it early
// and cleanly.
func Run(ctx context.Context, o *Options, u *terminal.UI, stop <-chan struct{}) (terminal.Result, error) {
	j := &job{o: o, ui: u, stop: stop, reported: &reported{}, started: time.Now()}
	defer j.close()
	LogTo(u)
	if err := j.open(ctx); err != nil {
		return j.result(), j.explain(err)
	}
	err := j.write(ctx)
	if j.rest != nil {
		j.rest()
	}
	if j.stopped() && (o.Join != "" || o.Part != nil) {
		err = terminal.Interruption{} // a partial result is of no use
	}
	res := j.result()
	if err != nil {
		return res, j.explain(err)
	}
	return j.keep(ctx, res)
}

// write filters the video and writes the output.
func (j *job) write(ctx context.Context) error {
	if j.o.Join != "" {
		return j.join(ctx)
	}
	_, onCPU := j.backend.(threaded)
	j.inFlight = j.o.inFlight(j.frameSize(), onCPU)
	if err := j.settleQuality(ctx); err != nil {
		return j.orStopped(err)
	}
	j.reportSlow()
	err := j.writeVideo(ctx)
	if late, is := errors.AsType[*video.LateFieldsError](err); is && j.again() && !j.stopped() {
		j.ui.Info(late.Error() + ": encoding the video again, as an interlaced one")
		j.discarded.Store(j.meters.Encode.Frames())
		if j.late = late; j.undecided != nil {
			j.o, j.undecided = j.undecided, nil
		}
		if err := j.reopen(ctx); err != nil {
			return err
		}
		return j.writeVideo(ctx)
	}
	return err
}

// again reports whether the job can begin again after some frames.
func (j *job) again() bool {
	return j.late == nil && j.o.Part == nil && j.in.Again() && (j.target == nil || !j.target.Direct())
}

// writeVideo filters the video, as one stream or in parts.
func (j *job) writeVideo(ctx context.Context) error {
	d := j.divide(ctx)
	if len(d.parts) == 0 {
		return j.run(ctx)
	}
	err := j.runParts(ctx, d)
	if a, failed := errors.AsType[partFailed](err); failed && !j.stopped() && ctx.Err() == nil {
		j.ui.Info(fmt.Sprintf("the video is no sum of its parts (%v): encoding it again as one stream", a))
		j.discarded.Store(j.meters.Encode.Frames())
		if err := j.reopen(ctx); err != nil {
			return err
		}
		return j.run(ctx)
	}
	return err
}

// QuietLibraries hides FFmpeg's own messages.
func QuietLibraries() { av.SetLog(astiav.LogLevelQuiet, func(astiav.LogLevel, string) {}) }

// LogTo shows FFmpeg's own messages with --verbose.
func LogTo(u *terminal.UI) {
	av.SetLog(astiav.LogLevelWarning, func(_ astiav.LogLevel, line string) { u.Debug("ffmpeg: " + line) })
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
	if j.decoding != nil {
		j.decoding.Close()
	}
	if j.encoding != nil {
		j.encoding.Close()
	}
	if j.chain != nil {
		j.chain.Close()
	}
	for _, p := range []*pipeline.Pool{j.frames, j.halves} {
		if p != nil {
			p.Close()
		}
	}
	if j.encoder != nil {
		_ = j.encoder.Close()
	}
	if j.backend != nil {
		_ = j.backend.Close()
	}
	for _, t := range j.targets() {
		if err := t.Discard(); err != nil {
			j.ui.Warn(err.Error())
		}
	}
}

func (j *job) open(ctx context.Context) (err error) {
	var tell func()
	if j.backend, tell, err = j.o.OpenBackend(j.ui); err != nil {
		return err
	}
	j.frames = pipeline.NewPool(j.backend.Input(), 1) // decoders use Take, which has no limit
	if err := j.openEncoding(); err != nil {
		return err
	}
	inputs, unprepared := j.prepareTargets()
	if err := j.enter(inputs); err != nil {
		return err
	}
	watched, unwatch := untilStop(ctx, j.stop)
	j.unwatch = unwatch
	if err := j.o.measureFields(watched, j.frames, func(s string) { j.ui.Info(s) }); err != nil {
		return j.orStopped(err)
	}
	if err := j.openInput(watched); err != nil {
		return err
	}
	if line := j.o.FootageLine(); line != "" && j.o.Part == nil && j.o.Join == "" {
		j.ui.Info(line)
	}
	if err := j.look(watched); err != nil {
		return j.orStopped(err)
	}
	j.settleCodec()
	j.settleDepth()
	if unprepared != nil {
		return unprepared
	}
	for _, t := range j.targets() {
		if err := t.Open(); err != nil {
			return j.orStopped(err) // in place of an answer
		}
	}
	if err := j.openOutput(); err != nil {
		return err
	}
	tell()
	return nil
}

func (j *job) openInput(ctx context.Context) error {
	options, decoding, err := j.decodeOptions(j.backend)
	if err != nil {
		return err
	}
	j.decoding = decoding
	j.in, err = decode.Open(ctx, j.o.Input, j.frames, options)
	return j.orStopped(err) // it has no result to keep
}

// look measures the input as options ask, and tries the filters on it.
func (j *job) look(ctx context.Context) error {
	if err := j.o.measureNoise(ctx, j.frames, func(s string) { j.ui.Warn(s) }); err != nil {
		return err
	}
	if err := j.o.survey(ctx, j.frames, func(s string) { j.ui.Info(s) }); err != nil {
		return err
	}
	return j.foresee(ctx)
}

// orStopped returns an error, or that the job was stopped if that came first.
func (j *job) orStopped(err error) error {
	if err != nil && j.stopped() {
		return terminal.Interruption{}
	}
	return err
}

func (j *job) openOutput() (err error) {
	url := "pipe:1" // the format null writes no byte
	if j.target != nil {
		url = j.target.URL()
	}
	to := j.encodeOptions(j.ui.Logger)
	if to.Threads == 0 {
		to.Threads = threadsIn(machine.OwnMemory(), j.frameSize())
	}
	if j.encoding != nil {
		to.Device = j.encoding
	}
	if j.out, err = encode.Create(url, j.template(), to); err != nil {
		return err
	}
	j.in.OnPacket(j.out.WritePacket)
	width, height := j.outputSize()
	return j.out.Fits(width, height)
}

// reopen begins the input and the output again.
func (j *job) reopen(ctx context.Context) error {
	j.reported, j.ahead, j.extras, j.damage = &reported{}, nil, nil, nil
	j.out.Close()
	j.in.Close()
	if j.decoding != nil {
		j.decoding.Close()
	}
	j.unwatch()
	watched, unwatch := untilStop(ctx, j.stop)
	j.unwatch = unwatch
	if err := j.openInput(watched); err != nil {
		return err
	}
	return j.openOutput()
}

// prepareTargets makes the temporary files, and returns all inputs. Its error is for after the
// input's.
func (j *job) prepareTargets() (inputs []string, err error) {
	if inputs, err = j.inputs(); err != nil {
		return inputs, err
	}
	policy := j.o.OverwritePolicy(j.ui, j.stop)
	if j.o.Format != "null" {
		if j.target, err = target.Prepare(j.o.Output, policy, inputs); err != nil {
			return inputs, err
		}
		j.ui.OnAbandon(j.target.Abandon)
	}
	if j.o.GrainTable != "" { // which must be none of the job's other files
		j.grainTable, err = target.Prepare(j.o.GrainTable, policy, []string{j.o.Input, j.o.Output})
	}
	return inputs, err
}

// targets are the job's outputs.
func (j *job) targets() []*target.File {
	return slices.DeleteFunc([]*target.File{j.target, j.grainTable}, func(t *target.File) bool { return t == nil })
}

// outputSize returns the size of the output's pictures, by the input's header.
func (j *job) outputSize() (width, height int) {
	width, height = j.to.width, j.to.height
	if j.o.Compare == "side" {
		width *= 2
	}
	return width, height
}

func (o *Options) DecodeOptions(u *terminal.UI) decode.Options { return o.decoding(u.Logger) }

func (o *Options) decoding(log *slog.Logger) decode.Options {
	orders := map[string]decode.FieldOrder{
		"progressive": decode.Progressive, "tff": decode.TopFieldFirst, "bff": decode.BottomFieldFirst,
	}
	return decode.Options{
		Format: o.InputFormat, AllowNetwork: o.AllowNetwork, MaxPixels: o.MaxPixels, FilterMemory: o.filterMemory(), Threads: o.Threads,
		FieldOrder: orders[o.FieldOrder], Start: o.Start, Duration: o.Duration, Frames: o.Frames,
		Part:    o.wantedPart(),
		Layouts: o.takes, Depth: o.filteredDepth, KeepClock: formats.Of(o.Format).KeepsClock, MaxErrorRate: o.MaxErrorRate, Maps: o.Map, NoAudio: o.NoAudio, NoSubs: o.NoSubs, Log: log,
	}
}

func (o *Options) encodeOptions(log *slog.Logger) encode.Options {
	return encode.Options{
		Format: o.Format, Encoder: o.Encoder, CRF: o.CRF, OwnCRF: o.ownCRF, Bitrate: o.Bitrate, Preset: o.Preset, Tune: o.Tune,
		GOP: o.GOP, Params: o.X264Params, EncoderParams: o.params, PixelFormat: o.PixelFormat, Depth: o.depth(), LeastDepth: o.leastDepth(), Threads: o.Threads,
		FilmGrain: o.keepsGrain(), Software: "vidfilter " + cli.Version(), Log: log,
	}
}

// encodeOptions returns the encoder's options, with what the input determines.
func (j *job) encodeOptions(log *slog.Logger) encode.Options {
	o := j.o.encodeOptions(log)
	o.Undecided = j.undecided != nil
	if j.o.deepens() {
		o.SourceDepth = j.sourceDepth()
	}
	switch {
	case j.late != nil:
		o.Interlaced, o.TopFieldFirst = true, j.late.TopFieldFirst
	case !stages.Deinterlace.Of(j.o.Filters).Identity(): // no picture is interlaced
	case !j.again() && j.o.Part == nil && j.o.Join == "" && j.o.FieldOrder == "auto": // no picture can say it in time
		o.Interlaced, o.TopFieldFirst = j.in.MayBeInterlaced(), true
	}
	return o
}

func (j *job) template() encode.Template {
	t := encode.TemplateOf(j.in)
	t.Cut = j.o.Start > 0 || j.o.Duration > 0 || j.o.Frames > 0
	t.Part, t.Tag, t.Allow, t.Again = j.o.Part != nil, j.partTag, j.allow, j.again()
	return t
}

func (j *job) run(ctx context.Context) error {
	f, err := j.filter()
	if err != nil {
		return err
	}
	defer j.ui.Track(j.snapshot)()
	err = pipeline.Run(ctx, j.in, []pipeline.Filter{f}, j.out, pipeline.Options{
		Depth: max(1, j.inFlight/2), Stop: j.stop, Meters: &j.meters,
	})
	j.reportGPU()
	j.reportNoise()
	if err == nil {
		j.reportFlicker()
		j.reportRepairs()
		j.reportGrain()
	}
	switch {
	case err != nil && j.stopped() && j.meters.Encode.Frames() == 0:
		return terminal.Interruption{} // it has no result to keep
	case errors.Is(err, gpu.ErrDevice) && !errors.Is(err, gpu.ErrNVENC):
		return filters.OnlyCPU(err)
	}
	j.written.Store(err == nil && !j.stopped())
	return err
}

// untilStop returns a context that ends with stop, and with it a read from a silent pipe. Frames
// read by then are still returned.
func untilStop(ctx context.Context, stop <-chan struct{}) (_ context.Context, unwatch func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-stop:
			cancel(terminal.Interruption{})
		case <-quit:
		}
	})
	return ctx, func() {
		close(quit)
		wg.Wait()
		cancel(nil)
	}
}

func (j *job) stopped() bool {
	select {
	case <-j.stop:
		return true
	default:
		return false
	}
}

func (j *job) snapshot() terminal.Snapshot {
	total, length := j.in.Estimate()
	if pace := j.out.Pace(); pace != 1 {
		total = int64(float64(total)*pace + 0.5)
	}
	if j.written.Load() { // the header may promise another number
		total, length = j.frameCount(), j.out.Time()
	}
	s := terminal.Snapshot{
		GPU:    j.gpuTimes(),
		Frames: j.frameCount(), Total: total, OutTime: j.out.Time(), TotalTime: length, Bytes: j.out.Bytes(),
		EncodeBusy: j.meters.Encode.Busy(),
	}
	s.DecodeBusy, s.FilterBusy = j.busyAhead()
	if time.Since(j.started) > settled {
		s.Slowest = j.slowest(s)
	}
	return s
}

// explain replaces the temporary name in an error by the real one.
func (j *job) explain(err error) error {
	err = j.o.ofSandbox(err)
	if err != nil && strings.HasSuffix(err.Error(), av.Memory.String()) && !errors.Is(err, gpu.ErrDevice) {
		err = av.OfShortage(err, err)
	}
	if j.target == nil {
		return err
	}
	return j.target.Explain(err)
}

func (j *job) result() terminal.Result {
	res := terminal.Result{Taken: j.taken()}
	res.Elapsed, res.Frame, res.Interrupted = time.Since(j.started).Seconds(), j.frameCount(), j.stopped()
	if st, err := os.Stat(decode.FileOf(j.o.Input)); err == nil && st.Mode().IsRegular() {
		res.InSize = st.Size()
	}
	res.Noise, res.Repaired = j.noise.summary(), j.repairs()
	if j.in != nil {
		res.Damage = j.in.Damage().Counts()
		for name, n := range j.damage {
			res.Damage[name] += n
		}
	}
	if j.out != nil {
		res.Size, res.OutTime = j.out.Bytes(), j.out.Time().Seconds()
		res.Quality = j.quality()
		if s := j.snapshot(); s.EncodeBusy > 0 {
			res.Stages, res.Slowest = new(s.StageTimes()), j.slowest(s)
		}
		maps.Copy(res.Damage, j.out.Damage())
	}
	return res
}

// keep checks the finished file and names it. A file that fails its check is kept under another
// name.
func (j *job) keep(ctx context.Context, res terminal.Result) (terminal.Result, error) {
	if n := j.in.Copied + j.in.Converted; n > 0 {
		j.ui.Debugf("%d frames were copied and %d converted before the filter", j.in.Copied, j.in.Converted)
	}
	extras := append(j.in.Extras(), j.extras...)
	if name := j.lost.Load(); name != nil {
		extras = append(extras, *name)
	}
	if res.NotKept = j.out.NotKept(extras); len(res.NotKept) > 0 && j.o.Part == nil {
		j.ui.Warn("not kept: " + strings.Join(res.NotKept, ", "))
	}
	var faults []error
	if j.target != nil && !j.target.Direct() && formats.Of(j.o.Format).Video() {
		began := time.Now()
		err := j.out.Verify()
		j.ui.Debugf("the check of the output took %s", milliseconds(time.Since(began)))
		if err != nil && (j.o.Part != nil || j.o.Join != "") {
			return res, rejectedOutput{err}
		}
		if err != nil {
			faults = append(faults, err)
		}
		res.Verified, res.Unverified = err == nil, err != nil
		if err == nil && j.o.Part == nil {
			faults = append(faults, j.compare(&res)...)
		}
	}
	if j.target != nil {
		fault, err := j.name(&res)
		if err != nil {
			return res, err
		}
		if fault != nil {
			faults = append(faults, fault)
		}
	}
	if err := j.writeGrainTable(res); err != nil {
		faults = append(faults, err)
	}
	res.Kept = !res.Interrupted || res.Output != ""
	switch {
	case res.Unverified && len(j.in.Damage().Counts()) == 0: // what the output lacks is not the input's fault
	case res.Unverified:
		faults = append(faults, hint.Says(j.o.Input+" is damaged", "", encode.ErrDamaged))
	case len(res.Damage) > 0:
		faults = append(faults, hint.Says(j.o.Input+" is damaged; the output holds what could be read, less what warnings name", "", encode.ErrDamaged))
	}
	if j.o.Stats && !res.Interrupted {
		j.measure(ctx, &res)
	}
	res.Elapsed = time.Since(j.started).Seconds()
	return res, j.explainAll(faults)
}

// name gives the output its name. An output that was interrupted or failed its check replaces no
// file. fault is the reason why the output has another name than the user gave.
func (j *job) name(res *terminal.Result) (fault, err error) {
	var as string
	switch {
	case res.Unverified:
		as, err = j.target.Keep("unverified")
	case res.Interrupted:
		as, err = j.target.Keep("interrupted")
	default:
		err = j.target.Commit()
		as = j.target.Final()
		if unnamed := err; errors.Is(unnamed, target.ErrUnnamed) {
			if as, err = j.target.Keep("finished"); err != nil {
				return nil, unnamed
			}
			fault = unnamed
		}
	}
	if err != nil {
		return nil, err
	}
	res.Output = contract.Name(as)
	switch {
	case as == j.o.Output:
	case filepath.Base(as) != filepath.Base(j.o.Output):
		res.Spared = contract.Name(j.o.Output)
	case fault == nil:
		fault = target.Refusal("", "the folder of %q was renamed or replaced meanwhile; the output is %s", j.o.Output, as)
	}
	if st, err := os.Stat(as); err == nil && st.Mode().IsRegular() {
		res.Size = st.Size()
	}
	return fault, nil
}

// explainAll joins errors on one line.
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

func (j *job) measure(ctx context.Context, res *terminal.Result) {
	o := j.o.decoding(nil)
	score, err := CompareVideos(ctx, Clip{j.o.Input, o}, Clip{string(res.Output), decode.Options{Threads: j.o.Threads, FieldOrder: o.FieldOrder}})
	if err != nil {
		j.ui.Warn("cannot measure PSNR and SSIM", "error", err)
		return
	}
	res.PSNR, res.SSIM = new(contract.Number(score.PSNR())), new(contract.Number(score.SSIM))
}
