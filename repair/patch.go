package repair

import (
	"math"
	"slices"

	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
)

// Thresholds of the detector. Levels are 8-bit levels. Noise is the local mean difference between
// the neighbours. Contrast is the RMS difference of a patch from the mean of the neighbours.
const (
	seedLevels, seedNoise = 12, 3.0 // least excess of a sample that starts a patch
	growLevels, growNoise = 3, 0.8  // least excess of samples that extend it
	leastSamples          = 3       // in a patch

	contrasts, contrastsOfSmall = 3.8, 20 // least contrast of n samples, in units of noise: 3.8 + 20/n

	agreement   = 0.25 // of contrast: largest difference of the neighbours in a patch, and of all three frames around it
	similar     = 0.5  // of contrast: least difference between the neighbours that counts as a moving object
	moved       = 0.3  // of the samples of a patch: least number of such differences beside it
	both        = 0.3  // of contrast: largest difference of a match found in both neighbours
	either      = 0.15 // of a match found in one neighbour
	eitherLarge = 0.25 // the same, for a large patch
	one         = 0.4  // of a match in one neighbour at one of its own patches
	structure   = 0.3  // of contrast: mean deviation of surroundings with structure
	fainter     = 0.45 // of a patch's difference from its surroundings: damage shows less in one neighbour
	still       = 0.6  // of contrast: damage shows less in frames at a distance of two

	swarm = 2 // least number of patches nearby in each neighbour

	mostOfPicture = 25 // patches cover at most 1/25 of a plane: more is not damage
)

// view is a plane of a picture with the motion-compensated planes of its neighbours.
type view struct {
	now, before, after plane.Plane
	near               [2]plane.Plane // the neighbours without compensation
	far                [2]plane.Plane // two frames before and after, without compensation
	vectors            [2]motion.Field
	shiftX, shiftY     int
	cells              cells
	end                bool    // one of the neighbours is the first or the last frame
	noise              []int32 // around each cell, in 1/16 of a sample's unit
	labels             []int32 // of each sample: its patch, from 1 on, or 0
}

// patch is a connected area of samples that lie above or below both neighbours.
type patch struct {
	sign           int // 1: brighter than both, -1: darker, 0: mixed
	samples        []int32
	x0, y0, x1, y1 int
	label          int32
	contrast       int // RMS difference from the mean of the neighbours

	under  bool    // chroma under a patch of luma
	shares []uint8 // weights of the replacement, 0 to 255, in the bounding box enlarged by rim
	from   *plane.Plane
	offset int
}

const (
	soft = 3 // width of the blended edge, in samples
	rim  = 6 // width of the surroundings that are compared, in samples
)

// noiseOf returns the noise around a sample, in 1/16 of a sample's unit.
func (v *view) noiseOf(x, y int) int { return int(v.noise[y/cellSide*v.cells.width+x/cellSide]) }

// measure sets the noise around the cells of row cy, from 5x5 cells.
func (v *view) measure(cy int) {
	const reach = 2
	y0, y1 := max(cy-reach, 0), min(cy+reach+1, v.cells.height)
	height := min(y1*cellSide, v.now.Height) - y0*cellSide
	for cx := range v.cells.width {
		x0, x1 := max(cx-reach, 0), min(cx+reach+1, v.cells.width)
		sum := 0
		for j := y0; j < y1; j++ {
			for _, s := range v.cells.sum[j*v.cells.width+x0 : j*v.cells.width+x1] {
				sum += int(s)
			}
		}
		v.noise[cy*v.cells.width+cx] = int32(16 * sum / ((min(x1*cellSide, v.now.Width) - x0*cellSide) * height))
	}
}

// threshold returns a number of levels plus a multiple of the noise around a sample.
func (v *view) threshold(x, y int, levels, noise float64) int {
	return int(levels*float64(v.now.Unit()) + noise*float64(v.noiseOf(x, y))/16)
}

