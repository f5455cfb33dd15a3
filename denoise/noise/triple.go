package noise

import (
	"math"
	"slices"

	"vidfilter/denoise/plane"
)

// A Triple is the information of three frames in a row on the noise of the middle one. It differs
// from both others by its own noise: the common part of the two differences is noise, with almost
// no motion or bad matches. The size is fixed, and triples add up.
type Triple struct {
	planes [3]threes
	tones  [brightBins]tone // of luma
	span   int              // frames from the first to the last of the three
}

// tone adds up the blocks of a bin of brightness that have little texture for it.
type tone struct {
	n      int
	shared float64 // sum of their means of the product of the two differences
	low    int     // blocks of the low group in this bin
}

// threes are the blocks of a plane. The groups are chosen by the energy of the mean of the three
// frames, which noise changes alike in all blocks.
type threes struct {
	low, high     group // of blocks with little texture, and with much
	counted, same int   // blocks, and those that a codec has copied

	// Of the middle half of the blocks by the energy of their differences.
	between, shared float64

	// Sums over the frames of the part that the differences of the low group have in common, and
	// of its square.
	common, squares float64
}

// group adds up blocks, by coefficient.
type group struct {
	n       int
	between [64]float64 // mean square of the two differences, halved
	shared  [64]float64 // their product
	texture [64]float64 // square of the mean of the three frames

	frames int
	uneven float64 // sum over the frames of the logarithm of the ratio of quartiles
}

// middle is a frame whose blocks have been matched in the frame before, until the one after comes.
type middle struct {
	list    []area
	vectors []vector // to the frame before
	patches []patch  // of the areas
	planes  [3][]memo
	span    int // frames from the one before to the latest that shows this one
}

// memo is a block of a middle frame.
type memo struct {
	area, x, y    int
	own           block // coefficients; then the coefficients of the mean of the three
	before, after block // of the differences, over the root of two

	texture, between, shared float32 // means over the coefficients
	same                     bool    // as a match
}

const (
	mostSpan = 8 // frames from the first to the last of three different ones

	lowFrom, lowTo, highFrom = 0.05, 0.25, 0.60 // ranks of the groups
	restless                 = 0.10             // the part of a group that differs most is left out
)

func newMiddle(f *Frame, list []area, patches []patch, vectors []vector) *middle {
	m := &middle{list: list, patches: patches, vectors: vectors, span: 1}
	for c := range f.pic.Planes {
		blocks := 4 * len(list)
		if c > 0 {
			blocks >>= f.pic.ShiftX + f.pic.ShiftY
		}
		m.planes[c] = make([]memo, 0, max(blocks, len(list)))
	}
	return m
}

// again returns the middle as a frame that shows it once more, nil if it has been shown for long.
func (m *middle) again() *middle {
	if m == nil || m.span+2 > mostSpan {
		return nil
	}
	m.span++
	return m
}

// remember keeps a block that has been loaded and transformed.
func (m *middle) remember(c int, b *blocks) {
	m.planes[c] = append(m.planes[c], memo{area: b.area, x: b.x, y: b.y, own: b.block, before: b.diff})
}

// compare makes the triple with the frame after, given the search of that frame in the middle one,
// which s.ref shows.
func (m *middle) compare(s *search) *Triple {
	t := &Triple{span: m.span + 1}
	vectors := make([]vector, len(m.list))
	const run = 16
	plane.Rows((len(vectors)+run-1)/run, func(i int) {
		for j := i * run; j < min((i+1)*run, len(vectors)); j++ {
			vectors[j] = s.onwards(m.list[j], &m.patches[j], m.vectors[j])
		}
	})
	for c := range s.cur.pic.Planes {
		memos := m.planes[c]
		const run = 64
		plane.Rows((len(memos)+run-1)/run, func(i int) {
			for j := i * run; j < min((i+1)*run, len(memos)); j++ {
				memos[j].compare(&s.cur.pic, c, vectors[memos[j].area])
			}
		})
	}
	for c, memos := range m.planes {
		if c == 0 {
			t.addTones(memos, t.planes[c].add(memos, acrossAreas(memos)))
		} else {
			t.planes[c].add(memos, acrossPlanes(memos, m.planes[3-c]))
		}
	}
	return t
}

