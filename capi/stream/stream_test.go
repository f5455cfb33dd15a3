package stream

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// faulty is a filter that panics or fails in all frames except at time 0.
type faulty struct{ How uint8 }

var faultyFilter = &kernels.FilterType{Name: "faulty", Place: kernels.PlaceDeband, Zero: faulty{}, Options: []kernels.Option{{
	Name: "faulty", Kind: kernels.Name, Names: []string{"no", "panics", "fails"}, Binding: kernels.Bind(func(p *faulty) *uint8 { return &p.How }),
}}}

func init() { kernels.Register(faultyFilter) }

func (faulty) Filter() *kernels.FilterType { return faultyFilter }
func (faulty) Takes(pipeline.Layout) bool  { return true }
func (p faulty) Identity() bool            { return p.How == 0 }
func (faulty) Window() pipeline.Window     { return pipeline.Window{} }

func (p faulty) OnHost(pool *pipeline.Pool, _ kernels.Setting) (pipeline.Filter, error) {
	return kernels.PerFrame(pool, func(_ context.Context, out, in *pipeline.Frame) error {
		switch out.CopySamples(in); {
		case in.PTS == 0:
			return nil
		case p.How == 1:
			panic("there is a fault")
		}
		return errors.New("it fails")
	}), nil
}

// A filter's failure or panic is an error of its call and of those after it, until Reset.
func TestFailures(t *testing.T) {
	for how, want := range map[string]string{"panics": "a fault of vidfilter, please report it: there is a fault", "fails": "it fails"} {
		format := Format{Format: pipeline.Format{Layout: pipeline.YUV420P, Width: 32, Height: 32}, Live: true}
		s, err := Open(format, "radius=0:device=cpu:faulty="+how)
		e2e.Must(t, err)
		push := func(n int64) error {
			f, err := s.NewFrame()
			e2e.Must(t, err)
			f.PTS = n
			return s.Push(f)
		}
		for range 2 {
			e2e.Must(t, push(0))
			f, err := s.Pull()
			e2e.Must(t, err)
			f.Release()
			if _, err := s.Pull(); err != ErrAgain {
				t.Errorf("%s: %v before the next frame", how, err)
			}
			for _, err := range []error{push(1), push(0), s.Flush()} {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %v", how, err)
				}
			}
			e2e.Must(t, s.Reset())
		}
		e2e.Must(t, s.Flush())
		if _, err := s.Pull(); err != io.EOF {
			t.Errorf("%s: %v at the end", how, err)
		}
		s.Close()
	}
}
