package gpu

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"vidfilter/denoise"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// openAll opens all devices, or the only one twice.
func openAll(t *testing.T, patience time.Duration) *Backend {
	t.Helper()
	o := Options{All: true, Patience: patience}
	if all, err := Devices(); err == nil && len(all) == 1 {
		o = Options{Indexes: []int{0, 0}, Patience: patience}
	}
	return open(t, o)
}

// inTurn denoises on all devices of b, in runs of the given number of frames.
func inTurn(b *Backend, run int, o denoise.Options, clips ...noisyClip) ([][]byte, error) {
	return denoisedBy(context.Background(), b, b.Input(), clips, func(p *pipeline.Pool) pipeline.Filter {
		return denoise.NewFilter(denoise.InTurn(denoisers(b, o), run, o.Settings), p, o)
	})
}

// denoisers returns an engine for each device.
func denoisers(b *Backend, o denoise.Options) (all []denoise.Engine) {
	for _, u := range b.units {
		all = append(all, newDenoiser(b, u, o.Settings))
	}
	return all
}

// TestDenoiseTurns: several devices give the bits of one, for runs shorter than the window and
// clips shorter than a run.
func TestDenoiseTurns(t *testing.T) {
	small := yuv(pipeline.YUV420P, 40, 32)
	measured := denoiseOptions(denoise.Fast)
	measured.Sigma = 0
	causal := denoiseOptions(denoise.Good)
	causal.Ahead = 0
	for _, test := range []struct {
		name  string
		clips []noisyClip
		o     denoise.Options
		runs  []int
	}{
		{"fast", []noisyClip{{small, 12, false}}, denoiseOptions(denoise.Fast), []int{1, 4, 16}},
		{"best", []noisyClip{{small, 26, false}}, denoiseOptions(denoise.Best), []int{5}},
		{"measured", []noisyClip{{small, 11, false}}, measured, []int{4}},
		{"causal", []noisyClip{{small, 7, false}}, causal, []int{2}},
		{"fields", []noisyClip{{small, 9, true}}, denoiseOptions(denoise.Fast), []int{2}},
		{"change", []noisyClip{{small, 5, false}, {yuv(pipeline.NV12, 24, 20), 5, false}, {small, 3, true}}, denoiseOptions(denoise.Fast), []int{2}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !onDriver(t, "") {
				return
			}
			want, err := onDevice(open(t, Options{}), test.o, test.clips...)
			e2e.Must(t, err)
			b := openAll(t, 0)
			for _, run := range test.runs {
				got, err := inTurn(b, run, test.o, test.clips...)
				e2e.Must(t, err)
				if !slices.EqualFunc(got, want, bytes.Equal) {
					t.Errorf("runs of %d change the bits", run)
				}
			}
		})
	}
}

// TestDenoiseAll: the backend's filter takes turns, with the bits of one device. The filter of a
// live picture does not.
func TestDenoiseAll(t *testing.T) {
	if !onDriver(t, "") {
		return
	}
	p := kernels.DefaultDenoise()
	p.Noise, p.Quality = 10, kernels.Fast
	clip := noisyClip{yuv(pipeline.YUV420P, 24, 20), runOf(2) + 4, false}
	filtered := func(b *Backend) [][]byte {
		got, err := denoisedBy(context.Background(), b, b.Input(), []noisyClip{clip}, func(pool *pipeline.Pool) pipeline.Filter {
			f, err := b.Filter(p, pool)
			e2e.Must(t, err)
			return f
		})
		e2e.Must(t, err)
		return got
	}
	one, all := open(t, Options{}), openAll(t, 0)
	if !slices.EqualFunc(filtered(one), filtered(all), bytes.Equal) {
		t.Error("the bits depend on the number of devices")
	}
	if got, want := all.Held(p)-one.Held(p), runOf(len(all.units))*(len(all.units)-1); got != want {
		t.Errorf("%d results more are held for %d devices, not %d", got, len(all.units), want)
	}
	p.Causal = true
	if got := all.Held(p); got != depth {
		t.Errorf("a causal filter holds %d results", got)
	}
}

