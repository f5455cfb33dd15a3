package gpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gorgonia.org/cu"

	"vidfilter/denoise"
	"vidfilter/denoise/denoisetest"
	"vidfilter/denoise/device"
	"vidfilter/denoise/noise"
	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// TestDenoiseTimes prints how long each kernel takes, the whole work on a frame, and a clip with
// all copies, after a check of the results. On the test driver, whose times mean nothing, it takes
// a small picture.
//
//	VIDFILTER_TEST_GPU=1 go test ./gpu -run 'TestDenoiseTimes' -v
func TestDenoiseTimes(t *testing.T) {
	compares(t)
	if !onDriver(t, "") {
		return
	}
	formats, clip := []pipeline.Format{yuv(pipeline.YUV420P, 1920, 1080), yuv(pipeline.NV12, 3840, 2160), yuv(pipeline.NV12.At(10), 3840, 2160)}, 120
	if slow {
		formats, clip = []pipeline.Format{yuv(pipeline.NV12.At(10), 64, 48)}, 2
	}
	b := open(t, Options{})
	for tier, name := range []string{"fast", "good", "best"} {
		o := denoiseOptions(denoise.Tier(tier))
		o.FrameGate = false // so that all neighbours are read
		small := noisyClip{yuv(pipeline.YUV420P, 64, 48), 5, false}
		got, err := onDevice(b, o, small)
		if err != nil {
			t.Fatal(err)
		}
		agree(t, got, plainly(t, o, small))
		for _, f := range formats {
			fmt.Printf("== %s, %s\n", name, f)
			if err := timeDenoise(b, f, o, clip); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// panning returns frames of a pan with noise, in pinned memory, which is drawn fast.
func panning(b *Backend, f pipeline.Format, n int) (frames []*pipeline.Frame, free func(), err error) {
	const side = 1024
	tile := denoisetest.Texture(3).Draw(side, side, 8, 1, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	noises := make([]int, 1<<20)
	for i := range noises {
		noises[i] = int(10 * rng.NormFloat64())
	}
	pool := pipeline.NewPool(b.Input(), 1)
	for k := range n {
		fr, err := pool.TakeFrame(f, nil)
		if err != nil {
			pool.Close()
			return nil, nil, err
		}
		i := rng.IntN(len(noises))
		for c := range 3 {
			part := plane.ComponentOf(fr, plane.Whole, c)
			row := make([]uint16, part.Width)
			for y := range part.Height {
				for x := range row {
					i++
					v := int(tile.Pix[(y+k)%side*side+(x+3*k)%side]) + noises[i%len(noises)]
					row[x] = uint16(min(max(v, 0), 255) << (part.Depth - 8))
				}
				part.Write(row, y)
			}
		}
		frames = append(frames, fr)
	}
	return frames, func() {
		for _, fr := range frames {
			fr.Release()
		}
		pool.Close()
	}, nil
}

func timeDenoise(b *Backend, f pipeline.Format, o denoise.Options, clip int) error {
	before, after := o.Window()
	frames, free, err := panning(b, f, before+1+after)
	if err != nil {
		return err
	}
	defer free()
	if err := timeKernels(b, frames, before, o); err != nil {
		return err
	}
	return timeClip(b, frames, o, clip)
}

// timeKernels prints the times of the kernels and of all of them together.
func timeKernels(b *Backend, frames []*pipeline.Frame, centre int, o denoise.Options) error {
	ctx := context.Background()
	d := &denoiser{backend: b, unit: b.units[0], cell: o.Motion.Cell}
	defer d.Idle()
	var window []uint64
	var pictures []*cudaPicture
	for _, f := range frames {
		p, err := d.Prepare(ctx, f, plane.Whole)
		if err != nil {
			return err
		}
		defer p.Release()
		pictures = append(pictures, p.(*cudaPicture))
		window = append(window, uint64(pictures[len(pictures)-1].memory.address))
	}
	layout, work := pictures[0].kind.layout, pictures[0].kind.work
	part := b.partOf(frames[0], nil, plane.Whole)
	var source, result *stage
	err := d.unit.work.do(func() (err error) {
		for _, p := range pictures {
			if err := d.run(layout.Smooth(uint64(p.memory.address), false)); err != nil {
				return err
			}
		}
		if source, err = d.stage(inward, part.place.size); err != nil {
			return err
		}
		result, err = d.stage(outward, part.place.size)
		return err
	})
	if err != nil {
		return err
	}
	d.settle()
	job := device.Job{
		Work: uint64(work.address), Window: window, Centre: centre, Noise: noise.Flat(o.Sigma), Settings: o.Settings,
		Result: part.samples(result.memory.address), Depth: part.format.Layout.Info().Depth,
	}
	denoising, err := layout.Denoise(job)
	if err != nil {
		return err
	}
	runs := slices.Concat(layout.Prepare(window[len(window)-1], part.samples(source.memory.address)),
		layout.Smooth(window[len(window)-1], false), denoising)
	sum := time.Duration(0)
	for i := range runs {
		// What comes before leaves what it reads, above all the gates, to which the search adds.
		if err := d.unit.work.do(func() error { return d.run(runs[:i]) }); err != nil {
			return err
		}
		d.settle()
		took, err := timeRuns(d.unit, runs[i:i+1])
		if err != nil {
			return err
		}
		sum += took
		r := runs[i]
		fmt.Printf("   %-18s %6d x %2d blocks of %3d threads, %5d bytes shared  %8.4f ms\n", r.Kernel.Name, r.Grid[0], r.Grid[1], r.Block[0], r.Shared, milliseconds(took))
	}
	all, err := timeRuns(d.unit, runs)
	if err != nil {
		return err
	}
	fmt.Printf("   the kernels, one by one: %.3f ms; a frame, in sequence: %.3f ms, %.0f fps; memory: %d pictures of %s, work %s\n",
		milliseconds(sum), milliseconds(all), 1000/milliseconds(all), len(frames), megabytes(int64(layout.Picture)), megabytes(int64(layout.Work)))
	return nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// timeRuns returns the least time of several batches.
func timeRuns(u *unit, runs []device.Run) (time.Duration, error) {
	t, err := newTrial(u, 1, func(_ int, s []cu.Stream) error {
		for _, r := range runs {
			f, err := u.load(r.Kernel)
			if err != nil {
				return err
			}
			if err := run(f.kernel, r.Launch, s[0]); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	defer t.close()
	repeat := Repeat{Batches: 5, Runs: 50, Time: 100 * time.Millisecond}
	if slow {
		repeat = Repeat{Batches: 1, Runs: 1}
	}
	times, err := t.measure(context.Background(), repeat)
	if err != nil {
		return 0, err
	}
	return slices.Min(times), nil
}

// timeClip prints the speed of the filter, copies and waiting included.
func timeClip(b *Backend, frames []*pipeline.Frame, o denoise.Options, clip int) error {
	pool := pipeline.NewPool(b, 6)
	defer pool.Close()
	filter := denoising(b, pool, o)
	ctx := context.Background()
	done := 0
	var first, last time.Time
	emit := func(f *pipeline.Frame) error {
		f.Release()
		last = time.Now()
		if done++; done == 1 {
			first = last
		}
		return nil
	}
	for i := range clip {
		if err := filter.Process(ctx, frames[i%len(frames)].Retain(), emit); err != nil {
			return err
		}
	}
	if err := filter.Flush(ctx, emit); err != nil {
		return err
	}
	each := last.Sub(first) / time.Duration(done-1)
	fmt.Printf("   a clip of %d frames, with copies: %.3f ms a frame, %.0f fps\n", done, milliseconds(each), 1000/milliseconds(each))
	return nil
}
