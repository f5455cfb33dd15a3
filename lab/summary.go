package lab

import (
	"fmt"
	"slices"

	"vidfilter/internal/text"
	"vidfilter/lab/report"
)

// Summary compares then and now at one typical case of each paper.
func (r *Report) Summary() *text.Table {
	t := text.NewTable(3, "paper", "version", "what it is", "then: ms", "x seq.", "x naive", "now: ms", "x seq.", "x naive")
	for _, e := range r.Experiments {
		pick, ok := typical[e.ID]
		if !ok {
			continue
		}
		for _, row := range e.Rows {
			if !pick(row) {
				continue
			}
			then := Published{}
			if row.Paper != nil {
				then = *row.Paper
			}
			t.Add(e.Paper, row.versionCell(), row.what(),
				report.Milliseconds(then.Ms), report.Ratio(then.Sequential), report.Ratio(then.Naive),
				report.Milliseconds(row.counted()), report.Ratio(row.Sequential), report.Ratio(row.Naive))
		}
	}
	return t
}

// typical selects, by experiment, the case that the papers discuss most.
var typical = map[string]func(Row) bool{
	"000-1920x1080": func(r Row) bool { return r.Radius == 7 },
	"001-4k":        func(Row) bool { return true },
	"002-speed":     func(r Row) bool { return r.Size.Width == 2048 && r.SigmaS == 50 },
	"003-3000x3000": func(r Row) bool { return r.Radius == 10 },
	"004":           func(r Row) bool { return r.Radius == 10 },
}

// what returns a row's description.
func (r Row) what() string {
	s := r.Title
	if r.Blocks > 0 {
		s += fmt.Sprintf(", %d a line", r.Blocks)
	}
	if r.Memory != "" {
		s += fmt.Sprintf(", %s, streams: %d", r.Memory, r.Streams)
	}
	if r.Threads > 1 {
		s += fmt.Sprintf(", threads: %d", r.Threads)
	}
	return s
}

// paperOf returns the paper with an ID, or only the ID for an unknown one.
func paperOf(id string) Paper {
	all := Papers()
	i := slices.IndexFunc(all, func(p Paper) bool { return p.ID == id })
	if i < 0 {
		return Paper{ID: id}
	}
	return all[i]
}

// Heading is the line above an experiment's table.
func (e Experiment) Heading() string {
	p := paperOf(e.Paper)
	return fmt.Sprintf("%s (%s): %s; %s, then on %s", e.Paper, p.Authors, e.Title, e.Source, p.Hardware)
}
