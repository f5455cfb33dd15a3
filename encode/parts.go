package encode

import (
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/video"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// PartTag is the tag in the file of a part: the time of its first frame in the source, and the
// source's unit.
const PartTag = "vidfilter_part"

// Begin starts an output of video that was encoded in parts, instead of Put. It borrows f, the
// video's first frame, from which it takes the properties that Put would. header is the parts'
// avcC, hvcC or av1C. It fails if these options do not give such video.
func (o *Output) Begin(f *pipeline.Frame, header []byte) error {
	o.coder.KeepHeader()
	return o.join(f, func() error {
		o.coder.Carry(f) // for NotKept; the parts have their units
		if !o.coder.SameHeader(o.mux.Header(), header) {
			return PartsErrorf("the parts were not coded with these options")
		}
		return o.mux.SetHeader(header)
	})
}

// BeginCoded starts an output of video whose parts Coders code with the same template and options.
// It borrows f, the video's first frame. Coded gives each of its packets to WriteVideo.
func (o *Output) BeginCoded(f *pipeline.Frame) error {
	return o.join(f, func() error { return nil })
}

func (o *Output) join(f *pipeline.Frame, described func() error) error {
	o.joined, o.spec.Precoded = true, true
	return o.start(f, func() error {
		o.from.Store(o.spec.Micros(f.PTS))
		defer o.coder.CloseEncoder()
		return described()
	})
}

// BeginCopy starts an output of the input's own video packets, from the one that is decoded at
// first, in the input's unit.
func (o *Output) BeginCopy(first int64) error {
	o.spec.Precoded = true
	in := o.spec.In.Video
	unit := in.TimeBase()
	o.spec.Unit = pipeline.Ratio{Num: unit.Num(), Den: unit.Den()}
	return o.mux.Start(first, "", func() error {
		if !o.mux.TakesCopy() {
			return hint.Says(fmt.Sprintf("cut: %s cannot hold %s", o.spec.Format, in.CodecParameters().CodecID().Name()), "take the whole file", ErrCut)
		}
		return o.mux.Copy(first)
	})
}

// WriteVideo writes a video packet, which it borrows, after Begin or BeginCopy, in decode order.
// PTS and duration are in the video's unit. So is the DTS. After Begin only the DTS of the first
// few packets matters. It may run beside WritePacket.
func (o *Output) WriteVideo(p *astiav.Packet) error {
	own := p.Clone()
	if own == nil {
		return errors.New("encode: out of memory")
	}
	defer own.Free()
	own.SetPos(-1)
	if o.joined {
		own.SetDts(o.order.Next(p.Pts(), p.Dts()))
		if own.Dts() > p.Pts() {
			return PartsErrorf("the frame at %d is decoded too late", p.Pts())
		}
	}
	o.spec.Frames++
	o.time.Store(max(o.time.Load(), o.spec.Micros(p.Pts()+p.Duration())))
	return o.mux.WriteVideo(own)
}

// Join takes over the losses of a coder whose packets the output has. It fails if the coder has
// described its part in another way than the output.
func (o *Output) Join(c *video.Coder) error {
	if err := o.coder.Join(c, o.mux.Header()); err != nil {
		return PartsErrorf("%w", err)
	}
	return nil
}
