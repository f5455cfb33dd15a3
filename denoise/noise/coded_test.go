package noise

import (
	"math"
	"testing"

	"vidfilter/pipeline"
)

// Most features below were measured on clips coded by x264, MPEG-2, VP9 and AV1 encoders, with
// white noise of sigma 10 and without.
func TestCodedNoise(t *testing.T) {
	for name, c := range map[string]struct {
		luma, chroma float64 // as measured
		features
		step          float64
		least, most   float64 // of luma, with the step
		leastB, mostB float64 // without
	}{
		"crushed, crf 28":        {1.61, 1.5, features{2.51, 5.40, 3.55, 4.96, 2.6, 4, 1}, 34.4, 8, 12, 8, 14},
		"survived, crf 23":       {8.83, 8.5, features{7.96, 9.89, 9.35, 8.77, 7.9, 9, 1}, 20.0, 8.8, 11, 8.8, 8.9},
		"MPEG-2":                 {8.66, 8.1, features{8.06, 9.92, 8.53, 8.73, 7.9, 9, 1}, 19.2, 9.8, 11, 8.6, 8.7},
		"copied blocks":          {3.70, 8.02, features{4.30, 7.70, 8.78, 8.64, 7, 9, 1}, 25.5, 9.5, 12, 3.7, 3.8},
		"luma kept clean":        {0.20, 8.70, features{0.70, 3.20, 0.80, 9.00, 7.5, 9, 0}, 20.0, 6.5, 7.5, 0.2, 0.3},
		"VP9":                    {3.54, 4.05, features{6.00, 7.91, 3.35, 7.88, 4, 6, 1}, 0, 0, 0, 9.5, 11},
		"moving texture":         {0.60, 0.95, features{0.90, 3.50, 1.50, 1.60, 1, 1.5, 0}, 0, 0, 0, 0.6, 0.7},
		"AV1":                    {0.35, 0.4, features{3.81, 5.72, 1.91, 5.29, 2, 4, 1}, 0, 0, 0, 7, 10},
		"clean, crf 23":          {0.38, 0.18, features{0.78, 2.36, 1.36, 0.41, 0.3, 0.6, 0}, 16.3, 1.5, 3, 0.3, 0.4},
		"clean, crf 28":          {0.30, 0.17, features{0.64, 4.08, 1.00, 0.39, 0.3, 0.6, 0}, 35.6, 1.5, 3, 0.3, 0.4},
		"constant rate, copied":  {0.10, 0.17, features{0.2, 0.7, 0.6, 1.13, 1.92, 3.27, 1}, 46.8, 14, 19, 0.1, 0.2},
		"no bits left":           {2.30, 0.67, features{2.7, 4.9, 5.5, 3.01, 2.37, 4, 1}, 121, 18, 25, 2.3, 7},
		"clean, textured chroma": {0.02, 0.18, features{0, 0, 4.0, 0.69, 0.81, 1.31, 0}, 58.7, 0, 0.1, 0, 0.1},
		"a sensor, HEVC":         {0.58, 0.17, features{1.22, 1.87, 1.21, 0.29, 0.23, 0.41, 1}, 20, 4, 6.5, 0.5, 0.6},
		"a sensor, VP9":          {0.14, 0.10, features{0.44, 1.89, 0.31, 0.17, 0, 0.17, 1}, 19.3, 4, 7, 0.1, 0.2},
		"a sensor, JPEG":         {2.50, 0.02, features{2.29, 3.42, 0.28, 0.25, 0, 0, 1}, 14.2, 3.8, 6, 2.5, 2.6},
		"clean gravel":           {0.14, 0.05, features{0, 2.22, 0.48, 0.26, 0.25, 0.55, 0}, 46.7, 1.5, 2.2, 0.1, 0.2},
		"clean and still":        {0.22, 0.22, features{0, 0, 0, 0, 0.3, 0.5, 0}, 16, 0.2, 0.3, 0.2, 0.3},
	} {
		for _, step := range []float64{c.step, 0} {
			m := Flat(c.luma)
			m.Sigma[1], m.Sigma[2] = c.chroma, c.chroma
			m.Curve[10] = 2
			m.addCoded(c.features, pipeline.Quantiser{Step: float32(step)})
			least, most := c.least, c.most
			if step == 0 {
				least, most = c.leastB, c.mostB
			}
			if m.Sigma[0] < least || m.Sigma[0] > most {
				t.Errorf("%s, step %.1f: sigma %.2f, want %.1f to %.1f",
					name, step, m.Sigma[0], least, most)
			}
			if v := math.Sqrt(float64(m.Spectrum[0][20])); math.Abs(v-m.Sigma[0]) > 0.01 {
				t.Errorf("%s: a spectrum of %.2f for sigma %.2f", name, v, m.Sigma[0])
			}
			if white := m.Sigma[0] > 1.1*c.luma; white && m.Curve[10] != 1 {
				t.Errorf("%s: noise was added, and the curve stays", name)
			}
		}
	}
}

// The noise of losslessly coded video is not corrected.
func TestFaithfulCodec(t *testing.T) {
	m := Flat(3.54)
	m.addCoded(features{6.00, 7.91, 3.35, 7.88, 4, 6, 1}, pipeline.Quantiser{Faithful: true})
	if m != Flat(3.54) {
		t.Errorf("sigma %.2f", m.Sigma)
	}
}

func TestStepOfTheWindow(t *testing.T) {
	if got := rms([]pipeline.Quantiser{{}, {Step: 3}, {}, {Step: 4, Smoothed: true}}); math.Abs(float64(got.Step)-math.Sqrt(12.5)) > 1e-6 || !got.Smoothed {
		t.Errorf("rms %+v", got)
	}
	if got := rms(nil); got != (pipeline.Quantiser{}) {
		t.Errorf("rms of nothing: %+v", got)
	}
}

// AV1's own filters leave no noise of coding: differences from frame to frame are noise where the
// picture is flat, and texture elsewhere.
func TestSmoothedNoise(t *testing.T) {
	for name, c := range map[string]struct {
		features
		least, most float64
	}{
		"dark":           {features{0.36, 4.02, 0.33, 2.95, 1.5, 3, 1}, 4, 10},
		"low contrast":   {features{0.27, 3.13, 0.27, 0.32, 0.3, 0.5, 1}, 6, 8},
		"clean water":    {features{0, 11.86, 0.38, 0.80, 0.3, 0.8, 0}, 3, 4},
		"clean grass":    {features{1.69, 2.70, 6.88, 0.51, 0.3, 0.4, 0}, 0.3, 0.3},
		"clean rotation": {features{0.99, 3.81, 2.01, 0.79, 0.4, 1, 0}, 0.3, 0.3},
		"clean text":     {features{8.85, 18.3, 19.8, 0.70, 0.3, 1, 0}, 0.3, 0.3},
	} {
		m := Flat(0.3)
		m.addCoded(c.features, pipeline.Quantiser{Step: 26, Smoothed: true})
		if m.Sigma[0] < c.least || m.Sigma[0] > c.most {
			t.Errorf("%s: sigma %.2f, want %.1f to %.1f", name, m.Sigma[0], c.least, c.most)
		}
	}
}
