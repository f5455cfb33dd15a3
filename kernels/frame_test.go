package kernels

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/pipeline"
)

const canary = 0xa5

// testFrame returns a frame whose rows are padded by an odd number of bytes, with canaries in the padding
// and around the planes.
func testFrame(format pipeline.Format) *pipeline.Frame {
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

// checkCanaries reports a write outside the rows of a testFrame.
func checkCanaries(t *testing.T, what string, f *pipeline.Frame) {
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

// fillNoise makes every sample independent: the hardest picture for errors of weights.
func fillNoise(f *pipeline.Frame, rng *rand.Rand) {
	eachSample(f, func(_, _, _ int) byte { return byte(rng.Uint32()) })
}

// fillScene makes edges, slopes and grain, such as video has.
func fillScene(f *pipeline.Frame, rng *rand.Rand) {
	eachSample(f, func(plane, x, y int) byte {
		v := 60 + 20*plane + (x*3+y*2)%97
		if (x/9+y/7)%3 == 0 {
			v += 70
		}
		return byte(v + int(rng.Uint32()%17) - 8)
	})
}

func eachSample(f *pipeline.Frame, value func(plane, x, y int) byte) {
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

// difference is how two frames of one format differ.
type difference struct {
	samples, count, largest int
	first                   string
}

func compare(got, want *pipeline.Frame) (d difference) {
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

func (d *difference) add(plane, x, y, got, want int) {
	d.samples++
	if got == want {
		return
	}
	if d.count == 0 {
		d.first = fmt.Sprintf("plane %d, x %d, y %d: got %d, want %d", plane, x, y, got, want)
	}
	d.count++
	d.largest = max(d.largest, got-want, want-got)
}

func (d difference) String() string {
	return fmt.Sprintf("%s; %d of %d samples differ, by %d at most", d.first, d.count, d.samples, d.largest)
}

// merge adds up counts.
func (d *difference) merge(o difference) {
	if d.count == 0 {
		d.first = o.first
	}
	d.samples, d.count, d.largest = d.samples+o.samples, d.count+o.count, max(d.largest, o.largest)
}

// cpuRun filters src into dst on the CPU, which need not be memory of the backend.
func cpuRun(t testing.TB, cpu *CPU, dst, src *pipeline.Frame, p Params) {
	t.Helper()
	f, err := cpu.Bilateral(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.(*cpuBilateral).run(context.Background(), dst, src); err != nil {
		t.Fatal(err)
	}
}

func newCPU(t testing.TB, threads int, isa string) *CPU {
	t.Helper()
	cpu, err := NewCPU(threads, isa)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cpu.Close() })
	return cpu
}