// candidates returns the patches of the plane. ok is false if they cover too much of it.
func (v *view) candidates() (all []*patch, ok bool) {
	budget := v.now.Width * v.now.Height / mostOfPicture
	for i, peak := range v.cells.peak {
		x0, y0 := i%v.cells.width*cellSide, i/v.cells.width*cellSide
		if int(peak) <= seedLevels*v.now.Unit() {
			continue
		}
		least := v.threshold(x0, y0, seedLevels, seedNoise)
		if int(peak) <= least {
			continue
		}
		for y := y0; y < min(y0+cellSide, v.now.Height); y++ {
			for x := x0; x < min(x0+cellSide, v.now.Width); x++ {
				e := excess(&v.now, &v.before, &v.after, x, y)
				if max(e, -e) <= least || !v.inside(x, y) {
					continue
				}
				if v.labels[y*v.now.Width+x] != 0 {
					continue
				}
				p := &patch{label: int32(len(all) + 1), x0: x, y0: y, x1: x + 1, y1: y + 1}
				all = append(all, p)
				v.grow(p, x, y, budget)
				if budget -= len(p.samples); budget <= 0 {
					return all, false
				}
			}
		}
	}
	return all, true
}

// grow fills a patch from a first sample. In a row, it bridges a gap of one sample.
func (v *view) grow(p *patch, x, y, most int) {
	const gap = 2
	w := v.now.Width
	v.labels[y*w+x] = p.label
	p.samples = append(p.samples, int32(y*w+x))
	sum, squares := 0, 0
	for k := 0; k < len(p.samples) && k < most; k++ {
		at := int(p.samples[k])
		x, y := at%w, at/w
		p.x0, p.y0, p.x1, p.y1 = min(p.x0, x), min(p.y0, y), max(p.x1, x+1), max(p.y1, y+1)
		d := 2*int(v.now.Pix[at]) - int(v.before.Pix[at]) - int(v.after.Pix[at])
		sum, squares = sum+d, squares+d*d
		for j := max(y-1, 0); j <= min(y+1, v.now.Height-1); j++ {
			reach := 1
			if j == y {
				reach = gap
			}
			for i := max(x-reach, 0); i <= min(x+reach, w-1); i++ {
				q := j*w + i
				if v.labels[q] == 0 && v.exceeds(q) > v.threshold(i, j, growLevels, growNoise) && v.inside(i, j) {
					v.labels[q] = p.label
					p.samples = append(p.samples, int32(q))
				}
			}
		}
	}
	n := len(p.samples)
	p.contrast = int(math.Sqrt(float64(squares/n)) / 2)
	switch most := p.contrast * n; { // sum is twice as large if all samples have the same sign
	case sum > most:
		p.sign = 1
	case sum < -most:
		p.sign = -1
	}
}

// exceeds returns the distance of a sample above or below both neighbours at the same position. It
// is negative if the sample lies between them.
func (v *view) exceeds(q int) int {
	n, a, b := int(v.now.Pix[q]), int(v.before.Pix[q]), int(v.after.Pix[q])
	return max(n-max(a, b), min(a, b)-n)
}

// forget clears the labels of the patches.
func (v *view) forget(all []*patch) {
	for _, p := range all {
		for _, q := range p.samples {
			v.labels[q] = 0
		}
	}
}

// damage reports whether a patch is damage, and prepares its replacement. some are all patches of
// the plane, and others are the patches of the frames before and after.
func (v *view) damage(p *patch, some []*patch, others [2][]*patch) bool {
	if !v.clear(p) || !v.small(p) || touches(p, others[0]) && touches(p, others[1]) || !v.surrounded(p) || v.flickers(p) || v.beside(p) || v.swarms(p, some, others) {
		return false
	}
	o := v.outline(p)
	return !v.travels(p, &o, others) && !v.found(p, &o) && !v.repeats(p, &o)
}

// streak reports whether a patch is a lost part of a line. Colour alone is damaged in this form by
// tape. Points of colour are lamps, glints and errors of codecs.
func (p *patch) streak() bool {
	w, h := p.x1-p.x0, p.y1-p.y0
	return w >= 4*h && w >= 2*cellSide
}

// meet reports whether the bounding boxes of a patch and a patch of luma overlap.
func (v *view) meet(p, luma *patch) bool {
	return p.x0<<v.shiftX < luma.x1 && luma.x0 < p.x1<<v.shiftX && p.y0<<v.shiftY < luma.y1 && luma.y0 < p.y1<<v.shiftY
}

