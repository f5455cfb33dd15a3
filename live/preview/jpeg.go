package preview

//#include <libavcodec/avcodec.h>
import "C"

import (
	"errors"
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/encode"
	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

const (
	bestQuality  = 2 // on mjpeg's scale, where larger is coarser
	worstQuality = 31
	firstQuality = 6
)

// jpegCoder encodes pictures as JPEG.
type jpegCoder struct {
	composer
	canvas  *av.Canvas
	enc     *astiav.CodecContext
	pkt     *astiav.Packet
	quality float64
	data    []byte
}

// jpegFormat returns the colour format of all JPEG files.
func jpegFormat(width, height int) pipeline.Format {
	return pipeline.Format{Layout: pipeline.YUV420P, Width: width, Height: height, Matrix: pipeline.BT601, FullRange: true}
}

// newJPEG takes the composer.
func newJPEG(c composer, o Options) (p *jpegCoder, err error) {
	p = &jpegCoder{composer: c, pkt: astiav.AllocPacket(), quality: firstQuality}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.pkt == nil {
		return nil, errors.New("out of memory")
	}
	to := jpegFormat(c.size())
	if p.canvas, err = av.NewCanvas(to); err != nil {
		return nil, err
	}
	return p, p.openEncoder(to, o.Threads)
}

func (p *jpegCoder) openEncoder(f pipeline.Format, threads int) error {
	codec := astiav.FindEncoderByName(encode.MJPEG)
	if codec == nil {
		return errors.New("this build has no " + encode.MJPEG)
	}
	if p.enc = astiav.AllocCodecContext(codec); p.enc == nil {
		return errors.New("out of memory")
	}
	p.enc.SetWidth(f.Width)
	p.enc.SetHeight(f.Height)
	p.enc.SetPixelFormat(astiav.PixelFormatYuv420P)
	p.enc.SetColorRange(astiav.ColorRangeJpeg)
	p.enc.SetTimeBase(astiav.NewRational(1, mediaSecond))
	p.enc.SetThreadCount(threadCount(threads))
	p.enc.SetThreadType(astiav.ThreadTypeSlice)
	c := (*C.AVCodecContext)(p.enc.UnsafePointer())
	c.flags |= C.AV_CODEC_FLAG_QSCALE
	c.global_quality = firstQuality * C.FF_QP2LAMBDA
	return p.enc.Open(codec, nil)
}

func (p *jpegCoder) code(original, filtered *pipeline.Frame, s Stamp, at slot, _ bool) (Packet, error) {
	if err := p.canvas.MakeWritable(); err != nil {
		return Packet{}, err
	}
	if err := p.compose(p.canvas, original, filtered, s); err != nil {
		return Packet{}, err
	}
	budget := float64(at.bits) * at.interval.Seconds() / 8
	const tries = 3 // a picture far too large is encoded again: it would take long to send
	for i := 1; ; i++ {
		used, err := p.encode(at.at + int64(i))
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

// encode makes a JPEG of the canvas and returns the quality used.
func (p *jpegCoder) encode(pts int64) (used int, err error) {
	used = int(math.Round(p.quality))
	f := (*C.AVFrame)(p.canvas.Frame.UnsafePointer())
	f.quality = C.int(used) * C.FF_QP2LAMBDA
	f.pts = C.int64_t(pts)
	f.color_range = C.AVCOL_RANGE_JPEG
	if err := p.enc.SendFrame(p.canvas.Frame); err != nil {
		return used, err
	}
	if err := p.enc.ReceivePacket(p.pkt); err != nil {
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

func (p *jpegCoder) config() *Config {
	f := p.canvas.View.Format
	c := &Config{CodedWidth: f.Width, CodedHeight: f.Height}
	p.describe(c)
	return c
}

func (p *jpegCoder) close() {
	if p.enc != nil {
		p.enc.Free()
	}
	if p.pkt != nil {
		p.pkt.Free()
	}
	p.canvas.Close()
	p.composer.close()
}
