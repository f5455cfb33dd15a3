package preview

//#include <libavcodec/avcodec.h>
import "C"

import (
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/video"
	"vidfilter/pipeline"
)

const (
	bestQuality  = 2 // on mjpeg's scale, where larger is coarser
	worstQuality = 31
	firstQuality = 6
)

// jpegCoder encodes pictures as JPEG.
type jpegCoder struct {
	coding
	quality float64
	data    []byte
}

// jpegFormat is the colour format of all JPEG files.
var jpegFormat = pipeline.Format{Layout: pipeline.YUV420P, Matrix: pipeline.BT601, FullRange: true}

// newJPEG takes the composer.
func newJPEG(c composer, o Options) (coder, error) {
	p := &jpegCoder{coding: coding{composer: c}, quality: firstQuality}
	if err := p.open(o.Threads); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *jpegCoder) open(threads int) error {
	if err := p.begin(video.MJPEG, jpegFormat, threads); err != nil {
		return err
	}
	p.enc.SetColorRange(astiav.ColorRangeJpeg)
	p.enc.SetTimeBase(astiav.NewRational(1, defaultFPS)) // required, but not in the file
	c := (*C.AVCodecContext)(p.enc.UnsafePointer())
	c.flags |= C.AV_CODEC_FLAG_QSCALE
	c.global_quality = firstQuality * C.FF_QP2LAMBDA
	return p.enc.Open(p.codec, nil)
}

func (p *jpegCoder) code(original, filtered *pipeline.Frame, s Stamp, at budget, _ bool) (Packet, error) {
	if err := p.draw(original, filtered, s); err != nil {
		return Packet{}, err
	}
	budget := float64(at.bits) * at.interval.Seconds() / 8
	const tries = 3 // a picture far too large is encoded again: it would take long to send
	for i := 1; ; i++ {
		used, err := p.encodeOnce()
		if err != nil {
			return Packet{}, err
		}
		share := float64(len(p.data)) / budget
		p.adapt(share)
		if share < 2 || used == worstQuality || i == tries {
			return Packet{Data: p.data, Key: true}, nil
		}
	}
}

// encodeOnce makes a JPEG of the canvas and returns the quality used.
func (p *jpegCoder) encodeOnce() (used int, err error) {
	used = int(math.Round(p.quality))
	f := (*C.AVFrame)(p.canvas.Frame.UnsafePointer())
	f.quality = C.int(used) * C.FF_QP2LAMBDA
	f.color_range = C.AVCOL_RANGE_JPEG
	if err := p.encode(); err != nil {
		return used, err
	}
	p.data = append(p.data[:0], p.pkt.Data()...)
	p.pkt.Unref()
	return used, nil
}

// adapt corrects the quality by the share of its bits that a picture has used. Size falls more
// slowly than quantization grows, so a proportional correction does not oscillate.
func (p *jpegCoder) adapt(share float64) {
	if share > 0.75 && share < 1 {
		return
	}
	p.quality = min(max(p.quality*min(max(share/0.87, 0.5), 3), bestQuality), worstQuality)
}
