package terminal

import (
	"fmt"
	"math"
	"strings"

	"vidfilter/internal/contract"
	"vidfilter/internal/text"
)

// Columns of the bar, with its brackets.
const (
	leastBar = 12
	mostBar  = 42
)

// barLine returns the progress in at most width columns: one less than the terminal has, since
// some wrap a full line. The least important facts go first where room is short.
func barLine(s progress, width int) string {
	parts := facts(s)
	line := fit(parts, width)
	bar := width - len(line) - 1
	if s.Part == nil || bar < leastBar {
		return line
	}
	return text.Bar(*s.Part, min(bar, mostBar)) + " " + line
}

// fit joins as many of the first parts as width holds.
func fit(parts []string, width int) string {
	line := ""
	for i, p := range parts {
		if i > 0 {
			p = "  " + p
		}
		if len(line)+len(p) > width {
			break
		}
		line += p
	}
	return line
}

// facts returns the known figures, most important first, in ASCII.
func facts(s progress) (parts []string) {
	if s.Part != nil {
		parts = append(parts, text.PadLeft(text.Percent(*s.Part), 4))
	}
	parts = append(parts, text.Progress(s.Frames, s.Total, "frame"), fmt.Sprintf("%.1f fps", s.FPS))
	if s.Left != nil {
		parts = append(parts, text.Clock(*s.Left)+" left")
	}
	return append(parts, fmt.Sprintf("%.2fx", s.Speed), text.Size(s.Bytes))
}

func plainLine(s progress) string { return strings.TrimSpace(strings.Join(facts(s), ", ")) }

// summary is the end of a job that has an output: a line, two for a long job.
func summary(r Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %.1f s", text.Count(r.Frame, "frame"), r.Elapsed)
	if r.Elapsed > 0 {
		fmt.Fprintf(&b, " (%.1f fps)", r.Outcome().FPS)
	}
	if r.InSize > 0 && !r.Taken && !r.Interrupted {
		fmt.Fprintf(&b, ", %s in", text.Size(r.InSize))
	}
	if r.Size > 0 {
		fmt.Fprintf(&b, ", %s out", text.Size(r.Size))
	}
	if r.PSNR != nil {
		fmt.Fprintf(&b, ", PSNR %s dB, SSIM %.4f", decibels(float64(*r.PSNR)), *r.SSIM)
	}
	if r.Stages != nil && r.Elapsed > longJob {
		fmt.Fprintf(&b, "\n%.1f fps: %s", r.Outcome().FPS, work(*r.Stages, r.Slowest))
	}
	return b.String()
}

// longJob is how many seconds a job takes whose summary compares its stages.
const longJob = 60

// work compares the stages' times, and names the one that limits the speed.
func work(s contract.Stages, slowest string) string {
	all := max(s.Decode+s.Filter+s.Encode, math.SmallestNonzeroFloat64)
	share := func(x float64) int { return int(math.Round(100 * x / all)) }
	line := fmt.Sprintf("decoding %d%%, filter %d%%, encoder %d%%", share(s.Decode), share(s.Filter), share(s.Encode))
	if slowest != "" {
		line += "; slowest: " + slowest
	}
	return line
}

// decibels writes infinity as package quality does.
func decibels(x float64) string {
	if math.IsInf(x, 1) {
		return "inf"
	}
	return fmt.Sprintf("%.2f", x)
}
