package quality

import (
	"cmp"
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
	if t := r.goalTable(); len(t.Rows) > 0 {
		d.Sections = append(d.Sections, report.Section{Title: "Goals", Table: t})
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

// mean returns the mean of a method, false if there is none.
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

// Goal is an aim of the denoiser, and how far it is met.
type Goal struct {
	What string
	Aim  string
	Is   string
	Met  bool
}

// Goals returns those that the report can judge.
func (r *Report) Goals() (all []Goal) {
	for i := range r.Footage {
		all = append(all, r.Footage[i].goals()...)
	}
	for _, g := range []struct {
		noise, method string
		gain          float64
	}{
		{"w5", Best, 2.8}, {"w10", Best, 3.5}, {"w25", Best, 4.0},
		{"w5", Fast, 2.6}, {"w10", Fast, 3.2}, {"w25", Fast, 3.3},
	} {
		mine, ok := r.mean(g.noise, g.method)
		theirs, rival := r.mean(g.noise, NLMeans)
		if ok && rival {
			gain := mine.PSNR - theirs.PSNR
			all = append(all, Goal{g.noise + ": " + g.method + " over nlmeans, dB", signed(g.gain), signed(gain), gain >= g.gain})
		}
	}
	for _, k := range Kinds() {
		all = append(all, r.kindGoals(k)...)
	}
	return append(all, r.eventGoals()...)
}

func (r *Report) kindGoals(k Kind) (all []Goal) {
	for _, method := range []string{Fast, Good} {
		mine, ok := r.mean(k.Name, method)
		theirs, rival := r.mean(k.Name, NLMeans)
		if ok && rival && k.Coded() {
			gain := mine.PSNR - theirs.PSNR
			all = append(all, Goal{k.Name + ": " + method + " over nlmeans, dB", "above 0", signed(gain), gain > 0})
		}
	}
	mine, ok := r.mean(k.Name, Good)
	theirs, rival := r.mean(k.Name, NLMeans)
	if !ok {
		return all
	}
	if k.Clean() {
		worst, on := 0.0, ""
		for _, m := range []string{Fast, Good, Best, Causal} {
			for _, c := range r.where(k.Name, m) {
				if before, ok := r.cell(k.Name, c.Clip, Untouched); ok && c.PSNR-before.PSNR < worst {
					worst, on = c.PSNR-before.PSNR, ", "+strings.TrimPrefix(c.Clip, scene.Proof+"/")+" ("+m+")"
				}
			}
		}
		return append(all, Goal{k.Name + ": worst clip of any tier against untouched, dB", "-0.10", signed(worst) + on, worst >= -0.1})
	}
	if !rival {
		return all
	}
	m := marginOver(r, k.Name, NLMeans)
	all = append(all, Goal{k.Name + ": good over nlmeans on its worst clip, dB", "above 0", signed(m.least) + ", " + m.on, m.least >= 0})
	part := mine.Flicker / cmp.Or(theirs.Flicker, 1)
	return append(all, Goal{k.Name + ": flicker of good, part of nlmeans'", "0.67", fmt.Sprintf("%.2f", part), part <= 2.0/3})
}

func (r *Report) eventGoals() (all []Goal) {
	for _, noise := range eventKinds {
		worst, on, n := math.Inf(1), "", 0
		for _, e := range r.Events {
			if e.Noise != noise {
				continue
			}
			n++
			gain := min(e.Gain(), e.Least())
			if e.Scores.Moving > 0 {
				gain = min(gain, e.Moving())
			}
			if gain < worst {
				worst, on = gain, strings.TrimPrefix(e.Clip, scene.Events+"/")+" ("+strings.TrimPrefix(e.Method, "ours, ")+")"
			}
		}
		if n > 0 {
			all = append(all, Goal{noise + ": worst event against spatial only, dB", "-0.10", signed(worst) + ", " + on, worst >= Loss})
		}
	}
	return all
}

func (r *Report) goalTable() *text.Table {
	t := text.NewTable(1, "goal", "aim", "is", "")
	t.Columns[2].Right, t.Columns[3].Right = false, false
	for _, g := range r.Goals() {
		verdict := "MISSED"
		if g.Met {
			verdict = "met"
		}
		t.Add(g.What, g.Aim, g.Is, verdict)
	}
	return t
}
