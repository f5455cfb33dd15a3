package quality

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"time"

	"vidfilter/decode"
	"vidfilter/denoise"
	"vidfilter/pipeline"
)

// Footage is a video that was judged as it is, by frames that the filters did not see.
type Footage struct {
	Clip    string     `json:"clip"`
	Format  string     `json:"format"`
	Targets int        `json:"targets"` // frames that were judged
	Still   float64    `json:"still"`   // share of the picture that does not move: the errors are of it
	Equal   float64    `json:"equal"`   // share that repeats the frame before
	Noise   [2]float64 `json:"noise"`   // sigma of luma and chroma in the still part, by the frames held out
	Spread  [2]float64 `json:"spread"`  // the standard error of the errors
	Meter   [2]float64 `json:"meter"`   // sigma that the denoiser measured, the mean of the targets
	Detail  float64    `json:"detail"`  // the standard error of the texture kept
	Problem string     `json:"problem"` // why the errors are meaningless, or ""
	Results []Held     `json:"results"`
}

// Held are the measures of one filter on a video.
type Held struct {
	Method    string     `json:"method"`
	Strengths [2]string  `json:"strengths"` // with the least error of luma, and of chroma
	Error     [2]float64 `json:"error"`     // mean square error in the still part, of luma and chroma, in 8-bit levels
	Kept      float64    `json:"kept"`      // share of the texture that is kept, anywhere in the picture
	Removed   float64    `json:"removed"`   // RMS of the part removed from luma
	MS        float64    `json:"ms"`        // the processor's time for a frame; 0: not measured
}

const (
	shortClip  = 64      // frames of a video that is read as a whole, and the most of one without a length
	stretchLen = 27      // frames of each of the stretches of a longer one
	budget     = 1 << 30 // bytes of the frames of a video in memory, except one stretch

	mostStretches = 4
	apart         = 6       // frames from a target to the next, at least
	mostTargets   = 5       // targets of a stretch
	evenPace      = 0.5     // of the logarithm of the ratio of two steps
	large         = 4 << 20 // samples of luma
	ends          = 3       // frames before the first target, and after the one that follows the last held out

	leastStill = 0.03 // share of the picture that makes a figure
	leastAreas = 12   // the same for areas
	worthIt    = 0.3  // an error in 8-bit levels² below it is due to rounding
	unlike     = 1.6  // times the noise of t+1, or this part of it, is no noise of t
	leastSure  = 0.33 // the standard error of the error may be so much of what there is untouched
	bareError  = 0.05 // or so much, in 8-bit levels
)

// targetFrame is a frame whose filtered result is measured.
type targetFrame struct {
	at      int       // its number among the frames that filters see
	triples []*triple // of the frame, or of its fields
}

// stretch is a run of frames without those held out.
type stretch struct {
	frames  []*pipeline.Frame
	targets []targetFrame
}

// targets returns the frames of a stretch to measure.
func targets(all []*pipeline.Frame) (at []int) {
	room := len(all) - 2*ends - 2 // from the first place to the last
	if room < 0 {
		return nil
	}
	count := min(max(room/apart, 1), mostTargets)
	if all[0].Width*all[0].Height > large {
		count = 1 // the rest would take much memory, and there are areas enough
	}
	for i := range count {
		t := ends + room*(2*i+1)/(2*count)
		if room >= 2*count && pace(all, t) > evenPace { // a repeated picture, as of a telecine
			t = slices.MinFunc([]int{t, t - 1, t + 1}, func(a, b int) int { return cmp.Compare(pace(all, a), pace(all, b)) })
		}
		at = append(at, t)
	}
	return at
}

// pace is how unlike the steps from frame t to t+1 and from there to t+2 are, from 0.
func pace(all []*pipeline.Frame, t int) float64 {
	var steps [2]float64
	for i := range steps {
		a, b := lumaOf(all[t+i]), lumaOf(all[t+i+1])
		if a.w != b.w || a.h != b.h {
			return math.Inf(1)
		}
		for k := 0; k < len(a.v); k += 7 {
			steps[i] += math.Abs(float64(a.v[k] - b.v[k]))
		}
	}
	return math.Abs(math.Log((steps[0] + 1) / (steps[1] + 1)))
}

