package noise

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// spotClip draws frames of a gray box about (64, 32) of 64x48 in a picture of 160x96, in 4:2:0.
type spotClip struct {
	depth  int
	level  func(x, y, n int) float64 // of luma in the box
	sigma  func(level float64) float64
	frozen int // frames that share their noise; 0: no sharing
}

func (c spotClip) frame(n int) plane.Picture {
	seed := n
	if c.frozen > 0 {
		seed /= c.frozen
	}
	r := rand.New(rand.NewPCG(uint64(seed), 5))
	pic := plane.Picture{ShiftX: 1, ShiftY: 1}
	for i, size := range [][2]int{{160, 96}, {80, 48}, {80, 48}} {
		p := plane.New(size[0], size[1], c.depth)
		for y := range p.Height {
			for x, row := 0, p.Row(y); x < p.Width; x++ {
				v, sigma := 128.0, 2.0
				switch inside := x >= 64 && x < 128 && y >= 32 && y < 80; {
				case i == 0 && inside:
					v = c.level(x, y, n)
					sigma = c.sigma(v)
				case i == 0:
					v = 128 + 90*math.Sin(float64(3*x*x+y*y+40*n))
				}
				row[x] = uint16(min(max(math.Round((v+sigma*r.NormFloat64())*float64(p.Unit())), 0), float64(p.Max())))
			}
		}
		pic.Planes = append(pic.Planes, p)
	}
	return pic
}

// TestSpot checks the noise measured in a box, and the warnings about it.
func TestSpot(t *testing.T) {
	gray := func(int, int, int) float64 { return 110 }
	always := func(sigma float64) func(float64) float64 { return func(float64) float64 { return sigma } }
	texture := func(x, y int) float64 { return 110 + 25*math.Sin(float64(x)*1.1)*math.Sin(float64(y)*0.9) }
	lossy := pipeline.Quantiser{Step: 20}
	for name, test := range map[string]struct {
		clip        spotClip
		frames      int
		q           pipeline.Quantiser
		luma        float64 // 0: any
		warning     string  // part of it
		hidden      bool
		dark, light float64 // of the curve; 0: any
	}{
		"white":       {clip: spotClip{8, gray, always(5), 0}, frames: 25, luma: 5, dark: 1, light: 1},
		"12 bits":     {clip: spotClip{12, gray, always(3), 0}, frames: 25, luma: 3},
		"faint":       {clip: spotClip{10, gray, always(0.5), 0}, frames: 25, luma: 0.5},
		"one frame":   {clip: spotClip{8, gray, always(5), 0}, frames: 1, luma: 5},
		"two frames":  {clip: spotClip{8, gray, always(5), 0}, frames: 2, luma: 5},
		"a gradient":  {clip: spotClip{8, func(x, y, _ int) float64 { return 60 + float64(x+y)/3 }, always(4), 0}, frames: 25, luma: 4},
		"kept":        {clip: spotClip{8, gray, always(5), 25}, frames: 25, q: lossy, luma: 5},
		"partly kept": {clip: spotClip{8, gray, always(5), 5}, frames: 25, q: lossy, luma: 5},
		"drawn":       {clip: spotClip{8, func(x, y, _ int) float64 { return texture(x, y) }, always(4), 0}, frames: 25, luma: 4, warning: WarnDrawn},
		"moving":      {clip: spotClip{8, func(x, y, n int) float64 { return texture(x+n, y) }, always(4), 0}, frames: 25, warning: WarnMoves},
		"partly": {clip: spotClip{8, func(x, y, n int) float64 {
			if x > 112 {
				return texture(x+n, y)
			}
			return 110
		}, always(4), 0}, frames: 25, luma: 4, warning: WarnMoves},
		"black":    {clip: spotClip{8, func(int, int, int) float64 { return 0 }, always(1), 0}, frames: 5, hidden: true},
		"brighter": {clip: spotClip{8, func(x, _, _ int) float64 { return 20 + 3*float64(x-64) }, func(v float64) float64 { return math.Sqrt(v / 6) }, 0}, frames: 25, dark: 0.3, light: 1.8},
	} {
		s := NewSpot(Box{64, 32, 64, 48})
		for n := range test.frames {
			s.Put(test.clip.frame(n).Views(), test.q)
		}
		m, warnings, err := s.Model()
		if said := strings.Join(warnings, "; "); test.hidden != (err != nil) || test.hidden == (err == nil) || said != test.warning {
			t.Errorf("%s: %v, %q", name, err, said)
		}
		if err != nil {
			continue
		}
		if math.Abs(m.Sigma[0]/test.luma-1) > 0.12 && test.luma > 0 || math.Abs(m.Sigma[1]/2-1) > 0.12 && test.q.Step == 0 && test.frames > 1 {
			t.Errorf("%s: sigma %.2f", name, m.Sigma)
		}
		if dark, light := float64(m.Curve[30]), float64(m.Curve[200]); test.dark > 0 && (math.Abs(dark-test.dark) > 0.2 || math.Abs(light-test.light) > 0.35) {
			t.Errorf("%s: the variance is %.2f in the dark, %.2f in light", name, dark, light)
		}
	}
}

