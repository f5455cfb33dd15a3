package encode_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/encode/video"
	"vidfilter/internal/av"
	"vidfilter/internal/e2e"
	"vidfilter/internal/units"
	"vidfilter/internal/units/unitstest"
	"vidfilter/pipeline"
)

// unitsOf decodes a file and returns the units of each frame.
func unitsOf(t *testing.T, path string) (all [][]units.Unit) {
	t.Helper()
	r := newRigWith(t, path, decode.Options{Threads: 3, Layouts: pipeline.Layout.Valid})
	r.each(t, func(f *pipeline.Frame) { all = append(all, av.Units(f)) })
	if d := r.in.Damage().Counts(); len(d) > 0 {
		t.Errorf("%s: %v", path, d)
	}
	return all
}

// coded encodes an input with the given units of each frame; nil keeps the input's own.
func coded(t *testing.T, input string, o encode.Options, of func(n int) []units.Unit) (path string, lost []string) {
	t.Helper()
	r := newRigWith(t, input, decode.Options{Threads: 1, Frames: 12, Layouts: pipeline.Layout.Valid})
	out := r.changed(t, o, func(n int, f *pipeline.Frame) {
		if of != nil {
			f.Props().(*av.Props).Units = of(n)
		}
	})
	return r.path, out.NotKept(nil)
}

// Units of each kind come out with their picture, for every encoder and container, or are reported
// as lost.
func TestUnits(t *testing.T) {
	for _, c := range []struct{ encoder, preset, format, lost string }{
		{"libx264", "veryfast", "mp4", "[Dolby Vision]"},
		{"libx264", "veryfast", "mpegts", "[Dolby Vision]"},
		{"libx265", "ultrafast", "mp4", "[]"},
		{"libx265", "ultrafast", "matroska", "[]"},
		{"libx265", "ultrafast", "mpegts", "[]"},
		{"libsvtav1", "12", "mp4", "[alternative transfer film grain parameters]"},
		{"libsvtav1", "12", "matroska", "[alternative transfer ambient viewing film grain parameters]"},
		{"ffv1", "", "matroska", "[Dolby Vision HDR Vivid closed captions active format alternative transfer ambient viewing timecodes of pictures film grain parameters]"},
	} {
		t.Run(c.encoder+" "+c.format, func(t *testing.T) {
			path, lost := coded(t, sample, encode.Options{Format: c.format, Encoder: c.encoder, Preset: c.preset, GOP: 5, CRF: -1, PixelFormat: "yuv420p10le"}, unitstest.All)
			if got := fmt.Sprint(lost); got != c.lost {
				t.Errorf("not kept: %v instead of %v", got, c.lost)
			}
			stream := units.StreamOf(map[string]string{"libx264": "h264", "libx265": "hevc", "libsvtav1": "av1"}[c.encoder], nil)
			frames := unitsOf(t, path)
			if len(frames) != 12 {
				t.Fatalf("%d frames", len(frames))
			}
			for n, got := range frames {
				want := slices.DeleteFunc(unitstest.All(n), func(u units.Unit) bool {
					return !stream.Carries(u.Kind) && (c.encoder != "ffv1" || u.Kind != units.HDR10Plus)
				})
				for _, k := range differing(got, want) {
					t.Errorf("frame %d: %v differs", n, k)
				}
			}
		})
	}
}

// differing returns the kinds of units that only one of two lists has, or in another form.
func differing(a, b []units.Unit) (kinds []units.MetadataKind) {
	for _, pair := range [][2][]units.Unit{{a, b}, {b, a}} {
		for _, u := range pair[0] {
			same := func(v units.Unit) bool { return v.Kind == u.Kind && bytes.Equal(v.Payload, u.Payload) }
			if !slices.ContainsFunc(pair[1], same) {
				kinds = append(kinds, u.Kind)
			}
		}
	}
	if len(a) != len(b) && kinds == nil {
		return []units.MetadataKind{0}
	}
	return kinds
}

// Pictures keep exactly their own units, from codec to codec: decoders repeat HDR10+ on pictures
// without it.
func TestNothingIsMadeUp(t *testing.T) {
	sparse := func(n int) []units.Unit {
		return slices.DeleteFunc(unitstest.All(n), func(u units.Unit) bool {
			everywhere := u.Kind == units.DolbyVision || u.Kind.Lasting()
			return !everywhere && n%4 != int(u.Kind)%4 || u.Kind == units.AlternativeTransfer || u.Kind == units.AmbientViewing || u.Kind == units.FilmGrain || u.Kind == units.FramePacking
		})
	}
	path, of := sample, sparse
	for _, c := range []struct{ encoder, preset, format string }{
		{"libx265", "ultrafast", "matroska"}, {"libsvtav1", "12", "mp4"}, {"libx265", "ultrafast", "mpegts"}, {"libx264", "veryfast", "mp4"},
	} {
		var lost []string
		path, lost = coded(t, path, encode.Options{Format: c.format, Encoder: c.encoder, Preset: c.preset, CRF: -1, PixelFormat: "yuv420p10le"}, of)
		of = nil
		if want := c.encoder == "libx264"; len(lost) > 0 != want {
			t.Errorf("%s: not kept: %v", c.encoder, lost)
		}
		for n, got := range unitsOf(t, path) {
			want := slices.DeleteFunc(sparse(n), func(u units.Unit) bool { return slices.Contains(lost, u.Kind.String()) })
			for _, k := range differing(got, want) {
				t.Errorf("%s, frame %d: %v differs", c.encoder, n, k)
			}
		}
	}
}

