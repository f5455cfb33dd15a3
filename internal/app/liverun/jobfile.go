package liverun

import (
	"fmt"
	"os"
	"path/filepath"
	"unicode/utf8"

	"vidfilter/batch"
	"vidfilter/internal/app/job"
	"vidfilter/internal/cli"
	"vidfilter/internal/hint"
	"vidfilter/kernels"
	"vidfilter/live"
)

// jobFile returns a job file that gives the input, or a file to be named, the filter f.
func (o *Options) jobFile(f live.FilterSettings) ([]byte, error) {
	j := batch.OneJob{
		Comment: "Settings of vidfilter live, for: vidfilter batch THIS-FILE. More files can be added to jobs.",
		Output:  ".", Name: "{stem}.clean{ext}", Input: "in.mp4",
	}
	if o.isFile() {
		path, err := filepath.Abs(o.Input)
		if err != nil {
			return nil, err
		}
		if utf8.ValidString(path) { // YAML has no other names
			j.Output, j.Input = filepath.Dir(path), path
		}
	}
	for _, s := range f.Settings() {
		j.Options = append(j.Options, batch.Option{Name: s.Option.Name, Value: s.Value})
	}
	return j.YAML()
}

// readJobFile returns the filter of the first job in a job file, and the names of its options that
// are not the filter's.
func (o *Options) readJobFile(data []byte) (f live.FilterSettings, others []string, err error) {
	own := job.NewOptions()
	fs := own.Flags()
	all, err := batch.FirstOptions("the job file", data, fs)
	if err != nil {
		return f, nil, withHint(err)
	}
	own = job.NewOptions() // reading has set values to check them
	fs = cli.NewFlagSet()
	own.PictureFlags(cli.NewTable(fs, "Filter"), kernels.Place.Live)
	for _, s := range all {
		if fs.Lookup(s.Name) == nil || s.Name == "noise-profile" {
			others = append(others, s.Name)
			continue
		}
		if err := fs.Set(s.Name, s.Value); err != nil {
			return f, nil, withHint(err)
		}
	}
	if err := own.CheckFilter(fs); err != nil {
		return f, nil, withHint(err)
	}
	for _, c := range own.FootageUnfit {
		others = append(others, c.Name)
	}
	return live.FilterOf(own.Filters, own.FieldOrder), others, nil
}

// withHint returns an error whose text has its hint.
func withHint(err error) error {
	if h := hint.Of(err); h != "" {
		return fmt.Errorf("%w (%s)", err, h)
	}
	return err
}

// isFile reports whether the input is a file that a job can read.
func (o *Options) isFile() bool {
	info, err := os.Stat(o.Input)
	return err == nil && info.Mode().IsRegular()
}
