package quality

import (
	"cmp"
	"math"
	"slices"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// The measure of a result without the truth. A filter makes frame t without having seen frame t+1,
// so that the noise of t+1 is independent of the result. Where nothing moves,
//
//	mean (result - y[t+1])²                    = error of the result + noise of t+1
//	mean (y[t+1] - y[t]) (y[t+1] - y[t+2])     = noise of t+1, the floor
//
// and the difference is the error. Half the variance of y[t+1] - y[t+2] would also do for a floor,
// if all frames had the same noise: frames of a codec do not, and specks of dirt are in one alone.
//
// The covariance of the result's detail with the detail of t+1 has no part of the noise either:
// over the covariance of frame t itself, it is the share of the texture that the filter keeps, also
// where things move.

const (
	areaSize = 32 // samples of luma; an area is judged as a whole
	around   = 16 // samples about an area that decide with it whether it is still
	searched = 16 // samples that an area may have moved each way

	quiet       = 0.02 // variance of the change, in 8-bit levels², below which there is no noise
	leastOwn    = 0.5  // of the change's variance must be noise of t+1 alone: less means motion
	mostSlope   = 0.2  // of the change may be explained by a shift of a part of a sample
	uneven      = 3    // times the change of the quietest tenth of like brightness is no noise
	lights      = 6    // classes of brightness, and how many areas one has at the least
	leastAlike  = 24
	mostClipped = 0.1 // of the samples that may be black or white
	mostEqual   = 0.9 // of the samples that may equal the next frame's
)

// levels is a plane in 8-bit levels.
type levels struct {
	w, h int
	v    []float32
}

func (l *levels) row(y int) []float32 { return l.v[y*l.w:][:l.w] }

// view is a frame or one of its fields: Y, and U and V unless it is gray; of RGB G, B and R.
type view struct {
	planes         []levels
	shiftX, shiftY int
}

// levelsOf converts a plane.
func levelsOf(p plane.Plane) levels {
	l := levels{p.Width, p.Height, make([]float32, len(p.Pix))}
	unit := float32(p.Unit())
	for i, s := range p.Pix {
		l.v[i] = float32(s) / unit
	}
	return l
}

// lumaOf returns the first plane of a frame.
func lumaOf(f *pipeline.Frame) levels {
	c := plane.ComponentOf(f, plane.Whole, 0)
	p := plane.New(c.Width, c.Height, c.Depth)
	for y := range p.Height {
		c.Read(p.Row(y), 0, y)
	}
	return levelsOf(p)
}

// viewsOf returns the picture in a frame, or both fields.
func viewsOf(f *pipeline.Frame) (all []view) {
	for _, field := range plane.Fields(f) {
		pic := plane.Of(f, field)
		v := view{shiftX: pic.ShiftX, shiftY: pic.ShiftY}
		for _, p := range pic.Planes {
			v.planes = append(v.planes, levelsOf(p))
		}
		all = append(all, v)
	}
	return all
}

// blurred5 is the plane smoothed by 1 4 6 4 1 each way.
func (l *levels) blurred5() levels {
	taps := [5]float32{1. / 16, 4. / 16, 6. / 16, 4. / 16, 1. / 16}
	across, out := make([]float32, len(l.v)), levels{l.w, l.h, make([]float32, len(l.v))}
	for y := range l.h {
		in, to := l.row(y), across[y*l.w:][:l.w]
		for x := range to {
			for i, k := range taps {
				to[x] += k * in[min(max(x+i-2, 0), l.w-1)]
			}
		}
	}
	for y := range l.h {
		to := out.row(y)
		for i, k := range taps {
			for x, v := range across[min(max(y+i-2, 0), l.h-1)*l.w:][:l.w] {
				to[x] += k * v
			}
		}
	}
	return out
}

// detail is the plane less its smoothed form.
func (l *levels) detail() levels {
	out := l.blurred5()
	for i, v := range l.v {
		out.v[i] = v - out.v[i]
	}
	return out
}

// vector is a displacement in samples of luma.
type vector struct{ x, y int }

// area is a square of luma, and where it is in the next two frames.
type area struct {
	core       box
	next, last vector
	still      bool       // all motion is by whole samples, and all changes are noise
	change     float64    // half the variance of the change from frame to frame; 0: not looked at
	light      float64    // mean of luma
	floor      [3]float64 // mean square of the noise of each plane
	weight     float64    // of its texture
}

// triple is one picture with the two after it, the first of which filters do not see.
type triple struct {
	frames [3]view // t, t+1, t+2
	detail levels  // of luma of t+1
	areas  []area
	equal  int // areas that repeat the frame before, or are repeated
}

func newTriple(t, next, last view) *triple {
	a := &triple{frames: [3]view{t, next, last}}
	var smooth [3]levels
	for i, f := range a.frames {
		smooth[i] = f.planes[0].blurred5()
	}
	a.detail = next.planes[0].detail()
	w, h := t.planes[0].w, t.planes[0].h
	size := min(areaSize, w, h)
	for y := 0; y+size <= h; y += size {
		for x := 0; x+size <= w; x += size {
			b := area{core: box{x, y, size, size}}
			wide := b.core.wider(around, w, h)
			b.next = search(&smooth[0], &smooth[1], wide)
			b.last = search(&smooth[0], &smooth[2], wide)
			if energy := a.energy(b.core, b.next); energy >= 0 {
				b.weight = 1 / (energy + 4)
			}
			a.examine(&b)
			a.areas = append(a.areas, b)
		}
	}
	a.even()
	return a
}

// even leaves out areas that change far more than others of like brightness. Textures that move at
// random look like noise, but noise is alike wherever the picture is as bright.
func (a *triple) even() {
	var all []*area
	for i := range a.areas {
		if a.areas[i].change > 0 {
			all = append(all, &a.areas[i])
		}
	}
	slices.SortFunc(all, func(a, b *area) int { return cmp.Compare(a.light, b.light) })
	size := max(len(all)/lights, leastAlike)
	for alike := range slices.Chunk(all, size) {
		changes := make([]float64, len(alike))
		for i, b := range alike {
			changes[i] = b.change
		}
		slices.Sort(changes)
		most := max(uneven*changes[len(changes)/10], quiet)
		for _, b := range alike {
			b.still = b.still && b.change <= most
		}
	}
}

// box is a rectangle of samples.
type box struct{ x, y, w, h int }

func (b box) wider(by, w, h int) box {
	x, y := max(b.x-by, 0), max(b.y-by, 0)
	return box{x, y, min(b.x+b.w+by, w) - x, min(b.y+b.h+by, h) - y}
}

func (b box) moved(v vector) box { return box{b.x + v.x, b.y + v.y, b.w, b.h} }

func (b box) inside(l *levels) bool { return b.x >= 0 && b.y >= 0 && b.x+b.w <= l.w && b.y+b.h <= l.h }

// moved is how much smaller the difference must be for an area to count as moved: by chance alone
// it is smaller by a tenth somewhere.
const moved = 0.85

// search finds where a box of one plane is in another. It stays where it is unless that is plainly
// worse.
func search(from, to *levels, b box) (best vector) {
	cost := func(v vector, step int) float64 {
		if !b.moved(v).inside(to) {
			return math.Inf(1)
		}
		sum := float32(0)
		for y := 0; y < b.h; y += step {
			p, q := from.row(b.y + y)[b.x:][:b.w], to.row(b.y + y + v.y)[b.x+v.x:][:b.w]
			for x := 0; x < b.w; x += step {
				d := p[x] - q[x]
				sum += max(d, -d)
			}
		}
		return float64(sum)
	}
	least := moved * cost(vector{}, 2)
	for y := -searched; y <= searched; y += 2 {
		for x := -searched; x <= searched; x += 2 {
			if c := cost(vector{x, y}, 2); c < least {
				best, least = vector{x, y}, c
			}
		}
	}
	for _, v := range around3(best) {
		if c := cost(v, 2); c < least {
			best, least = v, c
		}
	}
	return best
}

// around3 are the places beside one.
func around3(v vector) (all []vector) {
	for y := -1; y <= 1; y++ {
		for x := -1; x <= 1; x++ {
			all = append(all, vector{v.x + x, v.y + y})
		}
	}
	return all
}

// energy is the mean square of the detail of t+1 where the box has gone to, below 0 if that is
// outside.
func (a *triple) energy(b box, v vector) float64 {
	b = b.moved(v)
	if !b.inside(&a.detail) {
		return -1
	}
	sum := 0.0
	for y := range b.h {
		for _, d := range a.detail.row(b.y + y)[b.x:][:b.w] {
			sum += float64(d) * float64(d)
		}
	}
	return sum / float64(b.w*b.h)
}

// examine decides whether the changes in an area from t to t+2 are noise, and measures it.
func (a *triple) examine(b *area) {
	p, ok := a.patch(b, 0)
	if !ok {
		return
	}
	t, next, last := &a.frames[0].planes[0], &a.frames[1].planes[0], &a.frames[2].planes[0]
	clipped, light, equal := 0.0, 0.0, [2]float64{}
	for y := range p.wide.h {
		q, r := p.row(next, p.next, y), p.row(last, p.last, y)
		for x, v := range p.row(t, vector{}, y) {
			light += float64(v)
			if v <= 1 || v >= 254 {
				clipped++
			}
			if v == q[x] {
				equal[0]++
			}
			if q[x] == r[x] {
				equal[1]++
			}
		}
	}
	n := float64(p.wide.w * p.wide.h)
	if clipped > mostClipped*n {
		return
	}
	if max(equal[0], equal[1]) > mostEqual*n {
		a.equal++
		return
	}
	before, explainedBefore := p.difference(next, p.next, t, vector{})
	after, explained := p.difference(next, p.next, last, p.last)
	variance, own := max(product(after, after), product(before, before))/2, product(before, after)
	b.change, b.light = variance, light/n
	if variance > quiet && (max(explained, explainedBefore) > mostSlope || own < leastOwn*variance) {
		return
	}
	b.still, b.floor[0] = true, p.inCore(before, after)
	for i := 1; i < len(a.frames[0].planes); i++ {
		if p, ok := a.patch(b, i); ok {
			t, next, last := &a.frames[0].planes[i], &a.frames[1].planes[i], &a.frames[2].planes[i]
			before, _ := p.difference(next, p.next, t, vector{})
			after, _ := p.difference(next, p.next, last, p.last)
			b.floor[i] = p.inCore(before, after)
		}
	}
}

// patch is an area with its surroundings, in one plane.
type patch struct {
	core, wide box
	next, last vector
	gx, gy     []float64 // slopes
	xx, xy, yy float64   // sums of their products
}

// patch returns an area in plane i, false if it has moved out of the picture or by a part of a
// sample.
func (a *triple) patch(b *area, i int) (p patch, ok bool) {
	p = patch{core: b.core, next: b.next, last: b.last}
	sx, sy := 0, 0
	if i > 0 {
		sx, sy = a.frames[0].shiftX, a.frames[0].shiftY
	}
	if (p.next.x|p.last.x)&(1<<sx-1) > 0 || (p.next.y|p.last.y)&(1<<sy-1) > 0 {
		return p, false
	}
	p.next, p.last = vector{p.next.x >> sx, p.next.y >> sy}, vector{p.last.x >> sx, p.last.y >> sy}
	p.core = box{p.core.x >> sx, p.core.y >> sy, p.core.w >> sx, p.core.h >> sy}
	t, next, last := &a.frames[0].planes[i], &a.frames[1].planes[i], &a.frames[2].planes[i]
	p.wide = p.core.wider(around, t.w, t.h)
	if !p.wide.moved(p.next).inside(next) || !p.wide.moved(p.last).inside(last) {
		p.wide = p.core
	}
	if !p.wide.moved(p.next).inside(next) || !p.wide.moved(p.last).inside(last) {
		return p, false
	}
	p.gx, p.gy = make([]float64, p.wide.w*p.wide.h), make([]float64, p.wide.w*p.wide.h)
	mx, my := 0.0, 0.0
	for y := range p.wide.h {
		for x := range p.wide.w {
			k := y*p.wide.w + x
			for _, f := range []struct {
				*levels
				vector
			}{{t, vector{}}, {next, p.next}, {last, p.last}} {
				x, y := p.wide.x+x+f.x, p.wide.y+y+f.y
				p.gx[k] += float64(f.v[y*f.w+min(x+1, f.w-1)]-f.v[y*f.w+max(x-1, 0)]) / 6
				p.gy[k] += float64(f.v[min(y+1, f.h-1)*f.w+x]-f.v[max(y-1, 0)*f.w+x]) / 6
			}
			mx, my = mx+p.gx[k], my+p.gy[k]
		}
	}
	n := float64(len(p.gx))
	for k := range p.gx {
		p.gx[k], p.gy[k] = p.gx[k]-mx/n, p.gy[k]-my/n
	}
	p.xx, p.xy, p.yy = product(p.gx, p.gx)*n+1e-6, product(p.gx, p.gy)*n, product(p.gy, p.gy)*n+1e-6
	return p, true
}

// row returns row y of the patch in a plane where it has moved.
func (p *patch) row(l *levels, v vector, y int) []float32 {
	return l.row(p.wide.y + y + v.y)[p.wide.x+v.x:][:p.wide.w]
}

// difference returns one plane less another, both where the patch has moved to, without the effects
// of flicker and a shift by a part of a sample: the mean, and multiples of the slopes. It also
// returns the share that the shift explains.
func (p *patch) difference(a *levels, va vector, b *levels, vb vector) (d []float64, explained float64) {
	d = make([]float64, 0, len(p.gx))
	mean := 0.0
	for y := range p.wide.h {
		r := p.row(b, vb, y)
		for x, v := range p.row(a, va, y) {
			d = append(d, float64(v-r[x]))
			mean += float64(v - r[x])
		}
	}
	n := float64(len(d))
	for k := range d {
		d[k] -= mean / n
	}
	all := product(d, d)
	xd, yd, det := product(p.gx, d)*n, product(p.gy, d)*n, p.xx*p.yy-p.xy*p.xy
	if det <= 0 {
		return d, 0
	}
	sx, sy := (xd*p.yy-yd*p.xy)/det, (yd*p.xx-xd*p.xy)/det
	for k := range d {
		d[k] -= sx*p.gx[k] + sy*p.gy[k]
	}
	return d, 1 - product(d, d)/max(all, 1e-12)
}

// product is the mean product of two patches.
func product(a, b []float64) (sum float64) {
	for i, v := range a {
		sum += v * b[i]
	}
	return sum / float64(len(a))
}

// inCore is the mean product of two patches in the area itself.
func (p *patch) inCore(a, b []float64) (sum float64) {
	x0, y0 := p.core.x-p.wide.x, p.core.y-p.wide.y
	for y := range p.core.h {
		at := (y0+y)*p.wide.w + x0
		for x, v := range a[at : at+p.core.w] {
			sum += v * b[at+x]
		}
	}
	return sum / float64(p.core.w*p.core.h)
}

// heldSums are the measures of a result, summed up over areas.
type heldSums struct {
	areas    int
	planes   [2]heldPlane // luma, chroma
	kept     float64      // covariance of the result's detail with the detail of the frame held out
	texture  float64      // of the picture's own
	removed  float64      // squares of the part that the filter removed from luma
	samples  float64      // of luma
	variance float64      // of texture, by the noise
}

// heldPlane is of luma, or of both planes of chroma.
type heldPlane struct {
	n             float64 // samples
	error, floor  float64 // sums of squares
	parts, square float64 // areas, and the sum of the squares of their means of error less floor
	mean          float64 // the sum of those means
}

func (s *heldSums) add(o heldSums) {
	s.areas += o.areas
	for i := range s.planes {
		p, q := &s.planes[i], o.planes[i]
		p.n, p.error, p.floor = p.n+q.n, p.error+q.error, p.floor+q.floor
		p.parts, p.square, p.mean = p.parts+q.parts, p.square+q.square, p.mean+q.mean
	}
	s.kept, s.texture, s.variance = s.kept+o.kept, s.texture+o.texture, s.variance+o.variance
	s.removed, s.samples = s.removed+o.removed, s.samples+o.samples
}

// left is the mean square error of the result in 8-bit levels.
func (p heldPlane) left() float64 { return (p.error - p.floor) / max(p.n, 1) }

// noise is the floor: the variance of the noise of one frame.
func (p heldPlane) noise() float64 { return p.floor / max(p.n, 1) }

// spread is the standard error of left.
func (p heldPlane) spread() float64 {
	if p.parts < 2 {
		return 0
	}
	m := p.mean / p.parts
	return math.Sqrt(max(p.square/p.parts-m*m, 0) / (p.parts - 1))
}

// measure measures the result of a filter for frame t.
func (a *triple) measure(result view) (s heldSums) {
	luma, own := &result.planes[0], &a.frames[0].planes[0]
	for i, v := range luma.v {
		d := float64(v - own.v[i])
		s.removed += d * d
	}
	s.samples = float64(len(luma.v))
	detail, ownDetail := luma.detail(), own.detail()
	for _, b := range a.areas {
		if b.weight > 0 {
			kept, texture, variance := a.covariances(b.core, b.next, &detail, &ownDetail)
			s.kept, s.texture, s.variance = s.kept+b.weight*kept, s.texture+b.weight*texture, s.variance+b.weight*b.weight*variance
		}
		if !b.still {
			continue
		}
		s.areas++
		for i := range result.planes {
			if p, ok := a.patch(&b, i); ok {
				d, _ := p.difference(&result.planes[i], vector{}, &a.frames[1].planes[i], p.next)
				s.planes[min(i, 1)].count(p.inCore(d, d), b.floor[i], float64(p.core.w*p.core.h))
			}
		}
	}
	return s
}

// count adds an area.
func (p *heldPlane) count(square, floor, n float64) {
	left := square - floor
	p.n, p.error, p.floor = p.n+n, p.error+square*n, p.floor+floor*n
	p.parts, p.square, p.mean = p.parts+1, p.square+left*left, p.mean+left
}

// covariances returns the covariances of the result's detail and of the picture's own with the
// detail of t+1, and the square of the latter's standard error.
func (a *triple) covariances(b box, v vector, result, own *levels) (kept, texture, variance float64) {
	for y := range b.h {
		p, q := result.row(b.y + y)[b.x:][:b.w], own.row(b.y + y)[b.x:][:b.w]
		for x, d := range a.detail.row(b.y + y + v.y)[b.x+v.x:][:b.w] {
			kept += float64(p[x]) * float64(d)
			texture += float64(q[x]) * float64(d)
			variance += float64(q[x]) * float64(d) * float64(q[x]) * float64(d)
		}
	}
	return kept, texture, variance
}
