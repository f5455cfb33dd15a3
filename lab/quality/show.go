package quality

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"vidfilter/internal/text"
	"vidfilter/lab/report"
	"vidfilter/samples/scene"
)

// Document lays the report out.
func (r *Report) Document() report.Document {
	d := report.Document{Header: r.Header, Sections: r.footageSections(), Legend: legend}
	if len(r.Cells) == 0 {
		d.Legend = footageLegend
	}
	d.Sections = append(d.Sections, r.pairSections()...)
	if t := r.kindTable(); len(t.Rows) > 1 {
		d.Sections = append(d.Sections, report.Section{Title: "PSNR of luma / chroma, dB, means over the clips", Table: t})
	}
	for _, k := range Kinds() {
		if t := r.table(k.Name); len(t.Rows) > 0 {
			d.Sections = append(d.Sections, report.Section{Title: "Noise: " + k.Title + " (" + k.Name + ")", Table: t})
		}
	}
	if t := r.margins(); len(t.Rows) > 0 {
		d.Sections = append(d.Sections, report.Section{Title: "Clip by clip, ours (good) less others, dB", Table: t})
	}
	if t := r.eventTable(); len(t.Rows) > 0 {
		d.Sections = append(d.Sections, report.Section{Title: "Events, dB over the same filter without neighbours in time", Table: t})
	}
	return d
}

// pairSections are of videos beside their truth, whose cells have the video's name for the noise.
func (r *Report) pairSections() (all []report.Section) {
	seen := map[string]bool{}
	for _, k := range Kinds() {
		seen[k.Name] = true
	}
	for _, c := range r.Cells {
		if !seen[c.Noise] {
			seen[c.Noise] = true
			all = append(all, report.Section{Title: c.Noise + ", beside its truth", Table: r.table(c.Noise)})
		}
	}
	return all
}

const legend = `PSNR and SSIM are of luma, chroma is the PSNR of both its planes, flicker the RMS of the error's change
from frame to frame, moving the PSNR where the clean picture changes by more than 12 levels; kB is the clip
coded by x264 at crf 18, ms the processor's time for a frame on one thread. The strengths of all but ours are
those with the best mean PSNR over these very clips, which favours them; ours measures the noise.`

// where returns the cells of a kind and method.
func (r *Report) where(noise, method string) (cells []Cell) {
	for _, c := range r.Cells {
		if c.Noise == noise && c.Method == method {
			cells = append(cells, c)
		}
	}
	return cells
}

// mean returns the mean of a method, or false.
func (r *Report) mean(noise, method string) (Scores, bool) {
	var all []Scores
	for _, c := range r.where(noise, method) {
		all = append(all, c.Scores)
	}
	return mean(all), len(all) > 0
}

func (r *Report) methods() (names []string) {
	for _, c := range r.Cells {
		if !slices.Contains(names, c.Method) {
			names = append(names, c.Method)
		}
	}
	return names
}

// isRival reports whether a method is ffmpeg's.
func isRival(method string) bool {
	return !strings.HasPrefix(method, "ours") && !slices.Contains([]string{Untouched, "bilateral", "recursive"}, method)
}

// bestRival returns the rival with the highest PSNR on a clip.
func (r *Report) bestRival(noise, clip string) (best Cell, ok bool) {
	for _, c := range r.Cells {
		if c.Noise == noise && c.Clip == clip && isRival(c.Method) && (!ok || c.PSNR > best.PSNR) {
			best, ok = c, true
		}
	}
	return best, ok
}

func (r *Report) cell(noise, clip, method string) (Cell, bool) {
	i := slices.IndexFunc(r.Cells, func(c Cell) bool {
		return c.Noise == noise && c.Clip == clip && c.Method == method
	})
	if i < 0 {
		return Cell{}, false
	}
	return r.Cells[i], true
}

