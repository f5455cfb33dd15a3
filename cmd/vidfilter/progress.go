package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// barLine returns the progress in at most width columns, one less than the terminal has: a line that
// fills it makes some wrap. What matters less goes first where room is short.
func barLine(s status, width int) string {
	parts := facts(s)
	line := fit(parts, width)
	bar := width - len(line) - len("[] ")
	if s.Part < 0 || bar < 10 {
		return line
	}
	return drawBar(s.Part, min(bar, 40)) + " " + line
}

func drawBar(part float64, cells int) string {
	n := int(part * float64(cells))
	return "[" + strings.Repeat("#", n) + strings.Repeat("-", cells-n) + "]"
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

// facts are what is known of a running job, the most wanted first. All are ASCII.
func facts(s status) (parts []string) {
	if s.Part >= 0 {
		parts = append(parts, fmt.Sprintf("%3d%%", int(s.Part*100)))
	}
	parts = append(parts, frameCount(s), fmt.Sprintf("%.1f fps", s.FPS))
	if s.Left >= 0 {
		parts = append(parts, clock(s.Left)+" left")
	}
	return append(parts, fmt.Sprintf("%.2fx", s.Speed), byteSize(s.Bytes))
}

func frameCount(s status) string {
	if s.Total > 0 {
		return fmt.Sprintf("%d/%d frames", s.Frames, s.Total)
	}
	return fmt.Sprintf("%d frames", s.Frames)
}

func plainLine(s status) string { return strings.TrimSpace(strings.Join(facts(s), ", ")) }

// clock writes a time as H:MM:SS or M:SS, rounded up: a job with time left is not at 0:00.
func clock(d time.Duration) string {
	n := int64(math.Ceil(d.Seconds()))
	if n < 3600 {
		return fmt.Sprintf("%d:%02d", n/60, n%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", n/3600, n/60%60, n%60)
}

// byteSize writes a size in decimal units with three digits.
func byteSize(n int64) string {
	x, units := float64(n), []string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	for x >= 999.5 && len(units) > 1 {
		x, units = x/1000, units[1:]
	}
	switch {
	case units[0] == "B" || x >= 99.95:
		return fmt.Sprintf("%.0f %s", x, units[0])
	case x >= 9.995:
		return fmt.Sprintf("%.1f %s", x, units[0])
	}
	return fmt.Sprintf("%.2f %s", x, units[0])
}

// summary is the line at the end of a job that left an output.
func summary(r result) string {
	var b strings.Builder
	seconds := r.Elapsed.Seconds()
	fmt.Fprintf(&b, "%s in %.1f s", plural(r.Frames, "frame"), seconds)
	if seconds > 0 {
		fmt.Fprintf(&b, " (%.1f fps)", float64(r.Frames)/seconds)
	}
	fmt.Fprintf(&b, ", %s in, %s out", knownSize(r.InBytes), knownSize(r.OutBytes))
	if r.HasStats {
		fmt.Fprintf(&b, ", PSNR %s dB, SSIM %.4f", decibels(r.PSNR), r.SSIM)
	}
	return b.String()
}

// decibels writes infinity as package metrics does.
func decibels(x float64) string {
	if math.IsInf(x, 1) {
		return "inf"
	}
	return fmt.Sprintf("%.2f", x)
}

func knownSize(n int64) string {
	if n <= 0 {
		return "?"
	}
	return byteSize(n)
}

func plural(n int64, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
