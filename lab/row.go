package lab

import (
	"vidfilter/bench/measure"
)

// Experiment is one of a paper's, as it came out here.
type Experiment struct {
	ID      string   `json:"id"` // a file's name, too
	Paper   string   `json:"paper"`
	Title   string   `json:"title"`
	Source  string   `json:"source"`  // tables or figures of the paper
	Axis    string   `json:"axis"`    // what the rows are drawn over: "radius", "threads", "kappa", "side", "block", "factor" or ""
	Remarks []string `json:"remarks"` // what a reader of the table must know
	Rows    []Row    `json:"rows"`
}

// Row is one form at work. What does not apply is 0, "" or nil.
type Row struct {
	Where   string `json:"where"` // "cpu" or "gpu"
	Version string `json:"version"`
	Kind    string `json:"kind,omitempty"` // what it does otherwise than the paper's plain version: "table", "double", "lab"
	Title   string `json:"title"`
	Name    string `json:"name"` // of the variant; for --kernel
	Own     bool   `json:"own"`  // this program's filter, not the paper's
	Size    Size   `json:"size"`

	Radius  int      `json:"radius,omitempty"`
	SigmaS  float64  `json:"sigma_s,omitempty"`
	SigmaR  float64  `json:"sigma_r,omitempty"`
	Kappa   *float64 `json:"kappa,omitempty"`
	Block   int      `json:"block,omitempty"`
	Factor  int      `json:"factor,omitempty"`
	Blocks  int      `json:"blocks,omitempty"` // of a line, of algorithm C
	Threads int      `json:"threads,omitempty"`
	Streams int      `json:"streams,omitempty"`
	Memory  string   `json:"memory,omitempty"` // "pinned" or "pageable", where copies are in the time

	Time       measure.Stat  `json:"time"`             // of one picture
	Floor      float64       `json:"floor,omitempty"`  // ms: its bytes, read and written once, at the rate of a copy within the device's memory
	Step       *measure.Stat `json:"step,omitempty"`   // with the copies both ways, from pageable memory on one stream
	Part       float64       `json:"part"`             // share of the picture that was filtered; the time is scaled to all of it
	Sequential float64       `json:"over_sequential"`  // speed-up over the sequential form in the same experiment
	Naive      float64       `json:"over_naive"`       // likewise
	MSE        *float64      `json:"mse,omitempty"`    // against algorithm A, in squared levels
	Check      measure.Check `json:"check"`            // against the Go reference, on a small picture
	Paper      *Published    `json:"paper,omitempty"`  // what the paper has
	Failed     string        `json:"failed,omitempty"` // why it was not timed

	turns *turns // what is still to be timed in turn
}

// counted is the time that is compared: with the copies where the paper has them in.
func (r Row) counted() float64 {
	if r.Step != nil {
		return r.Step.Median
	}
	return r.Time.Median
}
