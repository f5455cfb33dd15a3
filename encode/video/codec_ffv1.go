package video

//#include <libavcodec/avcodec.h>
import "C"

import "strings"

// ffv1 is lossless: it has neither presets nor a quality.
var ffv1 = Codec{
	Name:   "ffv1",
	Common: "ffv1",
	CRF:    -1,

	noBitrate: "it is lossless",
	fields:    ownFields,
	params:    strings.Fields("level=0|1|3 coder=rice|range_def|range_tab context=0|1 slices slicecrc=0|1"),
	configure: configureFFV1,
}

// configureFFV1 chooses the version that marks fields in each picture.
func configureFFV1(o *encoder, _ *C.AVCodecContext, set func(option, value string)) {
	set("level", ffv1Level)
	o.EncoderParams.Set(set)
}

const ffv1Level = "3"

func configureOwn(o *encoder, _ *C.AVCodecContext, set func(option, value string)) {
	o.EncoderParams.Set(set)
}

// fieldCoding is how the chosen encoder codes fields.
func (o *encoder) fieldCoding() fieldCoding {
	how := o.about.fields
	if level := o.EncoderParams.Value("level"); how == ownFields && level != "" && level != ffv1Level {
		return streamFields // of FFV1 before version 3
	}
	return how
}