// below returns the area of the plane under a damaged patch of luma, joined with damaged patches of
// the plane, or nil if the plane is intact there. width is the width of luma.
func (v *view) below(luma *patch, width int, joined []*patch) *patch {
	const leastLevels = 2
	w := v.now.Width
	p := &patch{under: true, x0: w, y0: v.now.Height}
	seen := map[int32]bool{}
	sum, squares := 0, 0
	add := func(q int32) {
		if seen[q] {
			return
		}
		seen[q] = true
		x, y := int(q)%w, int(q)/w
		p.samples = append(p.samples, q)
		p.x0, p.y0, p.x1, p.y1 = min(p.x0, x), min(p.y0, y), max(p.x1, x+1), max(p.y1, y+1)
		d := 2*int(v.now.Pix[q]) - int(v.before.Pix[q]) - int(v.after.Pix[q])
		sum, squares = sum+d, squares+d*d
	}
	for _, s := range luma.samples {
		add(int32(int(s)/width>>v.shiftY*w + int(s)%width>>v.shiftX))
	}
	for _, q := range joined {
		for _, s := range q.samples {
			add(s)
		}
	}
	n := len(p.samples)
	p.contrast = int(math.Sqrt(float64(squares/n)) / 2)
	if abs(sum) < 2*n*v.threshold(p.x0, p.y0, leastLevels, 0.5) || !v.surrounded(p) {
		return nil
	}
	return p
}

// clear reports whether a patch exceeds the noise by far. A small one must exceed it by more.
func (v *view) clear(p *patch) bool {
	n := len(p.samples)
	return n >= leastSamples && float64(p.contrast) >= float64(v.noiseAt(p))*(contrasts+contrastsOfSmall/float64(n))
}

// small reports whether a patch is a spot or a thin line.
func (v *view) small(p *patch) bool {
	w, h := p.x1-p.x0, p.y1-p.y0
	side := max(16, min(v.now.Width, v.now.Height)/16)
	thin := max(4, side/4)
	return min(w, h) <= side && (max(w, h) <= side || len(p.samples) <= thin*max(w, h))
}

// inside reports whether both vectors of a sample point into the picture.
func (v *view) inside(x, y int) bool {
	for _, f := range v.vectors {
		m := f.Of(x<<v.shiftX, y<<v.shiftY).Scaled(v.shiftX, v.shiftY)
		if x, y := x+m.X/2, y+m.Y/2; x < 0 || y < 0 || x >= v.now.Width || y >= v.now.Height {
			return false
		}
	}
	return true
}

// surrounded reports whether the neighbours agree with each other in a patch, and with the frame
// around it. It sets the weights, the source and the offset of the replacement.
func (v *view) surrounded(p *patch) bool {
	w := p.x1 - p.x0 + 2*rim
	h := p.y1 - p.y0 + 2*rim
	distance := make([]uint8, w*h)
	for i := range distance {
		distance[i] = rim
	}
	var edge []int
	for _, q := range p.samples {
		x, y := int(q)%v.now.Width-p.x0+rim, int(q)/v.now.Width-p.y0+rim
		distance[y*w+x] = 0
		edge = append(edge, y*w+x)
	}
	for d := uint8(1); d < rim; d++ {
		var next []int
		for _, at := range edge {
			for _, by := range [...]int{-w - 1, -w, -w + 1, -1, 1, w - 1, w, w + 1} {
				if distance[at+by] > d {
					distance[at+by] = d
					next = append(next, at+by)
				}
			}
		}
		edge = next
	}
	noise := v.noiseOf((p.x0+p.x1)/2, (p.y0+p.y1)/2)
	limit := max(int(agreement*float64(p.contrast)), min(noise*3/2/16, p.contrast/2))
	p.shares = distance
	var inside, split, around, other, before, after, offBefore, offAfter int
	var marks, rims [3]int // sums in and around the patch: before, after and now
	for j := range h {
		y := p.y0 - rim + j
		if y < 0 || y >= v.now.Height {
			continue
		}
		for i := range w {
			x := p.x0 - rim + i
			d := distance[j*w+i]
			if x < 0 || x >= v.now.Width || d >= rim || !v.inside(x, y) {
				continue
			}
			q := y*v.now.Width + x
			a, b, n := int(v.before.Pix[q]), int(v.after.Pix[q]), int(v.now.Pix[q])
			if d == 0 {
				marks = [3]int{marks[0] + a, marks[1] + b, marks[2] + n}
			}
			switch {
			case d < soft:
				inside++
				split += max(a-b, b-a)
			case v.labels[q] != 0:
				other++
			default:
				around++
				rims = [3]int{rims[0] + a, rims[1] + b, rims[2] + n}
				offBefore, offAfter = offBefore+n-a, offAfter+n-b
				before, after = before+max(n-a, a-n), after+max(n-b, b-n)
			}
		}
	}
	if split > limit*inside || around <= other || before > limit*around || after > limit*around {
		return false
	}
	// Fine detail and changes of focus look like a patch that the neighbours show more faintly.
	var mark [3]int
	for i := range mark {
		mark[i] = marks[i]/len(p.samples) - rims[i]/around
	}
	least := int(fainter * float64(mark[2]))
	if mark[2] > 0 && min(mark[0], mark[1]) > least || mark[2] < 0 && max(mark[0], mark[1]) < least {
		return false
	}
	p.from, p.offset = &v.before, offBefore/around
	if after < before {
		p.from, p.offset = &v.after, offAfter/around
	}
	for i, d := range distance {
		p.shares[i] = [...]uint8{255, 255, 170, 85, 0, 0, 0}[d]
	}
	return true
}

