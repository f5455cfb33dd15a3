package lab

import (
	"fmt"
	"path"

	"vidfilter/lab/papers"
)

// Entry describes one variant of the lists.
type Entry struct {
	Name    string `json:"name"`
	Paper   string `json:"paper"` // "" for this program's own
	Version string `json:"version"`
	Title   string `json:"title"`
	On      string `json:"on"`   // "cpu" or "gpu"
	Does    string `json:"does"` // radii, range weight, distance, border
	Runs    bool   `json:"runs"` // on this machine
	Why     string `json:"why"`  // reason if it does not
}

// Entries are variants in the order of the lists.
type Entries []Entry

// List returns the variants of all given papers (of all, if empty) in their order. compute is the
// compute capability of the GPU; 0 is none, for the reason noGPU.
func List(papers []string, compute int, noGPU string) (all Entries) {
	if len(papers) == 0 {
		papers = PaperIDs()
	}
	for _, id := range papers {
		for _, c := range listed(id) {
			all = append(all, c.entry(compute, noGPU))
		}
	}
	return all
}

func (c contender) entry(compute int, noGPU string) Entry {
	e := Entry{Name: c.name(), Version: c.version(), Title: c.title(), On: c.where(), Runs: true}
	if v := c.cpu; v != nil {
		e.Paper, e.Does = v.Paper, v.Does()
		return e
	}
	e.Paper, e.Does = papers.Of(*c.gpu).Paper, c.gpu.Does()
	switch {
	case compute == 0:
		e.Runs, e.Why = false, noGPU
	case compute < c.gpu.Compute:
		e.Runs, e.Why = false, fmt.Sprintf("it needs compute capability %d.%d", c.gpu.Compute/10, c.gpu.Compute%10)
	}
	return e
}

// Names lists the names of all papers' variants.
func Names() (all []string) {
	for _, id := range PaperIDs() {
		for _, c := range listed(id) {
			all = append(all, c.name())
		}
	}
	return all
}

// Any reports whether glob matches a variant of the papers. cpu restricts it to CPU variants.
func Any(papers []string, glob string, cpu bool) bool {
	if len(papers) == 0 {
		papers = PaperIDs()
	}
	for _, id := range papers {
		for _, c := range contenders(id) {
			if ok, err := path.Match(glob, c.name()); err == nil && ok && (c.cpu != nil || !cpu) {
				return true
			}
		}
	}
	return false
}
