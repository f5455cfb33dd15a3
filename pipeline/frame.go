package pipeline

import "sync/atomic"

// Plane is one plane of samples in host memory. Data starts at the first row and reaches at least to the
// last sample of the last row; Pitch is the distance of rows in bytes.
type Plane struct {
	Data  []byte
	Pitch int
}

// Props is what a decoder knows of a frame beyond its samples (captions, HDR metadata, ...). The filter
// hands it on untouched; the encoder that shares the decoder's library reads it.
type Props interface{ Release() }

// Frame is one picture. Frames are shared: the last Release gives the memory back to its owner. The
// samples of a frame that came from a decoder are read-only, since the decoder may still predict from them.
type Frame struct {
	Format
	Planes [4]Plane

	PTS      int64 // presentation time, in the source's time base
	Duration int64 // in the same unit; 0 when unknown

	Interlaced    bool // two fields woven together: filters treat the fields apart
	TopFieldFirst bool

	props   Props
	refs    atomic.Int32
	release func()
}

// NewFrame returns a frame over planes with one owner. release runs once, at the last Release, on
// whichever goroutine that happens; props may be nil and is released with the frame.
func NewFrame(format Format, planes [4]Plane, props Props, release func()) *Frame {
	f := &Frame{Format: format, Planes: planes, props: props, release: release}
	f.refs.Store(1)
	return f
}

// Props returns what the decoder left with the frame, or nil; valid while the caller owns the frame.
func (f *Frame) Props() Props { return f.props }

// Retain adds an owner.
func (f *Frame) Retain() *Frame {
	if f.refs.Add(1) < 2 {
		panic("pipeline: Retain of a released frame")
	}
	return f
}

// Release gives up one ownership. Releasing more often than owning panics.
func (f *Frame) Release() {
	switch n := f.refs.Add(-1); {
	case n < 0:
		panic("pipeline: Frame released twice")
	case n > 0:
		return
	}
	if f.props != nil {
		f.props.Release()
	}
	if f.release != nil {
		f.release()
	}
}

// CopyTiming takes over times, field order and props from src: all of a frame but its samples. The props
// stay alive as long as f does, since f becomes an owner of src's memory-free part.
func (f *Frame) CopyTiming(src *Frame) {
	f.PTS, f.Duration = src.PTS, src.Duration
	f.Interlaced, f.TopFieldFirst = src.Interlaced, src.TopFieldFirst
	if s, ok := src.props.(interface{ Share() Props }); ok {
		f.props = s.Share()
	}
}

// Row returns the used bytes of row y in plane i.
func (f *Frame) Row(i, y int) []byte {
	w, _ := f.PlaneSize(i)
	p := f.Planes[i]
	return p.Data[y*p.Pitch : y*p.Pitch+w]
}
