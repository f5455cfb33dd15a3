package encode

//#include "glue.h"
import "C"

import (
	"fmt"
	"slices"

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
	waiting map[int64][]units.Unit // by time of the frame
	lost    []string               // names of kinds
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
	formats.MKV:  {units.MasteringDisplay, units.ContentLight},
	formats.WebM: {units.MasteringDisplay, units.ContentLight},
	formats.MXF:  {units.MasteringDisplay},
	"png":        {units.MasteringDisplay, units.ContentLight},
}

// newCarrier returns a carrier for packets of a codec by FFmpeg's name.
func newCarrier(codec string, o *Options, d dolby) carrier {
	c := carrier{stream: units.StreamOf(codec, nil), clocks: codec != "h264" || o.clocks, boxed: boxedUnits[o.Format], dolby: d, waiting: map[int64][]units.Unit{}}
	if d.lost != "" {
		c.lose(d.lost)
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
	return c.stream.Carries(k) && !slices.Contains(c.set, k)
}

// lose names a loss, once.
func (c *carrier) lose(name string) {
	if !slices.Contains(c.lost, name) {
		c.lost = append(c.lost, name)
	}
}

// take keeps the units of a frame until its packet comes.
func (c *carrier) take(f *pipeline.Frame) {
	var list []units.Unit
	for _, u := range av.Units(f) {
		switch {
		case c.carries(u.Kind):
			list = append(list, u)
		case u.Kind == units.DolbyVision && c.dolby.lost != "": // is named
		case !slices.Contains(c.set, u.Kind) && !slices.Contains(c.boxed, u.Kind):
			c.lose(u.Kind.String())
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
	if len(list) == 0 {
		return nil
	}
	data, err := c.stream.Insert(data, list)
	if err != nil {
		return fmt.Errorf("describe the picture at %d: %w", int64(p.pts), err)
	}
	return setData(p, data)
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
