package repair

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/motion"
	"vidfilter/denoise/plane"
	"vidfilter/internal/e2e"
	"vidfilter/internal/isa"
)

func alone(n int, do func(i int)) {
	for i := range n {
		do(i)
	}
}

// The C code and the reference give the same bits.
func TestForms(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, size := range [][2]int{{1, 1}, {7, 5}, {17, 130}, {300, 41}, {67, 66}} {
		for _, depth := range []int{8, 10, 16} {
			var planes [3]plane.Plane
			for i := range planes {
				scene := denoisetest.Texture(3).Moved(2.5*float64(i), float64(i))
				planes[i] = denoisetest.Noisy(scene.Draw(size[0], size[1], depth, 1, 1), 20, uint64(i))
			}
			for _, name := range isa.Names() {
				set, err := isa.Find(name)
				e2e.Must(t, err)
				forms := []form{plain{}, newFast(set, alone)}
				var found [2][2]motion.Field
				var moved [2]plane.Plane
				var compared [2]cells
				for i, f := range forms {
					var s [3]searched
					for k, p := range planes {
						s[k], err = f.prepare(context.Background(), p)
						e2e.Must(t, err)
						defer s[k].Release()
					}
					found[i], err = f.find(context.Background(), s[0], s[1], s[2])
					e2e.Must(t, err)
				}
				if !slices.Equal(found[0][0].Vectors, found[1][0].Vectors) || !slices.Equal(found[0][1].Vectors, found[1][1].Vectors) {
					t.Errorf("%v, %d bits, %s: the vectors differ", size, depth, name)
				}
				for _, shift := range [][2]int{{0, 0}, {1, 0}, {1, 1}} {
					v := found[0][0]
					v.Width, v.Height = (size[0]<<shift[0]+7)/8, (size[1]<<shift[1]+7)/8
					v.Vectors = make([]motion.Vector, v.Width*v.Height)
					for i := range v.Vectors {
						v.Vectors[i] = motion.Vector{X: r.IntN(161) - 80, Y: r.IntN(161) - 80}
					}
					for i, f := range forms {
						moved[i], compared[i] = planes[0].Like(), newCells(planes[0])
						for y := 0; y < size[1]; y += stripRows {
							f.compensate(moved[i], planes[0], v, shift[0], shift[1], y, min(y+stripRows, size[1]))
						}
						f.compare(compared[i], planes[0], planes[1], moved[0], 0, compared[i].height)
					}
					a, b := compared[0], compared[1]
					if !slices.Equal(moved[0].Pix, moved[1].Pix) {
						t.Errorf("%v, %d bits, %s, shifted by %v: the compensated samples differ", size, depth, name, shift)
					}
					if !slices.Equal(a.peak, b.peak) || !slices.Equal(a.split, b.split) || !slices.Equal(a.sum, b.sum) {
						t.Errorf("%v, %d bits, %s, shifted by %v: the cells differ", size, depth, name, shift)
					}
				}
			}
		}
	}
}
