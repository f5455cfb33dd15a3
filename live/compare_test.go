package live

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// wantSides checks that a pair shows two settings, chosen and other, each on its side, and that
// recordings and outputs have the chosen ones.
func (r *rig) wantSides(p *Pair, side Side, chosen, other FilterSettings) {
	r.t.Helper()
	left, right := p.Sides()
	a, b := chosen, other
	if side == SideB {
		a, b = other, chosen
	}
	switch {
	case p.Side != side || p.Other == nil:
		r.t.Errorf("side %q, not %q", p.Side, side)
	case !bytes.Equal(samples(left), filtered(r.t, p.Original, a)) || !bytes.Equal(samples(right), filtered(r.t, p.Original, b)):
		r.t.Errorf("the sides are not filtered by %s and %s", a.Words(), b.Words())
	case !bytes.Equal(samples(p.Filtered), filtered(r.t, p.Original, chosen)):
		r.t.Errorf("the filtered picture is not by %s", chosen.Words())
	}
}

// Two settings are compared: live, frozen and back to the original.
func TestCompare(t *testing.T) {
	h, r, w := watch(t, Camera, Options{})
	first := FilterOf(kernels.Select(kernels.DefaultBilateral(2)), "auto")
	second, third := first, first
	setWindow(&second, func(b *kernels.Bilateral) { b.Radius = 5 })
	setWindow(&third, func(b *kernels.Bilateral) { b.Radius = 1 })
	radius := func(n int) {
		t.Helper()
		e2e.Must(t, r.Set(func(f *FilterSettings) error { setWindow(f, func(b *kernels.Bilateral) { b.Radius = n }); return nil }))
	}
	shown := func(repeated bool, side Side, chosen, other FilterSettings) {
		t.Helper()
		p := r.next(w)
		defer p.Release()
		if p.Repeated != repeated {
			t.Errorf("repeated: %v", p.Repeated)
		}
		if side != "" {
			r.wantSides(p, side, chosen, other)
			return
		}
		left, right := p.Sides()
		if p.Other != nil || left != p.Original || !bytes.Equal(samples(right), filtered(t, p.Original, chosen)) {
			t.Errorf("not original and filtered by %s: %+v", chosen.Words(), p)
		}
	}
	h.take(r, 0)
	shown(false, "", first, first)
	r.Choose(SideA) // no comparison yet
	r.CopyToOther()
	r.Compare(true)
	shown(true, SideB, first, first)
	radius(5)
	shown(true, SideB, second, first)
	h.take(r, 1)
	shown(false, SideB, second, first)
	r.Freeze(true)
	r.Choose(SideA)
	shown(true, SideA, first, second)
	radius(1)
	shown(true, SideA, third, second)
	r.Compare(true) // no effect
	r.CopyToOther()
	shown(true, SideA, third, third)
	radius(2)
	shown(true, SideA, first, third)
	r.Freeze(false)
	h.take(r, 2)
	shown(false, SideA, first, third)
	if st, _ := r.State(); st.Side != SideA || *st.Other != third || st.Filter != first {
		t.Errorf("%+v", st)
	}
	r.Compare(false)
	shown(true, "", first, first)
	h.take(r, 3)
	shown(false, "", first, first)
	if st, _ := r.State(); st.Side != "" || st.Other != nil || st.Filter != first {
		t.Errorf("%+v", st)
	}
}

