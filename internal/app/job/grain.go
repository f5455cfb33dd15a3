package job

import (
	"io"
	"path/filepath"

	"vidfilter/denoise/grain"
	"vidfilter/encode/target"
	"vidfilter/encode/video"
	"vidfilter/internal/cli"
	"vidfilter/internal/terminal"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// checkGrain: the denoiser removes the grain, and AV1 alone has a place for it.
func (o *Options) checkGrain(codec video.Codec) error {
	option := "--film-grain keep"
	switch {
	case o.GrainTable != "":
		option = "--grain-table"
	case !o.keepsGrain():
		return nil
	}
	_, denoises := o.denoiser()
	for _, s := range o.filters() {
		place := s.Filter().Place
		if place >= kernels.PlaceScale || o.GrainTable != "" && (place == kernels.PlaceBefore || place == kernels.PlaceDeinterlace) {
			return cli.Usagef("leave one of them out", "%s describes the grain in the pictures and at the times of the source, and --%s changes them", option, s.Filter())
		}
	}
	switch {
	case !denoises:
		return cli.Usagef("leave the options of other filters out", "%s is of what the denoiser removes", option)
	case o.Compare != "":
		return cli.Usagef("give one of them", "%s and --compare exclude each other", option)
	case o.keepsGrain() && codec.OnDevice == "av1":
		return cli.Usagef("leave nvenc out", "--film-grain keep is for AV1 that the CPU encodes")
	case o.keepsGrain() && codec.Common != "av1":
		return cli.Usagef("add --codec av1", "--film-grain keep is for AV1: %s has no film grain", codec.Name)
	case o.GrainTable != "" && filepath.Clean(o.GrainTable) == filepath.Clean(o.Output):
		return cli.Usagef("choose another name for one of them", "--grain-table and --output are the same file %q", o.Output)
	case o.GrainTable == "-":
		return cli.Usagef("name a file", "--grain-table writes a file")
	}
	return nil
}

// keepsGrain reports whether the output describes the grain that is removed.
func (o *Options) keepsGrain() bool { return o.FilmGrain == "keep" }

// measureGrain has a filter's frames carry the grain that it removes, if that is asked for.
func (j *job) measureGrain(f pipeline.Filter) pipeline.Filter {
	if j.o.GrainTable == "" && !j.o.keepsGrain() {
		return f
	}
	j.grain = grain.NewFilter(f)
	return j.grain
}

// reportGrain reports missing grain.
func (j *job) reportGrain() {
	if j.grain != nil && len(j.grain.Segments()) == 0 && !j.stopped() {
		j.ui.Warn("no film grain is described: the pictures are RGB")
	}
}

// writeGrainTable writes the table of a video that is whole.
func (j *job) writeGrainTable(res terminal.Result) error {
	if j.grainTable == nil || res.Interrupted {
		return nil
	}
	err := WriteTarget(j.grainTable, func(w io.Writer) error {
		unit := j.grain.TimeBase()
		return grain.WriteTable(w, j.grain.Segments(), unit.Num, unit.Den)
	})
	return target.OutputError("write", j.o.GrainTable, err)
}
