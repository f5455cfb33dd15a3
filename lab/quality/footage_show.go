package quality

import (
	"fmt"
	"math"
	"strings"

	"vidfilter/internal/text"
	"vidfilter/lab/report"
)

const footageLegend = `Errors are mean squares in 8-bit levels of the parts that do not move: result less the next
frame, which the filter did not see, less the noise of that frame; < is below what the clip can tell.
dB is the gain over untouched. Texture is the share of the detail that both frames have which the
result keeps, moving or not; removed is the RMS of what the filter took out of luma. Rivals have the
strengths with the least error, one for luma and one for chroma.`

// result returns the measures of a method, empty if it was not measured.
func (f *Footage) result(method string) Held {
	for _, h := range f.Results {
		if h.Method == method {
			return h
		}
	}
	return Held{}
}

// bestRival returns the rival with the least error of luma, or of chroma.
func (f *Footage) bestRival(plane int) (best Held, ok bool) {
	for _, h := range f.Results {
		if isRival(h.Method) && (!ok || h.Error[plane] < best.Error[plane]) {
			best, ok = h, true
		}
	}
	return best, ok
}

// gray reports whether there is no chroma.
func (f *Footage) gray() bool { return strings.HasPrefix(f.Format, "gray") }

// footageSections are a table of all videos, and one of each.
func (r *Report) footageSections() (all []report.Section) {
	if len(r.Footage) == 0 {
		return nil
	}
	all = append(all, report.Section{Title: "Footage as it is, by frames held out", Table: r.footageTable(), Notes: r.problems()})
	for _, f := range r.Footage {
		title := fmt.Sprintf("%s: %s, still %.0f %%, frames judged: %d", f.Clip, f.Format, 100*f.Still, f.Targets)
		all = append(all, report.Section{Title: title, Table: f.table()})
	}
	return all
}

func (r *Report) footageTable() *text.Table {
	t := text.NewTable(1, "clip", "still %", "noise", "meter", "Y untouched", "fast", "good", "best", "rival", "C untouched", "fast", "good", "best", "rival", "texture good", "rival")
	for _, f := range r.Footage {
		row := []string{text.OneLine(f.Clip), fmt.Sprintf("%.0f", 100*f.Still), f.pair(f.Noise), f.pair(f.Meter)}
		for plane := range 2 {
			for _, m := range []string{Untouched, Fast, Good, Best} {
				row = append(row, f.error(f.result(m), plane))
			}
			rival, ok := f.bestRival(plane)
			cell := f.error(rival, plane)
			switch {
			case !ok:
				cell = ""
			case cell != "":
				cell += " " + rival.Method
			}
			row = append(row, cell)
		}
		row = append(row, f.texture(f.result(Good)))
		rival, _ := f.bestRival(0)
		t.Add(append(row, f.texture(rival))...)
	}
	return t
}

func (r *Report) problems() (notes []string) {
	for _, f := range r.Footage {
		if f.Problem != "" {
			notes = append(notes, fmt.Sprintf("No figure of %s: %s.", text.OneLine(f.Clip), f.Problem))
		}
	}
	return notes
}

// pair shows a value of luma and of chroma.
func (f *Footage) pair(x [2]float64) string {
	if f.gray() {
		return fmt.Sprintf("%.1f", x[0])
	}
	return fmt.Sprintf("%.1f / %.1f", x[0], x[1])
}

// error shows an error, or "" where the measure does not hold.
func (f *Footage) error(h Held, plane int) string {
	if f.Problem != "" || h.Method == "" || plane > 0 && f.gray() {
		return ""
	}
	if sure := f.Spread[plane]; h.Error[plane] < sure {
		return fmt.Sprintf("<%.2f", sure)
	}
	return fmt.Sprintf("%.2f", h.Error[plane])
}

func (f *Footage) gain(h Held, plane int) string {
	before := f.result(Untouched).Error[plane]
	if f.error(h, plane) == "" || h.Error[plane] <= f.Spread[plane] || before <= 0 {
		return ""
	}
	return signed(10 * math.Log10(before/h.Error[plane]))
}

// leastDetail is the largest standard error of the texture kept that is shown.
const leastDetail = 0.02

func (f *Footage) texture(h Held) string {
	if f.Detail > leastDetail || h.Method == "" {
		return ""
	}
	return fmt.Sprintf("%.0f %%", 100*h.Kept)
}

func (f *Footage) table() *text.Table {
	t := text.NewTable(2, "filter", "strength", "error Y", "dB", "error C", "dB", "texture", "removed", "ms")
	t.Sparse = true
	for _, h := range f.Results {
		strength := shortStrength(h.Method, h.Strengths[0])
		if other := shortStrength(h.Method, h.Strengths[1]); other != strength && !f.gray() {
			strength += ", C " + other
		}
		t.Add(h.Method, strength, f.error(h, 0), f.gain(h, 0), f.error(h, 1), f.gain(h, 1), f.texture(h), fmt.Sprintf("%.2f", h.Removed), positive("%.1f", h.MS))
	}
	return t
}

// shortStrength leaves out the part in the method's name.
func shortStrength(method, strength string) string {
	strength = strings.TrimPrefix(strength, method+"=")
	if method == "atadenoise" {
		strength, _, _ = strings.Cut(strength, ":")
	}
	return strength
}