// Two denoised sides have separate memories: each gives the pictures of a session with its filter
// alone. A side that is switched on during a freeze knows the earlier pictures.
func TestCompareDenoised(t *testing.T) {
	plain := FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto")
	kernels.Edit(&plain.Selection, func(d *kernels.Denoise) { d.Noise = 4 })
	strong, off := plain, plain
	kernels.Edit(&strong.Selection, func(d *kernels.Denoise) { d.Strength = 2 })
	off.Off = true
	const pictures = 7
	for ahead := range 2 {
		t.Run(fmt.Sprint(ahead), func(t *testing.T) {
			alone := func(f FilterSettings) []byte {
				h, r := startHand(t, File, Options{Filter: f, LookAhead: ahead})
				w := r.WatchAll(pictures)
				defer w.Close()
				return lastOf(r, h, w, pictures, ahead)
			}
			want, wantStrong := alone(plain), alone(strong)
			if bytes.Equal(want, wantStrong) {
				t.Fatal("the strength does nothing: the test shows nothing")
			}
			h, r := startHand(t, File, Options{Filter: plain, LookAhead: ahead})
			w := r.WatchAll(pictures)
			defer w.Close()
			r.Compare(true)
			e2e.Must(t, r.Set(func(f *FilterSettings) error { *f = strong; return nil }))
			r.reachInForce(strong)
			if got := lastOf(r, h, w, pictures, ahead); !bytes.Equal(got, wantStrong) {
				t.Error("B is not as if it were alone")
			}
			last := r.Latest()
			left, _ := last.Sides()
			if !bytes.Equal(samples(left), want) {
				t.Error("A is not as if it were alone")
			}
			last.Release()
			if ahead > 0 {
				return // the next picture is under way
			}
			// A is off, then on again: it gets the pictures that B, which was always on, has seen.
			r.Choose(SideA)
			r.next(w).Release()
			for _, f := range []FilterSettings{off, plain} {
				e2e.Must(t, r.Set(func(to *FilterSettings) error { *to = f; return nil }))
				p := r.next(w)
				left, _ := p.Sides()
				if f == off && !bytes.Equal(samples(left), samples(p.Original)) {
					t.Error("off is not the original")
				}
				p.Release()
			}
			r.CopyToOther()
			p := r.next(w)
			defer p.Release()
			if left, right := p.Sides(); !bytes.Equal(samples(left), samples(right)) || bytes.Equal(samples(left), r.denoisedAlone(p.Original, plain)) {
				t.Error("a side that was switched on while the picture stands knows nothing of those before")
			}
		})
	}
}

// denoisedAlone returns a picture denoised without others.
func (r *rig) denoisedAlone(in *pipeline.Frame, f FilterSettings) (all []byte) {
	p, err := resolved(f, 0)
	e2e.Must(r.t, err)
	n := &filterState{by: f, behind: pipeline.Pass{}}
	n.main, err = r.o.Backend.Filter(p.Main(), r.results)
	e2e.Must(r.t, err)
	defer n.stop()
	shot := shotAt(in, time.Now())
	shot.input = in
	err = n.process(&shot)(r.ctx, func(out *pipeline.Frame) error {
		all = samples(out)
		out.Release()
		return nil
	})
	if err != nil || all == nil {
		r.t.Fatalf("%d bytes, %v", len(all), err)
	}
	return all
}

// lastOf takes pictures, and returns the filtered one that is shown last.
func lastOf(r *rig, h *hand, w *Watcher, pictures, ahead int) (last []byte) {
	for n := range pictures {
		h.take(r, n)
		if n < ahead {
			continue
		}
		p := r.next(w)
		if p.Taken != time.Unix(1000, int64(n-ahead)) {
			r.t.Errorf("picture %d, not %d", p.Taken.Nanosecond(), n-ahead)
		}
		last = samples(p.Filtered)
		p.Release()
	}
	return last
}

// reachInForce waits until the pictures to come are filtered so.
func (r *rig) reachInForce(f FilterSettings) {
	r.t.Helper()
	e2e.Until(r.t, f.Words()+" in force", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.inForce.filter == f
	})
}

// Without a comparison, pictures are filtered once and the second result is released.
func TestCompareCostsNothingWhenOff(t *testing.T) {
	h, r, w := watch(t, Camera, Options{})
	h.pass(r, w, 0)
	before := r.results.InUse()
	r.Compare(true)
	r.next(w).Release()
	if n := r.results.InUse(); n != before+1 {
		t.Errorf("%d results in use, not one more than %d", n, before)
	}
	r.Compare(false)
	p := r.next(w)
	defer p.Release()
	if n := r.results.InUse(); n != before || p.Other != nil {
		t.Errorf("%d results in use after the end, not %d", n, before)
	}
}

func TestWords(t *testing.T) {
	f := FilterOf(kernels.Select(kernels.DefaultDenoise()), "auto")
	kernels.Edit(&f.Selection, func(d *kernels.Denoise) { d.TemporalOnly, d.Noise = true, 5 })
	f.FieldOrder = "tff"
	off := f
	off.Off = true
	for want, f := range map[string]FilterSettings{
		"strength 1, temporal-only, noise 5, tff": f, "off": off, "bilateral, radius 3": FilterOf(kernels.Select(kernels.DefaultBilateral(3)), "auto"),
	} {
		if got := f.Words(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
