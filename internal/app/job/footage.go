package job

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"vidfilter/internal/cli"
	"vidfilter/internal/filters"
	"vidfilter/kernels"
)

// Footage is a value of --footage: a kind of video, and the options for it.
type Footage struct {
	Name, Of string
	Options  []Choice
}

// Choice is the value of an option, and the reason for it.
type Choice struct{ Name, Value, Why string }

func (c Choice) String() string { return strings.TrimSuffix("--"+c.Name+" "+c.Value, " true") }

// Footages is the table of --footage. It sets neither strength nor chroma, because the denoiser's
// measurement gave the best results on tape, film, phones and webcams.
var Footages = []Footage{
	{"tape", "VHS, Hi8, Betacam, DV", []Choice{
		{"deinterlace", "auto", "screens show whole pictures"},
		{"crop", "auto", "crops black edges and head switching"},
		{"chroma-shift", "auto", "realigns colours with their outlines"},
		{"repair", "auto", "repairs dropouts"},
		{"depth", "auto", "10 bits keep smooth gradients, in HEVC and AV1"},
	}},
	{"film", "scans of film", []Choice{
		{"repair", "auto", "repairs dirt and dust"},
		{"deflicker", "true", "steadies the brightness"},
		{"grain", "0.3", "keeps the look of film"},
		{"depth", "auto", "10 bits keep smooth gradients, in HEVC and AV1"},
	}},
	{"anime", "drawn pictures", []Choice{
		{"deband", "true", "smooths steps in gradients"},
		{"depth", "auto", "10 bits keep them smooth, in HEVC and AV1"},
	}},
}

const footageFlag = "footage"

// FootageNames lists the values of --footage.
func FootageNames() (all []string) {
	for _, f := range Footages {
		all = append(all, f.Name)
	}
	return all
}

// applyFootage sets the options of --footage that the user has not set.
func (o *Options) applyFootage(fs *pflag.FlagSet) error {
	for _, f := range Footages {
		if f.Name != o.Footage {
			continue
		}
		for _, c := range f.Options {
			switch {
			case cli.Overruled(fs, c.Name):
			case fs.Lookup(c.Name) == nil || !o.suits(c):
				o.FootageUnfit = append(o.FootageUnfit, c)
			default:
				o.footageSet = append(o.footageSet, c)
				if err := cli.SetFor(fs, c.Name, c.Value, "--"+footageFlag+" "+o.Footage); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// suits reports whether a job accepts an option. The main filter must be chosen before.
func (o *Options) suits(c Choice) bool {
	opt, ofFilter := kernels.OptionNamed(c.Name)
	if !ofFilter {
		return true
	}
	trial := *o
	var err error
	if trial.Filters, err = filters.With(o.Filters, opt, c.Value); err != nil {
		return true // applyFootage reports the error
	}
	return slices.Contains(opt.Filters(), o.Filters.Chosen()) && trial.checkStages() == nil &&
		!(o.live && slices.ContainsFunc(trial.Stages(), notLive))
}

// notLive reports whether a filter refuses live video.
func notLive(s kernels.Stage) bool {
	l, ok := s.(interface{ Live() error })
	return ok && l.Live() != nil
}

// FootageLine lists the options that --footage sets in this job, for the user. It is "" without
// --footage.
func (o *Options) FootageLine() string {
	if o.Footage == "" {
		return ""
	}
	line := fmt.Sprintf("--%s %s: %s", footageFlag, o.Footage, cmp.Or(typed(o.footageSet), "no option"))
	if unfit := typed(o.FootageUnfit); o.live && unfit != "" {
		line += "; not for live pictures: " + unfit
	} else if unfit != "" {
		line += "; not possible here: " + unfit
	}
	return line
}

// typed returns options in the syntax of the command line.
func typed(all []Choice) string {
	var words []string
	for _, c := range all {
		words = append(words, c.String())
	}
	return strings.Join(words, " ")
}
