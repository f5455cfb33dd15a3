package encode

//#include <libavcodec/avcodec.h>
//#include <libavutil/buffer.h>
import "C"

import (
	"sync"

	"github.com/asticode/go-astiav"
)

var shared sync.Mutex // see Codec.sharesState

// alone runs a call that opens or closes an encoder, in turn where encoders share state.
func alone(encoder string, call func() error) error {
	if CodecOf(encoder).sharesState {
		shared.Lock()
		defer shared.Unlock()
	}
	return call()
}

// freeEncoder frees an encoder, which may be open. The memory of its pictures on a device goes
// last, since the encoder has registered it; Free alone begins with it.
func freeEncoder(enc *astiav.CodecContext) {
	c := (*C.AVCodecContext)(enc.UnsafePointer())
	var pictures *C.AVBufferRef
	if c.hw_frames_ctx != nil {
		pictures = C.av_buffer_ref(c.hw_frames_ctx)
	}
	name := ""
	if c.codec != nil {
		name = C.GoString(c.codec.name)
	}
	_ = alone(name, func() error { enc.Free(); return nil })
	C.av_buffer_unref(&pictures)
}
