package encode

//#include "glue.h"
import "C"

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// PartTag is the tag in the file of a part: the time of its first frame in the source, and the
// source's unit.
const PartTag = "vidfilter_part"

// ErrCut is wrapped by the error of a container that cannot hold the streams to be cut out.
var ErrCut = errors.New("the container cannot hold the streams")

// Begin starts an output of video that was encoded in parts, instead of Put. It borrows f, the
// video's first frame, from which it takes the properties that Put would. header is the parts'
// avcC, hvcC or av1C. It fails if these options do not give such video.
func (o *Output) Begin(f *pipeline.Frame, header []byte) error {
	o.precoded = &precoded{joined: true}
	o.globalHeader = true
	return o.startWith(f, func() error {
		o.from.Store(o.micros(f.PTS))
		o.carrier.take(f) // for NotKept; the parts have their units
		return o.takeHeaders(header)
	})
}

// BeginCoded starts an output of video whose parts Coders code with the same template and options.
// It borrows f, the video's first frame. Coded gives each of its packets to WriteVideo.
func (o *Output) BeginCoded(f *pipeline.Frame) error {
	o.precoded = &precoded{joined: true}
	return o.startWith(f, func() error {
		o.from.Store(o.micros(f.PTS))
		o.closeEncoder()
		return nil
	})
}

// takeHeaders replaces the encoder's header, which was only made for comparison, by the parts'.
func (o *Output) takeHeaders(header []byte) error {
	o.closeEncoder()
	par := o.video.codecpar
	headers := o.opts.codec().headers
	if headers == nil || !slices.EqualFunc(headers(av.Slice((*byte)(par.extradata), int(par.extradata_size))), headers(header), bytes.Equal) {
		return PartsErrorf("the parts were not coded with these options")
	}
	return av.SetExtradata(unsafe.Pointer(par), header)
}

// BeginCopy starts an output of the input's own video packets, from the one that is decoded at
// first, in the input's unit.
func (o *Output) BeginCopy(first int64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.precoded = &precoded{}
	if err := o.mapStreams(); err != nil {
		return err
	}
	in := inputStream(o.in.Video)
	o.unit = in.time_base
	if C.vf_can_mux(o.oc.oformat, in, o.codecTag(in.codecpar)) == 0 {
		return hint.Says(fmt.Sprintf("cut: %s cannot hold %s", o.opts.Format, C.GoString(C.avcodec_get_name(in.codecpar.codec_id))),
			"take the whole file", ErrCut)
	}
	st := o.video
	if err := av.Error(int(C.vf_copy_parameters(st.codecpar, in.codecpar, o.codecTag(in.codecpar)))); err != nil {
		return err
	}
	st.time_base = in.time_base
	st.sample_aspect_ratio = C.av_guess_sample_aspect_ratio(o.source(), in, nil)
	st.codecpar.sample_aspect_ratio = st.sample_aspect_ratio
	st.avg_frame_rate, st.r_frame_rate = in.avg_frame_rate, in.r_frame_rate
	if !o.in.Part {
		if err := o.videoMetadata(st, in); err != nil {
			return err
		}
	}
	o.shift = first
	return o.openWith(first)
}

// WriteVideo writes a video packet, which it borrows, after Begin or BeginCopy, in decode order.
// PTS and duration are in the video's unit. So is the DTS; after Begin only that of the first few
// packets matters. It may run beside WritePacket.
func (o *Output) WriteVideo(p *astiav.Packet) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.pkt.Ref(p); err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	defer o.pkt.Unref()
	o.pkt.SetPos(-1)
	if o.precoded.joined {
		o.pkt.SetDts(o.precoded.order.next(p.Pts(), p.Dts()))
		if o.pkt.Dts() > p.Pts() {
			return PartsErrorf("the frame at %d is decoded too late", p.Pts())
		}
	}
	o.frames++
	o.time.Store(max(o.time.Load(), o.micros(p.Pts()+p.Duration())))
	return o.writeVideo(o.pkt)
}
