package encode

//#include "glue.h"
import "C"

import (
	"fmt"
	"slices"
	"unsafe"

	"vidfilter/encode/formats"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// carrier puts the units of frames into the coded packets of their pictures. Encoders leave that to
// it: each would write others, and none would write all.
type carrier struct {
	stream  units.Stream
	set     []units.Kind // that parameters of the encoder set
	boxed   []units.Kind // that the container has a place for
	clocks  bool         // the encoder makes room for timecodes
	dolby   dolby
	untrue  []units.Kind           // of the pictures, since a filter has changed them
	texts   []*byte                // captions of the latest frame, by their memory
	waiting map[int64][]units.Unit // by time of the frame
	frames  map[int64]bool         // progressive pictures among interlaced ones, likewise
	lost    *losses                // names of kinds
}

// setUnits are parameters of encoders by which the user sets units.
var setUnits = map[string]units.Kind{
	"mastering-display": units.MasteringDisplay, "master-display": units.MasteringDisplay,
	"cll": units.ContentLight, "max-cll": units.ContentLight, "alternative-transfer": units.AlternativeTransfer,
}

// boxedUnits are the kinds that formats have a place for beside coded pictures.
var boxedUnits = map[string][]units.Kind{
	formats.MP4:  {units.MasteringDisplay, units.ContentLight, units.AmbientViewing},
	formats.MOV:  {units.MasteringDisplay, units.ContentLight, units.AmbientViewing},
	formats.MKV:  {units.MasteringDisplay, units.ContentLight, units.HDR10Plus},
	formats.WebM: {units.MasteringDisplay, units.ContentLight},
	formats.MXF:  {units.MasteringDisplay},
	"png":        {units.MasteringDisplay, units.ContentLight},
}

// newCarrier returns a carrier for packets of a codec by FFmpeg's name.
func newCarrier(codec string, o *Options, d dolby, lost *losses) carrier {
	c := carrier{stream: units.StreamOf(codec, nil), clocks: codec != "h264" || o.clocks, boxed: boxedUnits[o.Format], dolby: d, lost: lost, waiting: map[int64][]units.Unit{}, frames: map[int64]bool{}}
	if d.lost != "" {
		c.lost.add(d.lost)
	}
	for _, p := range append(slices.Clone(o.Params.list), o.EncoderParams.list...) {
		if k := setUnits[p.name]; k != 0 {
			c.set = append(c.set, k)
		}
	}
	return c
}

// needsClocks reports whether the encoder must make room for timecodes.
func (o *Options) needsClocks(f *pipeline.Frame) bool {
	ownStructure := func(p param) bool { return p.name == "pic-struct" }
	return o.codec().Name == X264 && slices.ContainsFunc(av.Units(f), func(u units.Unit) bool { return u.Kind == units.Timecode }) &&
		!slices.ContainsFunc(o.Params.list, ownStructure) && !slices.ContainsFunc(o.EncoderParams.list, ownStructure)
}

// carries reports whether units of a kind go into packets.
func (c *carrier) carries(k units.Kind) bool {
	switch {
	case k == units.DolbyVision && c.dolby.lost != "", k == units.Timecode && !c.clocks:
		return false
	}
	return c.stream.Carries(k) && !slices.Contains(c.set, k) && !slices.Contains(c.untrue, k)
}

// take keeps the units of a frame until its packet comes.
func (c *carrier) take(f *pipeline.Frame) {
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
		case c.carries(u.Kind), boxed && u.Kind == units.HDR10Plus:
			list = append(list, u)
		case u.Kind == units.DolbyVision && c.dolby.lost != "", u.Kind == units.FramePacking: // see planDolby, nameLost
		case !slices.Contains(c.set, u.Kind) && !boxed:
			c.lost.add(u.Kind.String())
		}
	}
	if len(list) > 0 {
		c.waiting[f.PTS] = list
	}
}

// give inserts the units of its frame into a packet from the encoder.
func (c *carrier) give(p *C.AVPacket) error {
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
		return setData(p, data)
	case len(list) == 0:
		return nil
	case !c.carries(list[0].Kind):
		c.putBeside(p, list)
		return nil
	}
	data, err := c.stream.Insert(data, list)
	if err != nil {
		return fmt.Errorf("describe the picture at %d: %w", int64(p.pts), err)
	}
	return setData(p, data)
}

