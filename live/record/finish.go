package record

import (
	"context"
	"errors"
	"fmt"

	"github.com/asticode/go-astiav"

	"vidfilter/encode"
	"vidfilter/encode/target"
)

// Finish makes the file from the recording without encoding again, under a temporary name, checks
// it, and renames it. Then it removes the recording file; an error names the file, which stays.
// Finish takes as long as copying the file; ctx cancels it.
func (r *Recorder) Finish(ctx context.Context) error {
	if r.done && r.err == nil {
		return nil
	}
	if err := r.over(); err != nil {
		return err
	}
	if r.out == nil {
		return target.Refusal("", "record to %q: there was no picture", r.target.Name())
	}
	if err := r.flush(ctx); err != nil {
		r.stop(err)
		return r.err
	}
	r.done = true
	r.bytes.Store(r.out.Bytes())
	frames := r.out.Frames()
	r.out.Close()
	if err := r.copy(ctx, frames); err != nil {
		_ = r.target.Discard()
		r.err = r.leave(r.target.Explain(err))
		return r.err
	}
	if err := r.remove(); err != nil {
		r.opts.Log.Warn(err.Error())
	}
	return nil
}

// copy writes the target.
func (r *Recorder) copy(ctx context.Context, frames int64) error {
	in := astiav.AllocFormatContext()
	if in == nil {
		return errors.New("record: out of memory")
	}
	if err := in.OpenInput("file:"+r.file.Name(), nil, nil); err != nil {
		return fmt.Errorf("%w: read the recording: %w", target.ErrOutput, err) // FFmpeg freed in
	}
	defer in.Free()
	defer in.CloseInput()
	if err := in.FindStreamInfo(nil); err != nil {
		return fmt.Errorf("%w: read the recording: %w", target.ErrOutput, err)
	}
	out, err := encode.Create("file:"+r.target.Path(), encode.Template{Context: in, Video: in.Streams()[0], Others: in.Streams()[1:]}, r.options(r.format))
	if err != nil {
		return err
	}
	defer out.Close()
	if err := r.copyPackets(ctx, in, out); err != nil {
		return err
	}
	if out.Frames() != frames {
		return fmt.Errorf("%w: %d frames were recorded and %d can be read", encode.ErrDamaged, frames, out.Frames())
	}
	if err := out.Finish(ctx); err != nil {
		return err
	}
	if err := out.Verify(); err != nil {
		return err
	}
	return r.target.Commit()
}

// copyPackets writes all packets of in, whose first stream is the video. If pictures are
// reordered, MP4 lacks the duration of the last one shown, on which the end of the file depends.
func (r *Recorder) copyPackets(ctx context.Context, in *astiav.FormatContext, out *encode.Output) error {
	p := astiav.AllocPacket()
	if p == nil {
		return errors.New("record: out of memory")
	}
	defer p.Free()
	var first int64
	for begun := false; ; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err := in.ReadFrame(p)
		if errors.Is(err, astiav.ErrEof) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%w: read the recording: %w", target.ErrOutput, err)
		}
		if p.StreamIndex() != 0 {
			err = out.WritePacket(p)
			p.Unref()
			if err != nil {
				return err
			}
			continue
		}
		if !begun {
			begun, first = true, p.Pts()
			err = out.BeginCopy(first)
		}
		if p.Pts()-first == r.last {
			p.SetDuration(r.lastLength())
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
