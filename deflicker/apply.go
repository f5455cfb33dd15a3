package deflicker

import (
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// apply writes a corrected picture. It multiplies the distance of each sample of luma, R, G and B
// from black by the factor for its level, and the distance of chroma from neutral by the factor for
// luma at the same position. 8-bit results are dithered, because a factor near 1 makes uneven
// steps.
func (c *correction) apply(out, in *pipeline.Frame, field plane.Field, threads int) {
	info := in.Layout.Info()
	p := painter{most: 1<<info.Depth - 1, rounding: pipeline.Rounding(info.Depth), factors: c.factors(in.Format), parts: c.parts}
	for _, area := range c.parts[:areas*areas] {
		p.uneven = p.uneven || area != 0
	}
	black, _ := levels(in.Format)
	if info.RGB {
		if info.Samples > 1 { // keeps alpha
			copyRows(out, in, field)
		}
		from, to := colours(in, field), colours(out, field)
		for i := range from {
			p.paint(to[i], from[i], float32(black), nil, 0, 0, threads)
		}
		return
	}
	luma := plane.ComponentOf(in, field, 0)
	p.paint(plane.ComponentOf(out, field, 0), luma, float32(black), nil, 0, 0, threads)
	for i := 1; i < plane.Components(in.Layout); i++ {
		if from := plane.ComponentOf(in, field, i); from.Own {
			p.paint(plane.ComponentOf(out, field, i), from, float32(int(1)<<(info.Depth-1)), &luma, info.SubX, info.SubY, threads)
		}
	}
}

// copyRows copies a field of a frame with one plane.
func copyRows(out, in *pipeline.Frame, field plane.Field) {
	first, step, n, _ := field.Rows(in.Height)
	for y := range n {
		copy(out.Row(0, first+y*step), in.Row(0, first+y*step))
	}
}

// factors returns the factor for each value of luma, or of R, G and B.
func (c *correction) factors(f pipeline.Format) []float32 {
	black, span := levels(f)
	all := make([]float32, 1<<f.Layout.Info().Depth)
	tone := c.parts[areas*areas:]
	for v := range all {
		i, near := toneOf(float64(v-black) / float64(span))
		all[v] = float32(c.gain * (1 + tone[i]*(1-near) + tone[i+1]*near))
	}
	return all
}

// painter is a correction prepared for a format.
type painter struct {
	most     int
	rounding pipeline.Roundings
	factors  []float32
	parts    parts
	uneven   bool // the correction varies across the picture
}

// paint writes a component. It multiplies the distance of each sample from zero by the factor for
// its own value, or for the co-sited value of luma. The component is subsampled by the shifts
// against luma.
func (p *painter) paint(out, in plane.Component, zero float32, luma *plane.Component, shiftX, shiftY, threads int) {
	var places columns
	if p.uneven {
		places = columnsOf(in.Width)
	}
	inParts(in.Height, threads, func(from, to int) {
		row, areaRow := make([]uint16, in.Width), make([]float32, in.Width)
		by, whole := row, []uint16(nil)
		if luma != nil {
			by, whole = make([]uint16, in.Width), make([]uint16, luma.Width)
		}
		for x := range areaRow {
			areaRow[x] = 1
		}
		for y := from; y < to; y++ {
			in.Read(row, 0, y)
			if luma != nil {
				luma.Read(whole, 0, min(y<<shiftY, luma.Height-1))
				for x := range by {
					by[x] = whole[x<<shiftX]
				}
			}
			if p.uneven {
				p.areas(areaRow, places, (float64(y)+0.5)/float64(in.Height))
			}
			rounding := p.rounding[y%8*8:][:8]
			for x, v := range row {
				s := int((float32(v)-zero)*p.factors[by[x]]*areaRow[x] + zero + rounding[x%8])
				row[x] = uint16(min(max(s, 0), p.most))
			}
			out.Write(row, y)
		}
	})
}

// columns maps each sample of a row to the node on its left and its distance from it, 0 to 1.
type columns struct {
	node []uint8
	near []float32
}

func columnsOf(width int) (c columns) {
	for x := range width {
		i, near := areaOf((float64(x) + 0.5) / float64(width))
		c.node, c.near = append(c.node, uint8(i)), append(c.near, float32(near))
	}
	return c
}

// areas sets the factors of a row at a position, 0 to 1, in the picture's height.
func (p *painter) areas(row []float32, all columns, part float64) {
	j, below := areaOf(part)
	var at, step [areas]float32
	for i := range at {
		at[i] = float32(1 + p.parts[j*areas+i]*(1-below) + p.parts[(j+1)*areas+i]*below)
	}
	for i := range areas - 1 {
		step[i] = at[i+1] - at[i]
	}
	for x, i := range all.node {
		row[x] = at[i] + step[i]*all.near[x]
	}
}