// putBeside gives the muxer units of HDR10+, as far as they are whole, to write beside a packet.
func (c *carrier) putBeside(p *C.AVPacket, list []units.Unit) {
	for _, u := range list {
		b := units.DynamicHDROf(u.Payload)
		if C.vf_hdr10plus(p, (*C.uint8_t)(unsafe.SliceData(b)), C.size_t(len(b))) < 0 {
			c.lost.add(u.Kind.String())
		}
	}
}

// clear removes what parameters of the encoder set otherwise from a description of the stream.
func (c *carrier) clear(par *C.AVCodecParameters) {
	for kind, k := range map[C.enum_AVPacketSideDataType]units.Kind{
		C.AV_PKT_DATA_MASTERING_DISPLAY_METADATA: units.MasteringDisplay, C.AV_PKT_DATA_CONTENT_LIGHT_LEVEL: units.ContentLight,
	} {
		if slices.Contains(c.set, k) {
			C.av_packet_side_data_remove(par.coded_side_data, &par.nb_coded_side_data, kind)
		}
	}
}

// places are the formats that have a place for a description of the stream.
var places = []struct {
	kind    C.enum_AVPacketSideDataType
	name    string
	formats []string
}{
	{C.AV_PKT_DATA_ICC_PROFILE, "ICC profile", []string{formats.MP4, formats.MOV}},
	{C.AV_PKT_DATA_STEREO3D, units.FramePacking.String(), []string{formats.MP4, formats.MKV, formats.WebM}},
	{C.AV_PKT_DATA_SPHERICAL, "spherical projection", []string{formats.MP4, formats.MOV, formats.MKV, formats.WebM}},
}

// nameLost names descriptions of the stream that the container has no place for. Pictures like f
// may hold the arrangement of views: x264 writes it by itself.
func (o *Output) nameLost(par *C.AVCodecParameters, f *pipeline.Frame) {
	isPacking := func(u units.Unit) bool { return u.Kind == units.FramePacking }
	packed := o.opts.codec().Name == X264 || o.carrier.carries(units.FramePacking) && slices.ContainsFunc(av.Units(f), isPacking)
	for _, p := range places {
		inPictures := p.kind == C.AV_PKT_DATA_STEREO3D && packed
		if hasSideData(par, p.kind) && o.form.Video() && !slices.Contains(p.formats, o.form.Name) && !inPictures {
			o.lost.add(p.name)
		}
	}
	if hasSideData(par, C.AV_PKT_DATA_ICC_PROFILE) && o.form.Family == formats.ISO && !o.coloursInPictures() {
		o.lost.add("ICC profile")
	}
	// AV1 has two places for chroma, and 0 for all others (6.4.2).
	if par.codec_id == C.AV_CODEC_ID_AV1 && par.chroma_location > C.AVCHROMA_LOC_LEFT && par.chroma_location != C.AVCHROMA_LOC_TOPLEFT &&
		o.form.Family != formats.Matroska {
		o.lost.add("chroma location")
	}
}

// coloursInPictures reports whether the colour tags are in the coded pictures. MP4 has a place for
// them or for an ICC profile, not for both.
func (m *muxer) coloursInPictures() bool {
	switch m.video.codecpar.codec_id {
	case C.AV_CODEC_ID_H264, C.AV_CODEC_ID_HEVC, C.AV_CODEC_ID_AV1, C.AV_CODEC_ID_PRORES:
		return true
	}
	return false
}

func hasSideData(par *C.AVCodecParameters, kind C.enum_AVPacketSideDataType) bool {
	return C.av_packet_side_data_get(par.coded_side_data, par.nb_coded_side_data, kind) != nil
}

// setData replaces a packet's data.
func setData(p *C.AVPacket, data []byte) error {
	if n := len(data) - int(p.size); n > 0 {
		if err := av.Error(int(C.av_grow_packet(p, C.int(n)))); err != nil {
			return err
		}
	}
	C.av_shrink_packet(p, C.int(len(data)))
	if err := av.Error(int(C.av_packet_make_writable(p))); err != nil {
		return err
	}
	copy(av.Slice((*byte)(p.data), int(p.size)), data)
	return nil
}
