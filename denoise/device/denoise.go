package device

// #include "cuda/denoise_args.h"
import "C"

import (
	"fmt"
	"math"

	"vidfilter/denoise"
	"vidfilter/denoise/fusion"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/noise"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Job is one picture to denoise: prepared pictures in order, all of them smoothed by Coarse.
type Job struct {
	Work     uint64
	Window   []uint64 // addresses of pictures
	Centre   int
	Past     []Past
	Result   [3]Samples // where a plane has no rows of its own, its height is 0
	Depth    int        // bits of its samples, no fewer than the pictures'
	Shift    int        // bits below them in their two bytes
	Noise    noise.Model
	Settings denoise.Settings
}

// Past is a sum of Count pictures.
type Past struct {
	Sum   uint64
	Count int
}

// Coarse selects the smoothing for the search.
func Coarse(m noise.Model, s denoise.Settings) bool {
	return motion.NewSearch(s.Motion, m.Scale(s.Strength).Sigma[0]).Coarse
}

// Reads selects the pictures of the window that a job reads.
func (j Job) Reads(i int) bool {
	d := i - j.Centre
	return d >= -j.Settings.Far && d <= min(j.Settings.Far, j.Settings.Ahead)
}

// work is a job on its way to runs.
type work struct {
	*Layout
	Job
	scaled     noise.Model // the noise that the search goes by
	args       C.vd_args
	near       [2]int // the neighbours that are searched: the first, and the one after the last
	neighbours int
	all        []Run
}

// Denoise returns the runs that denoise a picture, in their order.
func (l *Layout) Denoise(j Job) ([]Run, error) {
	w := &work{Layout: l, Job: j, args: l.args}
	if err := w.check(); err != nil {
		return nil, err
	}
	w.scaled = j.Noise.Scale(j.Settings.Strength)
	w.Noise = j.Settings.OfPlanes(w.scaled)
	l.at(&w.args, j.Work)
	w.setFrames()
	w.setSearch()
	w.setNoise()
	w.args.grain = C.float(j.Settings.Grain)
	w.args.result_depth, w.args.result_shift = C.int32_t(j.Depth), C.int32_t(j.Shift)
	w.args.dither = C.float(pipeline.Dither(j.Depth))
	for i, r := range j.Result {
		w.args.result[i] = r.forDevice()
	}
	filtered := l.Filtered(j)
	if w.scaled.Faint() { // except the picture of half the size
		filtered = denoise.Planes{}
	}
	if filtered.Any() {
		w.search()
		w.first(j.Settings.Pilots(filtered))
		if j.Settings.TwoPasses {
			w.pilot(j.Settings.Pilots(filtered))
			w.refine()
			w.second(filtered)
		}
	}
	w.finish(filtered)
	return w.all, nil
}

func (w *work) check() error {
	s := &w.Settings
	const first = 8 // the neighbours that the first pass reads, at the most
	if s.Near > first/2 {
		return fmt.Errorf("denoise: %d frames each way in the first pass: the kernels read %d at the most", s.Near, first)
	}
	if s.Far > C.VD_NEIGHBOURS/2 || s.Near > s.Far {
		return fmt.Errorf("denoise: %d frames each way: the kernels read %d at the most", s.Far, C.VD_NEIGHBOURS/2)
	}
	if s.First.Stride != 4 && s.First.Stride != 5 {
		return fmt.Errorf("denoise: a first pass with a stride of %d: the kernels have 4 and 5", s.First.Stride)
	}
	if s.TwoPasses && s.Second.Stride != 6 {
		return fmt.Errorf("denoise: a second pass with a stride of %d: the kernels have 6", s.Second.Stride)
	}
	if len(w.Past) > C.VD_PAST {
		return fmt.Errorf("denoise: %d sums of pictures: the kernels read %d at the most", len(w.Past), C.VD_PAST)
	}
	return nil
}

// Filtered returns which planes a job filters, at its size or at half of it.
func (l *Layout) Filtered(j Job) denoise.Planes {
	scaled := j.Noise.Scale(j.Settings.Strength)
	return j.Settings.Filtered(&scaled, l.planes())
}

// setFrames lists the neighbours in their order.
func (w *work) setFrames() {
	a, s := &w.args, &w.Settings
	a.centre = C.uint64_t(w.Window[w.Centre])
	n := 0
	for i, picture := range w.Window {
		d := i - w.Centre
		if d == 0 || !w.Reads(i) || (!s.TwoPasses && max(d, -d) > s.Near) {
			continue
		}
		a.to[n], a.distance[n], a.from[n] = C.uint64_t(picture), C.int32_t(d), C.int32_t(n)
		n++
	}
	w.neighbours = n
	w.near[0] = n
	for i, d := range a.distance[:n] {
		if max(int(d), -int(d)) <= s.Near {
			w.near[0], w.near[1] = min(w.near[0], i), i+1
		}
	}
	for i := range n {
		switch d := int(a.distance[i]); {
		case d < -s.Near:
			a.from[i], a.reach[i] = C.int32_t(w.near[0]), C.int32_t(s.FarReach*-d)
		case d > s.Near:
			a.from[i], a.reach[i] = C.int32_t(w.near[1]-1), C.int32_t(s.FarReach*d)
		}
	}
}

func (w *work) setSearch() {
	a := &w.args
	s := motion.NewSearch(w.Settings.Motion, w.scaled.Sigma[0])
	w.searchBy(s)
	if w.Settings.FrameGate {
		a.misfit = C.int64_t(s.Misfit) * C.int64_t(cells(a.level[0], motion.Cell))
	}
}

func (w *work) setNoise() {
	const leastSigma = 0.03 // as in denoise/fusion
	a := &w.args
	for c := range 3 {
		m := fusion.Noise{Spectrum: w.Noise.Spectrum[c]}
		for k, v := range m.Variances(8) {
			a.inverse[c][k] = C.float(1 / v)
		}
		if w.Settings.ClipCurve {
			a.clip[c] = C.float(1 / max(float32(w.Noise.Sigma[c]), leastSigma))
		}
	}
	for i, f := range w.Noise.Curve {
		a.curve[i] = C.float(f)
	}
}

func (w *work) add(r Run) { w.all = append(w.all, r) }

// As in cuda/search.h and cuda/denoise_coarsest.cu.
const (
	searchAcross, searchDown = 16, 4 // cells of a block
	searchThreads            = 128
	coarsestThreads          = 192
	coarsestSide, windowSide = 28, 16
)

// coarsestShared is the shared memory of the coarsest level's search: its region, the window and
// its mask, and the best of each warp.
const coarsestShared = 4 * (coarsestSide*((coarsestSide+6)/4) + 2*windowSide*windowSide/4 + 2*coarsestThreads/32)

// searching is a run over the cells of a level for a number of neighbours.
func (w *work) searching(name string, level, cell, first, count int) {
	if count <= 0 {
		return
	}
	a := w.args
	a.level_now, a.first, a.count = C.int32_t(level), C.int32_t(first), C.int32_t(count)
	p := a.level[level]
	across, down := kernels.Blocks(int(p.width), cell), kernels.Blocks(int(p.height), cell)
	if name == "denoise_coarsest" {
		w.add(run(name, &a, [2]int{across * down, count}, coarsestThreads, coarsestShared))
		return
	}
	blocks := kernels.Blocks(across, searchAcross) * kernels.Blocks(down, searchDown)
	w.add(run(name, &a, [2]int{blocks, count}, searchThreads, 0))
}

func (w *work) search() {
	level := int(w.args.levels) - 1
	first, count := w.near[0], w.near[1]-w.near[0]
	w.searching("denoise_coarsest", level, motion.Cell, first, count)
	for level--; level > 0; level-- {
		w.searching("denoise_finer", level, motion.Cell, first, count)
	}
	w.searching("denoise_finest", 0, motion.Cell, first, count)
}

// refine goes on from the search, and then from there to the frames further away.
func (w *work) refine() {
	refine := func(first, count int) { w.searching("denoise_refine", 0, motion.RefinedCell, first, count) }
	refine(w.near[0], w.near[1]-w.near[0])
	refine(0, w.near[0])
	refine(w.near[1], w.neighbours-w.near[1])
}

// passShape is the shape of a pass's blocks: patches across and down, the samples from one row of
// sums to the next, the words of a warp's buffer.
type passShape struct {
	side, stride, across, down, pitch, warps, buffer int
}

// As in cuda/denoise_first.cu and denoise_second.cu.
var (
	first4  = passShape{8, 4, 16, 8, 97, 4, 4 * 104}
	first5  = passShape{8, 5, 16, 8, 84, 4, 4 * 104}
	second6 = passShape{16, 6, 10, 8, 71, 4, 2 * 336}
)

const passTables = 64 + 256 // words

func (w *work) pass(name string, p passShape, c fusion.Constants, planes denoise.Planes, first, count int) {
	a := w.args
	a.first, a.count = C.int32_t(first), C.int32_t(count)
	a.stride, a.frequency, a.weight_unit = C.int32_t(p.stride), C.float(c.Frequency), C.float(c.WeightUnit)
	a.fade = C.float(-math.Log2E / float64(c.PatchFade))
	if c.DCGate {
		a.dc_gate = 1
	}
	for i := range p.side {
		x := (float64(i)+0.5)/float64(p.side) - 0.5
		a.window[i] = C.float(math.Exp(-4 * x * x))
	}
	var places [3]Size // of patches
	for c := range planes.Each() {
		plane := a.noisy[c]
		places[c] = Size{
			kernels.Blocks(int(plane.width)-p.side, p.stride) + 1,
			kernels.Blocks(int(plane.height)-p.side, p.stride) + 1,
		}
	}
	rows := (p.down-1)*p.stride + p.side
	shared := 4 * (2*p.pitch*rows + passTables + p.warps*p.buffer)
	w.add(tiled(name, &a, places[:], p.across, p.down, 32*p.warps, shared))
}

func (w *work) first(planes denoise.Planes) {
	c := w.Settings.First
	w.args.threshold, w.args.threshold_fall = C.float(c.Threshold), C.float(c.ThresholdFall)
	w.args.least_threshold = C.float(c.LeastThreshold)
	w.args.least_gain = C.float(c.LeastGain)
	name, shape := "denoise_first4", first4
	if c.Stride == 5 {
		name, shape = "denoise_first5", first5
	}
	w.pass(name, shape, c.Constants, planes, w.near[0], max(w.near[1]-w.near[0], 0))
}

func (w *work) second(planes denoise.Planes) {
	c := w.Settings.Second
	w.args.noise_share = C.float(c.NoiseShare)
	b := c.Blend
	w.args.share, w.args.share_from = C.float(b.Share(w.scaled.Sigma[0])), C.float(b.From)
	w.args.share_rise = C.float(1 / (b.To - b.From))
	w.setPast()
	w.pass("denoise_second6", second6, c.Constants, planes, 0, w.neighbours)
}

// As in cuda/denoise_finish.cu.
const finishWidth, finishHeight, finishThreads = 256, 8, 256

// Clear returns the runs that new memory for the work needs first. Later ones leave it as they
// found it.
func (l *Layout) Clear(address uint64) []Run {
	a := l.args
	l.at(&a, address)
	a.planes = setOf(denoise.Planes{true, true, true})
	return []Run{tiled("denoise_clear", &a, sizes(a.noisy[:]), finishWidth, finishHeight, finishThreads, 0)}
}

// setOf returns a set of planes as kernels read it.
func setOf(planes denoise.Planes) (bits C.int32_t) {
	for c := range planes.Each() {
		bits |= 1 << c
	}
	return bits
}

func (w *work) pilot(planes denoise.Planes) {
	w.args.planes = setOf(planes)
	places := sizes(w.args.noisy[:])
	for c, has := range planes {
		if !has {
			places[c] = Size{}
		}
	}
	w.add(tiled("denoise_pilot", &w.args, places, finishWidth, finishHeight, finishThreads, 0))
}

func (w *work) finish(filtered denoise.Planes) {
	w.args.planes = setOf(filtered)
	w.add(tiled("denoise_finish", &w.args, sizes(w.args.noisy[:]), finishWidth, finishHeight, finishThreads, 0))
}
