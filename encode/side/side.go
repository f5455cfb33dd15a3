// Package side puts the metadata of frames into coded packets: captions, HDR metadata, timecodes,
// Dolby Vision and film grain.
package side

//#cgo pkg-config: libavcodec libavutil
//#include <libavcodec/avcodec.h>
//#include <libavutil/hdr_dynamic_metadata.h>
//#include <libavutil/mem.h>
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// Carrier puts the metadata of frames into their coded packets. Encoders leave that to it: each
// would write some of it, in its own way. It is for one goroutine. A nil Carrier is empty.
type Carrier struct {
	spec    *spec.Spec
	codec   string // FFmpeg's name
	stream  units.Stream
	set     []units.MetadataKind // that parameters of the encoder set
	boxed   []units.MetadataKind // that the container has a place for
	clocks  bool                 // the encoder makes room for timecodes
	dolby   dolby
	grain   *grainer               // nil: pictures have no film grain
	untrue  []units.MetadataKind   // of the pictures, since a filter has changed them
	texts   []*byte                // captions of the latest frame, by their memory
	waiting map[int64][]units.Unit // by time of the frame
	frames  map[int64]bool         // progressive pictures among interlaced ones, by time
}

var setUnits = map[string]units.MetadataKind{
	"mastering-display": units.MasteringDisplay, "master-display": units.MasteringDisplay,
	"cll": units.ContentLight, "max-cll": units.ContentLight, "alternative-transfer": units.AlternativeTransfer,
}

// boxedUnits are the kinds that formats have a place for beside coded pictures.
var boxedUnits = map[string][]units.MetadataKind{
	formats.MP4:  {units.MasteringDisplay, units.ContentLight, units.AmbientViewing},
	formats.MOV:  {units.MasteringDisplay, units.ContentLight, units.AmbientViewing},
	formats.MKV:  {units.MasteringDisplay, units.ContentLight, units.HDR10Plus},
	formats.WebM: {units.MasteringDisplay, units.ContentLight},
	formats.MXF:  {units.MasteringDisplay},
	"png":        {units.MasteringDisplay, units.ContentLight},
}

// New returns a carrier for packets of a codec, by FFmpeg's name, with pictures like f in the pixel
// format that is coded. clocks means that an encoder of H.264 makes room for
// timecodes, as others do in any case.
func New(s *spec.Spec, codec string, f *pipeline.Frame, pixelFormat string, clocks bool) *Carrier {
	c := &Carrier{spec: s, codec: codec, stream: units.StreamOf(codec, nil), clocks: codec != "h264" || clocks, boxed: boxedUnits[s.Format],
		dolby: planDolby(s, f, codec, pixelFormat), waiting: map[int64][]units.Unit{}, frames: map[int64]bool{}}
	if c.dolby.lost != "" {
		s.Lost.Add(c.dolby.lost)
	}
	for _, p := range slices.Concat(s.Params, s.EncoderParams) {
		if k := setUnits[p.Name]; k != 0 {
			c.set = append(c.set, k)
		}
	}
	// These describe the pictures before the change.
	if s.Has("size", "sample_aspect", "rotation") {
		c.untrue = append(c.untrue, units.AFD)
	}
	if s.Has("transfer") {
		c.untrue = append(c.untrue, units.MasteringDisplay, units.ContentLight, units.AmbientViewing, units.AlternativeTransfer, units.HDR10Plus)
	}
	return c
}

// Open announces side data of pictures in the header of an open encoder. grain allows film grain.
func (c *Carrier) Open(enc *astiav.CodecContext, grain bool) (err error) {
	if grain && c.codec == "av1" && (c.spec.FilmGrain || hasGrain(av.ParametersPtr(c.spec.In.Video.CodecParameters()))) {
		c.grain, err = newGrainer(enc.UnsafePointer())
	}
	c.stream = units.StreamOf(c.codec, enc.ExtraData())
	return err
}

// Close frees the carrier.
func (c *Carrier) Close() {
	if c != nil {
		c.grain.close()
	}
}

// Grained reports whether coded pictures have room for film grain.
func (c *Carrier) Grained() bool { return c != nil && c.grain != nil }

// Carries reports whether units of a kind go into packets.
func (c *Carrier) Carries(k units.MetadataKind) bool {
	switch {
	case k == units.DolbyVision && c.dolby.lost != "", k == units.Timecode && !c.clocks:
		return false
	}
	return c.stream.Carries(k) && !slices.Contains(c.set, k) && !slices.Contains(c.untrue, k)
}

