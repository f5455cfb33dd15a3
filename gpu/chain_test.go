package gpu

import (
	"testing"

	"vidfilter/kernels/chaintest"
)

// A chain of two filters makes the samples that each makes in a run of its own.
func TestChains(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{Streams: 2})
	for n := range chaintest.Pairs {
		first, second := chaintest.Pair(n)
		clip := chaintest.ClipOf(3 * n)
		if slow {
			if n%3 > 0 { // every filter is first and second once, and some results stay on the device
				continue
			}
			clip.Frames, clip.To = 6, 6
		}
		clip.Check(t, b, first, second)
	}
}

// A part that is filtered with its neighbours as context has the samples of the whole.
func TestChainsInParts(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	b := open(t, Options{Streams: 2})
	for clip, pair := range chaintest.Parts() {
		if !slow || clip.Frames < 60 {
			clip.Check(t, b, pair[0], pair[1])
		}
	}
}
