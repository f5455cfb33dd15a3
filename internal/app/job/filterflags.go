package job

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/kernels"
)

func (o *Options) filterFlags(t cli.Table) {
	o.PictureFlags(t, func(kernels.Place) bool { return true })
	t.Add(cli.NewValue(&o.NoiseFrom, "TIME,BOX", parseNoiseFrom), "noise-from", "", "measure at TIME, or in TIME,X,Y,W,H", cli.Excludes("noise", "noise-profile"))
	t.Add(cli.OneOf(&o.Compare, CompareNames), "compare", "", "side or split: show original and filtered", oneFilter.because("shows the original beside the result"))
}

// PictureFlags are the options of the picture, for jobs and live: those of filters of some places.
func (o *Options) PictureFlags(t cli.Table, which func(kernels.Place) bool) {
	o.live = !which(kernels.PlaceDeinterlace)
	t.Add(cli.OneOf(&o.Footage, FootageNames()), footageFlag, "", strings.Join(FootageNames(), " ")+": vidfilter help footage")
	filters.Flags(t, &o.Filters, which)
	t.Add(cli.OneOf(&o.FieldOrder, kernels.FieldOrder.Names), kernels.FieldOrder.Name, "", kernels.FieldOrder.Usage(), changes("field_order", kernels.FieldOrder.Names[1:]...))
	t.Add(cli.Aliased(cli.NewValue(&o.Profile, "FILE", parseProfile), profileText), "noise-profile", "", "noise that info --noise --save wrote", cli.Excludes("noise"))
}

// Stages returns the job's filters in their order: the main one, and the extra ones around it.
func (o *Options) Stages() []kernels.Stage { return o.Filters.Stages() }

// FilterGiven reports whether an option of a live filter has been given.
func FilterGiven(fs *pflag.FlagSet) bool {
	live := func(o kernels.Option) bool { return o.Within(kernels.Place.Live) }
	return slices.ContainsFunc(append(filters.Given(fs, false), filters.Given(fs, true)...), live) || fs.Changed(kernels.FieldOrder.Name) || fs.Changed("noise-profile")
}

// CheckFilter fills in the defaults of the filter, and refuses arguments that do not apply to it or
// exclude each other. The environment may hold options of any filter.
func (o *Options) CheckFilter(fs *pflag.FlagSet) error {
	if err := cli.CheckExcluded(fs); err != nil && o.Part == nil { // a part may have the noise twice: see checkNoise
		return err
	}
	if err := filters.Choose(fs, &o.Filters); err != nil {
		return err
	}
	if err := o.applyFootage(fs); err != nil {
		return err
	}
	if err := filters.Settle(&o.Filters); err != nil {
		return err
	}
	return o.checkNoise()
}