func (r *Report) table(noise string) *text.Table {
	t := text.NewTable(2, "filter", "strength", "PSNR", "SSIM", "chroma", "flicker", "moving", "kB", "ms")
	t.Empty, t.Sparse = "-", true
	for _, m := range r.methods() {
		s, ok := r.mean(noise, m)
		if !ok {
			continue
		}
		t.Add(m, shortStrength(m, r.where(noise, m)[0].Strength), decibelText(s.PSNR), fmt.Sprintf("%.3f", s.SSIM), decibelText(s.Chroma),
			fmt.Sprintf("%.2f", s.Flicker), positive("%.2f", s.Moving), positive("%.0f", s.KBytes), positive("%.1f", s.MS))
	}
	return t
}

// kindTable has a row for each kind of noise.
func (r *Report) kindTable() *text.Table {
	methods := []string{Untouched, Fast, Good, Best, Causal, NLMeans, "hqdn3d"}
	t := text.NewTable(2, append([]string{"noise", ""}, methods...)...)
	t.Sparse = true
	for _, k := range Kinds() {
		row, any := []string{k.Name, k.Title}, false
		for _, m := range methods {
			s, ok := r.mean(k.Name, m)
			cell := ""
			if ok {
				cell, any = decibelText(s.PSNR)+" / "+decibelText(s.Chroma), true
			}
			row = append(row, cell)
		}
		if any {
			t.Add(row...)
		}
	}
	return t
}

func decibelText(db float64) string {
	switch {
	case db >= bestPSNR:
		return "equal"
	case db == 0:
		return "" // there is no chroma
	}
	return fmt.Sprintf("%.2f", db)
}

func positive(format string, x float64) string {
	if x == 0 {
		return ""
	}
	return fmt.Sprintf(format, x)
}

// margins compares clip by clip.
func (r *Report) margins() *text.Table {
	t := text.NewTable(1, "noise", "nlmeans: mean", "least", "on", "best rival on each: mean", "least", "on", "rival")
	for _, i := range []int{3, 6, 7} {
		t.Columns[i].Right = false
	}
	for _, k := range Kinds() {
		nl, rest := marginOver(r, k.Name, NLMeans), marginOver(r, k.Name, "")
		if rest.clips == 0 {
			continue
		}
		t.Add(k.Name, signed(nl.mean), signed(nl.least), nl.on, signed(rest.mean), signed(rest.least), rest.on, rest.rival)
	}
	return t
}

// margin is how far ours is above others.
type margin struct {
	mean, least float64
	on, rival   string
	clips       int
}

// marginOver compares ours with a method, "" with the best rival of each clip.
func marginOver(r *Report, noise, method string) (m margin) {
	m.least = math.Inf(1)
	for _, c := range r.where(noise, Good) {
		other, ok := r.cell(noise, c.Clip, method)
		if method == "" {
			other, ok = r.bestRival(noise, c.Clip)
		}
		if !ok {
			continue
		}
		gain := c.PSNR - other.PSNR
		m.mean += gain
		m.clips++
		if gain < m.least {
			m.least, m.on, m.rival = gain, strings.TrimPrefix(c.Clip, scene.Proof+"/"), other.Method
		}
	}
	m.mean /= float64(max(m.clips, 1))
	return m
}

func signed(x float64) string { return fmt.Sprintf("%+.2f", x) }

func (r *Report) eventTable() *text.Table {
	t := text.NewTable(3, "noise", "event", "tier", "whole", "moving", "worst frame", "")
	for _, e := range r.Events {
		note := ""
		if e.Failed() {
			note = "worse"
		}
		moving := "-"
		if e.Scores.Moving > 0 {
			moving = signed(e.Moving())
		}
		t.Add(e.Noise, strings.TrimPrefix(e.Clip, scene.Events+"/"), strings.TrimPrefix(e.Method, "ours, "),
			signed(e.Gain()), moving, signed(e.Least()), note)
	}
	return t
}