// Dolby Vision of profiles 5 and 8 comes out with its record and an RPU for each picture, where
// codec, depth and container support it. Other profiles and losses are reported.
func TestDolbyVision(t *testing.T) {
	for _, c := range []struct {
		profile, compatible            int
		encoder, preset, format, depth string
		want, lost                     string
	}{
		{5, 0, "libx265", "ultrafast", "mp4", "yuv420p10le", "5.0", "[]"},
		{8, 1, "libx265", "ultrafast", "mp4", "yuv420p10le", "8.1", "[]"},
		{8, 4, "libx265", "ultrafast", "matroska", "yuv420p10le", "8.4", "[]"},
		{8, 1, "libsvtav1", "12", "mp4", "yuv420p10le", "10.1", "[]"},
		{5, 0, "libsvtav1", "12", "matroska", "yuv420p10le", "10.0", "[]"},
		{8, 1, "libx265", "ultrafast", "mov", "yuv420p10le", "8.1", "[]"},
		{5, 0, "libx265", "ultrafast", "mov", "yuv420p10le", "", "[the record of Dolby Vision]"},
		{8, 1, "libx265", "ultrafast", "mpegts", "yuv420p10le", "", "[the record of Dolby Vision]"},
		{8, 1, "libsvtav1", "12", "webm", "yuv420p10le", "", "[the record of Dolby Vision]"},
		{8, 1, "libx265", "ultrafast", "mp4", "yuv420p", "", "[Dolby Vision]"},
		{8, 1, "libx264", "ultrafast", "mp4", "yuv420p10le", "", "[Dolby Vision]"},
		{7, 6, "libx265", "ultrafast", "mp4", "yuv420p10le", "", "[Dolby Vision profile 7 beyond its base layer]"},
	} {
		t.Run(fmt.Sprintf("%d.%d %s %s %s", c.profile, c.compatible, c.encoder, c.format, c.depth), func(t *testing.T) {
			src, _ := coded(t, sample, encode.Options{Format: "mp4", Encoder: "libx265", Preset: "ultrafast", CRF: -1, PixelFormat: "yuv420p10le"},
				func(n int) []units.Unit {
					return []units.Unit{{Kind: units.DolbyVision, Payload: unitstest.RPU(c.profile, n)}}
				})
			describe(t, src, dolbyBox(c.profile, c.compatible))
			path, lost := coded(t, src, encode.Options{Format: c.format, Encoder: c.encoder, Preset: c.preset, CRF: -1, PixelFormat: c.depth}, nil)
			if got := fmt.Sprint(lost); got != c.lost {
				t.Errorf("not kept: %v instead of %v", got, c.lost)
			}
			if got := dolbyRecord(t, path); got != c.want {
				t.Errorf("the record says %q instead of %q", got, c.want)
			}
			kept := c.want != "" || strings.Contains(c.lost, "record")
			if c.encoder == "libsvtav1" && c.want != "" { // and back
				back, lost := coded(t, path, encode.Options{Format: "mp4", Encoder: "libx265", Preset: "ultrafast", CRF: -1}, nil)
				if got, want := dolbyRecord(t, back), fmt.Sprintf("%d.%d", c.profile, c.compatible); got != want || len(lost) > 0 {
					t.Errorf("the record says %q instead of %q in HEVC; not kept: %v", got, want, lost)
				}
			}
			frames := unitsOf(t, path)
			if len(frames) != 12 {
				t.Errorf("%d frames", len(frames))
			}
			for n, got := range frames {
				if has := len(got) == 1 && bytes.Equal(got[0].Payload, unitstest.RPU(c.profile, n)); has != kept || len(got) > 1 {
					t.Errorf("frame %d: %x", n, got)
				}
			}
		})
	}
}

// dolbyBox is a configuration record.
func dolbyBox(profile, compatible int) []byte {
	box := "dvcC"
	if profile > 7 {
		box = "dvvC"
	}
	return append(append([]byte(box), 1, 0, byte(profile<<1), 1<<3|5, byte(compatible<<4)), make([]byte, 19)...)
}