// TestProfile: a profile survives writing and reading, and invalid profiles are refused.
func TestProfile(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	random := func() (m Model) {
		for c := range m.Sigma {
			m.Sigma[c] = 10 * r.Float64()
			for k := range m.Spectrum[c] {
				m.Spectrum[c][k] = 50 * r.Float32()
			}
		}
		for i := range m.Curve {
			m.Curve[i] = 4 * r.Float32()
		}
		return m
	}
	m := random()
	m.Sure = 0.7
	m.Half = &Half{random(), [3]float64{0.3, 1, 0}}
	m.Half.Half = &Half{random(), [3]float64{0, 0.5, 0.25}}
	text := m.Profile()
	got, err := ParseProfile(text)
	if err != nil || !slices.Equal(got.Profile(), text) || math.Abs(got.Sigma[2]/m.Sigma[2]-1) > 1e-4 {
		t.Fatalf("%v: %s", err, text)
	}
	if again, err := ParseProfile(got.Profile()); err != nil || !reflect.DeepEqual(again, got) || got.Half.Half.Share != m.Half.Half.Share {
		t.Errorf("%v: what was read is written as something else", err)
	}
	m.flatten(1, 0)
	m.flatten(2, 0)
	m.Half = nil
	if got, err = ParseProfile(m.Profile()); err != nil || got.Sigma[1] != 0 || strings.Count(string(m.Profile()), "sigma") != 1 {
		t.Errorf("luma alone: %v, %v", got.Sigma, err)
	}
	replace := func(old, with string) string {
		if !strings.Contains(string(text), old) {
			t.Fatalf("no %q in %s", old, text)
		}
		return strings.Replace(string(text), old, with, 1)
	}
	for _, bad := range []struct{ text, want string }{
		{"", "not a noise profile"}, {"{}", `"vidfilter_noise" is missing`}, {`{"vidfilter_noise": 9}`, "version 9"},
		{replace(`"sure": 0.7`, `"sure": 2`), "sure"}, {replace(`  "sure": 0.7,`, ""), "sure"},
		{replace(`"sure"`, `"size": 1, "sure"`), "size"}, {replace(`"sigma": `, `"sigma": -`), "the sigma of plane 0"},
		{replace("[", `[{"sigma": 1, "spectrum": []},`), "4 planes"}, {replace(`"spectrum": [`, `"spectrum": [[1],`), "9 rows instead of 8"},
		{replace("        [", "        [1, "), "row 1 has 9 numbers"}, {replace("        [", "        [-"), "row 1 must be"},
		{string(text) + "{}", "after top-level"}, {replace(`"share": [0.3`, `"share": [2`), "half size: the share of plane 0"},
		{replace(`"share": [0, `, `"share": [`), "half size: half size: 2 shares instead of 3"},
		{replace(`"share": [0,`, `"half_size": {}, "share": [0,`), "half size: half size: more than 2 smaller sizes"},
	} {
		if _, err := ParseProfile([]byte(bad.text)); err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%v instead of %q", err, bad.want)
		}
	}
}
