package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

func TestPicture(t *testing.T) {
	var out bytes.Buffer
	e2e.Must(t, run([]string{"-size", "33x17", "-frames", "2", "-rate", "24000/1001", "-noise", "9.5", "-seed", "4"}, &out))
	const header = "YUV4MPEG2 W33 H17 F24000:1001 Ip A1:1 C420mpeg2 XCOLORRANGE=LIMITED\n"
	if !strings.HasPrefix(out.String(), header) {
		t.Errorf("header %q, want %q", out.Bytes()[:min(out.Len(), 80)], header)
	}
	if got, want := out.Len(), len(header)+2*(len("FRAME\n")+33*17+2*17*9); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
}

func TestTapePicture(t *testing.T) {
	var out bytes.Buffer
	e2e.Must(t, run([]string{"-tape", "-size", "64x48", "-frames", "2", "-rate", "25", "-noise", "5"}, &out))
	if header := "YUV4MPEG2 W64 H48 F25:1 It A59:54 C422 "; !strings.HasPrefix(out.String(), header) {
		t.Errorf("header %q, want %q", out.Bytes()[:min(out.Len(), 80)], header)
	}
}

func TestTracks(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	var out bytes.Buffer
	e2e.Must(t, run([]string{"-frames", "48", "-tracks", dir}, &out))
	if out.Len() > 0 {
		t.Errorf("%d bytes of picture, want none", out.Len())
	}
	for name, want := range map[string]string{
		"audio.wav":     "RIFF",
		"subtitles.srt": "2\n00:00:01,000 --> 00:00:01,900\nSecond 1: the note is D.\n",
		"chapters.txt":  "START=1333\nEND=2000\ntitle=Lights in the cottage\n",
	} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !bytes.Contains(b, []byte(want)) {
			t.Errorf("%s: no %q in it, error %v", name, want, err)
		}
	}
	if wav, _ := os.Stat(filepath.Join(dir, "audio.wav")); wav.Size() != 44+2*48000*4 {
		t.Errorf("audio.wav has %d bytes, want two seconds", wav.Size())
	}
}

func TestUsage(t *testing.T) {
	for _, args := range []string{
		"-size 640", "-size 640x", "-size 8x8", "-rate 0", "-rate 24/0", "-noise -1", "-noise NaN",
		"-noise loud", "-frames 0", "-nonsense", "clip.y4m",
	} {
		var out bytes.Buffer
		if err := run(strings.Fields(args), &out); err == nil || out.Len() > 0 {
			t.Errorf("%s: error %v and %d bytes, want an error and none", args, err, out.Len())
		}
	}
}
