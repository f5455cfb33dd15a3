// Package kerneltest makes test pictures for filters and compares frames.
package kerneltest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/pipeline"
	"vidfilter/samples/scene"
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

// Scene draws edges, slopes and grain, like video.
var Scene = scene.Pattern

// Noise makes every sample independent: the hardest picture for errors of weights.
func Noise(f *pipeline.Frame, rng *rand.Rand) {
	scene.EachSample(f, func(_, _, _ int) uint16 { return uint16(rng.Uint32() & (1<<depth(f) - 1)) })
}

// Beyond lists pictures of limited range that are one flat colour in RGB but noisy in their
// samples: lighter than white, darker than black, and a colour outside the RGB cube, each in any
// matrix.
var Beyond = map[string]func(f *pipeline.Frame, rng *rand.Rand){
	"white":   beyond([2]int{236, 255}, [2]int{128, 128}),
	"black":   beyond([2]int{0, 16}, [2]int{128, 128}),
	"magenta": beyond([2]int{72, 92}, [2]int{250, 255}),
}

func beyond(luma, chroma [2]int) func(f *pipeline.Frame, rng *rand.Rand) {
	return func(f *pipeline.Frame, rng *rand.Rand) {
		unit := 1 << (depth(f) - 8)
		scene.EachSample(f, func(plane, _, _ int) uint16 {
			of := chroma
			if plane == 0 {
				of = luma
			}
			return uint16(of[0]*unit + rng.IntN((of[1]-of[0])*unit+1))
		})
	}
}

func depth(f *pipeline.Frame) int { return f.Layout.Info().Depth }

// Sample returns sample x of a row.
func Sample(info pipeline.LayoutInfo, row []byte, x int) int {
	if info.Depth == 8 {
		return int(row[x])
	}
	return int(binary.LittleEndian.Uint16(row[2*x:]) >> info.Shift)
}

// Difference counts the samples in which two frames of one format differ.
type Difference struct {
	Samples, Count, Largest int // Largest is in levels of the depth
	first                   string
	depth                   int
}

// Compare compares all samples; padding between rows is ignored.
func Compare(got, want *pipeline.Frame) (d Difference) {
	info := want.Layout.Info()
	d.depth = info.Depth
	for i, y := range want.Rows() {
		g, w := got.Row(i, y), want.Row(i, y)
		for x := range len(w) / info.SampleBytes() {
			d.add(i, x, y, Sample(info, g, x), Sample(info, w, x))
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

// Bound is how far a sample may be off: one level, of 12 bits where samples have more.
func (d Difference) Bound() int { return max(1, 1<<d.depth>>12) }

// TooMany reports whether more samples differ than may: 1 % at 8 bits, and twice as many with each
// bit more, since finer levels round the same error up as often.
func (d Difference) TooMany() bool { return d.Count*100 > d.Samples<<max(0, d.depth-8) }

// TooFar reports whether any sample is too far off, or too many differ.
func (d Difference) TooFar() bool { return d.Largest > d.Bound() || d.TooMany() }

// Merge adds up counts.
func (d *Difference) Merge(o Difference) {
	if d.Count == 0 {
		d.first = o.first
	}
	d.Samples, d.Count, d.Largest = d.Samples+o.Samples, d.Count+o.Count, max(d.Largest, o.Largest)
	d.depth = max(d.depth, o.depth)
}