// newStretch holds out the frame after each target.
func newStretch(ctx context.Context, all []*pipeline.Frame) (s stretch, err error) {
	at := targets(all)
	s.targets = make([]targetFrame, len(at))
	err = parallel(ctx, len(at), func(i int) error {
		t := at[i]
		s.targets[i] = targetFrame{at: t - i} // i frames before it are held out
		views := [3][]view{viewsOf(all[t]), viewsOf(all[t+1]), viewsOf(all[t+2])}
		for k := range views[0] {
			if len(views[1]) != len(views[0]) || len(views[2]) != len(views[0]) || all[t+1].Format != all[t].Format || all[t+2].Format != all[t].Format {
				return nil // the video changes here
			}
			s.targets[i].triples = append(s.targets[i].triples, newTriple(views[0][k], views[1][k], views[2][k]))
		}
		return nil
	})
	held := map[int]bool{}
	for _, t := range at {
		held[t+1] = true
	}
	for i, f := range all {
		if !held[i] {
			s.frames = append(s.frames, f)
		}
	}
	return s, err
}

// footage is a video at work.
type footage struct {
	*Footage
	stretches []stretch
	looks     map[string]*pipeline.Frame // results for the middle target
	seen      func(*pipeline.Frame)      // of each result for a target, or nil
}

// readFootage reads a short video as a whole, and stretches of a longer one.
func readFootage(ctx context.Context, name string) (*footage, error) {
	f := &footage{Footage: &Footage{Clip: filepath.Base(name)}, looks: map[string]*pipeline.Frame{}}
	add := func(most int, o decode.Options) (has extent, err error) {
		o.Layouts = denoise.Takes
		frames, has, err := read(ctx, name, most, o)
		if err != nil || len(frames) == 0 {
			return has, err
		}
		for i := range frames {
			frames[i] = inPlanes(frames[i])
		}
		f.Format = frames[0].Format.String()
		s, err := newStretch(ctx, frames)
		f.stretches = append(f.stretches, s)
		f.Targets += len(s.targets)
		return has, err
	}
	first, has, err := read(ctx, name, 1, decode.Options{Layouts: denoise.Takes})
	if err != nil {
		return nil, err
	}
	most := mostStretches * stretchLen // frames in memory
	if len(first) > 0 {
		_, _, size := first[0].PlanLayout(pipeline.PitchAlign)
		most = min(most, budget/size)
	}
	if has.frames <= shortClip || has.length == 0 || name == "-" {
		if _, err := add(min(max(most, stretchLen), shortClip), decode.Options{}); err != nil {
			return nil, err
		}
	} else {
		stretches := max(most/stretchLen, 1)
		for i := range stretches {
			middle := float64(2*i+1) / float64(2*stretches)
			half := stretchLen / 2 / float64(has.frames)
			start := time.Duration((middle - half) * float64(has.length))
			if _, err := add(stretchLen, decode.Options{Start: start}); err != nil {
				return nil, err
			}
		}
	}
	if f.Targets == 0 {
		return nil, fmt.Errorf("%s: %w", name, ErrShort)
	}
	return f, nil
}

// ErrShort is the error of a video with too few frames to hold one out.
var ErrShort = fmt.Errorf("the video has fewer than %d frames; --truth compares it with a clean one", 2*ends+2)

// inPlanes returns RGBA as planes of G, B and R, and other frames as they are.
func inPlanes(f *pipeline.Frame) *pipeline.Frame {
	if f.Layout != pipeline.RGBA {
		return f
	}
	format := f.Format
	format.Layout = pipeline.GBRP
	out := pipeline.Blank(format)
	out.PTS, out.Duration, out.Quantiser = f.PTS, f.Duration, f.Quantiser
	out.Interlaced, out.TopFieldFirst = f.Interlaced, f.TopFieldFirst
	for y := range f.Height {
		in := f.Row(0, y)
		for x := range f.Width {
			out.Row(0, y)[x], out.Row(1, y)[x], out.Row(2, y)[x] = in[4*x+1], in[4*x+2], in[4*x]
		}
	}
	return out
}

