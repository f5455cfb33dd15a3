// Package kerneltest generates test pictures for filters and compares frames.
package kerneltest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/pipeline"
)

const canary = 0xa5

// Frame returns a frame whose rows are padded by an odd number of bytes, with canaries in the
// padding and around the planes.
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

// CheckCanaries fails the test if bytes between the rows of a Frame were written.
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

// Scene draws edges, slopes and grain, like video.
func Scene(f *pipeline.Frame, rng *rand.Rand) {
	EachSample(f, func(plane, x, y int) byte {
		v := 60 + 20*plane + (x*3+y*2)%97
		if (x/9+y/7)%3 == 0 {
			v += 70
		}
		return byte(v + int(rng.Uint32()%17) - 8)
	})
}

// Beyond lists pictures of limited range that are one flat colour in 8-bit RGB but noisy in their
// samples: lighter than white, darker than black, and a colour outside the RGB cube, each in any
// matrix.
var Beyond = map[string]func(f *pipeline.Frame, rng *rand.Rand){
	"white":   beyond([2]int{236, 255}, [2]int{128, 128}),
	"black":   beyond([2]int{0, 16}, [2]int{128, 128}),
	"magenta": beyond([2]int{72, 92}, [2]int{250, 255}),
}

func beyond(luma, chroma [2]int) func(f *pipeline.Frame, rng *rand.Rand) {
	return func(f *pipeline.Frame, rng *rand.Rand) {
		EachSample(f, func(plane, _, _ int) byte {
			of := chroma
			if plane == 0 {
				of = luma
			}
			return byte(of[0] + rng.IntN(of[1]-of[0]+1))
		})
	}
}

// EachSample sets every sample of a frame.
func EachSample(f *pipeline.Frame, value func(plane, x, y int) byte) {
	for i, y := range f.Rows() {
		row := f.Row(i, y)
		for x := range row {
			row[x] = value(i, x, y)
		}
	}
}

// Difference counts the samples in which two frames of one format differ.
type Difference struct {
	Samples, Count, Largest int
	first                   string
}

// Compare compares all samples; padding between rows is ignored.
func Compare(got, want *pipeline.Frame) (d Difference) {
	for i, y := range want.Rows() {
		g, w := got.Row(i, y), want.Row(i, y)
		for x := range w {
			d.add(i, x, y, int(g[x]), int(w[x]))
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

// TooFar reports whether any sample is more than one level off, or more than 1 % of them differ.
func (d Difference) TooFar() bool { return d.Largest > 1 || d.Count*100 > d.Samples }

// Merge adds up counts.
func (d *Difference) Merge(o Difference) {
	if d.Count == 0 {
		d.first = o.first
	}
	d.Samples, d.Count, d.Largest = d.Samples+o.Samples, d.Count+o.Count, max(d.Largest, o.Largest)
}