// onwards returns the vector of an area from the middle frame to the one after, given that to the
// one before: motion goes on.
func (s *search) onwards(a area, smooth *patch, back vector) vector {
	m := matcher{s.ref.levels[0], s.cur.levels[0]}
	on := vector{-back.x, -back.y}
	there := s.finest.at(a.x>>s.level, a.y>>s.level)
	p := vector{on.x / 2, on.y / 2}
	v := m.near(a.x, a.y, p, vector{}, vector{-there.x << s.level, -there.y << s.level})
	if v != p {
		on = v.twice()
	}
	return s.cur.find(smooth, a, on)
}

// compare reads the block's match in the frame after.
func (m *memo) compare(pic *plane.Views, c int, v vector) {
	if c > 0 { // rounded as the vector to the frame before, if they are opposite
		v = vector{-shifted(-v.x, pic.ShiftX), -shifted(-v.y, pic.ShiftY)}
	}
	p := &pic.Planes[c]
	next := &m.after
	var there samples
	there.read(p, clamp(m.x+v.x, 0, p.Width-8), clamp(m.y+v.y, 0, p.Height-8))
	there.transform(nil, p.Unit(), 64, 64, next, nil)
	next[0] = (m.own[0] - next[0]) * (math.Sqrt2 / 2)
	var e1, e2, product, texture float32
	for k := 1; k < 64; k++ {
		own, d1 := m.own[k], m.before[k]
		d2 := (own - next[k]) * (math.Sqrt2 / 2)
		mean := own - float32((d1+d2)*(math.Sqrt2/3))
		next[k], m.own[k] = d2, mean
		e1 += float32(d1 * d1)
		e2 += float32(d2 * d2)
		product += float32(d1 * d2)
		texture += float32(mean * mean)
	}
	m.same = e1 < 63*least || e2 < 63*least
	m.between, m.shared, m.texture = (e1+e2)/2/63, 2*product/63, texture/63
}

// item is a block in an order: the upper half is a value above 0 as bits, the lower the number.
type item uint64

func itemOf(value float32, i int) item {
	return item(math.Float32bits(max(value, 0)))<<32 | item(i)
}

func (i item) number() int    { return int(uint32(i)) }
func (i item) value() float64 { return float64(math.Float32frombits(uint32(i >> 32))) }

// add adds the blocks of a frame. The surroundings of a block show the motion there, without the
// block's own noise: around is, by block, the mean energy of the differences there, below 0 if
// there is nothing. It returns the blocks in the order of their texture.
func (t *threes) add(memos []memo, around []float32) (byTexture []item) {
	var byBetween []item
	for i := range memos {
		m := &memos[i]
		if m.same {
			t.same++
			continue
		}
		t.counted++
		byBetween = append(byBetween, itemOf(m.between, i))
		if around[i] >= 0 {
			byTexture = append(byTexture, itemOf(m.texture, i))
		}
	}
	slices.Sort(byTexture)
	t.low.add(memos, around, ranks(byTexture, lowFrom, lowTo))
	t.high.add(memos, around, ranks(byTexture, highFrom, 1))
	slices.Sort(byBetween)
	for _, i := range byBetween[len(byBetween)/4 : len(byBetween)*3/4] {
		m := &memos[i.number()]
		t.between += float64(m.between)
		t.shared += float64(m.shared)
	}
	if t.low.n > 0 {
		common := t.low.common()
		t.common, t.squares = common, common*common
	}
	return byTexture
}

// ranks returns a part of a list.
func ranks(list []item, from, to float64) []item {
	n := float64(len(list))
	return list[int(from*n):int(to*n)]
}

