package job

import (
	"cmp"
	"context"
	"errors"
	"image"
	"io"
	"math"
	"reflect"
	"slices"
	"time"

	"vidfilter/decode"
	"vidfilter/denoise/noise"
	"vidfilter/encode/video"
	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Preview shows a video at some times, as it is and as jobs would filter it.
type Preview struct {
	Frames  int64         // of the whole job; 0 if unknown
	Length  time.Duration // 0 if unknown
	HDR     string        // "PQ" or "HLG" if pictures were mapped to SDR
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

// PreviewOf filters n frames of a video, chosen over its whole length, in several jobs. The frames
// are filtered together with their neighbours, as in the job. before is the video without the
// filter, see Unfiltered. A job on another input shows a result that is there already.
func PreviewOf(ctx context.Context, before *Options, jobs []*Options, n int, u *terminal.UI) (*Preview, error) {
	b, tell, err := before.OpenBackend(u)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	tell()
	p := previewer{backend: b, pool: pipeline.NewPool(b.Input(), 1), ui: u, before: before, jobs: jobs}
	defer p.pool.Close()
	moments, err := p.scan(ctx, n)
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
	defer p.closePassages()
	some := chosen(moments, n)
	for i, m := range some {
		if err := p.sample(ctx, m, i, len(some)); err != nil {
			return nil, err
		}
	}
	for _, c := range p.costs {
		p.result.Jobs = append(p.result.Jobs, c.whole(&p.result, b))
	}
	return &p.result, nil
}

// Unfiltered returns the job without the filters that change no size and no time.
func (o *Options) Unfiltered() *Options {
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
	ui      *terminal.UI
	before  *Options
	jobs    []*Options
	costs   []cost     // of the jobs
	open    []*passage // at the latest sample
	result  Preview
}

// moment is a frame of the video, seen from afar.
type moment struct {
	at     time.Duration
	from   time.Duration // if keyed, a time whose key frame leads to the frame
	keyed  bool          // the frame is soon after a key frame
	why    string
	look   [mapRows][mapColumns]float64 // mean brightness in places
	mean   float64
	motion float64 // difference from the next frame
}

const (
	mapColumns, mapRows = 16, 9
	briefFrames         = 200  // all frames of shorter videos are moments
	fewFrames           = 1000 // and of these, if they have few key frames: seeks would decode as many
	mostMoments         = 24   // of longer ones
)

// scan returns moments of the video in order of time. A frame soon after a key frame needs little
// decoding, so it returns only such frames if there are n of them.
func (p *previewer) scan(ctx context.Context, n int) (all []moment, err error) {
	o := p.before.decoding(nil)
	o.VideoOnly = true
	if all, err = p.moments(ctx, o, briefFrames); err != nil || len(all) > 0 {
		return all, err
	}
	o.Sketch = true
	if all, err = p.seekMoments(ctx, o, true); err != nil || len(all) >= n {
		return all, err
	}
	if all, err = p.moments(ctx, o, fewFrames); err != nil || len(all) > 0 {
		return all, err
	}
	if all, err = p.seekMoments(ctx, o, false); err == nil && len(all) == 0 {
		err = decode.ErrUnreadable
	}
	return all, err
}

// seekMoments returns moments spread over the video, keyed or not.
func (p *previewer) seekMoments(ctx context.Context, o decode.Options, keyed bool) (all []moment, err error) {
	for i := range mostMoments {
		at := p.result.Length * time.Duration(2*i+1) / (2 * mostMoments)
		part := o
		part.Start, part.Duration, part.Frames, part.FromKey = o.Start+at, 0, 2, keyed
		some, err := p.moments(ctx, part, 0)
		if err != nil && !errors.Is(err, decode.ErrUnreadable) { // damage, or a wrong duration in the header
			return nil, err
		}
		for _, m := range some[:min(1, len(some))] {
			key := at + m.at
			if m.at, m.from, m.keyed = at, at, keyed; keyed {
				m.at = key + p.span(p.reach().Before)
			}
			if (!keyed || key > -early && m.at < p.result.Length) && (len(all) == 0 || m.at > all[len(all)-1].at) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// moments decodes some frames, and sets the video's length if all were decoded.
func (p *previewer) moments(ctx context.Context, o decode.Options, most int64) (all []moment, err error) {
	whole := most > 0
	in, err := decode.Open(ctx, p.before.Input, p.pool, o)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	if whole {
		p.result.Frames, p.result.Length = in.Estimate()
		if p.result.Length > 0 && p.result.Frames > most {
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
		if len(all) == 0 && !o.FromKey {
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
	if whole && !o.Sketch {
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

// sample filters the frame of a moment, the i-th of n.
func (p *previewer) sample(ctx context.Context, m moment, i, n int) error {
	s := PreviewSample{At: m.at, Why: m.why}
	if s.Why == other {
		s.Why = ""
	}
	if m.keyed || p.result.Frames > fewFrames { // else one decoder goes through the video
		p.closePassages()
	}
	var h measuredNoise
	for k, o := range append([]*Options{p.before}, p.jobs...) {
		from, err := p.passage(ctx, o, m)
		if err != nil {
			return err
		}
		to, as := &taker{at: from.at()}, h.known(o)
		noise, err := p.run(ctx, as, from, from.around(as), to)
		if err != nil {
			return err
		}
		if k == 0 {
			s.Before = to.picture
			continue
		}
		if k == 1 {
			s.Noise = noise.summary()
		}
		s.After = append(s.After, to.picture)
		h.keep(as, noise)
		if o.Input == p.before.Input {
			if err := p.measureCost(ctx, h.known(o), from, &p.costs[k-1], i, n); err != nil {
				return err
			}
		}
	}
	p.result.Samples = append(p.result.Samples, s)
	return nil
}

// measuredNoise is the noise that a job measured in the frame of a moment.
type measuredNoise struct {
	by    *Options // nil: none
	model noise.Model
}

// keep remembers the noise that a job measured, if the result depends on no other measurement.
func (h *measuredNoise) keep(o *Options, n *noiseSeen) {
	if _, alone, measures := o.measuring(); measures && alone && n.frames == 1 && !n.steady {
		h.by, h.model = o, n.latest
	}
}

// known returns a job that has the same result without measuring the noise, or the job.
func (h *measuredNoise) known(o *Options) *Options {
	before, alone, measures := o.measuring()
	if h.by == nil || !measures || !alone {
		return o
	}
	if like, _, _ := h.by.measuring(); !reflect.DeepEqual(before, like) {
		return o
	}
	own := *o
	own.know(&h.model)
	return &own
}

// measuring returns the filters before the denoiser of a job that measures the noise of each frame,
// and whether the denoiser's results are read one at a time.
func (o *Options) measuring() (before []kernels.Stage, alone, measures bool) {
	for i, s := range o.filters() {
		if d, is := s.(kernels.Denoise); is && d.Noise == 0 && d.Known == nil {
			reads := func(s kernels.Stage) bool { return s.Window() != pipeline.Window{} }
			return o.filters()[:i], !slices.ContainsFunc(o.filters()[i+1:], reads), true
		}
	}
	return nil, false, false
}

// passage is the frame of a moment with the frames around it, decoded once for all jobs that read
// the same frames.
type passage struct {
	of     *Options
	in     *decode.Input
	frames []*pipeline.Frame
	start  time.Duration // in the video, of the input's time zero
	zero   int64         // PTS
	ended  bool
	target int           // index of the frame of the moment
	moment time.Duration // its time
	decode time.Duration // of all frames so far
	read   int
}

func (p *previewer) closePassages() {
	for _, s := range p.open {
		releaseAll(s.frames)
		s.in.Close()
	}
	p.open = nil
}

// at returns the time of the frame of the moment.
func (s *passage) at() time.Duration {
	return timeOf(s.frames[s.target].PTS, s.frames[s.target].Video.TimeBase)
}

// around returns the frames that the result of a job at the moment depends on.
func (s *passage) around(o *Options) []*pipeline.Frame {
	if o.mayRetime() {
		return s.frames
	}
	w := o.window()
	from := max(0, s.target-w.Before)
	from -= from % max(1, w.Step)
	return s.frames[from:min(s.target+w.After+1, len(s.frames))]
}

// readsLike reports whether two jobs read the same frames.
func (o *Options) readsLike(p *Options) bool {
	reads := func(o *Options) (d decode.Options, bits [2]int) {
		d = o.decoding(nil)
		d.Layouts, d.Depth, d.FilterMemory = nil, nil, 0
		return d, [2]int{o.depth(), o.leastDepth()}
	}
	d, bits := reads(o)
	e, others := reads(p)
	return o.Input == p.Input && reflect.DeepEqual(d, e) && bits == others && !slices.ContainsFunc(pipeline.Layouts(), func(l pipeline.Layout) bool { return o.takes(l) != p.takes(l) })
}

// passage returns the frames around a moment that the jobs need. Only the frame of the moment has a
// result.
func (p *previewer) passage(ctx context.Context, o *Options, m moment) (s *passage, err error) {
	if i := slices.IndexFunc(p.open, func(s *passage) bool { return o.readsLike(s.of) }); i >= 0 {
		s = p.open[i]
	} else {
		from := m.from
		if rate := p.rate(); rate > 0 && !(m.keyed && o.Input == p.before.Input) {
			from, m.keyed = max(0, m.at-p.span(p.reach().Before)), false
		}
		s, err = p.openPassage(ctx, o, from, m.keyed)
		if err != nil && from > 0 && ctx.Err() == nil { // raw streams have no times to find
			s, err = p.openPassage(ctx, o, 0, false)
		}
		if err != nil {
			return nil, err
		}
		p.open = append(p.open, s)
	}
	if s.moment == m.at {
		return s, nil
	}
	if err := s.advance(ctx, m, p.reach()); err != nil {
		return nil, err
	}
	retimed := slices.ContainsFunc(p.jobs, (*Options).mayRetime)
	for i, f := range s.frames {
		f.Context = i != s.target && !retimed
	}
	return s, nil
}

// openPassage opens a job's input at a time, or at the key frame to which it leads.
func (p *previewer) openPassage(ctx context.Context, o *Options, from time.Duration, keyed bool) (s *passage, err error) {
	d := o.decoding(nil)
	d.VideoOnly, d.Duration, d.Frames, d.FromKey = true, 0, 0, keyed
	d.Start += from
	s = &passage{of: o, start: from, moment: -1}
	if s.in, err = decode.Open(ctx, o.Input, p.pool, d); err != nil {
		return nil, err
	}
	f, err := s.in.Next(ctx)
	if err != nil {
		s.in.Close()
		return nil, cmp.Or(ctx.Err(), decode.ErrUnreadable)
	}
	if !keyed {
		s.zero = f.PTS
	}
	s.frames = append(s.frames, f)
	return s, nil
}

// advance decodes up to the frames around a moment, which comes behind all moments before.
func (s *passage) advance(ctx context.Context, m moment, reach pipeline.Window) error {
	there := func(f *pipeline.Frame) bool {
		return s.start+timeOf(f.PTS-s.zero, f.Video.TimeBase) >= m.at-early
	}
	s.moment, s.target = m.at, slices.IndexFunc(s.frames, there)
	for !s.ended && (s.target < 0 || len(s.frames) <= s.target+reach.After) {
		began := time.Now()
		f, err := s.in.Next(ctx)
		if err != nil && err != io.EOF {
			return err
		}
		if s.ended = err == io.EOF; s.ended {
			break
		}
		s.decode, s.read = s.decode+time.Since(began), s.read+1
		if s.frames = append(s.frames, f); s.target < 0 && there(f) {
			s.target = len(s.frames) - 1
		} else if s.target < 0 && len(s.frames) > reach.Before {
			s.drop()
		}
	}
	switch {
	case s.target < 0 && m.keyed && len(s.frames) > 0: // the video is a little shorter than expected
		s.target = len(s.frames) - 1
	case s.target < 0:
		return decode.ErrUnreadable
	}
	for ; s.target > reach.Before; s.target-- {
		s.drop()
	}
	return nil
}

// drop releases the first frame.
func (s *passage) drop() {
	s.frames[0].Release()
	s.frames = s.frames[1:]
}

// reach returns how many frames before and after a sample the jobs need.
func (p *previewer) reach() pipeline.Window {
	w := pipeline.Window{Before: lead}
	for _, o := range p.jobs {
		w.Before, w.After = max(w.Before, o.window().Before), max(w.After, o.window().After)
	}
	w.After++ // of filters that change times
	return w
}

// mayRetime reports whether results may have other times than frames of the input.
func (o *Options) mayRetime() bool {
	return slices.ContainsFunc(o.filters(), func(s kernels.Stage) bool {
		return slices.Contains([]kernels.Place{kernels.PlaceBefore, kernels.PlaceDeinterlace, kernels.PlaceRate, kernels.PlaceAfter}, s.Filter().Place)
	})
}

// run filters frames of a passage in a job.
func (p *previewer) run(ctx context.Context, o *Options, from *passage, frames []*pipeline.Frame, to *taker) (*noiseSeen, error) {
	j := &job{o: o, ui: p.ui, backend: p.backend, frames: p.pool, in: from.in, reported: &reported{}}
	defer func() {
		j.backend, j.frames, j.in = nil, nil, nil // of the previewer
		j.close()
	}()
	j.inFlight = len(frames)
	if err := j.foresee(ctx); err != nil {
		return nil, err
	}
	f, err := j.filter()
	if err != nil {
		return nil, err
	}
	to.turn, to.aspect = j.in.Display()
	if to.codes {
		j.settleCodec()
		to.coder = j.trialCoder(to.cost.add)
		defer to.coder.Close()
	}
	if err = pipeline.Run(ctx, &replay{frames}, []pipeline.Filter{f}, to, pipeline.Options{Meters: &j.meters}); err != nil {
		return nil, err
	}
	if to.picture == nil && !to.codes {
		return nil, decode.ErrUnreadable
	}
	p.result.HDR = cmp.Or(p.result.HDR, to.hdr)
	to.cost.filter = j.meters.Filter.Busy()
	return &j.noise, nil
}

// replay is a source of frames, which it borrows.
type replay struct{ frames []*pipeline.Frame }

func (r *replay) Next(context.Context) (*pipeline.Frame, error) {
	if len(r.frames) == 0 {
		return nil, io.EOF
	}
	f := r.frames[0]
	r.frames = r.frames[1:]
	return f.Retain(), nil
}

// span returns the time of some frames.
func (p *previewer) span(frames int) time.Duration {
	if p.rate() == 0 {
		return 0
	}
	return time.Duration(float64(frames) / p.rate() * float64(time.Second))
}

// rate returns the frames a second of the video, 0 if unknown.
func (p *previewer) rate() float64 {
	if p.result.Length <= 0 {
		return 0
	}
	return float64(p.result.Frames) / p.result.Length.Seconds()
}

func timeOf(pts int64, base pipeline.Ratio) time.Duration {
	return time.Duration(float64(pts) * base.Float64() * float64(time.Second))
}

// taker is a sink that keeps the picture of a time, and may code all frames.
type taker struct {
	at     time.Duration
	turn   int
	aspect float64
	codes  bool         // frames are coded to measure the costs, and no picture is kept
	coder  *video.Coder // nil: the frames are not coded

	picture image.Image
	hdr     string
	cost    cost
}

const early = time.Millisecond // times are rounded

func (t *taker) Put(ctx context.Context, f *pipeline.Frame) (err error) {
	defer f.Release()
	if t.coder != nil {
		started := time.Now()
		err = t.coder.Put(ctx, f.Retain())
		t.cost.encode += time.Since(started)
	}
	if err != nil || t.codes || t.picture != nil || timeOf(f.PTS, f.Video.TimeBase)+early < t.at {
		return err
	}
	width, height := pipeline.Display{Aspect: t.aspect}.Size(f.Width, f.Height)
	t.hdr = av.HDR(f)
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
