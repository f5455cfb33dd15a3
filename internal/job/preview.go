package job

import (
	"context"
	"errors"
	"image"
	"io"
	"math"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/decode"
	"vidfilter/encode/video"
	"vidfilter/internal/av"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Preview shows a video at some times, as it is and as jobs would filter it.
type Preview struct {
	Frames  int64         // of the whole job; 0 if unknown
	Length  time.Duration // 0 if unknown
	Samples []PreviewSample
	Jobs    []PreviewJob // one for each job
}

// PreviewSample is a frame of a video. All its pictures have the size with which it is displayed.
type PreviewSample struct {
	At     time.Duration
	Why    string          // "darkest", "brightest", "most motion", or ""
	Noise  *contract.Noise // around the frame; nil if the first job does not measure it
	Before image.Image
	After  []image.Image // one for each job
}

// PreviewJob is what a job is expected to take, judged by the samples.
type PreviewJob struct {
	Time  time.Duration
	Bytes int64
}

// PreviewOf filters n frames of a video, chosen over its whole length, in several jobs on the same
// input. The frames are filtered together with their neighbours, as in the job.
func PreviewOf(ctx context.Context, jobs []*Options, n int, u *cli.UI) (*Preview, error) {
	b, tell, err := jobs[0].OpenBackend(u)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	tell()
	p := previewer{backend: b, pool: pipeline.NewPool(b.Input(), 1), ui: u, before: jobs[0].unfiltered(), jobs: jobs}
	defer p.pool.Close()
	moments, err := p.scan(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range append([]*Options{p.before}, jobs...) {
		if err := o.measureFields(ctx, p.pool, func(string) {}); err != nil {
			return nil, err
		}
		if err := o.measureNoise(ctx, p.pool, func(s string) { u.Warn(s) }); err != nil {
			return nil, err
		}
		if err := o.survey(ctx, p.pool, func(string) {}); err != nil {
			return nil, err
		}
	}
	p.costs = make([]cost, len(jobs))
	for i, m := range chosen(moments, n) {
		if err := p.sample(ctx, m, i%eachCoded == 0); err != nil {
			return nil, err
		}
	}
	for _, c := range p.costs {
		p.result.Jobs = append(p.result.Jobs, c.whole(&p.result, b))
	}
	return &p.result, nil
}

// unfiltered returns the job without the filters that change no size and no time.
func (o *Options) unfiltered() *Options {
	c := *o
	radius, _ := kernels.OptionNamed("radius")
	c.Filters = kernels.Selection{}
	c.Filters.Choose(radius.Filters()[0])
	_ = radius.Set(&c.Filters, 0.0)
	c.Filters.Follow(o.Filters, func(p kernels.Place) bool {
		return p.Frames() || p == kernels.PlaceBefore || p == kernels.PlaceDeinterlace || p == kernels.PlaceRate || p == kernels.PlaceAfter
	})
	c.NoiseFrom, c.Profile, c.Compare = nil, nil, ""
	return &c
}

// previewer makes a Preview.
type previewer struct {
	backend kernels.Backend
	pool    *pipeline.Pool
	ui      *cli.UI
	before  *Options
	jobs    []*Options
	costs   []cost // of the jobs
	result  Preview
}

// moment is a frame of the video, seen from afar.
type moment struct {
	at     time.Duration
	why    string
	look   [mapRows][mapColumns]float64 // mean brightness in places
	mean   float64
	motion float64 // difference from the next frame
}

const (
	mapColumns, mapRows = 16, 9
	fewFrames           = 300 // all frames of shorter videos are moments
	mostMoments         = 24  // of longer ones
)

// scan returns moments of the video in order of time.
func (p *previewer) scan(ctx context.Context) (all []moment, err error) {
	o := p.before.decoding(nil)
	o.VideoOnly = true
	all, err = p.moments(ctx, o, true)
	if err != nil || len(all) > 0 {
		return all, err
	}
	for i := range mostMoments {
		at := p.result.Length * time.Duration(2*i+1) / (2 * mostMoments)
		part := o
		part.Start, part.Duration, part.Frames = o.Start+at, 0, 2
		some, err := p.moments(ctx, part, false)
		if err != nil && !errors.Is(err, decode.ErrUnreadable) { // damage, or a wrong duration in the header
			return nil, err
		}
		for _, m := range some[:min(1, len(some))] {
			m.at = at
			all = append(all, m)
		}
	}
	if len(all) == 0 {
		return nil, decode.ErrUnreadable
	}
	return all, nil
}

// moments decodes some frames. If they are to be the whole video, it sets the length, and returns
// no moments of a long one.
func (p *previewer) moments(ctx context.Context, o decode.Options, whole bool) (all []moment, err error) {
	in, err := decode.Open(ctx, p.before.Input, p.pool, o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if whole {
		p.result.Frames, p.result.Length = in.Estimate()
		if p.result.Length > 0 && p.result.Frames > fewFrames {
			return nil, nil
		}
	}
	first, last := int64(0), time.Duration(0)
	for {
		f, err := in.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return all, err
		}
		if len(all) == 0 {
			first = f.PTS
		}
		m, err := momentOf(f)
		m.at = timeOf(f.PTS-first, f.Video.TimeBase)
		last = m.at + timeOf(f.Duration, f.Video.TimeBase)
		f.Release()
		if err != nil {
			return all, err
		}
		if n := len(all); n > 0 {
			all[n-1].motion = all[n-1].apart(m)
		}
		all = append(all, m)
	}
	if whole {
		p.result.Frames, p.result.Length = int64(len(all)), last
	}
	return all, nil
}

func momentOf(f *pipeline.Frame) (m moment, err error) {
	const fine = 4 // pictures are seen somewhat finer than places
	picture, err := av.Image(f, fine*mapColumns, fine*mapRows, 0)
	if err != nil {
		return m, err
	}
	for i := 0; i < len(picture.Pix); i += 4 {
		v := float64(picture.Pix[i]) + 2*float64(picture.Pix[i+1]) + float64(picture.Pix[i+2])
		x, y := i/4%(fine*mapColumns)/fine, i/4/(fine*mapColumns)/fine
		m.look[y][x] += v / (4 * fine * fine)
		m.mean += v / float64(len(picture.Pix))
	}
	return m, nil
}

// apart returns the mean difference of two moments, in 8-bit levels.
func (m moment) apart(o moment) (d float64) {
	for y, row := range m.look {
		for x, v := range row {
			d += math.Abs(v-o.look[y][x]) / (mapColumns * mapRows)
		}
	}
	return d
}

// chosen returns up to n moments in order of time: the darkest, the brightest and the one with most
// motion, if they stand out, and those that are least like the others.
func chosen(all []moment, n int) []moment {
	take := func(why string, score func(m moment) float64) {
		k, mean := 0, 0.0
		for i, m := range all {
			mean += score(m) / float64(len(all))
			if score(m) > score(all[k]) {
				k = i
			}
		}
		const clear = 8 // levels
		if all[k].why == "" && (why == other || score(all[k]) > mean+clear) {
			all[k].why = why
		}
	}
	some := func() []moment {
		return slices.DeleteFunc(slices.Clone(all), func(m moment) bool { return m.why == "" })
	}
	if n >= 4 && len(all) > n {
		take("darkest", func(m moment) float64 { return -m.mean })
		take("brightest", func(m moment) float64 { return m.mean })
		take("most motion", func(m moment) float64 { return m.motion })
	}
	length := float64(all[len(all)-1].at + 1)
	for len(some()) < min(n, len(all)) {
		taken := some()
		take(other, func(m moment) float64 {
			if m.why != "" {
				return -2
			}
			if len(taken) == 0 {
				return -math.Abs(float64(m.at)/length - 0.5)
			}
			least := math.Inf(1)
			for _, o := range taken {
				least = min(least, m.apart(o)/32+math.Abs(float64(m.at-o.at))/length)
			}
			return least
		})
	}
	return some()
}

// other is the reason of a moment that is unlike the others.
const other = "other"

// lead is the number of frames after which a scene's noise is known.
const lead = 8

// eachCoded is the distance between samples that are coded, to estimate the costs.
const eachCoded = 3

// sample filters the frame of a moment.
func (p *previewer) sample(ctx context.Context, m moment, coded bool) error {
	s := PreviewSample{At: m.at, Why: m.why}
	if s.Why == other {
		s.Why = ""
	}
	before, _, _, err := p.run(ctx, p.before, m, false)
	if err != nil {
		return err
	}
	s.Before = before
	for i, o := range p.jobs {
		after, c, noise, err := p.run(ctx, o, m, coded)
		if err != nil {
			return err
		}
		if i == 0 {
			s.Noise = noise
		}
		s.After = append(s.After, after)
		if coded {
			p.costs[i] = p.costs[i].with(c)
		}
	}
	p.result.Samples = append(p.result.Samples, s)
	return nil
}

// run filters the frame of a moment in a job, and the frames around it. If it is to be coded, the
// job's costs are measured.
func (p *previewer) run(ctx context.Context, o *Options, m moment, coded bool) (picture image.Image, c cost, seen *contract.Noise, err error) {
	from := time.Duration(0)
	if rate := p.rate(); rate > 0 {
		from = max(0, m.at-time.Duration(float64(max(lead, o.window().Before))/rate*float64(time.Second)))
	}
	picture, c, seen, err = p.runFrom(ctx, o, m, from, coded)
	if err != nil && from > 0 && ctx.Err() == nil { // raw streams have no times to find
		return p.runFrom(ctx, o, m, 0, coded)
	}
	return picture, c, seen, err
}

// runFrom is run with the frames from a time on.
func (p *previewer) runFrom(
	ctx context.Context, o *Options, m moment, from time.Duration, coded bool,
) (picture image.Image, c cost, seen *contract.Noise, err error) {
	j := &job{o: o, ui: p.ui, backend: p.backend, frames: p.pool, noise: &noiseSeen{}, flicker: &flickerSeen{}, repaired: &repairs{}}
	defer func() {
		j.backend, j.frames = nil, nil // of the previewer
		j.close()
	}()
	after := o.window().After + 1
	d := o.decoding(nil)
	d.VideoOnly, d.Duration, d.Frames = true, 0, 0
	d.Start += from
	if j.in, err = decode.Open(ctx, o.Input, p.pool, d); err != nil {
		return nil, c, nil, err
	}
	j.inFlight = lead + after
	if err = j.foresee(ctx); err != nil {
		return nil, c, nil, err
	}
	f, err := j.filter()
	if err != nil {
		return nil, c, nil, err
	}
	src := &around{Source: j.in, target: m.at - from - early, after: after}
	src.pts.Store(math.MaxInt64)
	to := &taker{at: src}
	to.turn, to.aspect = j.in.Display()
	if coded {
		j.settleCodec()
		to.coder = j.trialCoder(to.cost.add)
		defer to.coder.Close()
	}
	if err = pipeline.Run(ctx, src, []pipeline.Filter{f}, to, pipeline.Options{Meters: &j.meters}); err != nil {
		return nil, c, nil, err
	}
	if to.picture == nil {
		return nil, c, nil, decode.ErrUnreadable
	}
	c = to.cost
	c.decode, c.filter = j.meters.Decode.Busy(), j.meters.Filter.Busy()
	return to.picture, c, j.noise.summary(), nil
}

// rate returns the frames a second of the video, 0 if unknown.
func (p *previewer) rate() float64 {
	if p.result.Length <= 0 {
		return 0
	}
	return float64(p.result.Frames) / p.result.Length.Seconds()
}

// around is a source that ends some frames behind a time.
type around struct {
	pipeline.Source
	target time.Duration // after the first frame
	after  int           // frames behind it
	frames int
	first  int64
	pts    atomic.Int64 // of the frame there, in nanoseconds; math.MaxInt64 before it is reached
}

func (a *around) Next(ctx context.Context) (*pipeline.Frame, error) {
	reached := a.pts.Load() != math.MaxInt64
	if reached && a.after == 0 {
		return nil, io.EOF
	}
	f, err := a.Source.Next(ctx)
	if err != nil {
		return nil, err
	}
	if a.frames == 0 {
		a.first = f.PTS
	}
	a.frames++
	switch base := f.Video.TimeBase; {
	case reached:
		a.after--
	case timeOf(f.PTS-a.first, base) >= a.target:
		a.pts.Store(int64(timeOf(f.PTS, base)))
	}
	return f, nil
}

func timeOf(pts int64, base pipeline.Ratio) time.Duration {
	return time.Duration(float64(pts) * base.Float64() * float64(time.Second))
}

// taker is a sink that keeps the picture of a source's frame, and may code all frames.
type taker struct {
	at     *around
	turn   int
	aspect float64
	coder  *video.Coder // nil: the frames are not coded

	picture image.Image
	cost    cost
}

const early = time.Millisecond // times are rounded

func (t *taker) Put(ctx context.Context, f *pipeline.Frame) (err error) {
	defer f.Release()
	t.cost.frames++
	if t.coder != nil {
		started := time.Now()
		err = t.coder.Put(ctx, f.Retain())
		t.cost.encode += time.Since(started)
	}
	if err != nil || t.picture != nil || int64(timeOf(f.PTS, f.Video.TimeBase)+early) < t.at.pts.Load() {
		return err
	}
	width, height := pipeline.Display{Aspect: t.aspect}.Size(f.Width, f.Height)
	t.picture, err = av.Image(f, width, height, t.turn)
	return err
}

func (t *taker) Finish(ctx context.Context) error {
	if t.coder == nil {
		return nil
	}
	started := time.Now()
	err := t.coder.Finish(ctx)
	t.cost.encode += time.Since(started)
	return err
}

// cost is what a job has spent on frames.
type cost struct {
	frames                 int
	key, other             coded
	decode, filter, encode time.Duration
}

// coded is what an encoder made of frames.
type coded struct {
	packets int
	bytes   int64
}

func (c coded) with(o coded) coded { return coded{c.packets + o.packets, c.bytes + o.bytes} }

func (c coded) mean() float64 { return float64(c.bytes) / float64(max(1, c.packets)) }

// add counts a packet.
func (c *cost) add(p *astiav.Packet) error {
	to := &c.other
	if p.Flags().Has(astiav.PacketFlagKey) {
		to = &c.key
	}
	*to = to.with(coded{1, int64(p.Size())})
	return nil
}

func (c cost) with(o cost) cost {
	return cost{c.frames + o.frames, c.key.with(o.key), c.other.with(o.other), c.decode + o.decode, c.filter + o.filter, c.encode + o.encode}
}

// keyDistance is the usual distance between keyframes.
const keyDistance = 250

// whole estimates the cost of a whole job. On the CPU the stages share the cores.
func (c cost) whole(p *Preview, b kernels.Backend) (j PreviewJob) {
	if c.frames == 0 || p.Frames == 0 {
		return j
	}
	frame := c.decode + c.filter + c.encode
	if _, onGPU := b.(holder); onGPU {
		frame = max(c.filter, c.decode+c.encode)
	}
	j.Time = time.Duration(float64(frame) / float64(c.frames) * float64(p.Frames))
	if c.other.packets == 0 { // of an encoder with keyframes alone
		j.Bytes = int64(c.key.mean() * float64(p.Frames))
		return j
	}
	keys := 1 + float64(p.Frames)/keyDistance
	j.Bytes = int64(c.key.mean()*keys + c.other.mean()*max(0, float64(p.Frames)-keys))
	return j
}