// addTones adds the blocks of luma, given in the order of their texture, by their brightness.
func (t *Triple) addTones(memos []memo, byTexture []item) {
	var bins [brightBins][]item
	for _, at := range byTexture {
		b := memos[at.number()].bin()
		bins[b] = append(bins[b], at)
	}
	for b, list := range bins {
		for _, at := range ranks(list, lowFrom, lowTo) {
			t.tones[b].n++
			t.tones[b].shared += float64(memos[at.number()].shared)
		}
	}
	for _, at := range ranks(byTexture, lowFrom, lowTo) {
		t.tones[memos[at.number()].bin()].low++
	}
}

// bin returns the bin of the block's brightness.
func (m *memo) bin() int { return brightBin(m.own[0] / 8) }

// acrossAreas returns, by block, the mean energy of the other blocks of its area.
func acrossAreas(memos []memo) []float32 {
	around := make([]float32, len(memos))
	for i := 0; i < len(memos); {
		sum, n, end := float32(0), 0, i
		for ; end < len(memos) && memos[end].area == memos[i].area; end++ {
			if !memos[end].same {
				sum += memos[end].between
				n++
			}
		}
		for ; i < end; i++ {
			around[i] = -1
			if n > 1 {
				around[i] = max(sum-memos[i].between, 0) / float32(n-1)
			}
		}
	}
	return around
}

// acrossPlanes returns, by block, the energy of the one at the same place in the other plane.
func acrossPlanes(memos, others []memo) []float32 {
	around := make([]float32, len(memos))
	j := 0
	for i := range memos {
		m := &memos[i]
		before := func(o *memo) bool {
			return o.area < m.area || o.area == m.area && (o.y < m.y || o.y == m.y && o.x < m.x)
		}
		for j < len(others) && before(&others[j]) {
			j++
		}
		around[i] = -1
		if j < len(others) && !others[j].same && others[j].area == m.area && others[j].x == m.x && others[j].y == m.y {
			around[i] = others[j].between
		}
	}
	return around
}

// add adds the blocks of a list except those in the most restless surroundings.
func (g *group) add(memos []memo, around []float32, list []item) {
	if len(list) < fewest {
		return
	}
	order := make([]item, len(list))
	for i, at := range list {
		order[i] = itemOf(around[at.number()], at.number())
	}
	slices.Sort(order)
	n := len(order)
	g.uneven += math.Log2((order[n*3/4].value() + 1e-3) / (order[n/4].value() + 1e-3))
	g.frames++
	keep := int(float64(n) * (1 - restless))
	var between, shared, texture block
	for _, at := range order[:keep] {
		m := &memos[at.number()]
		for k := range 64 {
			d1, d2, mean := m.before[k], m.after[k], m.own[k]
			between[k] += float32((float32(d1*d1) + float32(d2*d2)) / 2)
			shared[k] += float32(2 * d1 * d2)
			texture[k] += float32(mean * mean)
		}
	}
	g.n += keep
	for k := range 64 {
		g.between[k] += float64(between[k])
		g.shared[k] += float64(shared[k])
		g.texture[k] += float64(texture[k])
	}
}

func (g *group) merge(h *group) {
	g.n += h.n
	g.frames += h.frames
	g.uneven += h.uneven
	for k := range 64 {
		g.between[k] += h.between[k]
		g.shared[k] += h.shared[k]
		g.texture[k] += h.texture[k]
	}
}

// merge adds the blocks of another triple.
func (t *Triple) merge(u *Triple) {
	for i, b := range u.tones {
		a := &t.tones[i]
		a.n, a.shared, a.low = a.n+b.n, a.shared+b.shared, a.low+b.low
	}
	for c := range t.planes {
		a, b := &t.planes[c], &u.planes[c]
		a.low.merge(&b.low)
		a.high.merge(&b.high)
		a.counted += b.counted
		a.same += b.same
		a.between += b.between
		a.shared += b.shared
		a.common += b.common
		a.squares += b.squares
	}
}
