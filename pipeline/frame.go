package pipeline

import (
	"encoding/binary"
	"iter"
	"sync/atomic"
)

// Plane is a plane of samples in host memory. Data starts at the first row and reaches at least to
// the last sample of the last row; Pitch is the distance of rows in bytes.
type Plane struct {
	Data  []byte
	Pitch int
}

// Props holds the properties that a decoder knows beside the samples: captions, HDR metadata and so
// on. Filters pass it on untouched; an encoder of the decoder's library reads it. Several frames
// may share it, read-only, so it should keep no samples alive except alpha. Release runs once,
// after the last of them.
type Props interface{ Release() }

// Repeater is implemented by Props that support filters with several results per frame. Again
// returns the properties for all results except the first, without captions and other data that may
// appear only once. It returns nil if no properties remain.
type Repeater interface{ Again() Props }

// Woven is implemented by Props that keep samples of two fields: alpha. OfField
// returns the properties for a picture that is made of the top or the bottom field, or nil if they
// would be the same.
type Woven interface {
	OfField(bottom bool) (Props, error)
}

// sharedProps counts the frames that share a Props.
type sharedProps struct {
	Props
	refs atomic.Int32
}

func (s *sharedProps) retain() *sharedProps {
	if s != nil {
		s.refs.Add(1)
	}
	return s
}

func (s *sharedProps) release() {
	if s != nil && s.refs.Add(-1) == 0 {
		s.Props.Release()
	}
}

// DeviceSamples are a frame's samples in the memory of a device, in a block that is laid out by
// PlanLayout(PitchAlign). They stay until the frame is released.
type DeviceSamples struct {
	Owner   any    // which its backend recognizes, or nil
	Address uint64 // of the block
}

// Surface is a picture in the memory of a device as a hardware decoder makes it: the planes of a
// layout of 4:4:4, or luma and pairs of chroma for one of 4:2:0. Samples of more than 8 bits are at
// the high end of 16.
type Surface struct {
	Address [3]uint64 // of the first visible sample of each plane
	Pitch   [3]int    // bytes
}

// Quantiser is how coarsely a picture was coded.
type Quantiser struct {
	Step     float32 // in 8-bit levels, as the root of the mean square over the blocks; 0 if unknown
	Smoothed bool    // the codec's own filters remove the noise of coding, as AV1's do
	Faithful bool    // the codec is lossless, or loses so little that noise is as it was
}

// Frame is a picture. Frames are shared: the last Release gives the memory back to its owner.
// Samples from a decoder are read-only, since the decoder may still predict from them.
type Frame struct {
	Format
	Planes [4]Plane

	// Device also has the samples, or alone: without Planes only a filter on that device can read
	// the frame.
	Device DeviceSamples

	PTS      int64 // presentation time, in the time base of Video
	Duration int64 // in the same unit; 0 when unknown

	Video *Video // the common properties of the frames of its source or filter, for an encoder

	Interlaced    bool // two fields woven together, which filters treat apart
	TopFieldFirst bool

	Quantiser Quantiser // of the codec that the frame was decoded from

	// Grain is film grain to add when the picture is shown, or nil.
	Grain     *FilmGrain
	GrainSeed uint16

	// Context marks a frame that is there for its neighbours only: filters read it, and mark its
	// result. Run removes it from the results of the last filter.
	Context bool

	FromField bool // made of a field, so half of the lines have less noise

	props   *sharedProps // or nil
	refs    atomic.Int32
	release func()
}

// NewFrame returns a frame over planes with one owner. release runs once, on the goroutine of the
// last Release. The frame takes props, which may be nil.
func NewFrame(format Format, planes [4]Plane, props Props, release func()) *Frame {
	f := &Frame{Format: format, Planes: planes, release: release}
	f.refs.Store(1)
	f.SetProps(props)
	return f
}

// Props returns the decoder's properties of the frame, or nil; valid while the caller owns the
// frame.
func (f *Frame) Props() Props {
	if f.props == nil {
		return nil
	}
	return f.props.Props
}

// SetProps replaces the properties of a frame, which must not be shared yet. The frame takes
// ownership of props. SetProps ignores nil.
func (f *Frame) SetProps(props Props) {
	if props != nil {
		f.props.release()
		f.props = &sharedProps{Props: props}
		f.props.refs.Store(1)
	}
}

// Retain adds an owner.
func (f *Frame) Retain() *Frame {
	if f.refs.Add(1) < 2 {
		panic("pipeline: Retain of a released frame")
	}
	return f
}

// Release gives up one ownership. It panics without one.
func (f *Frame) Release() {
	switch n := f.refs.Add(-1); {
	case n < 0:
		panic("pipeline: Frame released twice")
	case n > 0:
		return
	}
	f.props.release()
	if f.release != nil {
		f.release()
	}
}

// CopyTiming copies all from src but samples and format: times, description, field order,
// quantiser, grain, whether it is context, and props. f then shares the props, and may outlive src.
// f must not be shared yet.
func (f *Frame) CopyTiming(src *Frame) {
	f.PTS, f.Duration, f.Video = src.PTS, src.Duration, src.Video
	f.Interlaced, f.TopFieldFirst = src.Interlaced, src.TopFieldFirst
	f.Quantiser, f.Context, f.FromField = src.Quantiser, src.Context, src.FromField
	f.Grain, f.GrainSeed = src.Grain, src.GrainSeed
	old := f.props
	f.props = src.props.retain()
	old.release()
}

// Row returns the used bytes of row y in plane i, without padding.
func (f *Frame) Row(i, y int) []byte {
	w, _ := f.PlaneSize(i)
	p := f.Planes[i]
	return p.Data[y*p.Pitch:][:w:w]
}

// Rows yields the plane and the number of each row of a frame.
func (f Format) Rows() iter.Seq2[int, int] {
	return func(yield func(plane, y int) bool) {
		for i := range f.NumPlanes() {
			_, rows := f.PlaneSize(i)
			for y := range rows {
				if !yield(i, y) {
					return
				}
			}
		}
	}
}

// CopySamples copies the samples of a frame of the same format, but that f may have more bits, with
// any pitches. They keep their values. Padding stays.
func (f *Frame) CopySamples(from *Frame) {
	was, is := from.Layout.info(), f.Layout.info()
	for i, y := range f.Rows() {
		in, out := from.Row(i, y), f.Row(i, y)
		if was == is {
			copy(out, in)
			continue
		}
		up := is.Depth - was.Depth + is.Shift
		for x := range len(out) / 2 {
			v := uint16(in[x])
			if was.SampleBytes() == 2 {
				v = binary.LittleEndian.Uint16(in[2*x:]) >> was.Shift
			}
			binary.LittleEndian.PutUint16(out[2*x:], v<<up)
		}
	}
}
