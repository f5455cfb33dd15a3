package window

import (
	"math/rand/v2"
	"strings"
	"testing"

	"vidfilter/kernels"
	"vidfilter/live"
)

func TestPlace(t *testing.T) {
	for _, c := range []struct {
		pw, ph, ww, wh int
		want           box
	}{
		{1280, 720, 1280, 720, box{0, 0, 1280, 720}},
		{1280, 720, 640, 720, box{0, 180, 640, 360}},
		{1280, 720, 2560, 720, box{640, 0, 1280, 720}},
		{1280, 720, 1, 1, box{0, 0, 1, 1}},
		{16, 8192, 100, 10, box{49, 0, 1, 10}},
	} {
		v := newView()
		if got := v.place(c.pw, c.ph, c.ww, c.wh); got != c.want {
			t.Errorf("%dx%d in %dx%d: %v, want %v", c.pw, c.ph, c.ww, c.wh, got, c.want)
		}
	}
}

// The point below the pointer stays there, unless the edge of the picture would leave a gap.
func TestZoom(t *testing.T) {
	const pw, ph, ww, wh = 320, 180, 960, 700
	v := newView()
	b := v.place(pw, ph, ww, wh)
	v.zoomAt(4, 480, 350, b, pw, ph, ww, wh)
	if got, want := v.place(pw, ph, ww, wh), (box{-1440, -730, 3840, 2160}); got != want {
		t.Errorf("zoomed in the middle: %v, want %v", got, want)
	}
	v.zoomAt(2, 0, 0, v.place(pw, ph, ww, wh), pw, ph, ww, wh)
	if got, want := v.place(pw, ph, ww, wh), (box{-2880, -1460, 7680, 4320}); got != want {
		t.Errorf("zoomed at the corner: %v, want %v", got, want)
	}
	v.zoomAt(1e-3, 3, 3, v.place(pw, ph, ww, wh), pw, ph, ww, wh)
	if got := v.place(pw, ph, ww, wh); got != b || v.zoom != 1 {
		t.Errorf("zoomed out: %v at zoom %v, want %v", got, v.zoom, b)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		b := v.place(pw, ph, ww, wh)
		if r.IntN(3) == 0 {
			v.pan(r.IntN(600)-300, r.IntN(600)-300, b, ww, wh)
		} else {
			v.zoomAt(0.5+r.Float64(), r.IntN(ww), r.IntN(wh), b, pw, ph, ww, wh)
		}
		b = v.place(pw, ph, ww, wh)
		if b.w >= ww && (b.x > 0 || b.x+b.w < ww) || b.h >= wh && (b.y > 0 || b.y+b.h < wh) {
			t.Fatalf("a gap beside the picture: %v in %dx%d", b, ww, wh)
		}
		if v.zoom < 1 || v.zoom > mostZoom {
			t.Fatalf("zoom %v", v.zoom)
		}
	}
	v.zoom = 4
	b = v.place(pw, ph, ww, wh)
	v.pan(1e6, 1e6, b, ww, wh)
	v.pan(-10, -20, b, ww, wh)
	if got := v.place(pw, ph, ww, wh); got.x != -10 || got.y != -20 {
		t.Errorf("a pan back from the corner begins at %d, %d", got.x, got.y)
	}
	v.fit()
	if got := v.place(pw, ph, ww, wh); got != (box{0, 80, 960, 540}) {
		t.Errorf("fit: %v", got)
	}
}

func TestFitInto(t *testing.T) {
	for _, c := range [][6]int{
		{1280, 720, 1600, 900, 1280, 720}, {3840, 2160, 1600, 900, 1600, 900}, {3840, 2160, 1600, 700, 1244, 700},
		{8192, 16, 1000, 700, 1000, 1}, {640, 480, 0, 0, 640, 480},
	} {
		if w, h := fitInto(c[0], c[1], c[2], c[3]); w != c[4] || h != c[5] {
			t.Errorf("%v: %dx%d", c, w, h)
		}
	}
}

func TestHeading(t *testing.T) {
	st := live.State{Status: live.Live, Width: 640, Height: 480, Filter: live.Filter{Params: kernels.DefaultDenoise()}}
	frozen, waiting, bilateral := st, st, st
	bilateral.Filter.Params = kernels.Params{Radius: 3, SigmaR: 20, Range: kernels.Gaussian}
	frozen.Frozen = true
	waiting.Status, waiting.Message = live.Waiting, "camera busy"
	for want, got := range map[string]string{
		"cam 640x480 - strength 1, grain 0":                       heading("cam", st, newView()),
		"cam 640x480 - strength 1, grain 0 - difference x4":       heading("cam", st, view{mode: apart}),
		"cam 640x480 - strength 1, grain 0 - original":            heading("cam", st, view{mode: original}),
		"cam 640x480 - strength 1, grain 0 - frozen":              heading("cam", frozen, newView()),
		"cam 640x480 - strength 1, grain 0 - camera busy":         heading("cam", waiting, newView()),
		"cam 640x480 - bilateral, radius 3, sigma-r 20, gaussian": heading("cam", bilateral, newView()),
		"cam - strength 1, grain 0 - starting":                    heading("cam", live.State{Status: live.Starting, Filter: st.Filter}, newView()),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for _, key := range strings.Fields("space s o f d x up down radius ] [ sigma-r 0 F11 Enter q Escape") {
		if !strings.Contains(keyHelp, key) {
			t.Errorf("h does not name %s", key)
		}
	}
}
