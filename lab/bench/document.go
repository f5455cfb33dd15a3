package bench

import (
	"fmt"
	"strings"

	"vidfilter/internal/text"
	"vidfilter/lab/measure"
	"vidfilter/lab/report"
)

// Document returns the report as tables and text.
func (r *Report) Document() report.Document {
	d := report.Document{Header: r.Header}
	add := func(measured bool, section func() report.Section) {
		if measured {
			d.Sections = append(d.Sections, section())
		}
	}
	add(r.Denoise != nil, func() report.Section { return r.Denoise.section() })
	add(r.Denoise != nil && len(r.Denoise.parts().Rows) > 0, func() report.Section { return r.Denoise.partsSection() })
	add(r.Filters != nil, func() report.Section { return r.Filters.section() })
	add(r.Kernel != nil, func() report.Section { return r.Kernel.section() })
	add(r.Step != nil, func() report.Section { return r.Step.section() })
	add(r.End != nil, func() report.Section { return r.End.section() })
	add(r.End != nil && len(r.End.Rows) > 0, func() report.Section { return r.End.stages() })
	add(r.CPU != nil, func() report.Section { return r.CPU.section() })
	add(r.Live != nil, func() report.Section { return r.Live.section() })
	add(r.Start != nil && len(r.Start.Rows) > 0, func() report.Section { return r.Start.section() })
	return d
}

func (s *DenoiseSection) section() report.Section {
	t := text.NewTable(4, "device", "size", "layout", "quality", "ms", "+-%", "fps", "kernels", "floor", "nlmeans", "times", "differ %", "by")
	t.Sparse = true
	for _, row := range s.Rows {
		kernels := ""
		if row.Kernels != nil {
			kernels = report.Milliseconds(row.Kernels.Median)
		}
		t.Add(row.Device, row.Size.String(), strings.TrimSuffix(row.Layout, "le"), row.Quality, report.Milliseconds(row.Time.Median),
			report.Spread(row.Time), report.Ratio(row.FPS), kernels, report.Milliseconds(row.Floor),
			report.Milliseconds(row.NLMeans), report.Ratio(row.NLMeans/row.Time.Median), differ(row.Check), by(row.Check))
	}
	return report.Section{
		Title: "The denoiser, the default filter; ms a frame from memory to memory, copies included",
		Table: t,
		Notes: []string{fmt.Sprintf(`The noise is given (--noise 10), not measured. kernels: ms of the GPU's kernels alone. floor: the frame read and written at
%.0f GB/s, or the operations of the passes' transforms, weights and means at %.0f GFLOP/s, and the differences of the search at %.0f G/s, which
all threads of this CPU reach; on a GPU by its own copies and its clock, without the search. nlmeans: ms of ffmpeg's filter, 8 bits only, and how many times as long as ours it
takes. "differ" and "by": samples that differ from the reference's, and by how many levels at most.`, s.Peak.Bytes, s.Peak.Operations, s.Peak.Differences)},
	}
}

func (s *FiltersSection) section() report.Section {
	t := text.NewTable(4, "device", "size", "layout", "filter", "ms", "+-%", "fps", "floor", "differ %", "by")
	for _, row := range s.Rows {
		t.Add(row.Device, row.Size.String(), strings.TrimSuffix(row.Layout, "le"), row.Filter, report.Milliseconds(row.Time.Median),
			report.Spread(row.Time), report.Ratio(row.FPS), report.Milliseconds(row.Floor), differ(row.Check), by(row.Check))
	}
	return report.Section{
		Title: "The filters before it; ms for each frame that comes out, from memory to memory",
		Table: t,
		Notes: []string{"The deinterlacer makes two frames of each. floor: the frame read and written at the rate of a copy."},
	}
}

func (s *StartSection) section() report.Section {
	t := text.NewTable(1, "command", "processor ms", "least", "wall ms", "least")
	for _, row := range s.Rows {
		t.Add(row.What, report.Milliseconds(row.Processor.Median), report.Milliseconds(row.Processor.Least),
			report.Milliseconds(row.Wall.Median), report.Milliseconds(row.Wall.Least))
	}
	return report.Section{Title: "Short commands, with the process in the sandbox; the floor is a program that does nothing", Table: t}
}

// parts lists the kernels. The table is empty unless they were timed one by one.
func (s *DenoiseSection) parts() *text.Table {
	t := text.NewTable(4, "size", "layout", "quality", "kernel", "blocks", "threads", "shared bytes", "ms")
	for _, row := range s.Rows {
		for _, k := range row.Each {
			t.Add(row.Size.String(), strings.TrimSuffix(row.Layout, "le"), row.Quality, k.Kernel, fmt.Sprint(k.Blocks), fmt.Sprint(k.Threads),
				fmt.Sprint(k.Shared), report.Milliseconds(k.Time))
		}
	}
	return t
}

func (s *DenoiseSection) partsSection() report.Section {
	return report.Section{Title: "The denoiser's kernels for a frame, one by one, in their order", Table: s.parts()}
}

