package live

import (
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
	"vidfilter/samples/scene"
)

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
