package kernels

import "testing"

// TestPairSpacing: the tiles of a phase add to no pixel in common, the phases have all tiles between them, and their memory is enough.
func TestPairSpacing(t *testing.T) {
	for _, v := range pairVariants() {
		if v.Version == "naive" {
			continue
		}
		for radius := range MaxRadius + 1 {
			p := v.Adapt(DefaultParams(radius))
			all := pairPasses(v, p, 1000, 501)
			phases := all[1 : len(all)-1]
			down := len(phases) / 2
			if across := v.width + 2*radius; across > 2*v.width || v.height+radius > down*v.height {
				t.Errorf("%s, radius %d: tiles of %d x %d overlap", v.Name, radius, across, v.height+radius)
			}
			for _, s := range phases {
				if s.grid[0]*2*v.width < 1000 || s.grid[1]*down*v.height < 501 {
					t.Errorf("%s, radius %d: grid %v", v.Name, radius, s.grid)
				}
				if s.shared != 12*(v.width+2*radius)*(v.height+radius) || s.shared > 48<<10 {
					t.Errorf("%s, radius %d: %d bytes of shared memory", v.Name, radius, s.shared)
				}
			}
		}
	}
}
