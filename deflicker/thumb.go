package deflicker

import (
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// thumbSide is the maximum length of a thumb's longer side, in samples.
const thumbSide = 160

// thumb is a thumbnail of mean luma. 0 is black and 1 is white.
type thumb struct {
	w, h int
	pix  []float32
}

// at returns a sample. Coordinates are clamped to the thumb.
func (t *thumb) at(x, y int) float64 {
	return float64(t.pix[min(max(y, 0), t.h-1)*t.w+min(max(x, 0), t.w-1)])
}

// levels returns the level of black, and the distance of white from it.
func levels(f pipeline.Format) (black, span int) {
	info := f.Layout.Info()
	if info.RGB || f.FullRange {
		return 0, 1<<info.Depth - 1
	}
	return 16 << (info.Depth - 8), 219 << (info.Depth - 8)
}

// thumbOf returns the thumb of a frame or of one of its fields. Both fields have the same size.
func thumbOf(f *pipeline.Frame, field plane.Field, threads int) *thumb {
	cell := (max(f.Width, f.Height) + thumbSide - 1) / thumbSide
	rows, height := cell, f.Height
	if field != plane.Whole {
		rows, height = (cell+1)/2, f.Height/2
	}
	t := &thumb{w: (f.Width + cell - 1) / cell, h: (height + rows - 1) / rows}
	t.pix = make([]float32, t.w*t.h)
	all := brightness(f, field)
	black, span := levels(f.Format)
	every := max(1, rows/6) // six rows of a cell suffice
	inParts(t.h, threads, func(from, to int) {
		row, sums := make([]uint16, f.Width), make([]int, t.w)
		for y := from; y < to; y++ {
			clear(sums)
			n := 0
			for at := y * rows; at < min((y+1)*rows, height); at += every {
				n++
				for i := range all {
					all[i].Read(row, 0, at)
					addCells(sums, row, cell, all[i].weight)
				}
			}
			for x, sum := range sums {
				count := 4 * n * min(cell, f.Width-x*cell)
				t.pix[y*t.w+x] = (float32(sum)/float32(count) - float32(black)) / float32(span)
			}
		}
	})
	return t
}

// addCells adds the samples of a row to the sums of their cells.
func addCells(sums []int, row []uint16, cell, weight int) {
	for x := range sums {
		sum := 0
		for _, v := range row[x*cell : min((x+1)*cell, len(row))] {
			sum += int(v)
		}
		sums[x] += weight * sum
	}
}

// weighted is a component and its weight in the brightness, in quarters.
type weighted struct {
	plane.Component
	weight int
}

// brightness returns luma, or R, G and B, with weights.
func brightness(f *pipeline.Frame, field plane.Field) []weighted {
	if !f.Layout.Info().RGB {
		return []weighted{{plane.ComponentOf(f, field, 0), 4}}
	}
	c := colours(f, field)
	return []weighted{{c[0], 1}, {c[1], 2}, {c[2], 1}}
}

// colours returns R, G and B of an RGB frame.
func colours(f *pipeline.Frame, field plane.Field) (all [3]plane.Component) {
	order := [3]int{0, 1, 2}
	if f.Layout.Info().Planes == 3 {
		order = [3]int{2, 0, 1}
	}
	for i := range all {
		all[i] = plane.ComponentOf(f, field, order[i])
	}
	return all
}

// inParts splits n rows among threads.
func inParts(n, threads int, do func(from, to int)) {
	threads = min(threads, n)
	plane.Each(threads, threads, func(i int) { do(i*n/threads, (i+1)*n/threads) })
}