// Take keeps the side data of a frame until its packet comes. asFrame: it is a progressive
// picture among interlaced ones.
func (c *Carrier) Take(f *pipeline.Frame, asFrame bool) {
	if c.grain != nil {
		c.grain.take(f)
	}
	if asFrame {
		c.frames[f.PTS] = true
	}
	var list []units.Unit
	before := c.texts
	c.texts = nil
	for _, u := range av.Units(f) {
		if u.Kind == units.Captions && len(u.Payload) > 0 { // frames that a filter made of one share them
			text := unsafe.SliceData(u.Payload)
			if c.texts = append(c.texts, text); slices.Contains(before, text) {
				continue
			}
		}
		switch boxed := slices.Contains(c.boxed, u.Kind) && !slices.Contains(c.untrue, u.Kind); {
		case c.Carries(u.Kind), boxed && u.Kind == units.HDR10Plus:
			list = append(list, u)
		case u.Kind == units.DolbyVision && c.dolby.lost != "", u.Kind == units.FramePacking: // see planDolby, nameLost
		case !slices.Contains(c.set, u.Kind) && !boxed:
			c.spec.Lost.Add(u.Kind.String())
		}
	}
	if len(list) > 0 {
		c.waiting[f.PTS] = list
	}
}

// Give inserts the side data of its frame into a packet from the encoder.
func (c *Carrier) Give(packet *astiav.Packet) error {
	p := (*C.AVPacket)(av.PacketPtr(packet))
	if c.grain != nil {
		if err := c.grain.give(unsafe.Pointer(p)); err != nil {
			return err
		}
	}
	list := c.waiting[int64(p.pts)]
	delete(c.waiting, int64(p.pts))
	if p.flags&C.AV_PKT_FLAG_KEY == 0 {
		list = slices.DeleteFunc(list, func(u units.Unit) bool { return u.Kind.Lasting() })
	}
	data := av.Slice((*byte)(p.data), int(p.size))
	c.stream.Learn(data)
	frame := c.frames[int64(p.pts)]
	if delete(c.frames, int64(p.pts)); frame {
		data = c.stream.Progressive(data)
	}
	switch {
	case len(list) == 0 && frame:
		return av.SetData(unsafe.Pointer(p), data)
	case len(list) == 0:
		return nil
	case !c.Carries(list[0].Kind):
		c.putBeside(p, list)
		return nil
	}
	data, err := c.stream.Insert(data, list)
	if err != nil {
		return fmt.Errorf("describe the picture at %d: %w", int64(p.pts), err)
	}
	return av.SetData(unsafe.Pointer(p), data)
}

// putBeside gives the muxer whole units of HDR10+ to write beside a packet.
func (c *Carrier) putBeside(p *C.AVPacket, list []units.Unit) {
	for _, u := range list {
		b := units.DynamicHDROf(u.Payload)
		var size C.size_t
		m := C.av_dynamic_hdr_plus_alloc(&size)
		if m == nil || C.av_dynamic_hdr_plus_from_t35(m, (*C.uint8_t)(unsafe.SliceData(b)), C.size_t(len(b))) < 0 ||
			C.av_packet_add_side_data(p, C.AV_PKT_DATA_DYNAMIC_HDR10_PLUS, (*C.uint8_t)(unsafe.Pointer(m)), size) < 0 {
			C.av_free(unsafe.Pointer(m))
			c.spec.Lost.Add(u.Kind.String())
		}
	}
}

// Describe completes the description of the stream, an AVCodecParameters: it omits properties set
// by parameters of the encoder, and includes the record of Dolby Vision.
func (c *Carrier) Describe(parameters unsafe.Pointer) error {
	par := (*C.AVCodecParameters)(parameters)
	for kind, k := range map[C.enum_AVPacketSideDataType]units.MetadataKind{
		C.AV_PKT_DATA_MASTERING_DISPLAY_METADATA: units.MasteringDisplay, C.AV_PKT_DATA_CONTENT_LIGHT_LEVEL: units.ContentLight,
	} {
		if slices.Contains(c.set, k) {
			C.av_packet_side_data_remove(par.coded_side_data, &par.nb_coded_side_data, kind)
		}
	}
	return c.dolby.describe(c.spec, par)
}

// Packed reports whether coded pictures describe the two views of frames like f. x264 writes it by
// itself.
func (c *Carrier) Packed(f *pipeline.Frame) bool {
	isPacking := func(u units.Unit) bool { return u.Kind == units.FramePacking }
	return c.spec.Encoder == spec.X264 || c.Carries(units.FramePacking) && slices.ContainsFunc(av.Units(f), isPacking)
}
