package media

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/internal/units"
	"vidfilter/internal/units/unitstest"
)

// described returns a plain 10-bit HEVC stream with reordered pictures. Each picture has a unit of
// each kind.
func described(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile(clip(t, "bare.hevc", "-f lavfi -i testsrc2=s=96x64:r=25:d=3.6 -pix_fmt yuv420p10le -c:v libx265 -preset ultrafast "+
		"-x265-params aud=1:keyint=25:min-keyint=25:scenecut=0:bframes=3:open-gop=0:log-level=none:pools=1"))
	e2e.Must(t, err)
	var out []byte
	delimiter := []byte("\x00\x00\x00\x01\x46\x01")
	for n, picture := range bytes.Split(data, delimiter)[1:] {
		au, err := units.StreamOf("hevc", nil).Insert(append(delimiter, picture...), unitstest.All(n))
		e2e.Must(t, err)
		out = append(out, au...)
	}
	return put(t, "described.hevc", out)
}

// unitsIn returns how often each unit is in the first video of a file.
func unitsIn(t *testing.T, path, codec string) map[string]int {
	t.Helper()
	format := map[string]string{"h264": "h264", "hevc": "hevc", "av1": "obu"}[codec]
	count := map[string]int{}
	data := run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", path, "-map", "0:v:0", "-c", "copy", "-f", format, "pipe:1")
	stream := units.StreamOf(codec, nil)
	stream.Learn(data)
	for _, u := range stream.Scan(data) {
		count[fmt.Sprintf("%v %x", u.Kind, u.Payload)]++
	}
	return count
}

// Every encoder's output carries the data of each picture, as other programs confirm, in whole jobs
// and in parts.
func TestPicturesCarryUnits(t *testing.T) {
	for _, c := range []struct{ codec, to string }{{"h264", "mp4"}, {"hevc", "mkv"}, {"av1", "mp4"}} {
		t.Run(c.codec, func(t *testing.T) {
			e2e.Start(t, c.codec == "hevc")
			args := "--gop 25 --codec " + c.codec + map[string]string{"av1": " --preset 12"}[c.codec]
			out, said := filter(t, described(t), c.to, args)
			want := map[string]int{}
			for n := range 90 {
				for _, u := range unitstest.All(n) {
					if (!u.Kind.Lasting() || n%25 == 0) && units.StreamOf(c.codec, nil).Carries(u.Kind) {
						want[fmt.Sprintf("%v %x", u.Kind, u.Payload)]++
					}
				}
			}
			sameUnits(t, unitsIn(t, out, c.codec), want, said)
			for n, f := range frames(t, out) {
				told := fmt.Sprint(f.SideData)
				for _, what := range seen[c.codec] {
					if !strings.Contains(told, what) {
						t.Fatalf("frame %d: ffprobe sees no %q: %s", n, what, told)
					}
				}
			}
			if c.codec == "hevc" {
				unitsInParts(t, out, said)
			}
		})
	}
}

// seen are ffprobe 5.1's words for the data of frames.
var seen = map[string][]string{
	"h264": {"Closed Captions", "Active format", "SMPTE 12-1 timecode", "10:20:30"},
	"hevc": {"Closed Captions", "SMPTE2094-40", "SMPTE 12-1 timecode", "Mastering display", "Content light", "Dolby Vision RPU", "10:20:30"},
	"av1":  {"Mastering display", "Content light"},
}

// unitsInParts filters a file in parts and whole, and compares the data of the pictures.
func unitsInParts(t *testing.T, src, said string) {
	t.Helper()
	c := segments(t, src, "--length", "1")
	if len(c.Parts) < 2 {
		t.Fatalf("%d parts: %s", len(c.Parts), c.Whole)
	}
	_, list := filterParts(t, src, c, "--codec hevc")
	out, joined := filter(t, src, "mp4", "--codec hevc --join "+list)
	sameUnits(t, unitsIn(t, out, "hevc"), unitsIn(t, src, "hevc"), joined)
	for n, f := range frames(t, out) {
		if told := fmt.Sprint(f.SideData); !strings.Contains(told, "max_content:1000") {
			t.Fatalf("frame %d of the joined file: %s: %s", n, told, said)
		}
	}
}

func sameUnits(t *testing.T, got, want map[string]int, said string) {
	t.Helper()
	var names []string
	for _, pair := range [][2]map[string]int{{got, want}, {want, got}} {
		for u, n := range pair[0] {
			if pair[1][u] != n && !slices.Contains(names, u) {
				names = append(names, u)
			}
		}
	}
	for _, u := range names[:min(len(names), 5)] {
		t.Errorf("%s: %d times instead of %d: %s", u, got[u], want[u], said)
	}
	if len(want) == 0 {
		t.Error("there is nothing to compare")
	}
}
