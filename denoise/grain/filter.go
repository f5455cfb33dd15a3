package grain

import (
	"context"
	"fmt"

	"vidfilter/denoise/plane"
	"vidfilter/pipeline"
)

// Segment is the grain of a scene, from the time of its first frame to the next scene's, in the
// unit of the frames' times.
type Segment struct {
	Start, End int64
	Grain      *pipeline.FilmGrain // nil: none
}

// Filter runs another filter, and sets the grain of frames without one to the noise that it
// removed.
type Filter struct {
	inner     pipeline.Filter
	originals []*pipeline.Frame // owned; of frames that inner still has, in order

	seen    int64
	format  pipeline.Format // of the first frame
	video   *pipeline.Video // likewise
	scene   Measure
	last    thumbnail
	grain   *pipeline.FilmGrain
	renewed int // frames of the scene that it is of
	done    []Segment
	start   int64
	end     int64 // of the latest frame
}

// NewFilter returns a filter around another, which emits one frame for each that it takes, except
// context frames, and does not write to its inputs.
func NewFilter(inner pipeline.Filter) *Filter { return &Filter{inner: inner} }

// Held returns the inner filter's.
func (f *Filter) Held() int { return f.inner.Held() }

// Process keeps the frame until its result is there.
func (f *Filter) Process(ctx context.Context, in *pipeline.Frame, emit pipeline.Emit) error {
	if !in.Context {
		f.originals = append(f.originals, in.Retain())
	}
	return f.inner.Process(ctx, in, f.measured(emit))
}

// Flush ends the last scene.
func (f *Filter) Flush(ctx context.Context, emit pipeline.Emit) error {
	if err := f.inner.Flush(ctx, f.measured(emit)); err != nil {
		return err
	}
	f.endScene(f.end)
	return nil
}

// Discard releases all frames.
func (f *Filter) Discard() {
	pipeline.Discard(f.inner)
	for _, o := range f.originals {
		o.Release()
	}
	f.originals = nil
}

// Segments returns the grain of each scene, once all frames are through.
func (f *Filter) Segments() []Segment { return f.done }

// Fits reports whether pictures have the size of those whose grain is measured. It may be called
// from any goroutine that has seen a frame of the filter's.
func (f *Filter) Fits(of pipeline.Format) bool {
	return f.video == nil || of.Width == f.format.Width && of.Height == f.format.Height
}

// TimeBase is the unit of the times of Segments; unknown without frames.
func (f *Filter) TimeBase() pipeline.Ratio {
	if f.video == nil {
		return pipeline.Ratio{}
	}
	return f.video.TimeBase
}

// measured returns inner's emit: it compares the oldest original with its result.
func (f *Filter) measured(emit pipeline.Emit) pipeline.Emit {
	return func(out *pipeline.Frame) error {
		if len(f.originals) == 0 {
			out.Release()
			return fmt.Errorf("grain: filter %T emitted more frames than it took", f.inner)
		}
		in := f.originals[0]
		f.originals = f.originals[1:]
		if f.video == nil {
			f.format, f.video = out.Format, out.Video
		}
		f.see(in, out)
		in.Release()
		return emit(out)
	}
}

// see adds a frame to its scene, and sets its grain. Frames of RGB have no grain.
func (f *Filter) see(in, out *pipeline.Frame) {
	if out.Layout.Info().RGB {
		return
	}
	small := thumbnailOf(out)
	if f.last.differs(small) {
		f.endScene(out.PTS)
	}
	if f.scene.frames == 0 {
		f.start = out.PTS
	}
	f.last = small
	f.end = out.PTS + out.Duration
	f.scene.Add(in, out)
	if n := f.scene.frames; n >= 2*f.renewed {
		f.grain, f.renewed = f.scene.Grain(), n
	}
	if out.Grain == nil { // else the source's own
		out.Grain, out.GrainSeed = f.grain, pipeline.GrainSeed(f.seen)
	}
	f.seen++
}

func (f *Filter) endScene(at int64) {
	if f.scene.frames > 0 {
		f.done = append(f.done, Segment{f.start, at, f.scene.Grain()})
	}
	f.scene, f.grain, f.renewed = Measure{}, nil, 0
}

// thumbnail is a picture's luma in cells of 16x16, in 8-bit levels.
type thumbnail struct {
	width int
	mean  []float32
}

// thumbnailOf reads every fourth row.
func thumbnailOf(f *pipeline.Frame) thumbnail {
	const cell, every = 16, 4
	v := plane.ViewsOf(f, plane.Whole).Planes[0]
	t := thumbnail{width: v.Width / cell}
	unit := 1 / float32(v.Unit()*cell*cell/every)
	row := make([]uint16, t.width*cell)
	for y := range v.Height / cell {
		cells := make([]float32, t.width)
		for i := 0; i < cell; i += every {
			v.Read(row, 0, y*cell+i)
			for x, s := range row {
				cells[x/cell] += float32(s) * unit
			}
		}
		t.mean = append(t.mean, cells...)
	}
	return t
}

// differs reports whether another picture shows another scene: it differs by a lot, and by much of
// its own variation.
func (t thumbnail) differs(u thumbnail) bool {
	const difference, share = 8, 0.85
	if t.width != u.width || len(t.mean) != len(u.mean) {
		return true
	}
	var mean, apart, varies float32
	n := float32(max(len(u.mean), 1))
	for _, v := range u.mean {
		mean += v / n
	}
	for i, v := range u.mean {
		apart += max(v-t.mean[i], t.mean[i]-v) / n
		varies += max(v-mean, mean-v) / n
	}
	return apart > difference && apart > share*varies
}
