package kernels

import (
	"context"
	"testing"

	"vidfilter/pipeline"
)

// cpuRun filters src into dst on the CPU. Neither need be memory of the backend.
func cpuRun(t testing.TB, cpu *CPU, dst, src *pipeline.Frame, p Params) {
	t.Helper()
	f, err := cpu.Filter(p, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.(*cpuFilter).runner.run(context.Background(), dst, src); err != nil {
		t.Fatal(err)
	}
}

func newCPU(t testing.TB, threads int, isa string) *CPU {
	t.Helper()
	cpu, err := NewCPU(threads, isa)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cpu.Close() })
	return cpu
}