// describe adds a box to the description of the HEVC track of a file with its index at the end.
func describe(t *testing.T, path string, box []byte) {
	t.Helper()
	mp4, err := os.ReadFile(path)
	e2e.Must(t, err)
	box = append(binary.BigEndian.AppendUint32(nil, uint32(4+len(box))), box...)
	entry := bytes.LastIndex(mp4, []byte("hvc1"))
	end := entry - 4 + int(binary.BigEndian.Uint32(mp4[entry-4:]))
	for _, outer := range []string{"moov", "trak", "mdia", "minf", "stbl", "stsd", "hvc1"} {
		at := bytes.LastIndex(mp4[:entry+4], []byte(outer)) - 4
		binary.BigEndian.PutUint32(mp4[at:], binary.BigEndian.Uint32(mp4[at:])+uint32(len(box)))
	}
	e2e.Must(t, os.WriteFile(path, slices.Insert(mp4, end, box...), 0o600))
}

// dolbyRecord returns profile and compatibility from a file's record, "" without a record.
func dolbyRecord(t *testing.T, path string) string {
	t.Helper()
	e2e.Needs(t, "ffprobe")
	told, err := exec.Command("ffprobe", "-v", "error", "-select_streams", "v:0", "-of", "default=nk=1:nw=1", "-show_entries",
		"stream_side_data=dv_profile,dv_bl_signal_compatibility_id", path).Output()
	e2e.Must(t, err)
	return strings.Join(strings.Fields(string(told)), ".")
}

// An ICC profile is kept in MP4, beside codecs whose pictures have the colour tags, or named.
func TestICC(t *testing.T) {
	src, _ := coded(t, sample, encode.Options{Format: "mp4", Encoder: "libx265", Preset: "ultrafast", CRF: -1}, nil)
	profile := bytes.Repeat([]byte("profile "), 40)
	describe(t, src, append([]byte("colrprof"), profile...))
	for _, c := range []struct {
		encoder, format string
		kept            bool
	}{{"libx264", "mp4", true}, {"libx265", "mov", true}, {"ffv1", "mov", false}, {"libx264", "matroska", false}, {"libx264", "mpegts", false}} {
		path, lost := coded(t, src, encode.Options{Format: c.format, Encoder: c.encoder, CRF: -1}, nil)
		file, err := os.ReadFile(path)
		e2e.Must(t, err)
		if has := bytes.Contains(file, profile); has != c.kept || slices.Contains(lost, "ICC profile") == has {
			t.Errorf("%s in %s: kept %v, not kept: %v", c.encoder, c.format, has, lost)
		}
	}
}

// Encoder parameters override the metadata of the input.
func TestParametersWin(t *testing.T) {
	for encoder, params := range map[string]string{
		"libx264": "mastering-display=G(1,2)B(3,4)R(5,6)WP(7,8)L(90000,10):cll=77,66:pic-struct=1",
		"libx265": "master-display=G(1,2)B(3,4)R(5,6)WP(7,8)L(90000,10):max-cll=77,66",
	} {
		parsed, err := video.CodecOf(encoder).ParseParams(params)
		e2e.Must(t, err)
		path, _ := coded(t, sample, encode.Options{Format: "mp4", Encoder: encoder, EncoderParams: parsed, CRF: -1}, unitstest.All)
		for n, list := range unitsOf(t, path) {
			light := []byte{0, 77, 0, 66}
			if !slices.ContainsFunc(list, func(u units.Unit) bool { return u.Kind == units.ContentLight && bytes.Equal(u.Payload, light) }) {
				t.Errorf("%s, frame %d: not the light level that was asked for", encoder, n)
			}
			for _, u := range list {
				if u.Kind == units.MasteringDisplay && bytes.Equal(u.Payload, unitstest.Mastering()) {
					t.Errorf("%s, frame %d: not the mastering display that was asked for", encoder, n)
				}
			}
		}
	}
}

// The timecode of the first MPEG-2 picture becomes the file's timecode or is reported as lost. A
// timecode that counts from 0 is ignored.
func TestGroupTimecode(t *testing.T) {
	for _, c := range []struct{ args, format, kept, lost string }{
		{"-timecode 01:02:03:04", "mp4", "01:02:03:04", ""},
		{"-timecode 01:02:03:04", "matroska", "01:02:03:04", ""},
		{"-timecode 01:02:03:04", "mov", "01:02:03:04", ""},
		{"-timecode 01:02:03:04", "mpegts", "", "timecodes of pictures"},
		{"-r 30000/1001 -timecode 01:00:59;27", "mp4", "01:00:59;27", ""},
		{"", "matroska", "", ""},
	} {
		path := filepath.Join(t.TempDir(), "in.ts")
		args := "-v fatal -f lavfi -i testsrc2=s=64x48:r=25:d=0.48 -c:v mpeg2video -g 6 -bf 2 " + c.args
		program(t, "ffmpeg", append(strings.Fields(args), path)...)
		r := newRigOf(t, path)
		out := finished(t, r, c.format)
		said := string(program(t, "ffprobe", "-v", "error", "-show_entries", "format_tags=timecode:stream_tags=timecode", "-of", "default=nk=1:nw=1", r.path))
		if got, _, _ := strings.Cut(said, "\n"); got != c.kept || strings.Join(out.NotKept(r.in.Extras()), ", ") != c.lost {
			t.Errorf("%s in %s: %q, not kept: %q", c.args, c.format, got, out.NotKept(r.in.Extras()))
		}
	}
}
