package enhance

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strings"

	"vidfilter/pipeline"
)

// Bars finds the black bars around the picture of a video from some of its frames, which must have
// one format. Levels are 8-bit levels.
//
// A row or column belongs to a bar only if it is dark and flat in every frame: the picture of a
// video whose shape changes is the union. An edge counts only if the picture reaches it along much
// of its length, so that neither a dark sky nor a logo or subtitles in a bar are cut.
type Bars struct {
	facts  Facts
	black  float64      // level
	frames []profile    // of each frame
	rows   [][]segment  // of each row, from left to right
	cols   [][]segment  // of each column, from top to bottom
	noise  [4][]float64 // at each side, of each frame
	line   []uint16     // of a frame, in 1/256 levels
	sums   []uint32     // of columns
	levels [][256]int   // how many samples of each level the parts of some rows have
	tape   *tape        // nil unless the format suits tape
}

// segment is the state of a part of a row or column in all frames.
type segment struct{ sum, most float32 }

// profile has the levels of a frame: of the brightest segment of each row and column, and of the
// middle sample in each cell of a grid.
type profile struct{ rows, cols, cells []float32 }

const (
	segments = 32  // of a row or column
	mostBar  = 16  // levels that a bar may be above black
	litLevel = 14  // levels above a bar at which a segment is lit for certain
	few      = 0.1 // a share that chance may take up
	unit     = 256 // of a level, in Bars.line

	tapeFrames = 20 // least number of frames of video that may be from tape
)

// The sides of a picture.
const (
	top = iota
	bottom
	left
	right
)

// NewBars returns a detector for frames with the facts of the first.
func NewBars(f Facts) *Bars {
	b := &Bars{facts: f, black: 16}
	if f.Format.FullRange || f.Format.Layout.Info().RGB {
		b.black = 0
	}
	b.rows, b.cols = grid(f.Format.Height, f.Format.Width), grid(f.Format.Width, f.Format.Height)
	b.levels = make([][256]int, len(b.rows[0]))
	b.line, b.sums = make([]uint16, f.Format.Width), make([]uint32, f.Format.Width)
	b.tape = b.newTape()
	return b
}

func grid(lines, length int) [][]segment {
	g := make([][]segment, lines)
	for i := range g {
		g[i] = make([]segment, min(segments, length))
	}
	return g
}

// Add looks at a frame of the detector's format, with samples in host memory.
func (b *Bars) Add(f *pipeline.Frame) {
	p := profile{make([]float32, f.Height), make([]float32, f.Width), make([]float32, len(b.rows[0])*len(b.cols[0]))}
	var noise [4][]float64
	clear(b.sums)
	part, parts, summed := 0, len(b.cols[0]), 0
	edge := soft(f.Height)
	for y := range f.Height {
		b.read(f, y)
		p.rows[y] = b.addRow(y)
		if y >= b.junk(top) && y < f.Height-b.junk(bottom) {
			summed++
			for x, v := range b.line {
				b.sums[x] += uint32(v)
			}
			if y < edge {
				noise[top] = append(noise[top], noiseIn(b.line))
			} else if y >= f.Height-edge {
				noise[bottom] = append(noise[bottom], noiseIn(b.line))
			}
		}
		if y%8 == 4 {
			w := min(f.Width, max(9, f.Width/50))
			noise[left] = append(noise[left], noiseIn(b.line[:w]))
			noise[right] = append(noise[right], noiseIn(b.line[f.Width-w:]))
		}
		if _, end := bounds(part, parts, f.Height); y+1 == end {
			b.endPart(p, part, summed)
			part, summed = part+1, 0
		}
	}
	for i := range noise {
		if len(noise[i]) > 0 {
			b.noise[i] = append(b.noise[i], quantile(noise[i], few))
		}
	}
	b.frames = append(b.frames, p)
	if b.tape != nil {
		b.tape.add(b, f)
	}
}

// addRow adds the segments of the row that was read, and returns the level of the brightest.
func (b *Bars) addRow(y int) (most float32) {
	for s := range b.rows[y] {
		from, to := bounds(s, len(b.rows[y]), len(b.line))
		sum, levels := 0, &b.levels[s]
		for _, v := range b.line[from:to] {
			sum += int(v)
			levels[v/unit]++
		}
		mean := float32(sum) / float32(unit*(to-from))
		b.rows[y][s].add(mean)
		most = max(most, mean)
	}
	return most
}

