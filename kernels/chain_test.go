package kernels_test

import (
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/chaintest"
)

// A chain of two filters gives the samples of two separate runs. Each pair runs on a clip of each
// layout, and four pairs cover all 16 clips.
func TestChains(t *testing.T) {
	b, err := kernels.NewCPU(2, "")
	e2e.Must(t, err)
	defer b.Close()
	for n := range chaintest.Pairs {
		first, second := chaintest.Pair(n)
		for k := range 4 {
			chaintest.ClipOf(5*k+4*n).Check(t, b, first, second)
		}
	}
}

// A part that is filtered with its neighbours as context has the samples of the whole.
func TestChainsInParts(t *testing.T) {
	b, err := kernels.NewCPU(2, "")
	e2e.Must(t, err)
	defer b.Close()
	for clip, pair := range chaintest.Parts() {
		clip.Check(t, b, pair[0], pair[1])
	}
}
