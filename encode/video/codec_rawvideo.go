package video

//#include <libavcodec/avcodec.h>
import "C"

var rawVideo = Codec{
	Name: "rawvideo",
	CRF:  -1,

	noBitrate: "samples are stored as they are",
	noGOP:     "every picture is a key frame",
	copies:    true,
	configure: configureRawVideo,
}

// configureRawVideo leaves threads out, since each would keep a picture back.
func configureRawVideo(_ *encoder, c *C.AVCodecContext, _ func(option, value string)) {
	c.thread_count = 1
}
