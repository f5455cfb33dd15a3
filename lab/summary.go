package lab

import (
	"fmt"
	"slices"
)

// Summary is what each trick brought then and brings now: the versions of each paper at one case that stands for the others.
func (r *Report) Summary() Table {
	t := Table{Left: 3, Rows: [][]string{{"paper", "version", "what it is", "then: ms", "x seq.", "x naive", "now: ms", "x seq.", "x naive"}}}
	for _, e := range r.Experiments {
		pick, ok := typical[e.ID]
		if !ok {
			continue
		}
		for _, row := range e.Rows {
			if !pick(row) {
				continue
			}
			then := []string{nothing, nothing, nothing}
			if p := row.Paper; p != nil {
				then = []string{Milliseconds(p.Ms), ratio(p.Sequential), ratio(p.Naive)}
			}
			now := []string{Milliseconds(row.counted()), ratio(row.Sequential), ratio(row.Naive)}
			cells := append([]string{e.Paper, row.versionCell(), row.what()}, append(then, now...)...)
			for i, c := range cells {
				if c == "" {
					cells[i] = nothing
				}
			}
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}

// typical are the cases by experiment: what the papers say most of.
var typical = map[string]func(Row) bool{
	"000-1920x1080": func(r Row) bool { return r.Radius == 7 },
	"001-4k":        func(Row) bool { return true },
	"002-speed":     func(r Row) bool { return r.Size.Width == 2048 && r.SigmaS == 50 },
	"003-3000x3000": func(r Row) bool { return r.Radius == 10 },
	"004":           func(r Row) bool { return r.Radius == 10 },
}

// what says in words what a row is.
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

// Paper returns what is known of a paper.
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
