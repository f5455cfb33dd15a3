// Package kerneltest makes pictures for tests of filters, and says how two of them differ.
package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/pipeline"
)

const canary = 0xa5

// Frame returns a frame whose rows are padded by an odd number of bytes, with canaries in the padding
// and around the planes.
func Frame(format pipeline.Format) *pipeline.Frame {
	var planes [4]pipeline.Plane
	for i := range format.NumPlanes() {
		w, rows := format.PlaneSize(i)
		pitch := w + 13
		block := make([]byte, 32+pitch*rows+32)
		for k := range block {
			block[k] = canary
		}
		planes[i] = pipeline.Plane{Data: block[32 : 32+pitch*rows : 32+pitch*rows], Pitch: pitch}
	}
	return pipeline.NewFrame(format, planes, nil, nil)
}

// CheckCanaries reports a write outside the rows of a Frame.
func CheckCanaries(t *testing.T, what string, f *pipeline.Frame) {
	t.Helper()
	for i := range f.NumPlanes() {
		w, rows := f.PlaneSize(i)
		p := f.Planes[i]
		for y := range rows {
			for x := w; x < p.Pitch; x++ {
				if p.Data[y*p.Pitch+x] != canary {
					t.Fatalf("%s: plane %d of %s: byte %d of row %d is outside and was written", what, i, f.Format, x, y)
				}
			}
		}
	}
}

// Noise makes every sample independent: the hardest picture for errors of weights.
func Noise(f *pipeline.Frame, rng *rand.Rand) {
	EachSample(f, func(_, _, _ int) byte { return byte(rng.Uint32()) })
}

// Scene makes edges, slopes and grain, such as video has.
func Scene(f *pipeline.Frame, rng *rand.Rand) {
	EachSample(f, func(plane, x, y int) byte {
		v := 60 + 20*plane + (x*3+y*2)%97
		if (x/9+y/7)%3 == 0 {
			v += 70
		}
		return byte(v + int(rng.Uint32()%17) - 8)
	})
}

// EachSample sets every sample of a frame.
func EachSample(f *pipeline.Frame, value func(plane, x, y int) byte) {
	for i := range f.NumPlanes() {
		_, rows := f.PlaneSize(i)
		for y := range rows {
			row := f.Row(i, y)
			for x := range row {
				row[x] = value(i, x, y)
			}
		}
	}
}

// Difference is how two frames of one format differ.
type Difference struct {
	Samples, Count, Largest int
	first                   string
}

// Compare compares the samples; what lies between rows does not count.
func Compare(got, want *pipeline.Frame) (d Difference) {
	for i := range want.NumPlanes() {
		_, rows := want.PlaneSize(i)
		for y := range rows {
			g, w := got.Row(i, y), want.Row(i, y)
			for x := range w {
				d.add(i, x, y, int(g[x]), int(w[x]))
			}
		}
	}
	return d
}

func (d *Difference) add(plane, x, y, got, want int) {
	d.Samples++
	if got == want {
		return
	}
	if d.Count == 0 {
		d.first = fmt.Sprintf("plane %d, x %d, y %d: got %d, want %d", plane, x, y, got, want)
	}
	d.Count++
	d.Largest = max(d.Largest, got-want, want-got)
}

func (d Difference) String() string {
	return fmt.Sprintf("%s; %d of %d samples differ, by %d at most", d.first, d.Count, d.Samples, d.Largest)
}

// TooFar reports whether a sample is more than a level off, or more than one in a hundred are unlike.
func (d Difference) TooFar() bool { return d.Largest > 1 || d.Count*100 > d.Samples }

// Merge adds up counts.
func (d *Difference) Merge(o Difference) {
	if d.Count == 0 {
		d.first = o.first
	}
	d.Samples, d.Count, d.Largest = d.Samples+o.Samples, d.Count+o.Count, max(d.Largest, o.Largest)
}
