package live

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// TestSoak watches the page for as long as VIDFILTER_SOAK says: neither memory nor latency may
// grow.
func TestSoak(t *testing.T) {
	length, err := time.ParseDuration(os.Getenv("VIDFILTER_SOAK"))
	if err != nil {
		t.Skip("a soak: make test-soak, or VIDFILTER_SOAK=10m")
	}
	s := serve(t, "-i", "test", "--size", "640x360")
	p := blank(t, length+2*time.Minute)
	p.navigate(s.url)
	p.until("vidfilter.drawn > 150") // pools and caches are full
	first := state{s.memory(), eval[float64](p, "performance.memory.usedJSHeapSize / 1e6"), median(p)}
	drawn := eval[int](p, "vidfilter.drawn")
	var worst state
	e2e.During(length, 5*time.Second, func() {
		worst.server, worst.page = max(worst.server, s.memory()), max(worst.page, eval[float64](p, "performance.memory.usedJSHeapSize / 1e6"))
	})
	worst.latency = median(p)
	shown := float64(eval[int](p, "vidfilter.drawn")-drawn) / length.Seconds()
	t.Logf("after %v: %s at the start, at worst %s, %.1f pictures a second", length, first, worst, shown)
	if worst.server > first.server+40 || worst.page > first.page+100 {
		t.Errorf("memory grows: %s at the start, at worst %s", first, worst)
	}
	if worst.latency > max(2*first.latency+200, 500) {
		t.Errorf("latency grows from %.0f to %.0f ms", first.latency, worst.latency)
	}
	if shown < 5 {
		t.Errorf("%.1f pictures a second were shown", shown)
	}
}

type state struct{ server, page, latency float64 } // MB, MB, ms

func (s state) String() string {
	return fmt.Sprintf("server %.0f MB, page %.0f MB, latency %.0f ms", s.server, s.page, s.latency)
}

// memory returns the program's private memory in MB.
func (s *serving) memory() float64 {
	s.t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.PID()))
	if err != nil {
		s.t.Fatal(err)
	}
	var size, resident, shared float64
	if _, err := fmt.Sscan(string(b), &size, &resident, &shared); err != nil {
		s.t.Fatal(err)
	}
	return (resident - shared) * float64(os.Getpagesize()) / 1e6
}

// median of the latencies of late.
func median(p *page) float64 {
	p.t.Helper()
	all := eval[[]float64](p, "vidfilter.arrivalToScreenLately.slice(-150)")
	slices.Sort(all)
	if len(all) == 0 {
		p.t.Fatal("no latency is known")
	}
	return all[len(all)/2]
}

// Over plain HTTP under a name other than localhost the browser has neither decoder nor camera:
// the page says so and falls back to MP4.
func TestInsecurePage(t *testing.T) {
	s := serve(t, "-i", "test", "--size", "320x180", "--allow-host", "gpu.example")
	p := blank(t, time.Minute, mapHosts())
	p.navigate(rename(t, s.url, "gpu.example"))
	p.until("!window.isSecureContext && document.body.innerText.includes('ssh -L')")
	p.until("vidfilter.transport === 'mp4' && vidfilter.drawn > 5")
	p.navigate(rename(t, s.url, "evil.example"))
	p.until("document.body.innerText.includes('--allow-host')")
}
