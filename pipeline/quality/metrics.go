// Package quality measures the difference of two pictures, or two videos: PSNR and SSIM, with the
// same figures as ffmpeg's psnr and ssim filters.
package quality

import (
	"fmt"
	"math"
	"strings"

	"vidfilter/pipeline"
)

// PlaneScore is the difference of one plane. Chroma in pairs counts as the planes U and V.
type PlaneScore struct {
	Name string  // Y, U, V or R, G, B
	MSE  float64 // mean squared error, in squared 255ths of the largest sample: 0 to 65025
	SSIM float64 // structural similarity: -1 to 1, and 1 for equal planes
}

// PSNR returns the plane's PSNR in decibels, +Inf for equal planes.
func (p PlaneScore) PSNR() float64 { return PSNR(p.MSE) }

// Score is the difference of two frames, or its mean over a video. Alpha does not count.
type Score struct {
	Planes [3]PlaneScore // gray has one, and the others no name
	MSE    float64       // over the samples of all planes; ffmpeg's PSNR "average"
	SSIM   float64       // mean of the planes weighted by size: ffmpeg's "All"
}

// PSNR returns the PSNR over the samples of all planes in decibels, +Inf for equal frames.
func (s Score) PSNR() float64 { return PSNR(s.MSE) }

// String returns one line: dB and SSIM of all, then of each plane.
func (s Score) String() string {
	var psnr, ssim []string
	for _, p := range s.Planes {
		if p.Name != "" {
			psnr = append(psnr, p.Name+" "+FormatPSNR(p.PSNR()))
			ssim = append(ssim, fmt.Sprintf("%s %.4f", p.Name, p.SSIM))
		}
	}
	return fmt.Sprintf("PSNR %s dB (%s), SSIM %.4f (%s)", FormatPSNR(s.PSNR()), strings.Join(psnr, ", "), s.SSIM, strings.Join(ssim, ", "))
}

// PSNR returns the decibels of a mean squared error as PlaneScore has it, +Inf for 0.
func PSNR(mse float64) float64 {
	if mse == 0 {
		return math.Inf(1)
	}
	return 10 * math.Log10(255*255/mse)
}

// FormatPSNR returns decibels with two places, and "inf" for equal pictures.
func FormatPSNR(db float64) string {
	if math.IsInf(db, 1) {
		return "inf"
	}
	return fmt.Sprintf("%.2f", db)
}

// Compare measures two frames of the same format, which it borrows. It uses all cores for large
// frames. The result does not depend on their number.
func Compare(a, b *pipeline.Frame) (Score, error) {
	if a.Format != b.Format {
		return Score{}, fmt.Errorf("metrics: compare %v with %v: formats differ", a.Format, b.Format)
	}
	if a.Width <= 0 || a.Height <= 0 {
		return Score{}, fmt.Errorf("metrics: compare %v: no samples", a.Format)
	}
	va, vb, names := views(a), views(b), planeNames(a.Layout)
	if va == nil {
		return Score{}, fmt.Errorf("metrics: compare %v: unknown layout", a.Format)
	}
	var s Score
	var squares, similar, samples float64
	step := 255 / va[0].most()
	for i, sum := range measure(va, vb) {
		n := float64(va[i].w * va[i].h)
		ssim := sum.ssim / float64(sum.windows)
		s.Planes[i] = PlaneScore{Name: names[i], MSE: float64(sum.squares) * step * step / n, SSIM: ssim}
		squares += float64(sum.squares) * step * step
		similar += ssim * n
		samples += n
	}
	s.MSE, s.SSIM = squares/samples, similar/samples
	return s, nil
}

// Accumulator averages the scores of a video's frames, which all count the same. MSE is averaged
// and PSNR computed from the mean, as in ffmpeg, so that one equal frame does not make it
// infinite. The zero value is ready. One goroutine at a time may use it.
type Accumulator struct {
	layout pipeline.Layout
	frames int
	sum    Score
}

// Add measures a frame of one video against its frame in the other. It borrows both. If their
// formats differ, or their layout differs from the frames before, it fails and does not count the
// frame.
func (acc *Accumulator) Add(a, b *pipeline.Frame) error {
	if acc.frames > 0 && a.Layout != acc.layout {
		return fmt.Errorf("metrics: a frame of %v after %d of %v", a.Layout, acc.frames, acc.layout)
	}
	s, err := Compare(a, b)
	if err != nil {
		return err
	}
	acc.layout = a.Layout
	acc.frames++
	for i, p := range s.Planes {
		t := &acc.sum.Planes[i]
		t.Name = p.Name
		t.MSE += p.MSE
		t.SSIM += p.SSIM
	}
	acc.sum.MSE += s.MSE
	acc.sum.SSIM += s.SSIM
	return nil
}

// Frames returns how many frames were added.
func (acc *Accumulator) Frames() int { return acc.frames }

// Score returns the mean over the frames so far; without any, the zero Score, which has no planes.
func (acc *Accumulator) Score() Score {
	s, n := acc.sum, float64(max(acc.frames, 1))
	for i := range s.Planes {
		s.Planes[i].MSE /= n
		s.Planes[i].SSIM /= n
	}
	s.MSE /= n
	s.SSIM /= n
	return s
}