// endPart adds the segments of columns whose rows have been summed.
func (b *Bars) endPart(p profile, part, summed int) {
	for x, sum := range b.sums {
		if summed > 0 {
			mean := float32(sum) / float32(unit*summed)
			b.cols[x][part].add(mean)
			p.cols[x] = max(p.cols[x], mean)
		}
	}
	clear(b.sums)
	for s := range b.levels {
		p.cells[s*len(b.cols[0])+part] = float32(middle(&b.levels[s]))
	}
}

func (s *segment) add(mean float32) {
	s.sum += mean
	s.most = max(s.most, mean)
}

// bounds returns the samples of one of n segments.
func bounds(i, n, length int) (from, to int) { return i * length / n, (i + 1) * length / n }

// quantile returns the value that a share of all do not reach.
func quantile(x []float64, share float64) float64 {
	x = slices.Clone(x)
	slices.Sort(x)
	return x[int(share*float64(len(x)))]
}

// middle returns the median of samples, and forgets them.
func middle(levels *[256]int) int {
	all := 0
	for _, n := range levels {
		all += n
	}
	defer clear(levels[:])
	below := 0
	for level, n := range levels {
		if below += n; 2*below > all {
			return level
		}
	}
	return 0
}

// noiseIn estimates the deviation of noise that may be blurred: samples are compared at a distance.
func noiseIn(line []uint16) float64 {
	const apart = 8
	if len(line) <= apart {
		return 0
	}
	sum := 0
	for x := apart; x < len(line); x++ {
		sum += max(int(line[x])-int(line[x-apart]), int(line[x-apart])-int(line[x]))
	}
	return float64(sum) / unit / float64(len(line)-apart) / (2 / math.SqrtPi)
}

// junk returns how many lines at a side of video from tape may hold signals and the switching of
// heads, which are no picture.
func (b *Bars) junk(side int) int {
	h := b.facts.Format.Height
	switch {
	case h < 400 || h > 608:
		return 0
	case side == top:
		return 2
	case side == bottom:
		return h / 40
	}
	return 0
}

// read makes a line of the luma of row y. Of RGB, the brightest of the three counts.
func (b *Bars) read(f *pipeline.Frame, y int) {
	l := f.Layout.Info()
	clear(b.line)
	planes, channels := 1, 1
	if l.RGB {
		planes, channels = l.Planes, min(3, l.Samples)
	}
	for i := range planes {
		row := f.Row(i, y)
		for c := range channels {
			b.brighten(row, c, l)
		}
	}
}

// brighten raises the line to every sample of a row that is brighter. c is a pixel's first sample.
func (b *Bars) brighten(row []byte, c int, l pipeline.LayoutInfo) {
	if l.SampleBytes() == 1 {
		for x := range b.line {
			b.line[x] = max(b.line[x], uint16(row[x*l.Samples+c])*unit)
		}
		return
	}
	up := 16 - l.Depth - l.Shift
	for x := range b.line {
		b.line[x] = max(b.line[x], binary.LittleEndian.Uint16(row[2*(x*l.Samples+c):])<<up)
	}
}

// Full reports whether the picture is known to fill the frame: no more frames are needed.
func (b *Bars) Full() bool {
	for side := range 4 {
		if b.level(side, 0.5)-b.black <= mostBar {
			return false
		}
	}
	return len(b.frames) > 0 && (b.tape == nil || len(b.frames) >= tapeFrames)
}

// Found is the result of a detector.
type Found struct {
	Box    Box // of the stored picture; the whole if there are no bars
	Frames int // looked at
	Lit    int // of them, those with a picture
	Agree  int // of those, the ones whose own picture has the edges of the box
	Black  bool
	Sparse bool   // there are no more than a few lights on black, such as credits
	Usual  Box    // of the most frames, where their picture is smaller than the box; else empty
	Ragged [4]int // dark lines at the top, bottom, left and right that stay: there is something in them
	Data   bool   // rows of data above the box are cut
	Heads  bool   // rows of head switching below the box are cut
	facts  Facts
	whole  Box
}

// Crop returns the value of --crop that keeps the box, "" for the whole picture.
func (f Found) Crop() string {
	if f.Box.empty() || f.Box == f.whole {
		return ""
	}
	return CropOf(f.facts, f.Box).Box.String()
}