// flickers reports whether a patch also appears two frames before or after, at the same position or
// at its motion-compensated position.
func (v *view) flickers(p *patch) bool {
	for k, far := range v.far {
		for _, times := range [...]int{0, 1} {
			sum := 0
			for _, q := range p.samples {
				x, y := int(q)%v.now.Width, int(q)/v.now.Width
				m := v.vectors[k].Of(x<<v.shiftX, y<<v.shiftY).Scaled(v.shiftX, v.shiftY)
				a, b := int(v.before.Pix[q]), int(v.after.Pix[q])
				d := 2*far.At(x+times*m.X, y+times*m.Y) - a - b
				if 2*int(v.now.Pix[q]) < a+b {
					d = -d
				}
				sum += d
			}
			if sum > int(2*still*float64(p.contrast*len(p.samples))) {
				return true
			}
		}
	}
	return false
}

// outline is a selection of positions in a patch and around it, for comparisons.
type outline struct {
	marks, rims    []spot
	x0, y0, x1, y1 int // bounding box
	spread         int // mean deviation of rims
}

type spot struct{ x, y, value int }

func (v *view) outline(p *patch) (o outline) {
	const most = 64 // positions of each kind
	o.x0, o.y0 = v.now.Width, v.now.Height
	w := p.x1 - p.x0 + 2*rim
	for i, share := range p.shares {
		x, y := p.x0-rim+i%w, p.y0-rim+i/w
		if x < 0 || y < 0 || x >= v.now.Width || y >= v.now.Height {
			continue
		}
		q := y*v.now.Width + x
		at := spot{x, y, int(v.now.Pix[q])}
		switch {
		case share == 255 && v.labels[q] == p.label:
			o.marks = append(o.marks, at)
		case share > 0 && share < 255:
			o.rims = append(o.rims, at)
		default:
			continue
		}
		o.x0, o.y0, o.x1, o.y1 = min(o.x0, x), min(o.y0, y), max(o.x1, x+1), max(o.y1, y+1)
	}
	sum := 0
	for _, all := range [...]*[]spot{&o.marks, &o.rims} {
		step := max((len(*all)+most-1)/most, 1)
		for i := 0; i*step < len(*all); i++ {
			(*all)[i] = (*all)[i*step]
		}
		*all = (*all)[:(len(*all)+step-1)/step]
	}
	n := max(len(o.rims), 1)
	for _, at := range o.rims {
		sum += at.value
	}
	for _, at := range o.rims {
		o.spread += abs(at.value - sum/n)
	}
	o.spread /= n
	return o
}

// shows reports whether a picture matches an outline at a displacement, within a mean difference.
func (o *outline) shows(in *plane.Plane, dx, dy, most int) bool {
	inside := o.x0+dx >= 0 && o.y0+dy >= 0 && o.x1+dx <= in.Width && o.y1+dy <= in.Height
	for _, all := range [...][]spot{o.marks, o.rims} {
		left := most * len(all)
		for _, at := range all {
			x, y := at.x+dx, at.y+dy
			if !inside {
				x, y = min(max(x, 0), in.Width-1), min(max(y, 0), in.Height-1)
			}
			if left -= abs(at.value - int(in.Pix[y*in.Width+x])); left < 0 {
				return false
			}
		}
	}
	return true
}

