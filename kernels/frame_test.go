package kernels

import (
	"context"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// cpuRun filters src into dst on the CPU. Neither need be memory of the backend.
func cpuRun(t testing.TB, cpu *CPU, dst, src *pipeline.Frame, p Planned) {
	t.Helper()
	f, err := cpu.Filter(p, nil)
	e2e.Must(t, err)
	e2e.Must(t, f.(*perFrame).run(context.Background(), dst, src))
}

func newCPU(t testing.TB, threads int, isa string) *CPU {
	t.Helper()
	cpu, err := NewCPU(threads, isa)
	e2e.Must(t, err)
	t.Cleanup(func() { cpu.Close() })
	return cpu
}

// C code numbers the arrangements as pipeline does.
func TestLayouts(t *testing.T) {
	var names []string
	for _, l := range pipeline.Layouts() {
		if l == l.Arrangement() {
			names = append(names, "VF_"+strings.ToUpper(l.String()))
		}
	}
	want := "enum { " + strings.Replace(strings.Join(names, ", "), ",", " = 1,", 1) + " };"
	if !strings.Contains(string(e2e.Read(t, "layouts.h")), want) {
		t.Errorf("layouts.h has no %s", want)
	}
}
