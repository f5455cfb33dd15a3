package gpu

import (
	"bytes"
	"context"
	"slices"
	"testing"

	"vidfilter/denoise"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Shares are spread over the devices, decode and filter on their own, and all give the same bits,
// also of devices of different generations.
func TestShare(t *testing.T) {
	if !onDriver(t, "compute=90/61") {
		return
	}
	b := open(t, Options{All: true})
	var shares []*Backend
	var ends []func()
	share := func() {
		s, end := b.Share()
		shares, ends = append(shares, s), append(ends, end)
	}
	for range 4 {
		share()
	}
	ends[1]()
	share()
	for i, unit := range []int{0, 1, 0, 1, 1} {
		if s := shares[i]; s.Devices() != 1 || s.units[0] != b.units[unit] {
			t.Errorf("share %d is of %s, want %s", i, s.Name(), b.units[unit])
		}
	}
	p := kernels.DefaultBilateral(5)
	var first []byte
	for _, s := range shares[:2] {
		film := newFilm(t, s, smallFormat, 5)
		got := &screen{t: t, answers: film.answers(t, p), keep: true}
		if err := show(t, context.Background(), s, film, got, p, s.Held(p)); err != nil || got.seen != 5 {
			t.Fatal(got.seen, err)
		}
		if first == nil {
			first = got.pixels
		}
		if !bytes.Equal(got.pixels, first) {
			t.Errorf("%s gives other bits", s.Name())
		}
	}
	o, clip := denoiseOptions(denoise.Fast), noisyClip{yuv(pipeline.YUV420P, 40, 32), 5, false}
	want, err := onDevice(shares[0], o, clip)
	e2e.Must(t, err)
	if got, err := onDevice(shares[1], o, clip); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
		t.Errorf("%s denoises otherwise: %v", shares[1].Name(), err)
	}
	d, err := shares[1].Decoding(nil)
	e2e.Must(t, err)
	defer d.Close()
	if d.unit != b.units[1] {
		t.Errorf("%s decodes on %s", shares[1].Name(), d.unit)
	}
}