// found reports whether the patch and its surroundings match both neighbours at some displacement
// near the motion vectors, or match one of them closely. The vectors may be wrong there.
func (v *view) found(p *patch, o *outline) bool {
	const large = 25 // samples: a match is hardly chance
	reach := v.reach()
	count, alone := 0, either
	if len(p.samples) >= large {
		alone = eitherLarge
	}
	any, own := v.limit(p, o, both), v.limit(p, o, alone)
	for k := range v.near {
		m := v.vectors[k].Of((p.x0+p.x1)/2<<v.shiftX, (p.y0+p.y1)/2<<v.shiftY).Scaled(v.shiftX, v.shiftY)
		here, most := 0, any
		for dy := m.Y>>1 - reach; dy <= m.Y>>1+reach; dy++ {
			for dx := m.X>>1 - reach; dx <= m.X>>1+reach; dx++ {
				if !o.shows(&v.near[k], dx, dy, most) {
					continue
				}
				if here > 0 || o.shows(&v.near[k], dx, dy, own) {
					return true
				}
				here, most = 1, own // seeks a closer match
			}
		}
		count += here
	}
	return count == 2
}

// repeats reports whether the frame itself shows the patch and its surroundings at another
// position, as with the windows of a house. Surroundings without structure match anywhere, and do
// not count.
func (v *view) repeats(p *patch, o *outline) bool {
	if o.spread < int(structure*float64(p.contrast))+v.noiseAt(p)/2 {
		return false
	}
	reach, most := v.reach(), v.limit(p, o, both)
	apartX, apartY := p.x1-p.x0+rim, p.y1-p.y0+rim
	for dy := -reach; dy <= reach; dy++ {
		for dx := -reach; dx <= reach; dx++ {
			if (abs(dx) >= apartX || abs(dy) >= apartY) && o.shows(&v.now, dx, dy, most) {
				return true
			}
		}
	}
	return false
}

// reach is the distance of a search for an object, in samples.
func (v *view) reach() int { return min(max(v.now.Width/10, 12), 160) }

// limit is the largest mean difference of a match: a part of the contrast, more where the
// surroundings have structure, and the noise of both pictures.
func (v *view) limit(p *patch, o *outline, part float64) int {
	c, n := float64(p.contrast), float64(v.noiseAt(p))
	c = part*c + max(0, float64(o.spread)-structure*c)/2
	return int(math.Sqrt(c*c + n*n))
}

// noiseAt returns the noise around a patch.
func (v *view) noiseAt(p *patch) int { return v.noiseOf((p.x0+p.x1)/2, (p.y0+p.y1)/2) / 16 }

// beside reports whether the neighbours differ from each other next to a patch, in its direction
// and by about its contrast. The patch then belongs to a moving object.
func (v *view) beside(p *patch) bool {
	reach := max(12, v.now.Width/32)
	x0, y0, x1, y1 := max(p.x0-reach, 0), max(p.y0-reach, 0), min(p.x1+reach, v.now.Width-1), min(p.y1+reach, v.now.Height-1)
	least := int(similar * float64(p.contrast))
	count := 0
	for cy := y0 / cellSide; cy*cellSide < y1; cy++ {
		for cx := x0 / cellSide; cx*cellSide < x1; cx++ {
			if int(v.cells.split[cy*v.cells.width+cx]) < least {
				continue
			}
			for y := max(y0, cy*cellSide); y < min(y1, (cy+1)*cellSide); y++ {
				for x := max(x0, cx*cellSide); x < min(x1, (cx+1)*cellSide); x++ {
					a, b, n := square(v.before, x, y), square(v.after, x, y), square(v.now, x, y)
					if p.alike(a-b, 4*least) && p.alike(a-n, 4*least) || p.alike(b-a, 4*least) && p.alike(b-n, 4*least) {
						count++
					}
				}
			}
		}
	}
	return count >= max(1, int(moved*float64(len(p.samples))))
}

// resembles reports whether two patches are similar in sign, size and contrast.
func (p *patch) resembles(q *patch) bool {
	n, m := len(p.samples), len(q.samples)
	return p.sign*q.sign >= 0 && 3*n >= m && 3*m >= n && 2*p.contrast >= q.contrast && 2*q.contrast >= p.contrast
}

// away returns the displacement from p to another patch.
func (p *patch) away(q *patch) (dx, dy int) {
	return (q.x0 + q.x1 - p.x0 - p.x1) / 2, (q.y0 + q.y1 - p.y0 - p.y1) / 2
}

