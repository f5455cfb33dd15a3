package side

//#include <libavcodec/avcodec.h>
//#include <libavutil/dovi_meta.h>
import "C"

import (
	"errors"
	"fmt"
	"unsafe"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/pipeline"
)

// dolby is the plan for Dolby Vision. Its metadata (RPUs) describes the pictures before filtering.
type dolby struct {
	lost   string // the name of the lost part in messages, or ""
	record *C.AVDOVIDecoderConfigurationRecord
}

// Profiles of Dolby Vision (ETSI TS 103 572; AV1: Dolby Vision streams within ISO-BMFF).
const (
	dolbyIPT      = 5 // HEVC, in colours of its own
	dolbyLayers   = 7 // HEVC with an enhancement layer
	dolbyHEVC     = 8 // HEVC that can also be shown without it
	dolbyAV1      = 10
	ownColours    = 0 // as compatibility of a base layer
	dolbyVision   = "Dolby Vision"
	enhancedLayer = "Dolby Vision profile %d beyond its base layer"
)

// planDolby decides by the input's record, which it borrows, and the first frame.
func planDolby(s *spec.Spec, f *pipeline.Frame, codec, pixelFormat string) dolby {
	par := (*C.AVCodecParameters)(av.ParametersPtr(s.In.Video.CodecParameters()))
	d := dolby{record: dolbyRecord(par)}
	profile := 0
	for _, u := range av.Units(f) {
		if u.Kind == units.DolbyVision {
			profile = units.DolbyProfile(u.Payload)
		}
	}
	described := profile > 0
	if d.record != nil {
		profile = int(d.record.dv_profile)
	}
	switch {
	case profile == 0:
	case profile < dolbyIPT || profile == dolbyLayers:
		d.lost = fmt.Sprintf(enhancedLayer, profile)
	case !described, f.Width != int(par.width), f.Height != int(par.height), s.Has("size", "transfer", "primaries", "matrix"), codec != "hevc" && codec != "av1", pixelFormat != "yuv420p10le":
		d.lost = dolbyVision
	}
	return d
}

func dolbyRecord(par *C.AVCodecParameters) *C.AVDOVIDecoderConfigurationRecord {
	s := C.av_packet_side_data_get(par.coded_side_data, par.nb_coded_side_data, C.AV_PKT_DATA_DOVI_CONF)
	if s == nil || s.size < C.sizeof_AVDOVIDecoderConfigurationRecord {
		return nil
	}
	return (*C.AVDOVIDecoderConfigurationRecord)(unsafe.Pointer(s.data))
}

func (d *dolby) describe(s *spec.Spec, par *C.AVCodecParameters) error {
	if d.record == nil || d.lost != "" {
		return nil
	}
	r := *d.record
	switch {
	case par.codec_id == C.AV_CODEC_ID_AV1:
		r.dv_profile = dolbyAV1
	case r.dv_bl_signal_compatibility_id == ownColours:
		r.dv_profile = dolbyIPT
	default:
		r.dv_profile = dolbyHEVC
	}
	noPlace := s.Form.Family != formats.ISO && s.Form.Name != formats.MKV
	if noPlace || r.dv_profile == dolbyIPT && s.Form.Name == formats.MOV { // whose dvh1 is DV
		s.Lost.Add("the record of " + dolbyVision)
		return nil
	}
	if r.dv_profile == dolbyIPT && s.Form.Family == formats.ISO {
		par.codec_tag = 'd' | 'v'<<8 | 'h'<<16 | '1'<<24 // players without it would show wrong colours
	}
	box := C.av_packet_side_data_new(&par.coded_side_data, &par.nb_coded_side_data, C.AV_PKT_DATA_DOVI_CONF, C.sizeof_AVDOVIDecoderConfigurationRecord, 0)
	if box == nil {
		return errors.New("encode: out of memory")
	}
	*(*C.AVDOVIDecoderConfigurationRecord)(unsafe.Pointer(box.data)) = r
	return nil
}