// measure adds the measures of a result for a target.
func (f *footage) measure(s *targetFrame, sums *heldSums, result *pipeline.Frame) {
	if f.seen != nil {
		f.seen(result)
	}
	for i, v := range viewsOf(result) {
		if i < len(s.triples) {
			sums.add(s.triples[i].measure(v))
		}
	}
}

// summed returns the measures of a method: at the strength that is best in luma, and in chroma.
func summed(method string, strengths [2]string, luma, chroma heldSums, t time.Duration, frames int) Held {
	return Held{
		Method: method, Strengths: strengths, Error: [2]float64{luma.planes[0].left(), chroma.planes[1].left()},
		Kept:    luma.kept / math.Max(luma.texture, 1e-9),
		Removed: math.Sqrt(luma.removed / math.Max(luma.samples, 1)),
		MS:      t.Seconds() * 1000 / float64(max(frames, 1)),
	}
}

// middle is the stretch and the target that pictures show.
func (f *footage) middle() (*stretch, *targetFrame) {
	s := &f.stretches[len(f.stretches)/2]
	return s, &s.targets[len(s.targets)/2]
}

// untouched measures the video itself, and reports whether the measure holds.
func (f *footage) untouched() {
	var sums heldSums
	areas, equal := 0, 0
	for _, s := range f.stretches {
		for i := range s.targets {
			f.measure(&s.targets[i], &sums, s.frames[s.targets[i].at])
			for _, a := range s.targets[i].triples {
				areas, equal = areas+len(a.areas), equal+a.equal
			}
		}
	}
	h := summed(Untouched, [2]string{}, sums, sums, 0, 1)
	f.Results = append(f.Results, h)
	f.Still, f.Equal = float64(sums.areas)/float64(max(areas, 1)), float64(equal)/float64(max(areas, 1))
	for i, p := range sums.planes {
		f.Noise[i], f.Spread[i] = math.Sqrt(math.Max(p.noise(), 0)), p.spread()
	}
	f.Detail = math.Sqrt(sums.variance) / math.Max(sums.texture, 1e-9)
	noise := math.Max(sums.planes[0].noise(), 1e-3)
	switch {
	case f.Equal > 0.5:
		f.Problem = fmt.Sprintf("%.0f %% of the picture repeats the frame before: it is still, or copied by its codec", 100*f.Equal)
	case sums.areas > 0 && f.Still >= leastStill && sums.areas < leastAreas:
		f.Problem = "the part that is still is too small"
	case f.Still < leastStill || sums.areas < leastAreas:
		f.Problem = fmt.Sprintf("only %.0f %% of the picture is still", 100*f.Still)
	case h.Error[0] > worthIt && math.Max(h.Error[0]/noise, noise/h.Error[0]) > unlike:
		f.Problem = "what changes there is more than noise"
	case f.Spread[0] > math.Max(leastSure*h.Error[0], bareError):
		f.Problem = "the still parts differ too much from each other"
	}
	s, m := f.middle()
	f.looks[Untouched] = s.frames[m.at]
}

// outcome is the result of a method for a video.
type outcome struct {
	Held
	look  *pipeline.Frame // the result for the middle target
	meter [2]float64      // the noise as the denoiser measured it
}

// own runs a tier of the denoiser over all that filters may see.
func (f *footage) own(ctx context.Context, name string, t denoise.Tier) (o outcome, err error) {
	var sums heldSums
	var spent time.Duration
	frames := 0
	for i := range f.stretches {
		s := &f.stretches[i]
		wanted := map[int]bool{}
		for _, m := range s.targets {
			wanted[m.at] = true
		}
		r, err := denoisedOf(ctx, s.frames, settings(t, false), wanted)
		if err != nil {
			return o, err
		}
		spent, frames = spent+r.time, frames+len(s.frames)
		for k := range s.targets {
			at := s.targets[k].at
			f.measure(&s.targets[k], &sums, r.frames[at])
			sigma := r.models[at].Sigma
			o.meter[0] += sigma[0] / float64(f.Targets)
			o.meter[1] += (sigma[1] + sigma[2]) / 2 / float64(f.Targets)
			if _, m := f.middle(); m == &s.targets[k] {
				o.look = r.frames[at]
			}
		}
	}
	o.Held = summed(name, [2]string{}, sums, sums, spent, frames)
	return o, nil
}

