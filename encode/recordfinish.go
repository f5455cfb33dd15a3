package encode

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/asticode/go-astiav"
)

// Finish makes the file that was asked for of what was recorded, without coding it again: it is written under
// another name, checked, and renamed. The recording file goes then; after an error, which says where it is, it stays.
// It may take as long as copying the file takes; ctx ends that.
func (r *Recorder) Finish(ctx context.Context) error {
	if r.done && r.err == nil {
		return nil
	}
	if err := r.over(); err != nil {
		return err
	}
	if r.out == nil {
		return refusal("", "recording to %q: there was no picture", r.target.name)
	}
	if err := r.flush(ctx); err != nil {
		r.stop(err)
		return r.err
	}
	r.done = true
	r.bytes.Store(r.out.Bytes())
	frames := r.out.frames
	r.out.Close()
	if err := r.copy(ctx, frames); err != nil {
		_ = r.target.Discard()
		r.err = r.leave(r.target.Explain(err))
		return r.err
	}
	if err := os.Remove(r.file.Name()); err != nil {
		r.opts.Warn("%v", outputError("remove", r.file.Name(), bare(err)))
	}
	return nil
}

// copy writes the target.
func (r *Recorder) copy(ctx context.Context, frames int64) error {
	in := astiav.AllocFormatContext()
	if in == nil {
		return errors.New("encode: out of memory")
	}
	if err := in.OpenInput("file:"+r.file.Name(), nil, nil); err != nil {
		return fmt.Errorf("%w: read the recording: %w", ErrOutput, err) // FFmpeg has freed it
	}
	defer in.Free()
	defer in.CloseInput()
	if err := in.FindStreamInfo(nil); err != nil {
		return fmt.Errorf("%w: read the recording: %w", ErrOutput, err)
	}
	out, err := Create("file:"+r.target.Path(), Template{Context: in, Video: in.Streams()[0]}, r.options(r.format))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := copyVideo(ctx, in, out); err != nil {
		return err
	}
	if out.written != frames {
		return fmt.Errorf("%w: %d frames were recorded and %d can be read", ErrDamaged, frames, out.written)
	}
	if err := out.Finish(ctx); err != nil {
		return err
	}
	if err := out.Verify(); err != nil {
		return err
	}
	return r.target.Commit()
}

// copyVideo writes all packets of in, whose only stream is the video.
func copyVideo(ctx context.Context, in *astiav.FormatContext, out *Output) error {
	p := astiav.AllocPacket()
	if p == nil {
		return errors.New("encode: out of memory")
	}
	defer p.Free()
	for n := 0; ; n++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := in.ReadFrame(p)
		if errors.Is(err, astiav.ErrEof) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: read the recording: %w", ErrOutput, err)
		}
		if n == 0 {
			err = out.BeginCopy(p.Pts())
		}
		if err == nil {
			err = out.WriteVideo(p)
		}
		p.Unref()
		if err != nil {
			return err
		}
	}
}
