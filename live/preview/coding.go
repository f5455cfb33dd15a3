package preview

import (
	"errors"
	"runtime"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
	"vidfilter/pipeline"
)

// composer draws a pair on a yuv420p canvas.
type composer interface {
	size() (width, height int) // of the canvas
	compose(c *av.Canvas, original, filtered *pipeline.Frame, s Stamp) error
	describe(c *Config) // sets the places and scale of the parts
	close()
}

// coding is an encoder of FFmpeg with the canvas that it encodes.
type coding struct {
	composer
	canvas *av.Canvas
	codec  *astiav.Codec
	enc    *astiav.CodecContext
	pkt    *astiav.Packet
	n      int64 // pictures encoded
}

// begin makes the canvas, with the colours of f, and an encoder for the caller to open.
func (p *coding) begin(name string, f pipeline.Format, threads int) (err error) {
	f.Layout = pipeline.YUV420P
	f.Width, f.Height = p.size()
	if p.canvas, err = av.NewCanvas(f); err != nil {
		return err
	}
	if p.codec = astiav.FindEncoderByName(name); p.codec == nil {
		return errors.New("this build has no " + name)
	}
	p.enc, p.pkt = astiav.AllocCodecContext(p.codec), astiav.AllocPacket()
	if p.enc == nil || p.pkt == nil {
		return errors.New("out of memory")
	}
	p.enc.SetWidth(f.Width)
	p.enc.SetHeight(f.Height)
	p.enc.SetPixelFormat(astiav.PixelFormatYuv420P)
	if threads == 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	p.enc.SetThreadCount(min(threads, maxThreads))
	p.enc.SetThreadType(astiav.ThreadTypeSlice)
	return nil
}

func (p *coding) draw(original, filtered *pipeline.Frame, s Stamp) error {
	if err := p.canvas.MakeWritable(); err != nil {
		return err
	}
	return p.compose(p.canvas, original, filtered, s)
}

// encode encodes the canvas into p.pkt.
func (p *coding) encode() error {
	p.canvas.Frame.SetPts(p.n)
	p.n++
	if err := p.enc.SendFrame(p.canvas.Frame); err != nil {
		return err
	}
	return p.enc.ReceivePacket(p.pkt)
}

func (p *coding) config() *Config {
	f := p.canvas.View.Format
	c := &Config{CodedWidth: f.Width, CodedHeight: f.Height}
	p.describe(c)
	return c
}

func (p *coding) close() {
	if p.enc != nil {
		p.enc.Free()
	}
	if p.pkt != nil {
		p.pkt.Free()
	}
	p.canvas.Close()
	p.composer.close()
}