func abs(x int) int { return max(x, -x) }

// travels reports whether a patch lies half way between similar patches of the frames before and
// after. One such patch is enough if the other would lie outside the picture or the video, or if
// the samples match as well.
func (v *view) travels(p *patch, o *outline, others [2][]*patch) bool {
	reach := v.now.Width / 4
	near := max(32, v.now.Width/8)
	for k, all := range others {
		for _, a := range all {
			dx, dy := p.away(a)
			if !p.resembles(a) || max(abs(dx), abs(dy)) > reach {
				continue
			}
			out := v.end || p.x0 < dx || p.y0 < dy || p.x1-dx > v.now.Width || p.y1-dy > v.now.Height
			if max(abs(dx), abs(dy)) <= near && (out || o.showsAbout(&v.near[k], dx, dy, v.limit(p, o, one))) {
				return true
			}
			if k == 1 {
				continue
			}
			off := 4 + (abs(dx)+abs(dy))/4
			for _, b := range others[1] {
				if ex, ey := p.away(b); abs(dx+ex) <= off && abs(dy+ey) <= off && p.resembles(b) {
					return true
				}
			}
		}
	}
	return false
}

// showsAbout is shows with a tolerance in the displacement.
func (o *outline) showsAbout(in *plane.Plane, dx, dy, most int) bool {
	const by = 3 // samples
	for y := dy - by; y <= dy+by; y++ {
		for x := dx - by; x <= dx+by; x++ {
			if o.shows(in, x, y, most) {
				return true
			}
		}
	}
	return false
}

// touches reports whether a similar patch lies at the same position. If both neighbours have one
// there, the motion is not understood.
func touches(p *patch, all []*patch) bool {
	return slices.ContainsFunc(all, func(q *patch) bool {
		return p.x0 < q.x1+rim && q.x0 < p.x1+rim && p.y0 < q.y1+rim && q.y0 < p.y1+rim && p.resembles(q)
	})
}

// swarms reports whether several similar patches lie nearby in the same frame and in both
// neighbours, as in sparks, rain or glitter. At the ends of the video, one neighbour suffices.
func (v *view) swarms(p *patch, some []*patch, others [2][]*patch) bool {
	reach := v.now.Width / 6
	x := min(max((p.x0+p.x1)/2, reach), v.now.Width-reach) // keeps the search area inside the picture
	y := min(max((p.y0+p.y1)/2, reach), max(v.now.Height-reach, reach))
	count := func(all []*patch) (n int) {
		for _, q := range all {
			near := abs((q.x0+q.x1)/2-x) <= reach && abs((q.y0+q.y1)/2-y) <= reach
			if near && q != p && p.sign*q.sign >= 0 && 2*q.contrast >= p.contrast && 4*len(q.samples) >= len(p.samples) {
				n++
			}
		}
		return n
	}
	before, after := count(others[0]), count(others[1])
	return before >= swarm && after >= swarm && count(some) > 0 || v.end && before+after >= swarm
}

// alike reports whether a difference has the sign of the patch and at least this magnitude.
func (p *patch) alike(d, least int) bool {
	return p.sign >= 0 && d >= least || p.sign <= 0 && -d >= least
}

// square returns the sum of 2x2 samples.
func square(p plane.Plane, x, y int) int {
	i := y*p.Width + x
	return int(p.Pix[i]) + int(p.Pix[i+1]) + int(p.Pix[i+p.Width]) + int(p.Pix[i+p.Width+1])
}

// mend blends the replacement of a patch into a component of a frame.
func (v *view) mend(out plane.Component, p *patch) {
	w := p.x1 - p.x0 + 2*rim
	x0, x1 := max(p.x0-rim, 0), min(p.x1+rim, v.now.Width)
	row := make([]uint16, x1-x0)
	part := out
	part.Data = part.Data[x0*part.Step:]
	for y := max(p.y0-rim, 0); y < min(p.y1+rim, v.now.Height); y++ {
		part.Read(row, 0, y)
		shares := p.shares[(y-p.y0+rim)*w+x0-p.x0+rim:]
		from := p.from.Row(y)[x0:x1]
		for i, n := range row {
			to := min(max(int(from[i])+p.offset, 0), v.now.Max())
			row[i] = uint16(int(n) + int(shares[i])*(to-int(n))/255)
		}
		part.Write(row, y)
	}
}
