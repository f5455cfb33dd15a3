package encode_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"vidfilter/decode"
	"vidfilter/encode"
	"vidfilter/internal/av"
	"vidfilter/internal/units"
	"vidfilter/internal/units/unitstest"
	"vidfilter/pipeline"
)

// unitsOf decodes a file and returns the units of each frame.
func unitsOf(t *testing.T, path string) (all [][]units.Unit) {
	t.Helper()
	r := newRigWith(t, path, decode.Options{Threads: 3, Layouts: pipeline.Layout.Valid})
	in := r.in
	for {
		f, err := in.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, av.Units(f))
		f.Release()
	}
	if d := in.Damage().Counts(); len(d) > 0 {
		t.Errorf("%s: %v", path, d)
	}
	return all
}

// coded encodes the sample with units of each kind.
func coded(t *testing.T, o encode.Options) (path string, lost []string) {
	t.Helper()
	r := newRig(t)
	out := r.create(t, o)
	for n := 0; ; n++ {
		f, err := r.in.Next(context.Background())
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		f.Props().(*av.Props).Units = unitstest.All(n)
		if err := out.Put(context.Background(), f); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Finish(context.Background()); err != nil {
		t.Fatal(err)
	}
	if err := out.Verify(); err != nil {
		t.Error(err)
	}
	return r.path, out.NotKept(nil)
}

// Units of each kind come out with the picture that they came with, for every encoder and
// container, or are named.
func TestUnits(t *testing.T) {
	for _, c := range []struct{ encoder, preset, format, lost string }{
		{"libx264", "veryfast", "mp4", "[timecodes of pictures Dolby Vision]"},
		{"libx264", "veryfast", "mpegts", "[timecodes of pictures Dolby Vision]"},
		{"libx265", "ultrafast", "mp4", "[]"},
		{"libx265", "ultrafast", "matroska", "[]"},
		{"libx265", "ultrafast", "mpegts", "[]"},
		{"libsvtav1", "12", "mp4", "[alternative transfer film grain parameters]"},
		{"libsvtav1", "12", "matroska", "[alternative transfer ambient viewing film grain parameters]"},
		{"ffv1", "", "matroska", "[HDR10+ HDR Vivid closed captions active format alternative transfer ambient viewing timecodes of pictures film grain parameters Dolby Vision]"},
	} {
		t.Run(c.encoder+" "+c.format, func(t *testing.T) {
			path, lost := coded(t, encode.Options{Format: c.format, Encoder: c.encoder, Preset: c.preset, GOP: 5, CRF: -1})
			if got := fmt.Sprint(lost); got != c.lost {
				t.Errorf("not kept: %v instead of %v", got, c.lost)
			}
			stream := units.StreamOf(map[string]string{"libx264": "h264", "libx265": "hevc", "libsvtav1": "av1"}[c.encoder], nil)
			frames := unitsOf(t, path)
			if len(frames) != 12 {
				t.Fatalf("%d frames", len(frames))
			}
			for n, got := range frames {
				want := slices.DeleteFunc(unitstest.All(n), func(u units.Unit) bool { return !stream.Carries(u.Kind) })
				for _, k := range differing(got, want) {
					t.Errorf("frame %d: %v differs", n, k)
				}
			}
		})
	}
}

// differing returns the kinds of units that only one of two lists has, or in another form.
func differing(a, b []units.Unit) (kinds []units.Kind) {
	for _, pair := range [][2][]units.Unit{{a, b}, {b, a}} {
		for _, u := range pair[0] {
			same := func(v units.Unit) bool { return v.Kind == u.Kind && bytes.Equal(v.Payload, u.Payload) }
			if !slices.ContainsFunc(pair[1], same) {
				kinds = append(kinds, u.Kind)
			}
		}
	}
	if len(a) != len(b) && kinds == nil {
		return []units.Kind{0}
	}
	return kinds
}