// unboundedReach is the number of frames before a target that a filter without a bound gets. Older
// frames have no weight left.
const unboundedReach = 24

// candidate is a rival at one strength.
type candidate struct {
	sums   heldSums
	look   *pipeline.Frame
	spent  time.Duration
	frames int
}

// rival measures a method at its best strengths, one for luma and one for chroma.
func (f *footage) rival(ctx context.Context, m method) (o outcome, err error) {
	trials := map[int]*candidate{}
	planes := [2]int{0, 1}
	if f.gray() {
		planes[1] = 0
	}
	var best [2]int
	for c, plane := range planes {
		best[c], err = hillClimb(m.start(math.Max(f.Noise[plane], 0.3)), len(m.strengths), func(i int) (float64, error) {
			if trials[i] == nil {
				t, err := f.try(ctx, m, m.strengths[i])
				if err != nil {
					return 0, err
				}
				trials[i] = t
			}
			return -trials[i].sums.planes[plane].error, nil
		})
		if err != nil {
			return o, err
		}
	}
	luma, chroma := trials[best[0]], trials[best[1]]
	strengths := [2]string{m.strengths[best[0]], m.strengths[best[1]]}
	o.Held, o.look = summed(m.name, strengths, luma.sums, chroma.sums, luma.spent, luma.frames), luma.look
	return o, nil
}

// try runs a rival over the frames that its results for the targets depend on.
func (f *footage) try(ctx context.Context, m method, strength string) (*candidate, error) {
	t := &candidate{}
	for j := range f.stretches {
		s := &f.stretches[j]
		for k := range s.targets {
			at := s.targets[k].at
			from, to := at-m.reach, at+m.reach+1
			if m.reach < 0 {
				from, to = at-unboundedReach, at+1
			}
			from, to = max(from, 0), min(to, len(s.frames))
			r, err := m.run(ctx, s.frames[from:to], strength)
			if err != nil {
				return nil, err
			}
			t.spent, t.frames = t.spent+r.time, t.frames+to-from
			f.measure(&s.targets[k], &t.sums, r.frames[at-from])
			if _, middle := f.middle(); middle == &s.targets[k] {
				t.look = r.frames[at-from]
			}
		}
	}
	return t, nil
}

// rivalsOfFootage are measured beside ours unless others are named; more take long.
var rivalsOfFootage = []string{NLMeans, "hqdn3d", "bm3d", "atadenoise"}

// footage judges a video.
func (r *run) footage(ctx context.Context, name string) error {
	r.say("%s", filepath.Base(name))
	f, err := readFootage(ctx, name)
	if err != nil {
		return err
	}
	f.untouched()
	jobs := []func() (outcome, error){
		func() (outcome, error) { return f.own(ctx, Fast, denoise.Fast) },
		func() (outcome, error) { return f.own(ctx, Good, denoise.Good) },
		func() (outcome, error) { return f.own(ctx, Best, denoise.Best) },
	}
	names := rivalsOfFootage
	if r.Quick {
		names = names[:1]
	}
	if f.Problem == "" { // else no strength is best
		for _, m := range r.methods {
			if isRival(m.name) && matches(r.Methods, m.name, names) {
				jobs = append(jobs, func() (outcome, error) { return f.rival(ctx, m) })
			}
		}
	}
	results := make([]outcome, len(jobs))
	err = parallel(ctx, len(jobs), func(i int) (err error) {
		results[i], err = jobs[i]()
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.Meter = results[0].meter
	for _, o := range results {
		f.looks[o.Method] = o.look
		f.Results = append(f.Results, o.Held)
	}
	r.report.Footage = append(r.report.Footage, *f.Footage)
	if r.Crops != "" {
		return f.crops(r.Crops)
	}
	return nil
}

// matches reports whether a glob names a method; "" names a list's.
func matches(glob, method string, list []string) bool {
	if glob == "" {
		return slices.Contains(list, method)
	}
	ok, err := path.Match(glob, method)
	return ok && err == nil
}
