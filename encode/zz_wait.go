package encode

import (
	"context"
	"time"

	"vidfilter/pipeline"
)

type RecordOptions struct {
	CRF              float64
	Preset, Software string
	Threads          int
	Policy           OverwritePolicy
	Warn             func(string, ...any)
}
type Recorder struct{}

func RecordFormat(string) (string, error)                              { return "", nil }
func NewRecorder(path string, o RecordOptions) (*Recorder, error)      { return nil, ErrOutput }
func (r *Recorder) Put(_ context.Context, f *pipeline.Frame, _ time.Duration) error { return nil }
func (r *Recorder) Finish(context.Context) error                       { return nil }
func (r *Recorder) Seconds() float64                                   { return 0 }
func (r *Recorder) Close()                                             {}
