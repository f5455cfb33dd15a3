package decode

//#include "glue.h"
import "C"

import (
	"context"
	"hash/crc32"
	"slices"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/av"
)

// Cut holds the packets that a part of a video needs: from a key frame before it and its lead-in
// to the last packet of its frames and its lead-out, in decode order. It is for one goroutine.
type Cut struct {
	in     *Input
	path   string
	part   Range
	pts    []int64
	dts    []int64
	sums   []uint32
	frames int64 // of the part and around it, so far
}

// OpenCut opens a file as Open does and finds the packets that o.Part needs.
func OpenCut(ctx context.Context, path string, o Options) (_ *Cut, err error) {
	c := &Cut{path: path, part: *o.Part}
	o.onVideo, o.undecoded = c.look, true
	if c.in, err = Open(ctx, path, nil, o); err != nil {
		return nil, err
	}
	if err := c.read(ctx); err != nil {
		c.Close()
		return nil, err
	}
	c.order()
	return c, nil
}

// Close frees the cut. It may be called twice.
func (c *Cut) Close() { c.in.Close() }

// Input returns the open file, which belongs to the cut.
func (c *Cut) Input() *Input { return c.in }

// First returns the decode time of the first packet, in the stream's unit.
func (c *Cut) First() int64 { return c.dts[0] }

// Tag returns the value of CutTag for a file whose times begin at First.
func (c *Cut) Tag() string {
	return cutOrigin{c.First(), c.in.FrameRate(), int(c.in.videoStream().codecpar.video_delay)}.String()
}

// read goes on until all frames have come.
func (c *Cut) read(ctx context.Context) error {
	all := c.part.Read()
	for c.frames < all.Frames {
		if c.in.eof && ctx.Err() == nil {
			return c.in.partError("%d frames lie in %v", c.frames, all)
		}
		if err := c.in.feed(ctx); err != nil {
			return err
		}
	}
	return nil
}

// look records a packet.
func (c *Cut) look(p *astiav.Packet) error {
	if n := (*C.AVPacket)(av.PacketPtr(p)).side_data_elems; n > 0 {
		return &PartError{c.path, "its packets carry more than pictures"}
	}
	c.pts = append(c.pts, p.Pts())
	c.sums = append(c.sums, crc32.ChecksumIEEE(payload(p)))
	if c.part.Read().Holds(p.Pts()) && !p.Flags().Has(astiav.PacketFlagDiscard) {
		c.frames++
	}
	return nil
}

// order gives every packet a decode time.
func (c *Cut) order() {
	times := decodeTimes{delay: reordering(c.pts), first: slices.Min(c.pts), step: c.in.times.step}
	for _, pts := range c.pts {
		c.dts = append(c.dts, times.next(pts))
	}
}

// Copy reads the packets again and passes them, with decode times, to write, which borrows them.
func (c *Cut) Copy(ctx context.Context, write func(*astiav.Packet) error) error {
	at := 0
	c.in.eof, c.frames = false, 0
	c.in.opts.onVideo = func(p *astiav.Packet) error {
		if at == len(c.dts) || p.Pts() != c.pts[at] {
			return c.in.partError("it changed while it was read")
		}
		p.SetDts(c.dts[at])
		at++
		return write(p)
	}
	if err := c.in.seekPart(); err != nil {
		return err
	}
	for at < len(c.dts) {
		if c.in.eof && ctx.Err() == nil {
			return c.in.partError("it changed while it was read")
		}
		if err := c.in.feed(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Check opens the file made of the cut and returns an error unless it holds the same packets,
// times and properties as the source.
func (c *Cut) Check(ctx context.Context, path string) error {
	o := c.in.opts
	got := &Cut{path: path, part: c.part}
	o.onVideo, o.Format = got.look, ""
	in, err := Open(ctx, path, nil, o)
	if err != nil {
		return err
	}
	defer in.Close()
	for !in.eof {
		if err := in.feed(ctx); err != nil {
			return err
		}
	}
	if what := C.vf_differ(c.in.videoStream(), in.videoStream()); what != nil {
		return c.in.partError("a cut loses its %s", C.GoString(what))
	}
	if a, b := c.in.aspect(nil), in.aspect(nil); a != b {
		return c.in.partError("a cut makes its aspect %d:%d of %d:%d", b.Num, b.Den, a.Num, a.Den)
	}
	if a, b := c.in.video.TimeBase().String(), in.video.TimeBase().String(); a != b {
		return c.in.partError("a cut counts in %s s instead of %s s", b, a)
	}
	if !slices.Equal(got.pts, c.pts) {
		return c.in.partError("a cut does not keep its times")
	}
	if !slices.Equal(got.sums, c.sums) {
		return c.in.partError("a cut does not keep its packets")
	}
	return nil
}
