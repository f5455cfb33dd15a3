package lab

import (
	"vidfilter/lab/measure"
)

// Experiment is an experiment of a paper, with its results here.
type Experiment struct {
	ID     string `json:"id"` // also a file name
	Paper  string `json:"paper"`
	Title  string `json:"title"`
	Source string `json:"source"` // tables or figures of the paper
	// The quantity that rows are drawn over: "radius", "threads", "kappa", "side", "block",
	// "factor" or "".
	Axis    string   `json:"axis"`
	Remarks []string `json:"remarks"` // caveats for readers of the table
	Rows    []Row    `json:"rows"`
}

// Row is the measurement of one form. Fields that do not apply are 0, "" or nil.
type Row struct {
	Where   string `json:"where"` // "cpu" or "gpu"
	Version string `json:"version"`
	// Deviation from the paper's plain version: "table", "double", "lab".
	Kind  string `json:"kind,omitempty"`
	Title string `json:"title"`
	Name  string `json:"name"` // of the variant; for --kernel
	Own   bool   `json:"own"`  // this program's filter, not the paper's
	Size  Size   `json:"size"`

	Radius  int      `json:"radius,omitempty"`
	SigmaS  float64  `json:"sigma_s,omitempty"`
	SigmaR  float64  `json:"sigma_r,omitempty"`
	Kappa   *float64 `json:"kappa,omitempty"`
	Block   int      `json:"block,omitempty"`
	Factor  int      `json:"factor,omitempty"`
	Blocks  int      `json:"blocks,omitempty"` // of a line, of algorithm C
	Threads int      `json:"threads,omitempty"`
	Streams int      `json:"streams,omitempty"`
	// "pinned" or "pageable" if the time includes copies.
	Memory string `json:"memory,omitempty"`

	Time measure.Stat `json:"time"` // of one picture
	// In ms: the time to read and write the picture once at the rate of a copy within the device's
	// memory.
	Floor float64 `json:"floor,omitempty"`
	// With the copies in both directions, from pageable memory on one stream.
	Step *measure.Stat `json:"step,omitempty"`
	// The filtered share of the picture. The time is scaled to all of it.
	Part float64 `json:"part"`
	// Speed-ups over the sequential and the naive form in the same experiment.
	Sequential float64  `json:"over_sequential"`
	Naive      float64  `json:"over_naive"`
	MSE        *float64 `json:"mse,omitempty"` // against algorithm A, in squared levels
	// Against the Go reference, on a small picture.
	Check measure.Check `json:"check"`
	Paper *Published    `json:"paper,omitempty"` // the paper's result

	turns *turns // pending turns
}

// counted is the time to compare: with copies if the paper includes them.
func (r Row) counted() float64 {
	if r.Step != nil {
		return r.Step.Median
	}
	return r.Time.Median
}
