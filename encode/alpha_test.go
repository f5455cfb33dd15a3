package encode_test

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// alphaOf returns the alpha of a frame as the encoder gets it.
func alphaOf(t *testing.T, f *pipeline.Frame) []byte {
	t.Helper()
	picture, err := av.Wrap(f.Retain())
	e2e.Must(t, err)
	defer picture.Free()
	e2e.Must(t, av.SetAlpha(picture, f, av.WithAlpha(f.Layout)))
	all, err := picture.Data().Bytes(1)
	e2e.Must(t, err)
	return all[len(all)-f.Width*f.Height*f.Layout.Info().SampleBytes():]
}

// Alpha of 12 bits, which ProRes decodes to, is in FFV1's file, and may outlive the frames.
func TestAlphaOf12Bits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "in.mov")
	program(t, "ffmpeg", "-v", "fatal", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.2", "-vf", "format=rgba,colorchannelmixer=aa=0.3:ar=0.4",
		"-c:v", "prores_ks", "-profile:v", "4444", "-pix_fmt", "yuva444p10le", path)
	options := decode.Options{Threads: 1, Frames: 12, Layouts: pipeline.Layout.Valid}
	r := newRigWith(t, path, options)
	out := r.create(t, encode.Options{Format: "matroska", Encoder: "ffv1", CRF: -1})
	ctx := context.Background()
	var want [][]byte
	for {
		f, err := r.in.Next(ctx)
		if err == io.EOF {
			break
		}
		e2e.Must(t, err)
		other, err := r.pool.TakeFrame(f.Format, nil)
		e2e.Must(t, err)
		other.CopyTiming(f)
		other.CopySamples(f)
		f.Release()
		want = append(want, alphaOf(t, other))
		e2e.Must(t, out.Put(ctx, other))
	}
	e2e.Must(t, out.Finish(ctx))
	again := newRigWith(t, r.path, options)
	for i := range want {
		f := again.next(t)
		if f.Layout != pipeline.YUV444P.At(12) || !bytes.Equal(alphaOf(t, f), want[i]) {
			t.Errorf("frame %d, %v: the alpha differs", i, f)
		}
		f.Release()
	}
	if len(want) == 0 {
		t.Error("no frames")
	}
}
