package encode

//#include "glue.h"
import "C"

import (
	"errors"
	"math"

	"github.com/asticode/go-astiav"

	"vidfilter/pipeline"
)

const (
	bestQuality  = 2 // of mjpeg's scale, in which the steps of quantization grow
	worstQuality = 31
	firstQuality = 6
)

// previewJPEG codes one view as JPEG.
type previewJPEG struct {
	single
	scale   int
	canvas  *canvas
	enc     *astiav.CodecContext
	pkt     *astiav.Packet
	quality float64
	data    []byte
}

func newPreviewJPEG(f *pipeline.Frame, o PreviewOptions) (p *previewJPEG, err error) {
	scale, width, height := planPicture(f.Width, f.Height)
	p = &previewJPEG{scale: scale, pkt: astiav.AllocPacket(), quality: firstQuality}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.pkt == nil {
		return nil, errors.New("out of memory")
	}
	// A JPEG file has this one meaning.
	to := pipeline.Format{Layout: pipeline.YUV420P, Width: width, Height: height, Matrix: pipeline.BT601, FullRange: true}
	if p.canvas, err = newCanvas(to); err != nil {
		return nil, err
	}
	if p.single, err = newSingle(o.View, f.Format, to); err != nil {
		return nil, err
	}
	return p, p.openEncoder(to, o.Threads)
}

func (p *previewJPEG) openEncoder(f pipeline.Format, threads int) error {
	codec := astiav.FindEncoderByName("mjpeg")
	if codec == nil {
		return errors.New("this build has no mjpeg")
	}
	if p.enc = astiav.AllocCodecContext(codec); p.enc == nil {
		return errors.New("out of memory")
	}
	p.enc.SetWidth(f.Width)
	p.enc.SetHeight(f.Height)
	p.enc.SetPixelFormat(astiav.PixelFormatYuv420P)
	p.enc.SetColorRange(astiav.ColorRangeJpeg)
	p.enc.SetTimeBase(astiav.NewRational(1, mediaSecond))
	p.enc.SetThreadCount(previewThreads(threads))
	p.enc.SetThreadType(astiav.ThreadTypeSlice)
	c := (*C.AVCodecContext)(p.enc.UnsafePointer())
	c.flags |= C.AV_CODEC_FLAG_QSCALE
	c.global_quality = firstQuality * C.FF_QP2LAMBDA
	return p.enc.Open(codec, nil)
}

func (p *previewJPEG) code(original, filtered *pipeline.Frame, _ Stamp, at slot, _ bool) (Packet, error) {
	if err := p.canvas.writable(); err != nil {
		return Packet{}, err
	}
	if err := p.draw(p.canvas.view, original, filtered); err != nil {
		return Packet{}, err
	}
	budget := float64(at.bits) * at.interval.Seconds() / 8
	const tries = 3 // a picture that is far too large is made again: it would take long to send
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

// encode makes a JPEG of the canvas, and tells the quality used.
func (p *previewJPEG) encode(pts int64) (used int, err error) {
	used = int(math.Round(p.quality))
	f := (*C.AVFrame)(p.canvas.frame.UnsafePointer())
	f.quality = C.int(used) * C.FF_QP2LAMBDA
	f.pts = C.int64_t(pts)
	f.color_range = C.AVCOL_RANGE_JPEG
	if err := p.enc.SendFrame(p.canvas.frame); err != nil {
		return used, err
	}
	if err := p.enc.ReceivePacket(p.pkt); err != nil {
		return used, err
	}
	p.data = append(p.data[:0], p.pkt.Data()...)
	p.pkt.Unref()
	return used, nil
}

// adapt takes the share of its bits that a picture has used. Size falls more slowly than quantization grows, so a
// correction in proportion does not swing.
func (p *previewJPEG) adapt(share float64) {
	if share > 0.75 && share < 1 {
		return
	}
	p.quality = min(max(p.quality*min(max(share/0.87, 0.5), 3), bestQuality), worstQuality)
}

func (p *previewJPEG) config() *PreviewConfig {
	f := p.canvas.view.Format
	return &PreviewConfig{Width: f.Width, Height: f.Height, CodedWidth: f.Width, CodedHeight: f.Height, Scale: p.scale}
}

func (p *previewJPEG) close() {
	if p.enc != nil {
		p.enc.Free()
	}
	if p.pkt != nil {
		p.pkt.Free()
	}
	p.canvas.close()
	p.single.close()
}
