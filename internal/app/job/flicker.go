package job

import (
	"fmt"
	"math"
	"sync/atomic"

	"vidfilter/pipeline"
)

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

// tellFlicker reports the amount of flicker to the user.
func (j *job) tellFlicker() {
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
