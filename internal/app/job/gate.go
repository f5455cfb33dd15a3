package job

import (
	"fmt"
	"slices"

	"vidfilter/encode"
	"vidfilter/internal/cli"
	"vidfilter/internal/contract"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/internal/terminal"
	"vidfilter/pipeline"
)

// compare holds the finished file to its source and notes what differs. A loss that was not
// announced is a fault.
func (j *job) compare(res *terminal.Result) []error {
	source := j.in.Facts()
	if j.taken() || res.Interrupted {
		source = source.Partly(j.out.HasChapter)
	}
	if slices.Contains(j.out.Turned(), fidelity.Rate) {
		source = source.Retimed()
	}
	told := slices.Concat(j.in.Told(), j.out.Told(), j.o.told())
	if len(j.o.around()) > 0 && j.out.Fields() != source.Fields() { // of later pictures than the first
		told.Add(fidelity.Video, "", "field_order")
	}
	for _, name := range res.NotKept {
		for _, key := range fidelity.Keys(name) {
			told.Add(fidelity.Video, "", key)
		}
	}
	res.Differences = fidelity.Compare(source, j.out.Found(), told)
	for _, d := range res.Differences {
		j.ui.Debug("differs: " + d.String())
	}
	lost := contract.Losses(res.Differences)
	if lost == nil {
		return nil
	}
	for _, line := range lost {
		j.ui.Warn("lost: " + line)
	}
	return []error{hint.Says(fmt.Sprintf("the output has lost %d of the properties of %s", len(lost), j.o.Input), "", encode.ErrDamaged)}
}

// taken reports whether the job takes a part of its input.
func (j *job) taken() bool { return j.o.Start > 0 || j.o.Duration > 0 || j.o.Frames > 0 }

// told lists the changes that options ask for.
func (o *Options) told() (told fidelity.Told) {
	for _, property := range o.set(changes("")) {
		told.Add(fidelity.Video, "", property)
	}
	return told
}

// allow refuses options that do not go with what the filters change.
func (j *job) allow(first *pipeline.Frame, turned []string) error {
	if j.grain != nil && !j.grain.Fits(first.Format) {
		return cli.Usagef("scale before: --before \"scale=...\"",
			"film grain is measured in what the denoiser takes away, and the filters behind it change the size of the pictures")
	}
	for _, key := range turned {
		if j.o.Stats && (key == "size" || key == fidelity.Rate) {
			return cli.Usagef("leave it out", "--stats compares each picture with the one it was made of, and the filters change the %s of the pictures", key)
		}
	}
	return nil
}
