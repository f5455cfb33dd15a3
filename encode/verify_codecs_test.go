package encode_test

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/video"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// film makes an input of pictures and a tone.
func film(t *testing.T, name string, args ...string) *rig {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	list := []string{"-v", "fatal", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=64x48:r=25:d=0.48", "-f", "lavfi", "-i", "sine=r=48000:d=0.48"}
	program(t, "ffmpeg", append(append(list, args...), path)...)
	return newRigOf(t, path)
}

// codecs are the encoder names of a file's streams.
type codecs struct{ video, audio, text string }

// film makes an input of one stream each and, behind the last video, the one that is filtered.
func (c codecs) film(t *testing.T, name string) *rig {
	t.Helper()
	srt := filepath.Join(t.TempDir(), "in.srt")
	e2e.Put(t, srt, []byte("1\n00:00:00,100 --> 00:00:00,300\nA line\n\n2\n00:00:00,310 --> 00:00:00,400\nAnother one\n\n"))
	args := []string{"-i", srt, "-pix_fmt", "yuv420p", "-threads", "1", "-strict", "-2", "-x265-params", "log-level=none"}
	c.video += " libx264"
	c.each(func(stream, encoder string) {
		source := map[byte]string{'v': "0", 'a': "1:a", 's': "2"}[stream[0]]
		disposition := "0"
		if encoder == "libx264" {
			disposition = "default"
		}
		args = append(args, "-map", source, "-c:"+stream, encoder, "-disposition:"+stream, disposition)
	})
	return film(t, name, args...)
}

// each names streams as the ffmpeg program does.
func (c codecs) each(do func(stream, encoder string)) {
	for i, kind := range []string{"v", "a", "s"} {
		for n, encoder := range strings.Fields([]string{c.video, c.audio, c.text}[i]) {
			do(fmt.Sprintf("%s:%d", kind, n), encoder)
		}
	}
}

// Each codec that is compared is altered in turn.
func TestVerifyComparesCodecs(t *testing.T) {
	for format, c := range map[string]codecs{
		"matroska": {
			"mpeg1video mpeg2video mpeg4 mjpeg png libvpx ffv1 libx265",
			"aac mp2 libmp3lame ac3 eac3 dca flac alac libvorbis libopus pcm_s16le",
			"srt ass",
		},
		"mpegts": {"", "aac mp2 libmp3lame ac3 eac3 dca", ""},
		"mov":    {"libx265", "aac mp2 pcm_s16le", "mov_text"},
	} {
		r := c.film(t, "in."+map[string]string{"matroska": "mkv", "mpegts": "ts", "mov": "mov"}[format])
		out := finished(t, r, format)
		whole := e2e.Read(t, r.path)
		c.each(func(stream, encoder string) {
			rewrite(t, r.path, format, "-bsf:"+stream, "noise=amount=9")
			if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) || !strings.Contains(err.Error(), "is not what was written") {
				t.Errorf("%s in %s: %v", encoder, format, err)
			}
			e2e.Put(t, r.path, whole)
		})
	}
}

// Each codec of --codec is written, read back and found whole, and damage to it is noticed.
func TestVerifyOwnCodecs(t *testing.T) {
	for _, c := range []struct{ encoder, preset, format string }{
		{"libx265", "ultrafast", "mp4"}, {"libx265", "ultrafast", "mpegts"}, {"libsvtav1", "12", "mp4"}, {"libsvtav1", "12", "matroska"},
		{"libsvtav1", "12", "webm"}, {"prores_ks", "lt", "mov"}, {"prores_ks", "hq", "matroska"}, {"prores_ks", "hq", "mxf"},
		{"dnxhd", "sq", "mov"}, {"dnxhd", "hqx", "matroska"}, {"dnxhd", "lb", "mxf"}, {"ffv1", "", "mov"},
	} {
		t.Run(c.encoder+"-"+c.format, func(t *testing.T) {
			r := newRig(t)
			out := r.create(t, encode.Options{Format: c.format, Encoder: c.encoder, Preset: c.preset, CRF: video.CodecOf(c.encoder).CRF})
			if n, err := r.copyVerified(out); err != nil || n != 12 {
				t.Fatalf("%d frames, %v", n, err)
			}
			if c.format == "mxf" || c.format == "mov" {
				return // ffmpeg does not copy these with noise
			}
			rewrite(t, r.path, c.format, "-bsf:v", "noise=amount=9")
			if err := out.Verify(); !errors.Is(err, encode.ErrDamaged) {
				t.Errorf("noise in the packets: %v", err)
			}
		})
	}
}

