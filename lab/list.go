package lab

import (
	"fmt"
	"slices"
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
// compute capability of the GPU; 0 without one, for the reason noGPU.
func List(ids []string, compute int, noGPU string) (all Entries) {
	for _, c := range listed(ids...) {
		all = append(all, c.entry(compute, noGPU))
	}
	return all
}

func (c contender) entry(compute int, noGPU string) Entry {
	e := Entry{
		Name: c.name, Paper: c.Paper, Version: c.Version, Title: c.Title, On: c.where(), Does: c.Does(), Runs: true,
	}
	switch {
	case c.cpu != nil:
	case compute == 0:
		e.Runs, e.Why = false, noGPU
	case compute < c.gpu.Compute:
		e.Runs, e.Why = false, fmt.Sprintf("it needs compute capability %d.%d", c.gpu.Compute/10, c.gpu.Compute%10)
	}
	return e
}

// Names lists the names of all papers' variants.
func Names() (all []string) {
	for _, c := range listed() {
		all = append(all, c.name)
	}
	return all
}

// Any reports whether glob matches a variant that papers (all, if empty) time. cpu restricts it to
// CPU variants.
func Any(ids []string, glob string, cpu bool) bool {
	if len(ids) == 0 {
		ids = PaperIDs()
	}
	return slices.ContainsFunc(ids, func(id string) bool {
		return slices.ContainsFunc(contenders(id), func(c contender) bool {
			return c.selected(glob) && (c.cpu != nil || !cpu)
		})
	})
}
