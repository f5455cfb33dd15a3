package papers

import (
	"testing"

	"vidfilter/kernels"
)

// TestPairSpacing: no two tiles of a phase add to the same pixel, the phases together cover all
// tiles, and their memory suffices.
func TestPairSpacing(t *testing.T) {
	for _, v := range pairVariants() {
		v.Form = pairForm
		if Of(v).Version == "naive" {
			continue
		}
		for radius := range kernels.MaxRadius + 1 {
			p := v.Adapt(kernels.DefaultBilateral(radius)).(kernels.Bilateral)
			all := pairPasses(v, p, 1000, 501)
			phases := all[1 : len(all)-1]
			down := len(phases) / 2
			if across := v.Tile[0] + 2*radius; across > 2*v.Tile[0] || v.Tile[1]+radius > down*v.Tile[1] {
				t.Errorf("%s, radius %d: tiles of %d x %d overlap", v.Name, radius, across, v.Tile[1]+radius)
			}
			for _, s := range phases {
				if s.grid[0]*2*v.Tile[0] < 1000 || s.grid[1]*down*v.Tile[1] < 501 {
					t.Errorf("%s, radius %d: grid %v", v.Name, radius, s.grid)
				}
				if s.shared != 12*(v.Tile[0]+2*radius)*(v.Tile[1]+radius) || s.shared > 48<<10 {
					t.Errorf("%s, radius %d: %d bytes of shared memory", v.Name, radius, s.shared)
				}
			}
		}
	}
}
