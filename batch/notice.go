package batch

import (
	"time"

	"vidfilter/internal/contract"
)

// Notice is the JSON for other programs at the end of a file or of a batch. Its names are
// stable.
type Notice struct {
	Event  string    `json:"event"` // job or batch
	ID     string    `json:"id"`    // as vidfilter jobs lists it
	State  string    `json:"state"` // Row.State, or of a batch done, failed, cancelled, interrupted
	Reason string    `json:"reason,omitempty"`
	Time   time.Time `json:"time"`
	Host   string    `json:"host"`

	Version string        `json:"version"`
	Root    contract.Name `json:"root"`             // of the outputs
	Exit    *int          `json:"exit,omitempty"`   // code of a batch
	Totals  *Totals       `json:"totals,omitempty"` // of a batch
	File    *namedRow     `json:"file,omitempty"`   // of a job
}

// Of makes it the notice of a file's end.
func (n *Notice) Of(r Row) {
	n.Event, n.State, n.Reason = "job", r.State, r.Reason
	n.File = &namedRow{contract.Name(r.File), contract.Name(r.Output), r}
}
