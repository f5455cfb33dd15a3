package job

import (
	"fmt"
	"sync/atomic"

	"vidfilter/internal/contract"
	"vidfilter/kernels"
	"vidfilter/repair"
)

// repairs counts the frames and patches that --repair replaced.
type repairs struct{ frames, patches atomic.Int64 }

func (r *repairs) add(patches int) {
	r.frames.Add(1)
	r.patches.Add(int64(patches))
}

// repairs returns the counts of --repair, or nil without --repair and for joins.
func (j *job) repairs() *contract.Repaired {
	if kernels.Of[repair.Stage](j.o.Filters).Identity() || j.o.Join != "" {
		return nil
	}
	return &contract.Repaired{Frames: j.repaired.frames.Load(), Patches: j.repaired.patches.Load()}
}

// tellRepairs reports the counts of --repair to the user.
func (j *job) tellRepairs() {
	if r := j.repairs(); r != nil && j.o.Part == nil {
		j.ui.Info(fmt.Sprintf("repair: patches replaced: %d; frames changed: %d", r.Patches, r.Frames))
	}
}
