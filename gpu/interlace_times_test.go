package gpu

import (
	"context"
	"slices"
	"testing"
	"time"

	"gorgonia.org/cu"

	"vidfilter/denoise/device"
	"vidfilter/denoise/plane"
	"vidfilter/interlace"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// TestInterlaceTimes prints the times of a picture: all its kernels, each kernel, and with copies
// to and from the device.
//
//	VIDFILTER_TEST_GPU=1 go test ./gpu -run TestInterlaceTimes -v
func TestInterlaceTimes(t *testing.T) {
	compares(t)
	if !onDriver(t, oneDevice()) {
		return
	}
	formats, n, r := []pipeline.Format{
		yuv(pipeline.YUV420P, 1920, 1080), yuv(pipeline.YUV422P.At(10), 1920, 1080),
		yuv(pipeline.YUV420P, 3840, 2160), yuv(pipeline.YUV420P.At(10), 3840, 2160),
	}, 200, Repeat{Batches: 20, Runs: 50, Time: time.Second}
	if slow {
		formats, n, r = []pipeline.Format{yuv(pipeline.YUV420P.At(10), 64, 48)}, 4, Repeat{Batches: 1, Runs: 1, Time: time.Hour}
	}
	b := open(t, Options{})
	for _, format := range formats {
		frames, free, err := panning(b, format, interlace.Reach+1)
		e2e.Must(t, err)
		runs := func() []device.Run {
			w := &deinterlacer{backend: b, unit: b.units[0]}
			defer w.Idle()
			runs := w.runsOf(t, frames)
			all := w.timed(t, runs, r)
			t.Logf("%s: %.3f ms a picture, without copies", format, milliseconds(slices.Min(all)))
			for _, run := range runs {
				one := slices.Min(w.timed(t, []device.Run{run}, r))
				t.Logf("  %-24s %.3f ms, %v blocks of %v", run.Kernel.Name, milliseconds(one), run.Grid, run.Block)
			}
			return runs
		}()
		if len(runs) < 2 {
			t.Errorf("%d launches", len(runs))
		}
		pool := pipeline.NewPool(b, 8)
		f, err := b.Filter(kernels.Deinterlace{}, pool)
		e2e.Must(t, err)
		var done []time.Time
		emit := func(f *pipeline.Frame) error {
			f.Release()
			done = append(done, time.Now())
			return nil
		}
		for i := range n {
			in := frames[i%len(frames)]
			fr := pipeline.NewFrame(in.Format, in.Planes, nil, nil)
			fr.PTS, fr.Interlaced, fr.TopFieldFirst = int64(i), true, true
			e2e.Must(t, f.Process(t.Context(), fr, emit))
		}
		e2e.Must(t, f.Flush(t.Context(), emit))
		if len(done) != 2*n {
			t.Errorf("%d pictures from %d frames", len(done), n)
		}
		from, to := n/2, n*7/4
		t.Logf("%s: %.3f ms a picture, with copies", format, milliseconds(done[to].Sub(done[from])/time.Duration(to-from)))
		pool.Close()
		free()
	}
}

// runsOf returns the launches for one field and one picture.
func (w *deinterlacer) runsOf(t *testing.T, frames []*pipeline.Frame) (runs []device.Run) {
	t.Helper()
	var all window
	for i := range all {
		e, err := w.Prepare(context.Background(), frames[i/2], plane.Top+plane.Field(i%2))
		e2e.Must(t, err)
		all[i] = e.(*cudaField)
	}
	field, whole := w.backend.partOf(frames[0], w.unit, plane.Top), w.backend.resultOf(frames[0], w.unit)
	e2e.Must(t, w.slots.do(func() error {
		source, err := w.slots.stage(inward, field.place.size)
		if err != nil {
			return err
		}
		result, err := w.slots.stage(outward, whole.place.size)
		if err != nil {
			return err
		}
		last, err := w.better(&all, interlace.Reach, interlace.Passes)
		if err != nil {
			return err
		}
		first, err := w.better(&all, interlace.Reach, 1)
		if err != nil {
			return err
		}
		e := all[interlace.Reach]
		runs = slices.Concat(
			w.layout.Keep(uint64(e.memory.address), field.components(source.address)),
			w.layout.First(uint64(e.memory.address), e.bottom, uint64(e.made[0].address), uint64(w.work.address)),
			w.layout.Better(first, uint64(e.made[1].address)),
			w.layout.Finish(last, whole.components(result.address)),
		)
		return nil
	}))
	for _, e := range all {
		e.Release()
	}
	return runs
}

func (w *deinterlacer) timed(t *testing.T, runs []device.Run, r Repeat) []time.Duration {
	t.Helper()
	trial, err := newBenchmark(w.unit, 1, func(_ int, s []cu.Stream) error { return w.slots.launch(s[0], runs) })
	e2e.Must(t, err)
	defer trial.close()
	times, err := trial.measure(t.Context(), r)
	e2e.Must(t, err)
	return times
}
