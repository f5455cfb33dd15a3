package mux

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/e2e"
)

// An encoder that swallows a frame is found out, though the file holds all that it gave.
func TestVerifyCountsWhatTheEncoderGave(t *testing.T) {
	m := &Muxer{pictures: pictures{streams: &streams{file: &file{Spec: &spec.Spec{Frames: 12}, written: 11}}}}
	if _, err := m.Verify(false); err == nil || !strings.Contains(err.Error(), "12 frames went into the encoder and 11 came out") {
		t.Errorf("%v", err)
	}
}

// A file with a read error has not reached its end. The error stands for a server that
// disconnects.
func TestInspectFailsHalfway(t *testing.T) {
	e2e.Needs(t, "ffmpeg")
	file := e2e.Run(t, "ffmpeg", "-v", "error", "-i", "../../samples/noisy.mp4", "-c", "copy", "-f", "mpegts", "pipe:1")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", strconv.Itoa(len(file)+188))
		_, _ = w.Write(file)
	}))
	defer server.Close()
	if _, err := inspect(server.URL, "mpegts", 0, false); err == nil || !strings.Contains(err.Error(), "Input/output error") {
		t.Errorf("%v", err)
	}
}

// Copied sound of another length than the written sound is detected, for every codec.
func TestVerifyLengthOfSound(t *testing.T) {
	second := span{begin: 0, end: 1_000_000, longest: 30_000, known: true}
	for _, c := range []struct {
		read span
		want bool
	}{
		{second, true}, {span{}, false}, {span{begin: 700_000, end: 1_710_000, longest: 30_000, known: true}, true},
		{span{begin: 0, end: 270, longest: 23, known: true}, false}, {span{begin: 0, end: 2_000_000, longest: 30_000, known: true}, false},
	} {
		if got := c.read.lasts(second); got != c.want {
			t.Errorf("%+v: %v", c.read, got)
		}
	}
	if !(span{}).lasts(span{}) {
		t.Error("without times there is nothing to compare")
	}
}

// Parts with B-frames of their own, joined, are decoded at the times of one run.
func TestOrder(t *testing.T) {
	for _, c := range []struct {
		name     string
		pts, dts []int64 // as the parts have them
		want     []int64
	}{
		{"two parts", []int64{0, 30, 10, 20, 40, 70, 50, 60}, []int64{-10, 0, 10, 20, 30, 40, 50, 60}, []int64{-10, 0, 10, 20, 30, 40, 50, 60}},
		{"a pyramid", []int64{5, 45, 25, 15, 35, 55, 65}, []int64{-15, -5, 5, 15, 25, 35, 45}, []int64{-15, -5, 5, 15, 25, 35, 45}},
		{"no B-frames", []int64{7, 9, 20}, []int64{7, 9, 20}, []int64{7, 9, 20}},
		{"uneven", []int64{0, 90, 7, 31, 91, 99}, []int64{-7, 0, 7, 80, 90, 91}, []int64{-7, 0, 7, 31, 90, 91}},
	} {
		var o Order
		var got []int64
		for i := range c.pts {
			got = append(got, o.Next(c.pts[i], c.dts[i]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v instead of %v", c.name, got, c.want)
		}
	}
}

// The table of formats has codecs that FFmpeg knows.
func TestCodecNames(t *testing.T) {
	for _, f := range formats.All {
		for _, name := range append(slices.Clone(f.Codecs), f.Text, f.Audio) {
			if name != "" && name != formats.Dropped && name != formats.PCM && codecNamed(name) == nil {
				t.Errorf("%s: FFmpeg has no codec %q", f.Name, name)
			}
		}
	}
}
