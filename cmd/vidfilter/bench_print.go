package main

import (
	"fmt"
	"io"
	"strings"

	"vidfilter/bench"
	"vidfilter/internal/text"
)

// printReport writes a report for people, at most 100 columns wide.
func printReport(w io.Writer, r *bench.Report) error {
	var b strings.Builder
	fmt.Fprintf(&b, "vidfilter %s, %s\n", r.Version, r.Date.Format("2006-01-02 15:04 MST"))
	printMachine(&b, r.Machine, r.NoGPU)
	if r.Kernel != nil {
		printKernels(&b, r.Kernel)
	}
	if r.Step != nil {
		printSteps(&b, r.Step)
		printPaper(&b, r.Step.Paper)
	}
	if r.End != nil {
		printEnd(&b, r.End)
	}
	if r.CPU != nil {
		printCPU(&b, r.CPU)
	}
	if r.Live != nil {
		printLive(&b, r.Live)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func printLive(b *strings.Builder, s *bench.LiveSection) {
	b.WriteString("\nLive: a picture of the test source, 30 a second, from taken to coded for one viewer, in ms\n")
	t := columns{left: 1}
	t.add("size", "r", "on", "fps", "taken to coded", "95 % within", "filter", "encode", "dropped")
	for _, row := range s.Rows {
		t.add(row.Size.String(), fmt.Sprint(row.Radius), row.Device, fmt.Sprintf("%.1f", row.FPS), ms(row.Server.Median), ms(row.Late),
			ms(row.Filter.Median), ms(row.Encode.Median), fmt.Sprint(row.Dropped))
	}
	b.WriteString(t.String())
}

func printMachine(b *strings.Builder, m bench.Machine, noGPU string) {
	fmt.Fprintf(b, "%s, cores: %d\n%s\n", text.OneLine(m.CPU), m.Cores, m.Filter)
	if g := m.GPU; g != nil {
		fmt.Fprintf(b, "%s, compute capability %d.%d, driver: CUDA %s\n", text.OneLine(g.Name), g.Compute/10, g.Compute%10, g.Driver)
		fmt.Fprintf(b, "%d multiprocessors at %.2f GHz, L2 cache %s\n", g.Multiprocessors, g.Clock/1e9, text.Size(int64(g.Cache)))
	}
	if noGPU != "" {
		fmt.Fprintf(b, "no GPU part: %s\n", text.OneLine(noGPU))
	}
}

func printKernels(b *strings.Builder, s *bench.KernelSection) {
	fmt.Fprintf(b, "\nKernel alone, frames in the GPU's memory, where a copy reads and writes %.0f GB/s\n", s.CopyGBps)
	t := columns{left: 4}
	t.add("size", "layout", "r", "kernel", "ms", "+-%", "GB/s", "floor ms", "floor %", "differ %", "by")
	for _, row := range s.Rows {
		name := row.Variant
		if row.Chosen {
			name += " *"
		}
		t.add(row.Size.String(), row.Layout, fmt.Sprint(row.Radius), name, ms(row.Time.Median), spread(row.Time),
			fmt.Sprintf("%.0f", row.GBps), ms(row.Floor), percent(row.Share), fmt.Sprintf("%.2f", 100*row.Check.Share),
			fmt.Sprint(row.Check.Largest))
	}
	b.WriteString(t.String())
	b.WriteString(`* is what the filter takes. GB/s are the frame's bytes, in and out. The floor is the most of: the
bytes at the rate of a copy; a reciprocal a tap on the special-function units, 16 a clock and
multiprocessor; 7 instructions a tap, 128 a clock and multiprocessor. The tensor form takes its
reciprocals elsewhere and gets under it. "differ" and "by": samples unlike the reference's, and by
how many levels.
`)
}

func printSteps(b *strings.Builder, s *bench.StepSection) {
	b.WriteString("\nStep: copy in, kernel, copy out; ms a frame from pinned memory to pinned memory\n")
	t := columns{left: 3}
	t.add("size", "layout", "r", "streams", "ms", "+-%", "bus alone", "copy in", "kernel", "copy out", "overlap")
	for _, row := range s.Rows {
		t.add(row.Size.String(), row.Layout, fmt.Sprint(row.Radius), fmt.Sprint(row.Streams), ms(row.Time.Median),
			spread(row.Time), ms(row.Bus.Median), ms(row.CopyIn), ms(row.Kernel), ms(row.CopyOut), fmt.Sprintf("%.2f", row.Overlap))
	}
	b.WriteString(t.String())
	b.WriteString("bus alone: the copies both ways at once. Stages include what they wait for each other.\n")
}

func printPaper(b *strings.Builder, rows []bench.PaperRow) {
	if len(rows) == 0 {
		return
	}
	b.WriteString("\nThe paper's pipeline here: padded RGBA from pinned memory, its kernel, two streams\n")
	t := columns{left: 2}
	t.add("size", "r", "ms", "+-%", "ours ms", "times", "published ms", "times")
	for _, row := range rows {
		published, faster := "-", "-"
		if row.Published > 0 {
			published, faster = fmt.Sprintf("%.3f", row.Published), times(row.Published, row.Ours)
		}
		t.add(row.Size.String(), fmt.Sprint(row.Radius), ms(row.Time.Median), spread(row.Time), ms(row.Ours),
			times(row.Time.Median, row.Ours), published, faster)
	}
	b.WriteString(t.String())
	b.WriteString("ours: the fastest step above, planes in and out. published: on a GTX 1080 Ti.\n")
}

func times(theirs, ours float64) string { return fmt.Sprintf("%.1f", theirs/ours) }

func printEnd(b *strings.Builder, s *bench.EndSection) {
	b.WriteString("\nWhole jobs: decode, filter, encode (x264, medium, crf 18), nothing written\n")
	t := columns{left: 4}
	t.add("clip", "size", "r", "on", "frames", "no filter s", "filtered s", "+-%", "ratio", "fps")
	skipped := ""
	for _, row := range s.Rows {
		clip, plain := text.Cut(row.Clip, 24), fmt.Sprintf("%.2f", row.Plain.Median/1000)
		if row.Skipped != "" {
			skipped += fmt.Sprintf("%s on the %s at radius %d is left out: %s\n", clip, row.Device, row.Radius, row.Skipped)
			continue
		}
		t.add(clip, row.Size.String(), fmt.Sprint(row.Radius), row.Device, fmt.Sprint(row.Frames), plain,
			fmt.Sprintf("%.2f", row.Time.Median/1000), spread(row.Time), fmt.Sprintf("%.3f", row.Ratio), fmt.Sprintf("%.1f", row.FPS))
	}
	b.WriteString(t.String() + skipped)
}

func printCPU(b *strings.Builder, s *bench.CPUSection) {
	b.WriteString("\nThe CPU's filter, all threads, beside the GPU's with copies; ms a frame of yuv420p\n")
	t := columns{left: 2}
	t.add("size", "r", "CPU ms", "+-%", "fps", "GPU ms", "+-%", "times", "differ %", "by")
	for _, row := range s.Rows {
		cells := []string{row.Size.String(), fmt.Sprint(row.Radius), ms(row.CPU.Median), spread(row.CPU),
			fmt.Sprintf("%.0f", 1000/row.CPU.Median), "-", "-", "-"}
		if g := row.GPU; g != nil {
			cells = append(cells[:5], ms(g.Median), spread(*g), times(row.CPU.Median, g.Median))
		}
		t.add(append(cells, fmt.Sprintf("%.2f", 100*row.Check.Share), fmt.Sprint(row.Check.Largest))...)
	}
	b.WriteString(t.String())
}
