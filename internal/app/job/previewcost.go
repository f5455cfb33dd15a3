package job

import (
	"context"
	"slices"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/internal/stages"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// Costs are measured in a strip of every second sample, as high as the picture and in another place
// each time, since parts of many pictures are as good a sample as fewer whole ones.
const (
	eachStrip   = 2   // distance of measured samples
	eachWhole   = 3   // the same if pictures stay whole
	stripPart   = 8   // of the width
	stripLeast  = 256 // pixels
	stripFrames = 20  // that are coded: of fewer, the sizes are too small
)

// measureCost adds the job's cost for frames of a passage, the i-th of n.
func (p *previewer) measureCost(ctx context.Context, o *Options, from *passage, sum *cost, i, n int) error {
	full, each := from.frames[0].Width, eachStrip
	width := max(stripLeast, full/stripPart&^15)
	if width > full || o.bound() {
		width, each = full, eachWhole
	}
	if i%each != 0 {
		return nil
	}
	i, n = i/each, (n+each-1)/each
	frames, coded, err := p.strips(o, from, (full-width)*(2*i+1)/(2*n)&^15, width)
	defer func() { releaseAll(frames) }()
	if err != nil {
		return err
	}
	to := &taker{codes: true}
	if _, err := p.run(ctx, o, from, frames, to); err != nil {
		return err
	}
	c := to.cost.times(float64(full) / float64(width))
	c.frames = coded
	c.decode = time.Duration(float64(from.decode) / float64(max(1, from.read)) * float64(coded))
	*sum = sum.with(c)
	return nil
}

// strips returns parts of the frames up to the one of the moment, and how many of them the job
// codes. The job reads the others around them.
func (p *previewer) strips(o *Options, from *passage, x, width int) (all []*pipeline.Frame, coded int, err error) {
	end := min(max(from.target+1, stripFrames), len(from.frames))
	first, w := max(0, end-stripFrames), o.window()
	if o.mayRetime() { // all that are read are coded
		w = pipeline.Window{}
	}
	for k := max(0, first-w.Before); k < min(end+w.After, len(from.frames)); k++ {
		f := from.frames[k]
		if f.Format != from.frames[first].Format {
			continue
		}
		s, err := p.strip(f, x, width)
		if err != nil {
			return all, coded, err
		}
		if s.Context = k < first || k >= end; !s.Context {
			coded++
		}
		all = append(all, s)
	}
	return all, coded, nil
}

// bound reports whether a part of the picture is not filtered and coded as in the whole picture.
func (o *Options) bound() bool {
	return o.Bitrate > 0 || slices.ContainsFunc(o.filters(), func(s kernels.Stage) bool {
		_, bound := s.(stages.Stage)
		return bound
	})
}

// strip copies a part of a frame, without its properties, such as alpha.
func (p *previewer) strip(f *pipeline.Frame, x, width int) (*pipeline.Frame, error) {
	left, format := f.Format, f.Format
	left.Width, format.Width = x, width
	s, err := p.pool.TakeFrame(format, nil)
	if err != nil {
		return nil, err
	}
	s.PTS, s.Duration, s.Video = f.PTS, f.Duration, f.Video
	s.Interlaced, s.TopFieldFirst, s.Quantiser = f.Interlaced, f.TopFieldFirst, f.Quantiser
	for i, y := range s.Rows() {
		from := 0
		if x > 0 {
			from, _ = left.PlaneSize(i)
		}
		copy(s.Row(i, y), f.Row(i, y)[from:])
	}
	return s, nil
}

// cost is the time and size of frames in a job.
type cost struct {
	frames                 int // of the input
	key, other             coded
	decode, filter, encode time.Duration
}

// coded counts an encoder's packets.
type coded struct {
	packets int
	bytes   int64
}

func (c coded) with(o coded) coded { return coded{c.packets + o.packets, c.bytes + o.bytes} }

func (c coded) times(x float64) coded { return coded{c.packets, int64(x * float64(c.bytes))} }

func (c coded) mean() float64 { return float64(c.bytes) / float64(max(1, c.packets)) }

// add counts a packet.
func (c *cost) add(p *astiav.Packet) error {
	to := &c.other
	if p.Flags().Has(astiav.PacketFlagKey) {
		to = &c.key
	}
	*to = to.with(coded{1, int64(p.Size())})
	return nil
}

func (c cost) with(o cost) cost {
	return cost{c.frames + o.frames, c.key.with(o.key), c.other.with(o.other), c.decode + o.decode, c.filter + o.filter, c.encode + o.encode}
}

// times returns the cost of a larger picture.
func (c cost) times(x float64) cost {
	c.key, c.other = c.key.times(x), c.other.times(x)
	c.filter, c.encode = time.Duration(x*float64(c.filter)), time.Duration(x*float64(c.encode))
	return c
}

// keyDistance is the usual distance between keyframes.
const keyDistance = 250

// whole estimates the cost of a whole job. On the CPU the stages share the cores.
func (c cost) whole(p *Preview, b kernels.Backend) (j PreviewJob) {
	if c.frames == 0 || p.Frames == 0 {
		return j
	}
	frame := c.decode + c.filter + c.encode
	if _, onGPU := b.(holder); onGPU {
		frame = max(c.filter, c.decode+c.encode)
	}
	j.Time = time.Duration(float64(frame) / float64(c.frames) * float64(p.Frames))
	packets := float64(p.Frames) * float64(c.key.packets+c.other.packets) / float64(c.frames)
	keys := 1 + packets/keyDistance
	if c.other.packets == 0 { // of an encoder with keyframes alone
		keys = packets
	}
	j.Bytes = int64(c.key.mean()*keys + c.other.mean()*max(0, packets-keys))
	return j
}
