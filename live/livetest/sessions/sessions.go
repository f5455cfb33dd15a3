// Package sessions runs live sessions for tests of packages that show them.
package sessions

import (
	"context"
	"testing"

	"vidfilter/decode"
	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/live"
)

// Pattern is the test picture as an input.
func Pattern(o live.PatternOptions) live.Input {
	return live.Input{Name: "test", Kind: live.Test, Open: live.OpenPattern(o)}
}

// Loop is a file as an input, which is played over and over.
func Loop(path string) live.Input {
	return live.Input{Name: path, Kind: live.File, Loop: true, Open: live.OpenFile(path, decode.Options{})}
}

// New returns a session that filters on the CPU, which is closed when the test ends.
func New(t testing.TB, in live.Input) (*live.Session, *kernels.CPU) {
	t.Helper()
	cpu, err := kernels.NewCPU(1, "")
	e2e.Must(t, err)
	t.Cleanup(func() { _ = cpu.Close() })
	s, err := live.New(live.Options{Input: in, Backend: cpu, Filter: live.FilterOf(kernels.Select(kernels.DefaultBilateral(1)), "auto")})
	e2e.Must(t, err)
	return s, cpu
}

// Run is New, and runs the session until the test or end ends it.
func Run(t testing.TB, in live.Input) (s *live.Session, cpu *kernels.CPU, end func()) {
	t.Helper()
	s, cpu = New(t, in)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Run(ctx) }()
	end = func() { cancel(); <-done }
	t.Cleanup(end)
	return s, cpu, end
}