// TestDenoiseTurnsFaults: the error names the device that failed, whichever it is, and all memory
// is freed.
func TestDenoiseTurnsFaults(t *testing.T) {
	for _, driver := range []string{"launch=1", "launch=70", "hang=30", "lost=99", "alloc=25", "silent"} {
		t.Run(driver, func(t *testing.T) {
			options, want := driver, " on cuda:[01], "
			if driver == "silent" {
				options, want = "devices=2", " on cuda:1, yuv420p 40x32: cuda:1 did not answer"
			}
			if !onDriver(t, options) {
				return
			}
			b := openAll(t, patience(driver))
			if driver == "silent" {
				b.units[1].giveUp()
			}
			_, err := inTurn(b, 3, denoiseOptions(denoise.Fast), noisyClip{yuv(pipeline.YUV420P, 40, 32), 12, false})
			named := regexp.MustCompile(want).MatchString(fmt.Sprint(err))
			if !errors.Is(err, ErrDevice) || !named || strings.Contains(fmt.Sprint(err), "not released") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// TestDenoiseMemory: only the windows and the frames in flight take memory, and at 4K less than
// 1.5 GB on each device and 1 GB on the host.
func TestDenoiseMemory(t *testing.T) {
	large := yuv(pipeline.YUV420P, 3840, 2160)
	_, _, size := large.PlanLayout(pipeline.PitchAlign)
	for _, tier := range []denoise.Tier{denoise.Fast, denoise.Good, denoise.Best} {
		o := denoiseOptions(tier)
		one := newDenoiser(&Backend{common: &common{streams: 1}}, nil, o.Settings)
		if n, err := one.bytes(large, 1); err != nil || n > 1500e6 {
			t.Errorf("tier %d takes %s of a GPU at 4K, %v", tier, megabytes(n), err)
		}
		for devices := range 25 {
			b := &Backend{common: &common{streams: autoStreams}, units: make([]*openDevice, devices+1)}
			const waiting = 4 + 3 // for the encoder, and between the stages
			results := b.denoiser(o.Settings).Depth() + waiting
			sources := denoising(b, nil, o).Held() + 1
			const measuring = 3 * 2 // pictures of 16 bits
			if n := (results + sources + measuring) * size; n > 1000e6 {
				t.Errorf("tier %d takes %s of the host at 4K with %d devices", tier, megabytes(int64(n)), devices+1)
			}
		}
	}
	if !onDriver(t, "") {
		return
	}
	f, o := yuv(pipeline.YUV420P, 128, 96), denoiseOptions(denoise.Fast)
	b := openAll(t, 0)
	before := make([]int64, len(b.units))
	for i, u := range b.units {
		before[i] = freeOn(t, u)
	}
	pool, inputs := pipeline.NewPool(b, b.held()+runOf(2)), pipeline.NewPool(b.Input(), 1)
	defer pool.Close()
	defer inputs.Close()
	filter := denoising(b, pool, o)
	defer filter.Discard()
	for n := range runOf(2) + 2*3 + 1 {
		in, err := inputs.TakeFrame(f, nil)
		e2e.Must(t, err)
		in.Row(0, 0)[0] = byte(n) // differs from the frame before
		if err := filter.Process(t.Context(), in, func(f *pipeline.Frame) error { f.Release(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	planned, err := newDenoiser(b, nil, o.Settings).bytes(f, autoStreams)
	e2e.Must(t, err)
	if slow { // a real device has other users, and rounds sizes up
		for i, u := range b.units {
			if got := before[i] - freeOn(t, u); got > planned+planned/1000 || got < planned*9/10 {
				t.Errorf("%s: %d bytes are in use, %d planned", u, got, planned)
			}
		}
	}
}

func freeOn(t *testing.T, u *openDevice) int64 {
	t.Helper()
	n, err := u.free()
	e2e.Must(t, err)
	return n
}

// TestDenoiseMemoryOfLanes: frames are denoised side by side where an eighth of the memory is
// enough for it, so on cards of up to 8 GB that never takes more than 1 GB.
func TestDenoiseMemoryOfLanes(t *testing.T) {
	sizes := []pipeline.Format{
		yuv(pipeline.YUV420P, 1920, 1080), yuv(pipeline.YUV420P.At(10), 1920, 1080),
		yuv(pipeline.YUV420P, 3840, 2160), yuv(pipeline.YUV420P.At(10), 3840, 2160),
	}
	for _, test := range []struct {
		gigabytes int64
		want      [3]string // lanes of each tier, at each of the sizes
	}{
		{4, [3]string{"3311", "3311", "3111"}},
		{6, [3]string{"3311", "3311", "3311"}},
		{8, [3]string{"3311", "3311", "3311"}},
		{12, [3]string{"3332", "3332", "3311"}},
		{24, [3]string{"3333", "3333", "3333"}},
	} {
		for tier := denoise.Fast; tier <= denoise.Best; tier++ {
			d := newDenoiser(&Backend{common: &common{streams: autoStreams}}, nil, denoise.Default(tier))
			got := ""
			for _, f := range sizes {
				n, err := d.lanesFor(f, test.gigabytes<<30)
				e2e.Must(t, err)
				got += fmt.Sprint(n)
			}
			if got != test.want[tier-denoise.Fast] {
				t.Errorf("%d GB, tier %d: %s lanes", test.gigabytes, tier, got)
			}
		}
	}
}
