package kernels_test

import (
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/kernels/chaintest"
)

// A chain of two filters makes the samples that each makes in a run of its own.
func TestPairs(t *testing.T) {
	b, err := kernels.NewCPU(2, "")
	e2e.Must(t, err)
	defer b.Close()
	n := 0
	for _, first := range chaintest.Filters() {
		for _, second := range chaintest.Filters() {
			for _, l := range chaintest.Layouts() {
				clip := chaintest.Small(l, n%2 > 0)
				n++
				t.Run(chaintest.Name(first)+" "+chaintest.Name(second)+" "+clip.String(), func(t *testing.T) {
					chaintest.Compare(t, clip.Play(t, b, first, second), clip.PlayApart(t, b, first, second))
				})
			}
		}
	}
}

// A part that is filtered with its neighbours as context has the samples of the whole.
func TestPairsInParts(t *testing.T) {
	b, err := kernels.NewCPU(2, "")
	e2e.Must(t, err)
	defer b.Close()
	for clip, pair := range chaintest.Parts() {
		t.Run(chaintest.Name(pair[0])+" "+chaintest.Name(pair[1])+" "+clip.String(), func(t *testing.T) {
			chaintest.Compare(t, clip.Play(t, b, pair[:]...), clip.PlayApart(t, b, pair[:]...))
		})
	}
}
