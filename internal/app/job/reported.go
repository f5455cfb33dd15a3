package job

import (
	"fmt"
	"math"
	"sync/atomic"

	"vidfilter/internal/contract"
	"vidfilter/kernels"
	"vidfilter/pipeline"
	"vidfilter/repair"
)

// reported holds the reports of filters about the frames of a job.
type reported struct {
	noise    noiseSeen
	flicker  flickerSeen
	repaired repairs
}

// flickerSeen counts the frames of a job and the changes of their brightness. Several filters may
// add to it concurrently. sum is in millionths of the brightness.
type flickerSeen struct{ frames, changed, sum atomic.Int64 }

// watch adds the frames of a filter, if it steadies the brightness.
func (s *flickerSeen) watch(f pipeline.Filter) {
	if d, ok := f.(interface {
		OnGain(func(gain float64, changed bool))
	}); ok {
		d.OnGain(func(gain float64, changed bool) {
			s.frames.Add(1)
			if changed {
				s.changed.Add(1)
				s.sum.Add(int64(math.Round(1e6 * math.Abs(gain-1))))
			}
		})
	}
}

// reportFlicker reports the amount of flicker to the user.
func (j *job) reportFlicker() {
	frames, changed := j.flicker.frames.Load(), j.flicker.changed.Load()
	switch {
	case frames == 0 || j.o.Part != nil:
	case changed == 0:
		j.ui.Info("found no flicker: --deflicker leaves the brightness as it is")
	default:
		mean := float64(j.flicker.sum.Load()) / 1e4 / float64(changed)
		j.ui.Info(fmt.Sprintf("flicker: the brightness of %d of %d frames is changed, by %.1f%% on average", changed, frames, mean))
	}
}

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

// reportRepairs reports the counts of --repair to the user.
func (j *job) reportRepairs() {
	if r := j.repairs(); r != nil && j.o.Part == nil {
		j.ui.Info(fmt.Sprintf("repair: patches replaced: %d; frames changed: %d", r.Patches, r.Frames))
	}
}
