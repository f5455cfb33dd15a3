package live

import (
	"testing"
	"testing/synctest"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

// Pictures from a live pipe are shown on arrival, even after a late first one. Pictures from a file
// keep their time.
func TestPaceOfPipes(t *testing.T) {
	const interval, late = 40 * time.Millisecond, 300 * time.Millisecond
	for _, most := range []time.Duration{0, spare} {
		synctest.Test(t, func(t *testing.T) {
			p, begin := pace{most: most}, time.Now()
			var waited time.Duration
			for n := range 100 {
				came := begin.Add(time.Duration(n) * interval)
				if n == 0 {
					came = came.Add(late)
				}
				time.Sleep(time.Until(came))
				before := time.Now()
				e2e.Must(t, p.wait(t.Context(), time.Duration(n)*interval))
				waited = time.Since(before)
			}
			if most == 0 && waited < interval/2 {
				t.Errorf("a file's picture waits %v", waited)
			}
			if most > 0 && waited > 0 {
				t.Errorf("a pipe's picture waits %v", waited)
			}
		})
	}
}

// A piped file, which comes as fast as it is read, still plays at its own speed.
func TestPaceOfPipedFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, begin := pace{most: spare}, time.Now()
		const length = time.Minute
		for at := time.Duration(0); at <= length; at += 40 * time.Millisecond {
			e2e.Must(t, p.wait(t.Context(), at))
		}
		if took := time.Since(begin); took < length-spare-length/500 {
			t.Errorf("a minute is played in %v", took)
		}
	})
}

// The clock of the test picture shows the time at which the picture was taken, and stays inside
// small pictures.
func TestPatternClock(t *testing.T) {
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	defer cpu.Close()
	for _, size := range [][2]int{{16, 16}, {161, 91}, {1280, 720}} {
		pool := pipeline.NewPool(cpu, 2)
		p, err := newPattern(PatternOptions{Width: size[0], Height: size[1], FPS: 500, Noise: -1}.complete(), pool)
		e2e.Must(t, err)
		for range 2 {
			shot, err := p.Next(t.Context())
			e2e.Must(t, err)
			checkClock(t, shot.Frame, shot.Taken)
			shot.Frame.Release()
			time.Sleep(time.Millisecond)
		}
		pool.Close()
	}
}

func checkClock(t *testing.T, f *pipeline.Frame, taken time.Time) {
	t.Helper()
	side := max(2, f.Height/180&^1)
	for y, row := range scene.Dots(taken.Format("15:04:05.000")) {
		for x, dot := range row {
			at, down := (6+x)*side, (6+y)*side
			if at >= f.Width || down >= f.Height {
				continue
			}
			if got := f.Row(0, down)[at]; got > 128 != (dot == 1) {
				t.Fatalf("%dx%d: dot %d, %d of the clock has level %d", f.Width, f.Height, x, y, got)
			}
		}
	}
}