// Find returns the picture that all frames have within.
func (b *Bars) Find() Found {
	width, height := b.facts.Format.Width, b.facts.Format.Height
	whole := Box{Width: width, Height: height}
	found := Found{Box: whole, whole: whole, Frames: len(b.frames), facts: b.facts}
	if len(b.frames) == 0 {
		found.Black = true
		return found
	}
	limits := b.limits()
	stepX, stepY := b.facts.steps()
	across, down := len(b.rows[0]), len(b.cols[0]) // segments

	y0, y1 := found.ends(b, top, limits, 0, across)
	if y0+y1 >= height {
		found.Black = true
		return found
	}
	// Columns are judged between the bars above and below.
	from, to := (y0*down+height-1)/height, (height-y1)*down/height
	if from >= to {
		from, to = 0, down
	}
	x0, x1 := found.ends(b, left, limits, from, to)
	if x0+x1 >= width {
		found.Black = true
		return found
	}
	// Rows are judged again between the bars at the sides.
	from, to = (x0*across+width-1)/width, (width-x1)*across/width
	if x0+x1 > 0 && from < to {
		y0, y1 = found.ends(b, top, limits, from, to)
	}
	box := Box{width - x0 - x1, height - y0 - y1, x0, y0}.outward(stepX, stepY, width, height)
	found.count(b, box, limits)
	switch {
	case found.Lit == 0 || found.Sparse || box.Width < leastSide || box.Height < leastSide:
		found.Sparse = true
	default:
		found.Box = box
	}
	if found.Black || found.Sparse {
		found.Usual = Box{}
		return found
	}
	if end := b.tape.find() / stepY * stepY; end > 0 && end < found.Box.Y+found.Box.Height {
		found.Heads, found.Box.Height = true, end-found.Box.Y
	}
	if start := (b.tape.findTop() + stepY - 1) / stepY * stepY; start > found.Box.Y {
		found.Data = true
		found.Box.Y, found.Box.Height = start, found.Box.Height-(start-found.Box.Y)
	}
	return found
}

// ends finds the bars at a side, top or left, and at the one opposite.
func (f *Found) ends(b *Bars, side int, limits [4]float64, from, to int) (near, far int) {
	near, f.Ragged[side] = b.find(side, limits[side], from, to)
	far, f.Ragged[side+1] = b.find(side+1, limits[side+1], from, to)
	return near, far
}

// outward moves edges to the steps, without a loss of picture. A bar thinner than a step stays.
func (b Box) outward(stepX, stepY, width, height int) Box {
	x1, y1 := up(b.X+b.Width, stepX, width), up(b.Y+b.Height, stepY, height)
	b.X, b.Y = b.X/stepX*stepX, b.Y/stepY*stepY
	b.Width, b.Height = x1-b.X, y1-b.Y
	return b
}

func up(n, step, most int) int { return min((n+step-1)/step*step, most) }

func reversed[T any](lines []T) []T {
	lines = slices.Clone(lines)
	slices.Reverse(lines)
	return lines
}

// lines returns the lines of a side, from the edge inwards.
func (b *Bars) lines(side int) [][]segment {
	switch side {
	case top:
		return b.rows
	case bottom:
		return reversed(b.rows)
	case left:
		return b.cols
	}
	return reversed(b.cols)
}

// level returns the level at an edge that a share of it does not reach. A bar has one.
func (b *Bars) level(side int, share float64) float64 {
	lines := b.lines(side)
	skip := b.junk(side)
	var all []float64
	for _, line := range lines[skip:min(len(lines), skip+soft(len(lines)))] {
		for _, s := range line {
			all = append(all, float64(s.sum)/float64(max(1, len(b.frames))))
		}
	}
	return quantile(all, share)
}

// limits returns the levels from which segments at each side are lit.
func (b *Bars) limits() (limits [4]float64) {
	for side := range limits {
		lines := b.lines(side)
		level := b.level(side, few)
		if level-b.black > mostBar { // there is no bar
			limits[side] = math.Inf(-1)
			continue
		}
		var peaks []float64
		for _, line := range lines[len(lines)/4 : max(len(lines)/4+1, len(lines)*3/4)] {
			peaks = append(peaks, peak(line)-level)
		}
		contrast := min(10, 0.08*quantile(peaks, 0.5))
		noise := 0.0
		if n := b.noise[side]; len(n) > 0 {
			length := b.facts.Format.Width
			if side == left || side == right {
				length = b.facts.Format.Height
			}
			independent := max(1, float64(length)/segments/4)
			noise = 5*quantile(n, 0.5)/math.Sqrt(independent) + 0.5
		}
		limits[side] = level + min(litLevel, max(2, contrast, noise))
	}
	return limits
}

