// Package encode writes files: frames are encoded, all other streams of the input are copied as
// they are, and the file takes its final name once it is complete and checked.
package encode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/mux"
	"vidfilter/encode/spec"
	"vidfilter/encode/target"
	"vidfilter/encode/video"
	"vidfilter/internal/av"
	"vidfilter/internal/contract"
	"vidfilter/internal/fidelity"
	"vidfilter/internal/hint"
	"vidfilter/pipeline"
)

// Options of Create.
type Options = spec.Options

// Template describes the input of an output.
type Template = spec.Template

// Source is an input, such as a decode.Input.
type Source interface {
	Context() *astiav.FormatContext
	Video() *astiav.Stream
	Others() []*astiav.Stream
	Shift() int64
	Part() (start, end int64)
	Facts() fidelity.Facts
	Look() *fidelity.Look
}

// TemplateOf returns the template of an output that keeps the streams and metadata of an input.
// Options of the input that leave out frames also need Template.Cut.
func TemplateOf(in Source) Template {
	start, end := in.Part()
	return Template{
		Context: in.Context(), Video: in.Video(), Others: in.Others(),
		Shift: in.Shift(), Start: start, End: end, Facts: in.Facts, Look: in.Look,
	}
}

// Output writes one file: a pipeline.Sink for frames, and WritePacket for the other streams. Its
// coder codes the frames, and its muxer writes the packets.
type Output struct {
	spec   *spec.Spec
	coder  *video.Coder
	mux    *mux.Muxer
	joined bool           // parts are joined
	order  mux.Order      // of their packets
	found  fidelity.Facts // in the finished file

	paced atomic.Pointer[float64] // Spec.Pace
	from  atomic.Int64            // time of the first frame, microseconds
	time  atomic.Int64            // end of the last frame put, microseconds
}

// Create prepares an output at path; "pipe:1" and the like mean the same as for FFmpeg. The first
// frame opens the file and writes its header. Close frees the output; only Finish completes the
// file.
func Create(path string, in Template, o Options) (*Output, error) {
	s := spec.New(in, o)
	m, err := mux.New(s, path)
	if err != nil {
		return nil, err
	}
	return &Output{spec: s, coder: video.New(s, m.WriteVideo), mux: m}, nil
}

// Frames returns how many frames of the video were put or, if encoded before, written.
func (o *Output) Frames() int64 { return o.spec.Frames }

// Bytes returns the size written so far; safe from any goroutine.
func (o *Output) Bytes() int64 { return o.mux.Bytes() }

// Time returns the length of the video so far; safe from any goroutine.
func (o *Output) Time() time.Duration {
	return time.Duration(o.time.Load()-o.from.Load()) * time.Microsecond
}

// Damage counts faults of packets on their way out, by their names in messages.
func (o *Output) Damage() map[string]int64 { return o.mux.Damage() }

// Close frees everything. The file remains; without Finish it is incomplete.
func (o *Output) Close() {
	o.coder.Close()
	o.mux.Close()
}

// Fits reports whether a picture of this size can be encoded with the output's options.
func (o *Output) Fits(width, height int) error { return o.coder.Fits(width, height) }

// Put encodes a frame, which it takes. The first one fixes size, format and colour of the video.
func (o *Output) Put(ctx context.Context, f *pipeline.Frame) error {
	if !o.coder.IsOpen() {
		err := o.start(f, func() error { return nil })
		if at := o.spec.Micros(f.PTS); err == nil && at < 0 && o.spec.MP4() {
			err = target.Refusal("write .mkv, which keeps it, or delay the sound instead",
				"the filters put the first picture at %.3f s, and %s shows none before the beginning", float64(at)/1e6, o.spec.Format)
		}
		if err != nil {
			f.Release()
			return err
		}
		o.from.Store(o.spec.Micros(f.PTS))
	}
	if o.spec.Frames > 0 && o.spec.IsPicture() {
		f.Release()
		return target.Refusal("give --frames 1 and no filter that makes more pictures of one, or the name of a video file",
			"%s holds one picture, and there are more", o.spec.Format)
	}
	o.time.Store(o.spec.Micros(f.PTS + f.Duration))
	return o.coder.Put(ctx, f)
}

// start opens the encoder and the file. described is called before the header.
func (o *Output) start(f *pipeline.Frame, described func() error) error {
	if err := o.coder.Open(f); err != nil {
		return err
	}
	o.paced.Store(&o.spec.Pace)
	return o.mux.Start(f.PTS, av.Timecode(f), func() error {
		if err := o.mux.Describe(f, o.coder.Coded(f)); err != nil {
			return err
		}
		return described()
	})
}

// WritePacket writes a packet of another stream, which it borrows. It may run beside Put.
func (o *Output) WritePacket(p *astiav.Packet) error { return o.mux.WritePacket(p) }

// Finish flushes the encoder and writes the trailer. The file is then complete, under its present
// name.
func (o *Output) Finish(ctx context.Context) error {
	if !o.mux.Opened() {
		return target.Refusal("", "there is no frame to write")
	}
	if !o.spec.Precoded {
		if err := o.coder.Finish(ctx); err != nil {
			return err
		}
	}
	return o.mux.Finish()
}

// Verify is mux.Muxer.Verify. Its error wraps ErrDamaged.
func (o *Output) Verify() (err error) {
	if o.found, err = o.mux.Verify(o.coder.Mixed()); err != nil {
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return nil
}

// Found returns the facts of the finished file, once Verify has returned without an error.
func (o *Output) Found() fidelity.Facts { return o.found }

// Told returns the losses that warnings and options have announced.
func (o *Output) Told() fidelity.Told {
	told := slices.Clone(o.spec.Told)
	o.spec.Params.Tell(&told)
	o.spec.EncoderParams.Tell(&told)
	return told
}

// NotKept returns the parts of the input's video beside its pictures that the output lacks: extras,
// and the parts that its codec or container has no place for. It is known after the last frame.
func (o *Output) NotKept(extras []string) []string {
	lost := spec.Losses(slices.DeleteFunc(slices.Clone(extras), o.coder.Kept))
	for _, name := range o.spec.Lost {
		lost.Add(name)
	}
	return lost
}

// Fields reports which pictures were put: progressive, top field first, bottom field first.
func (o *Output) Fields() [3]bool { return o.coder.FieldKinds() }

// HasChapter reports whether the output has a chapter of this title.
func (o *Output) HasChapter(title string) bool { return o.mux.HasChapter(title) }

// Turned returns the filters' changes to the shape of pictures, as Look.Turned, once the first
// frame was put.
func (o *Output) Turned() []string { return o.spec.Turned }

// Pace returns how many frames are put for each of the input, by their rates; safe from any
// goroutine.
func (o *Output) Pace() float64 {
	if p := o.paced.Load(); p != nil {
		return *p
	}
	return 1
}

// ErrDamaged is wrapped by the errors of Verify: the file is finished and wrong.
var ErrDamaged = contract.NewClass(contract.ExitDamaged, "output not verified")

// ErrCut is wrapped by the error of a container that cannot hold the streams to be cut out.
var ErrCut = errors.New("the container cannot hold the streams")

// PartsErrorf returns the reason why parts cannot be joined to a video.
func PartsErrorf(format string, args ...any) error {
	return hint.Errorf("make all parts with the same options, of one source, or filter it whole", "join: "+format, args...)
}
