package live

import (
	"slices"
	"testing"
	"time"

	"vidfilter/internal/e2e"
)

// TestSoak watches the page for the time in VIDFILTER_SOAK: memory, descriptors, threads and
// latency must not grow.
func TestSoak(t *testing.T) {
	length := e2e.SoakLength(t)
	s := serve(t, "-i", "test", "--size", "640x360")
	p := blank(t, length+lifetime)
	p.navigate(s.url)
	p.until("vidfilter.drawn > 150") // pools and caches are full
	series := []*e2e.Series{
		{Name: "memory", Unit: "MB", Limit: 10}, {Name: "descriptors", Limit: 2}, {Name: "threads", Limit: 2},
		{Name: "page", Unit: "MB", Limit: 30}, {Name: "latency", Unit: "ms", Limit: 30},
	}
	drawn, begun := eval[int](p, "vidfilter.drawn"), time.Now()
	e2e.During(length, 5*time.Second, func() {
		u := e2e.UseOf(s.PID(), true)
		for i, v := range []float64{u.Memory, u.Files, u.Threads, eval[float64](p, "performance.memory.usedJSHeapSize / 1e6"), median(p)} {
			series[i].Add(time.Since(begun), v)
		}
	})
	for _, each := range series {
		each.Check(t, length)
	}
	shown := float64(eval[int](p, "vidfilter.drawn")-drawn) / length.Seconds()
	t.Logf("%.1f pictures a second", shown)
	if shown < 5 {
		t.Errorf("%.1f pictures a second were shown", shown)
	}
}

// median returns the median of the recent latencies.
func median(p *page) float64 {
	p.t.Helper()
	all := eval[[]float64](p, "vidfilter.arrivalToScreenLately.slice(-150)")
	slices.Sort(all)
	if len(all) == 0 {
		p.t.Fatal("no latency is known")
	}
	return all[len(all)/2]
}

// Over plain HTTP under a name other than localhost the browser has neither decoder nor camera. The
// page reports it and shows JPEGs.
func TestInsecurePage(t *testing.T) {
	t.Parallel()
	s := serve(t, "-i", "test", "--size", "320x180", "--allow-host", "gpu.example")
	p := blank(t, lifetime, mapHosts())
	p.navigate(rename(t, s.url, "gpu.example"))
	p.until("!window.isSecureContext && document.body.innerText.includes('ssh -L')")
	p.until("vidfilter.transport === 'jpeg' && vidfilter.drawn > 5")
	p.navigate(rename(t, s.url, "evil.example"))
	p.until("document.body.innerText.includes('--allow-host')")
}
