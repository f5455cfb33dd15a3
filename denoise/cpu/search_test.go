package cpu

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"vidfilter/denoise"
	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
	"vidfilter/pipeline"
)

// wild is a frame whose parts move in all directions, some far beyond the edges. One part is black
// and white.
func wild(format pipeline.Format, seed uint64) *pipeline.Frame {
	r := rand.New(rand.NewPCG(seed, 7))
	scene := denoisetest.Texture(3)
	for i := range 6 {
		part := denoisetest.Texture(uint64(4 + i))
		if i == 4 {
			part = func(x, y float64) float64 { return 255 * float64((int(x+4096)/40+int(y+4096)/40)%2) }
		}
		part = part.Moved(r.Float64()*90-45, r.Float64()*90-45)
		scene = scene.Left(float64(i*format.Width/6), part)
	}
	sx, sy := format.ChromaShift()
	f := newFrame(format)
	denoisetest.NoisyPicture(scene.Picture(format.Width, format.Height, format.Layout.Info().Depth, sx, sy), 6, seed).Into(f, plane.Whole)
	return f
}

// TestVectors compares found, extended and refined vectors with denoise/motion, bit for bit.
func TestVectors(t *testing.T) {
	for _, size := range [][2]int{{131, 97}, {64, 64}, {16, 16}, {203, 21}, {17, 130}} {
		for _, depth := range []int{8, 10, 12, 14, 16} {
			format := pipeline.Format{Layout: pipeline.YUV444P.At(depth), Width: size[0], Height: size[1]}
			var frames []*pipeline.Frame
			for i := range 9 {
				frames = append(frames, wild(format, uint64(i)))
			}
			for i, isa := range isa.Names() {
				sigma := []float64{3, 18}[(i+depth/2)%2]
				s := denoise.Default(denoise.Best)
				s.FrameGate = false
				checkVectors(t, fmt.Sprint(size, ", ", depth, " bits, ", isa, ", sigma ", sigma), isa, frames, sigma, s)
			}
		}
	}
}

func checkVectors(t *testing.T, what, isa string, frames []*pipeline.Frame, sigma float64, s denoise.Settings) {
	t.Helper()
	const centre = 4
	e := newEngine(t, isa, 2)
	search := motion.NewSearch(s.Motion, sigma)
	f := &filter{Settings: s, Engine: e, noise: noise.Flat(sigma), centre: centre, pilots: denoise.Planes{true}, filtered: denoise.Planes{true}, search: search}
	var lumas []plane.Plane
	for _, frame := range frames {
		w, err := e.prepare(frame, plane.Whole)
		e2e.Must(t, err)
		defer w.Release()
		f.window = append(f.window, w)
		lumas = append(lumas, plane.Of(frame, plane.Whole).AtLeast(largestPatch, largestPatch).Planes[0])
	}
	f.frame = f.window[centre]
	defer f.release()
	near, err := f.near()
	e2e.Must(t, err)
	from := search.Prepare(lumas[centre])
	found := map[int]motion.Field{}
	for _, n := range near {
		want := search.Find(from, search.Prepare(lumas[centre+n.distance]))
		found[n.distance] = want
		checkField(t, fmt.Sprint(what, ", to ", n.distance), fieldOf(n.job, n.job.found[0], motion.Cell), want)
		fits := search.Fits(from, search.Prepare(lumas[centre+n.distance]), want)
		if got := len(f.fitting([]*neighbour{n})) == 1; got != fits {
			t.Errorf("%s, to %d: fits: %v, want %v", what, n.distance, got, fits)
		}
	}
	// Another frame's luma serves as the pilot.
	other, err := f.window[0].forSearch(search.Coarse)
	e2e.Must(t, err)
	f.rounded = other.levels[0]
	pilot := search.Prepare(lumas[0]).Levels[0]
	all, err := f.refined(near)
	e2e.Must(t, err)
	for d, field := range found {
		found[d] = search.Refine(pilot, search.Prepare(lumas[centre+d]), field)
	}
	for _, n := range all {
		want, ok := found[n.distance]
		if !ok {
			d := f.Near
			if n.distance < 0 {
				d = -d
			}
			want = search.Refine(pilot, search.Prepare(lumas[centre+n.distance]), found[d].Extend(d, n.distance))
		}
		got := fieldOf(n.job, n.job.refined, motion.RefinedCell)
		if reach := f.reach(n); reach > 0 { // longer vectors may be any
			far := func(v motion.Vector) bool { return max(v.X, -v.X)+max(v.Y, -v.Y) > reach }
			for i, v := range got.Vectors {
				if far(v) && far(want.Vectors[i]) {
					want.Vectors[i] = v
				}
			}
		}
		checkField(t, fmt.Sprint(what, ", refined, to ", n.distance), got, want)
	}
}

func checkField(t *testing.T, what string, got, want motion.Field) {
	t.Helper()
	if len(got.Vectors) != len(want.Vectors) || got.Width != want.Width || got.Cell != want.Cell {
		t.Fatalf("%s: %d cells of %d, want %d of %d", what, len(got.Vectors), got.Cell, len(want.Vectors), want.Cell)
	}
	for i, v := range want.Vectors {
		if got.Vectors[i] != v {
			t.Fatalf("%s: cell %d: %v, want %v", what, i, got.Vectors[i], v)
		}
	}
}
