package decode

//#include "glue.h"
import "C"

import (
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/fidelity"
	"vidfilter/pipeline"
)

// concealed reports whether the decoder concealed errors.
func concealed(c *C.AVFrame) bool {
	return c.flags&C.AV_FRAME_FLAG_CORRUPT != 0 || c.decode_error_flags != 0
}

// describe returns the format of a picture, or if no layout holds it, of the frame it becomes.
func (d *decoder) describe(c *C.AVFrame) (f pipeline.Format, native bool) {
	pf := astiav.PixelFormat(c.format)
	layout, full, native := av.LayoutOf(pf)
	if native = native && d.takes(layout); !native {
		var lost string
		layout, lost = av.NearestLayout(pf, d.takes)
		if d.seen != pf {
			d.seen = pf
			if lost != "" {
				d.told.Add(fidelity.Video, "", "depth")
				lost = "; " + lost
			}
			d.warn("%s is converted to %s for the filter%s", pf, layout, lost)
		}
	}
	f = pipeline.Format{Layout: layout, Width: int(c.width), Height: int(c.height)}
	if layout.Info().RGB {
		f.FullRange = true
		return f, native
	}
	f.FullRange = full || c.color_range == C.AVCOL_RANGE_JPEG || av.IsGray(pf) && c.color_range != C.AVCOL_RANGE_MPEG
	f.Matrix = av.MatrixOf(int(c.colorspace), f.Height)
	return f, native
}

// build makes a frame in d.format from the picture just received, whose format is src and which
// may be empty afterwards. native means that the formats are alike and the samples need no
// conversion.
func (d *decoder) build(c *C.AVFrame, src pipeline.Format, native bool) (*pipeline.Frame, error) {
	pts, duration := int64(c.pts), int64(c.duration)
	quantiser := d.found.steps.quantiser(c) // before its table is copied
	interlaced, topFirst := c.flags&C.AV_FRAME_FLAG_INTERLACED != 0, c.flags&C.AV_FRAME_FLAG_TOP_FIELD_FIRST != 0
	grain, seed := av.FilmGrain(unsafe.Pointer(c))
	f, err := d.fill(c, src, native)
	if err != nil {
		return nil, err
	}
	if f, err = d.deepen(f); err != nil {
		return nil, err
	}
	f.PTS, f.Duration = pts, duration
	f.Interlaced, f.TopFieldFirst, f.Quantiser = interlaced, topFirst, quantiser
	f.Grain, f.GrainSeed = grain, seed
	return f, nil
}

func (d *decoder) fill(c *C.AVFrame, src pipeline.Format, native bool) (*pipeline.Frame, error) {
	props := av.PropsOf(d.frame)
	if props == nil {
		return nil, fmt.Errorf("decode %s: out of memory", d.path)
	}
	d.found.describe(props, c, d.dec.Framerate())
	if d.format.Layout != pipeline.RGBA { // whose alpha is among its samples
		if err := props.KeepAlpha(d.frame, d.format); err != nil {
			props.Release()
			return nil, fmt.Errorf("decode %s: alpha: %w", d.path, err)
		}
	}
	if f := d.taken; f != nil {
		d.taken = nil
		f.SetProps(props)
		return f, nil
	}
	if native && C.vf_is_direct(c) != 0 {
		return d.direct(c, props)
	}
	f, err := d.pool.TakeFrame(d.format, props)
	if err != nil {
		props.Release()
		return nil, err
	}
	if native {
		d.Copied++
		for i, y := range f.Rows() { // which may run upwards in the decoder's memory
			row := f.Row(i, y)
			copy(row, unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(c.data[i]), y*int(c.linesize[i]))), len(row)))
		}
		return f, nil
	}
	d.Converted++
	if src == d.format && copyComponents(f, c) {
		return f, nil
	}
	if err := d.scaler.Convert(f, d.frame, src.Matrix, src.FullRange); err != nil {
		f.Release()
		return nil, fmt.Errorf("decode %s: convert to %v: %w", d.path, d.format, err)
	}
	return f, nil
}

// direct passes on the decoder's own buffer without a copy.
func (d *decoder) direct(c *C.AVFrame, props *av.Props) (*pipeline.Frame, error) {
	own := astiav.AllocFrame()
	if own == nil {
		props.Release()
		return nil, fmt.Errorf("decode %s: out of memory", d.path)
	}
	var planes [4]pipeline.Plane
	for i := range d.format.NumPlanes() {
		w, rows := d.format.PlaneSize(i)
		pitch := int(c.linesize[i])
		planes[i] = pipeline.Plane{Data: unsafe.Slice((*byte)(c.data[i]), pitch*(rows-1)+w), Pitch: pitch}
	}
	own.MoveRef(d.frame)
	return pipeline.NewFrame(d.format, planes, props, own.Free), nil
}

// copyComponents copies the samples of a picture without colour, or of RGB into planes, if only
// their places differ: swscale rounds some, and stretches the range of gray. It returns false for
// other pictures.
func copyComponents(f *pipeline.Frame, c *C.AVFrame) bool {
	info := f.Layout.Info()
	components := 1
	if info.RGB {
		components = 3
	}
	if info.Samples > 1 || C.vf_has_components(C.int(c.format), C.int(components), C.int(info.Depth)) == 0 {
		return false
	}
	for i := range components {
		to := f.Planes[i]
		if info.RGB {
			to = f.Planes[(i+2)%3]
		}
		if !av.CopyComponent(unsafe.Pointer(c), i, to) {
			return false
		}
	}
	for i := components; i < f.NumPlanes(); i++ {
		data := f.Planes[i].Data
		for b := 0; b < len(data); b += info.SampleBytes() {
			if info.Depth == 8 {
				data[b] = 128
			} else {
				binary.LittleEndian.PutUint16(data[b:], 1<<(info.Depth-1))
			}
		}
	}
	return true
}