func peak(line []segment) float64 {
	most := float32(0)
	for _, s := range line {
		most = max(most, s.most)
	}
	return float64(most)
}

// agreed is the share of an edge's segments that the picture must reach.
const agreed = 0.4

// find returns how many lines at a side are a bar, by their segments of from up to to. ragged
// counts dark lines that are no bar, since there is something in them. Junk may be anything if a
// bar follows.
func (b *Bars) find(side int, limit float64, from, to int) (bar, ragged int) {
	lines := b.lines(side)
	bar = leading(len(lines), b.junk(side), func(i int) bool {
		return slices.ContainsFunc(lines[i][from:to], func(s segment) bool { return float64(s.most) > limit })
	})
	if bar == len(lines) {
		return bar, 0
	}
	reach := make([]int, 0, to-from) // where each segment is lit first
	for s := from; s < to; s++ {
		i := bar
		for i < len(lines) && float64(lines[i][s].most) <= limit {
			i++
		}
		reach = append(reach, i)
	}
	slices.Sort(reach)
	switch most, soft := reach[int(agreed*float64(len(reach)))], soft(len(lines)); {
	case most-bar <= soft:
		return b.sharp(lines, bar, from, to), 0
	case most == len(lines):
		return 0, 0
	default:
		return 0, most
	}
}

// sharp moves an edge over the few lines that a codec's ringing or a blur has lit a little.
func (b *Bars) sharp(lines [][]segment, bar, from, to int) int {
	const lit = 4
	if bar == 0 || bar+2*lit >= len(lines) {
		return bar
	}
	usual := func(i int) float64 {
		sum := 0.0
		for _, s := range lines[i][from:to] {
			sum += float64(s.sum)
		}
		return sum / float64(to-from)
	}
	dark, picture := usual(bar/2), usual(bar+2*lit)
	for i := bar; i < bar+lit; i++ {
		if usual(i)-dark < 0.15*(picture-dark) {
			bar = i + 1
		}
	}
	return bar
}

// count sums up the results of single frames.
func (f *Found) count(b *Bars, box Box, limits [4]float64) {
	limit := b.black + litLevel
	for _, l := range limits {
		if !math.IsInf(l, -1) {
			limit = min(limit, l)
		}
	}
	boxes := map[Box]int{}
	fullest := 0.0
	for _, p := range b.frames {
		share := p.share(b, box, limit)
		fullest = max(fullest, share)
		if share < 0.25 {
			continue
		}
		f.Lit++
		if own := p.box(b, limits); own.like(box, f.whole) {
			f.Agree++
		} else {
			boxes[own]++
		}
	}
	f.Sparse = fullest < 0.5
	for own := range boxes {
		n := 0
		for other, times := range boxes {
			if other.like(own, f.whole) {
				n += times
			}
		}
		if 2*n > f.Lit && (f.Usual.empty() || boxes[own] > boxes[f.Usual]) {
			f.Usual = own
		}
	}
	if !f.Usual.empty() {
		stepX, stepY := f.facts.steps()
		f.Usual = f.Usual.outward(stepX, stepY, f.whole.Width, f.whole.Height)
	}
}

// like reports whether the edges of two boxes are as near as soft edges are.
func (b Box) like(other, whole Box) bool {
	x, y := soft(whole.Width), soft(whole.Height)
	near := func(a, b, within int) bool { return a-b <= within && b-a <= within }
	return near(b.X, other.X, x) && near(b.X+b.Width, other.X+other.Width, x) &&
		near(b.Y, other.Y, y) && near(b.Y+b.Height, other.Y+other.Height, y)
}

// soft returns over how many of a picture's lines an edge may be blurred.
func soft(lines int) int { return max(4, lines/50) }

