package denoise

import (
	"slices"

	"vidfilter/denoise/fusion"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Reference returns the frame at index centre of the window without its noise. The window holds
// frames in order, all of one size and depth; those beyond [Settings.Window] are not read, and at
// the ends of a clip there may be fewer. The past are sums of frames before the window. Where the
// noise is too little to be worth it, the result is the frame, bit for bit.
func Reference(window []plane.Picture, centre int, m noise.Model, s Settings, past ...plane.Sum) plane.Picture {
	return ReferenceAt(window[centre].Planes[0].Depth, window, centre, m, s, past...)
}

// ReferenceAt is Reference with samples of the given depth in the result, no fewer bits than the
// frames'. Unfiltered samples have their value.
func ReferenceAt(depth int, window []plane.Picture, centre int, m noise.Model, s Settings, past ...plane.Sum) plane.Picture {
	m = m.Scale(s.Strength)
	f := newFilter(window, centre, m, s)
	f.past = past
	return f.run(depth)
}

// run returns the frame without its noise, in samples of the given depth.
func (f *filter) run(depth int) plane.Picture {
	out := f.window[f.centre].Deeper(depth)
	if f.filtered.Any() && !f.faint {
		f.finish(out, f.passes())
	}
	if half := f.noise.HalfOf(f.filtered); half != nil {
		h := f.halved(half)
		small := h.run(h.window[h.centre].Planes[0].Depth)
		for c := range f.filtered.Each() {
			out.Planes[c].Replace(small.Planes[c], half.ShareOf(c))
		}
	}
	return out
}

// halved is the work on the picture of half the size.
func (f *filter) halved(half *noise.Half) *filter {
	var window []plane.Picture
	for _, p := range f.window {
		window = append(window, p.Halved())
	}
	return newFilter(window, f.centre, half.Model, f.Settings.Halved(half))
}

func (f *filter) passes() [3]*fusion.Sums {
	near := f.near()
	sums := f.first(near)
	if f.TwoPasses {
		f.pilot = planesOf(sums, min(f.frame.picture.Planes[0].Depth+pilotBits, 16))
		sums = f.second(f.refined(near))
	}
	return sums
}

// pilotBits are those that the pilot has more than the samples: rounded like them, it would cost
// 0.1 dB in smooth parts. 12 bits about the middle are exact in half precision.
const pilotBits = 4

// filter is the work on one frame.
type filter struct {
	Settings
	noise    noise.Model // of the planes
	sigma    float64     // of luma, for the search
	faint    bool        // only the picture of half the size is filtered
	search   *motion.Search
	filtered Planes
	frame    frame
	window   []plane.Picture
	centre   int
	past     []plane.Sum
	pilot    [3]plane.Plane // the first pass's result
}

// frame is a frame of the window with the planes that motion and fusion read.
type frame struct {
	picture plane.Picture
	motion  motion.Frame
}

// neighbour is another frame, and the way to it.
type neighbour struct {
	frame
	distance int // in frames, negative for earlier ones
	between  []motion.HalfPels
	field    motion.Field
}

const largestPatch = 16

func newFilter(window []plane.Picture, centre int, m noise.Model, s Settings) *filter {
	f := &filter{
		Settings: s,
		noise:    s.OfPlanes(m),
		sigma:    m.Sigma[0],
		faint:    m.Faint(),
		filtered: s.Filtered(&m, len(window[centre].Planes)),
		search:   motion.NewSearch(s.Motion, m.Sigma[0]),
		window:   window,
		centre:   centre,
	}
	f.frame = f.load(centre)
	return f
}

func (f *filter) load(i int) frame {
	p := f.window[i].AtLeast(largestPatch, largestPatch)
	return frame{p, f.search.Prepare(p.Planes[0])}
}

// neighbour loads the frame at a distance, unless the window ends before it.
func (f *filter) neighbour(distance int) (*neighbour, bool) {
	i := f.centre + distance
	if i < 0 || i >= len(f.window) || distance > f.Ahead {
		return nil, false
	}
	n := &neighbour{frame: f.load(i), distance: distance}
	for _, p := range n.picture.Planes {
		n.between = append(n.between, motion.Between(p))
	}
	return n, true
}

// near returns the neighbours that are searched, from the earliest to the latest.
func (f *filter) near() (all []*neighbour) {
	for d := -f.Near; d <= f.Near; d++ {
		if d == 0 {
			continue
		}
		n, ok := f.neighbour(d)
		if !ok {
			continue
		}
		n.field = f.search.Find(f.frame.motion, n.motion)
		if !f.FrameGate || f.search.Fits(f.frame.motion, n.motion, n.field) {
			all = append(all, n)
		}
	}
	return all
}

// refined returns the neighbours of the second pass, in order: those given, with vectors refined
// against the pilot, and those further away in the same directions.
func (f *filter) refined(near []*neighbour) []*neighbour {
	pilot := f.pilot[0].Reduced(motion.Depth)
	var before, all, after []*neighbour
	for _, n := range near {
		n.field = f.search.Refine(pilot, n.motion, n.field)
		all = append(all, n)
		switch n.distance {
		case -f.Near:
			before = f.beyond(n, -1, pilot)
		case f.Near:
			after = f.beyond(n, 1, pilot)
		}
	}
	return slices.Concat(before, all, after)
}

// beyond returns the frames further away than n, in order: the step is 1 or -1. They have no search
// of their own: where n was left out, they have no start and are left out as well.
func (f *filter) beyond(n *neighbour, step int, pilot plane.Plane) (all []*neighbour) {
	for d := f.Near + 1; d <= f.Far; d++ {
		far, ok := f.neighbour(step * d)
		if !ok {
			break
		}
		far.field = n.field.Extend(n.distance, far.distance)
		far.field = f.search.Refine(pilot, far.motion, far.field)
		all = append(all, far)
	}
	if step < 0 {
		slices.Reverse(all)
	}
	return all
}

// first returns the sums of the planes that it filters.
func (f *filter) first(neighbours []*neighbour) (all [3]*fusion.Sums) {
	for c := range f.Pilots(f.filtered).Each() {
		all[c] = fusion.First(f.input(c, neighbours), f.First)
	}
	return all
}

func (f *filter) second(neighbours []*neighbour) (all [3]*fusion.Sums) {
	for c := range f.filtered.Each() {
		share := f.Second.Blend.Share(f.sigma)
		in := f.input(c, neighbours)
		in.Past, in.Still = f.pastOf(c, neighbours)
		all[c] = fusion.Second(in, f.pilot[c], f.Second, share)
	}
	return all
}

// pastOf is the past that the second pass over plane c reads. The nearest neighbour, the one before
// rather than the one after, decides whether a patch stands still.
func (f *filter) pastOf(c int, neighbours []*neighbour) (past []fusion.Past, still motion.Field) {
	nearest := f.Near + 1
	for _, n := range neighbours {
		if d := max(n.distance, -n.distance); d < nearest {
			nearest, still = d, n.field
		}
	}
	if nearest > f.Near {
		return nil, still
	}
	for _, s := range f.past {
		p := s.Planes[c].AtLeast(largestPatch, largestPatch)
		past = append(past, fusion.Past{Plane: p, Count: s.Count})
	}
	return past, still
}

// input is the input of a pass over plane c.
func (f *filter) input(c int, neighbours []*neighbour) fusion.Input {
	in := fusion.Input{
		Noisy: f.frame.picture.Planes[c],
		Noise: fusion.Noise{
			Sigma:    float32(f.noise.Sigma[c]),
			Spectrum: f.noise.Spectrum[c],
			Curve:    f.noise.CurveOf(c),
		},
		ClipCurve: f.ClipCurve,
	}
	if c > 0 {
		in.ShiftX, in.ShiftY = f.frame.picture.ShiftX, f.frame.picture.ShiftY
	}
	for _, n := range neighbours {
		reach := 0
		if d := max(n.distance, -n.distance); d > f.Near {
			reach = f.FarReach * d
		}
		in.Neighbours = append(in.Neighbours, fusion.Neighbour{
			Planes: n.between[c], Field: n.field, Reach: reach,
		})
	}
	return in
}

func planesOf(sums [3]*fusion.Sums, depth int) (all [3]plane.Plane) {
	for c, s := range sums {
		if s != nil {
			all[c] = s.Plane(depth)
		}
	}
	return all
}

// finish makes the picture of the noisy one: it puts grain back, and rounds once.
func (f *filter) finish(out plane.Picture, sums [3]*fusion.Sums) {
	grain := float32(f.Grain)
	for c, p := range out.Planes {
		sum := sums[c]
		if sum == nil {
			continue
		}
		unit, rounding := float32(p.Unit()), pipeline.Rounding(p.Depth)
		plane.Rows(p.Height, func(y int) {
			for x, v := range p.Row(y) {
				value := sum.Mean(x, y)
				value += grain * (float32(v)/unit - value)
				p.Row(y)[x] = fusion.Sample(value, rounding.At(x, y), p)
			}
		})
	}
}
