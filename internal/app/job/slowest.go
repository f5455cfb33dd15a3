package job

import (
	"strings"
	"time"

	"vidfilter/encode/video"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
)

// settled is how long a job runs before it names its slowest stage: encoders first take many frames
// without a result.
const settled = 10 * time.Second

// busyAhead returns how long the stages before the encoder have worked. The time of decoders and
// filters that work side by side for one encoder is their mean.
func (j *job) busyAhead() (decode, filter time.Duration) {
	m, n := &j.meters, 1
	if j.ahead != nil {
		m, n = j.ahead, j.side
	}
	return m.Decode.Busy() / time.Duration(n), m.Filter.Busy() / time.Duration(n)
}

// slowest names the stage that does more than half of the work, for which the others wait, and the
// option that makes it faster. It returns "" if no stage does.
func (j *job) slowest(s terminal.Snapshot) string {
	switch half := (s.DecodeBusy + s.FilterBusy + s.EncodeBusy) / 2; {
	case s.EncodeBusy > half:
		codec := video.CodecOf(j.o.Encoder)
		return advised(strings.TrimPrefix(codec.Name, "lib"), "--preset ", codec.Faster(j.o.Preset))
	case s.FilterBusy > half:
		return j.slowFilter()
	case s.DecodeBusy > half:
		return "decoding"
	}
	return ""
}

// slowFilter names the job's filter, or several as one.
func (j *job) slowFilter() string {
	all := j.o.filters()
	if len(all) != 1 {
		return "the filters"
	}
	faster := ""
	if p, denoises := all[0].(kernels.Denoise); denoises {
		_, onGPU := j.backend.(holder)
		switch q := p.Quality; {
		case q == kernels.Best:
			faster = "good"
		case q == kernels.Good, q == kernels.AutoQuality && onGPU:
			faster = "fast"
		}
	}
	return advised(all[0].Filter().Name, "--quality ", faster)
}

// advised adds an option to a name, unless its value is empty.
func advised(name, option, value string) string {
	if value == "" {
		return name
	}
	return name + " (" + option + value + ")"
}