func (s *KernelSection) section() report.Section {
	t := text.NewTable(4, "size", "layout", "r", "kernel", "ms", "+-%", "GB/s", "floor ms", "floor %", "differ %", "by")
	for _, row := range s.Rows {
		name := row.Variant
		if row.Chosen {
			name += " *"
		}
		t.Add(row.Size.String(), strings.TrimSuffix(row.Layout, "le"), fmt.Sprint(row.Radius), name, report.Milliseconds(row.Time.Median), report.Spread(row.Time),
			fmt.Sprintf("%.0f", row.GBps), report.Milliseconds(row.Floor), report.Percent(row.Share), differ(row.Check), by(row.Check))
	}
	return report.Section{
		Title: fmt.Sprintf("Kernel alone, frames in the GPU's memory, where a copy reads and writes %.0f GB/s", s.CopyGBps),
		Table: t,
		Notes: []string{`* marks the kernel the filter chooses. GB/s counts the frame's bytes, in and out. The floor is the largest of three times:
the bytes at the rate of a copy; one reciprocal a tap on the special-function units, 16 a clock and multiprocessor; 7 instructions a tap,
128 a clock and multiprocessor. The tensor form computes its reciprocals elsewhere and can be faster. "differ" and "by": the samples that
differ from the reference's, and by how many levels at most.`},
	}
}

func (s *StepSection) section() report.Section {
	t := text.NewTable(3, "size", "layout", "r", "streams", "ms", "+-%", "bus alone", "copy in", "kernel", "copy out", "overlap")
	for _, row := range s.Rows {
		t.Add(row.Size.String(), strings.TrimSuffix(row.Layout, "le"), fmt.Sprint(row.Radius), fmt.Sprint(row.Streams), report.Milliseconds(row.Time.Median),
			report.Spread(row.Time), report.Milliseconds(row.Bus.Median), report.Milliseconds(row.CopyIn), report.Milliseconds(row.Kernel),
			report.Milliseconds(row.CopyOut), fmt.Sprintf("%.2f", row.Overlap))
	}
	return report.Section{
		Title: "Step: copy in, kernel, copy out; ms a frame from pinned memory to pinned memory",
		Table: t,
		Notes: []string{"bus alone: the copies in both directions at once. A stage's time includes its waiting for the others."},
	}
}

func (s *EndSection) section() report.Section {
	t := text.NewTable(4, "clip", "size", "r", "by", "frames", "plain s", "job s", "+-%", "ratio", "fps")
	var skipped []string
	for _, row := range s.Rows {
		clip, by := text.Cut(row.Clip, 20), fmt.Sprintf("%s %s %s", row.Decoder, row.Device, row.Encoder)
		if row.Skipped != "" {
			skipped = append(skipped, fmt.Sprintf("%s by %s at radius %d is left out: %s", clip, by, row.Radius, row.Skipped))
			continue
		}
		t.Add(clip, row.Size.String(), fmt.Sprint(row.Radius), by, fmt.Sprint(row.Frames), seconds(row.Plain),
			seconds(row.Time), report.Spread(row.Time), fmt.Sprintf("%.3f", row.Ratio), fmt.Sprintf("%.1f", row.FPS))
	}
	return report.Section{
		Title: "Whole jobs: decode, filter, encode (H.264, medium, crf 18), nothing written",
		Table: t,
		Notes: append([]string{"by: the decoder, the filter, the encoder. plain: the same without the filter."}, skipped...),
	}
}

func (s *EndSection) stages() report.Section {
	t := text.NewTable(4, "clip", "size", "r", "by", "decode", "filter", "encode", "job", "floor")
	for _, row := range s.Rows {
		if row.Skipped == "" {
			t.Add(text.Cut(row.Clip, 20), row.Size.String(), fmt.Sprint(row.Radius), row.Decoder+" "+row.Device+" "+row.Encoder,
				report.Milliseconds(row.Stages[0]), report.Milliseconds(row.Stages[1]), report.Milliseconds(row.Stages[2]),
				report.Milliseconds(row.Time.Median/float64(row.Frames)), report.Milliseconds(row.Floor/float64(row.Frames)))
		}
	}
	return report.Section{
		Title: "Stages of these jobs: ms of a frame in which each was busy, beside the others", Table: t,
		Notes: []string{"floor: the job's processor time, spread over all cores."},
	}
}

func (s *CPUSection) section() report.Section {
	t := text.NewTable(2, "size", "r", "CPU ms", "+-%", "fps", "GPU ms", "+-%", "times", "differ %", "by")
	for _, row := range s.Rows {
		gpu := []string{"-", "-", "-"}
		if g := row.GPU; g != nil {
			gpu = []string{report.Milliseconds(g.Median), report.Spread(*g), times(row.CPU.Median, g.Median)}
		}
		t.Add(row.Size.String(), fmt.Sprint(row.Radius), report.Milliseconds(row.CPU.Median), report.Spread(row.CPU),
			fmt.Sprintf("%.0f", 1000/row.CPU.Median), gpu[0], gpu[1], gpu[2], differ(row.Check), by(row.Check))
	}
	return report.Section{Title: "The CPU's filter, all threads, beside the GPU's with copies; ms a frame of yuv420p", Table: t}
}

func (s *LiveSection) section() report.Section {
	t := text.NewTable(1, "size", "r", "on", "fps", "taken to coded", "95 % within", "filter", "encode", "dropped")
	for _, row := range s.Rows {
		t.Add(row.Size.String(), fmt.Sprint(row.Radius), row.Device, fmt.Sprintf("%.1f", row.FPS), report.Milliseconds(row.Server.Median),
			report.Milliseconds(row.Late), report.Milliseconds(row.Filter.Median), report.Milliseconds(row.Encode.Median), fmt.Sprint(row.Dropped))
	}
	return report.Section{Title: "Live: a picture of the test source, 30 a second, from taken to coded for one viewer, in ms", Table: t}
}

func times(theirs, ours float64) string { return fmt.Sprintf("%.1f", theirs/ours) }

func seconds(s Stat) string { return fmt.Sprintf("%.2f", s.Median/1000) }

func differ(c measure.Check) string { return fmt.Sprintf("%.2f", 100*c.Share) }

func by(c measure.Check) string { return fmt.Sprint(c.Largest) }