// share returns the part of a box that is lit in a frame.
func (p profile) share(b *Bars, box Box, limit float64) float64 {
	lit, all := 0, 0
	nx, ny := len(b.rows[0]), len(b.cols[0])
	for s := range nx {
		for t := range ny {
			x0, x1 := bounds(s, nx, len(b.cols))
			y0, y1 := bounds(t, ny, len(b.rows))
			if x0 < box.X || x1 > box.X+box.Width || y0 < box.Y || y1 > box.Y+box.Height {
				continue
			}
			all++
			if float64(p.cells[s*ny+t]) > limit {
				lit++
			}
		}
	}
	return float64(lit) / float64(max(1, all))
}

// box returns the picture of a single frame.
func (p profile) box(b *Bars, limits [4]float64) Box {
	y0, y1 := dark(p.rows, limits[top], b.junk(top)), dark(reversed(p.rows), limits[bottom], b.junk(bottom))
	x0, x1 := dark(p.cols, limits[left], 0), dark(reversed(p.cols), limits[right], 0)
	return Box{len(p.cols) - x0 - x1, len(p.rows) - y0 - y1, x0, y0}
}

// dark returns how many lines are a bar by their brightest segments.
func dark(levels []float32, limit float64, junk int) int {
	return leading(len(levels), junk, func(i int) bool { return float64(levels[i]) > limit })
}

// leading returns how many of n lines at an edge are not lit. The first junk ones may be lit if as
// many follow that are not.
func leading(n, junk int, lit func(int) bool) int {
	start := 0
	for i := range min(junk, n) {
		if lit(i) {
			start = junk
		}
	}
	bar := start
	for bar < n && !lit(bar) {
		bar++
	}
	if bar < 2*start {
		return 0
	}
	return bar
}

// String describes the removed and the remaining part.
func (f Found) String() string {
	var b strings.Builder
	shown := f.facts.Shown(f.Box)
	switch whole := f.facts.Shown(f.whole); {
	case f.Black:
		return fmt.Sprintf("crop: the video is black in %s: the whole picture stays", pictures(f.Frames))
	case f.Sparse:
		return fmt.Sprintf("crop: no more than a few lights on black, such as credits, in %s: the whole picture stays", pictures(f.Frames))
	case f.Box == f.whole:
		b.WriteString("crop: no black bars: the whole picture stays")
	default:
		fmt.Fprintf(&b, "crop: %dx%d at %d,%d: %s", shown.Width, shown.Height, shown.X, shown.Y, taken(shown, whole))
	}
	if f.Data {
		b.WriteString("; the rows at the top are data or half a line")
	}
	if f.Heads {
		b.WriteString("; at the bottom the heads of the recorder switch")
	}
	for side, n := range f.shownRagged() {
		if n > 0 {
			fmt.Fprintf(&b, "; %s stay: there is something in them", [4]string{
				fmt.Sprintf("%d dark rows at the top", n), fmt.Sprintf("%d dark rows at the bottom", n),
				fmt.Sprintf("%d dark columns on the left", n), fmt.Sprintf("%d dark columns on the right", n)}[side])
		}
	}
	if !f.Usual.empty() {
		fmt.Fprintf(&b, "; most of the video would fit --crop %v", f.facts.Shown(f.Usual))
	}
	return b.String()
}

func pictures(n int) string {
	if n == 1 {
		return "the one picture"
	}
	return fmt.Sprintf("all %d pictures", n)
}

// taken describes the part of the whole outside a box.
func taken(box, whole Box) string {
	var parts []string
	for _, side := range []struct {
		n    int
		name string
	}{
		{box.Y, "rows off the top"}, {whole.Height - box.Y - box.Height, "rows off the bottom"},
		{box.X, "columns off the left"}, {whole.Width - box.X - box.Width, "columns off the right"},
	} {
		if side.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", side.n, side.name))
		}
	}
	if len(parts) > 1 {
		return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
	}
	return parts[0]
}

// shownRagged returns the dark lines at the sides of the shown picture.
func (f Found) shownRagged() [4]int {
	r := f.Ragged
	sideways, mirrorX, mirrorY := f.facts.orientation()
	if sideways {
		r = [4]int{r[left], r[right], r[top], r[bottom]}
	}
	if mirrorY {
		r[top], r[bottom] = r[bottom], r[top]
	}
	if mirrorX {
		r[left], r[right] = r[right], r[left]
	}
	return r
}

// Value returns the value for --crop and a report for the user.
func (b *Bars) Value() (value, report string) {
	f := b.Find()
	return f.Crop(), f.String()
}