// Videos shorter than an encoder's delay are whole, and the same in every run.
func TestShortVideos(t *testing.T) {
	input := filepath.Join(t.TempDir(), "in.mkv")
	program(t, "ffmpeg", "-v", "fatal", "-nostdin", "-f", "lavfi", "-i", "testsrc2=s=256x128:r=25:d=0.16", "-c:v", "ffv1", input)
	for _, c := range []struct{ encoder, preset, pixels, formats string }{
		{"libx264", "veryfast", "", "mp4 mov matroska mpegts"},
		{"libx265", "ultrafast", "", "mp4 mov matroska mpegts"},
		{"libx265", "ultrafast", "yuv420p10le", "mp4 mov matroska mpegts"},
		{"libsvtav1", "12", "", "mp4 matroska"},
		{"ffv1", "", "", "mov matroska"},
		{"prores_ks", "lt", "", "mov matroska"},
		{"dnxhd", "sq", "", "mov matroska"},
	} {
		for i, format := range strings.Fields(c.formats) {
			for n := range int64(4) {
				var before []byte
				for run := range 2 {
					r := newRigWith(t, input, decode.Options{Threads: 1, Frames: n + 1})
					out := r.create(t, encode.Options{
						Format: format, Encoder: c.encoder, Preset: c.preset, CRF: video.CodecOf(c.encoder).CRF, PixelFormat: c.pixels, Threads: 1 + 3*(i%2),
					})
					got, err := r.copyVerified(out)
					if err != nil || int64(got) != n+1 {
						t.Errorf("%d pictures of %s %s in %s: %d pictures, %v", n+1, c.encoder, c.pixels, format, got, err)
					}
					now := e2e.Read(t, r.path)
					if run > 0 && format != "matroska" && !bytes.Equal(before, now) { // which gets a random number
						t.Errorf("%d pictures of %s %s in %s differ from run to run", n+1, c.encoder, c.pixels, format)
					}
					if before = now; c.encoder != "libx265" || n > 1 {
						break
					}
				}
			}
		}
	}
}

// Payloads that muxers rewrite are not damage.
func TestVerifyTakesOtherForms(t *testing.T) {
	for _, c := range []struct {
		input, format string
		sound         []string
	}{
		{"in.mp4", "mp4", []string{"-c:a", "eac3"}},
		{"in.mov", "mov", []string{"-c:a", "eac3"}},
		{"in.mkv", "mov", []string{"-c:a", "pcm_s16le"}}, // cut into other packets
		{"in.mkv", "mpegts", []string{"-c:a", "libopus"}},
		// channel layout in the frames
		{"in.mp4", "mpegts", []string{"-c:a", "aac", "-af", "aformat=channel_layouts=quad"}},
	} {
		r := film(t, c.input, c.sound...)
		finished(t, r, c.format)
		if len(r.said) > 0 {
			t.Errorf("%+v: said %q", c, r.said)
		}
	}
}

// x265 crashes on small pictures of some widths, unless cutree is off.
func TestNarrowHEVC(t *testing.T) {
	for _, c := range []struct{ size, format string }{{"34x16", "yuv444p"}, {"40x24", "yuv422p"}, {"48x18", "gbrp"}, {"48x24", "gray"}, {"40x16", "yuv420p"}} {
		path := filepath.Join(t.TempDir(), "in.mkv")
		program(t, "ffmpeg", "-v", "fatal", "-f", "lavfi", "-i", "testsrc2=r=25:d=2:s="+c.size, "-pix_fmt", c.format, "-c:v", "ffv1", path)
		r := newRigWith(t, path, decode.Options{Threads: 1, Layouts: pipeline.Layout.Valid})
		out := r.changed(t, encode.Options{Format: "matroska", Encoder: "libx265", Preset: "ultrafast", CRF: -1}, func(int, *pipeline.Frame) {})
		if out.Frames() != 50 {
			t.Errorf("%s %s: %d frames", c.size, c.format, out.Frames())
		}
	}
}
