package live

import (
	"bytes"
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// flag makes a clip of 160x90, red on the left and blue on the right, to be shown turned
// clockwise.
func flag(t *testing.T, filter string, turn int) string {
	t.Helper()
	e2e.Needs(t, "ffmpeg")
	path := filepath.Join(t.TempDir(), "flag.mp4")
	source := "color=red:s=80x90:r=10:d=2[a];color=blue:s=80x90:r=10:d=2[b];[a][b]hstack," + filter
	args := strings.Fields("-v error -nostdin -filter_complex " + source + " -c:v libx264 -preset ultrafast -pix_fmt yuv420p")
	if out, err := exec.Command("ffmpeg", append(args, path)...).CombinedOutput(); err != nil {
		t.Fatalf("ffmpeg: %v: %s", err, out)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	matrix := bytes.Index(b, []byte("tkhd")) + 4 + 40 // version 0
	for i, row := range map[int][2]int32{90: {0, 1}, 180: {-1, 0}, 0: {1, 0}}[turn] {
		binary.BigEndian.PutUint32(b[matrix+4*i:], uint32(row)<<16)
		binary.BigEndian.PutUint32(b[matrix+12+4*(1-i):], uint32(row*int32(1-2*i))<<16)
	}
	if err := os.WriteFile(path, b, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// A picture is shown, and saved, upright and in its shape.
func TestDisplay(t *testing.T) {
	type point struct{ x, y float64 }
	for name, c := range map[string]struct {
		clip      string
		shape     float64
		red, blue point
	}{
		"as stored":  {flag(t, "null", 0), 160.0 / 90, point{0.25, 0.5}, point{0.75, 0.5}},
		"turned":     {flag(t, "null", 90), 90.0 / 160, point{0.5, 0.25}, point{0.5, 0.75}},
		"half round": {flag(t, "null", 180), 160.0 / 90, point{0.75, 0.5}, point{0.25, 0.5}},
		"wide":       {flag(t, "setsar=2", 0), 320.0 / 90, point{0.25, 0.5}, point{0.75, 0.5}},
	} {
		t.Run(name, func(t *testing.T) {
			p := look(t, serve(t, "-i", c.clip, "--loop", "-r", "1").url)
			p.until("vidfilter.drawn > 5 && vidfilter.state.status === 'live'")
			p.run("document.querySelector('[data-mode=filtered]').click()")
			p.drawn(2)
			l := eval[struct{ X, Y, Width, Height float64 }](p, "vidfilter.layout")
			if shape := l.Width / l.Height; shape < 0.97*c.shape || shape > 1.03*c.shape {
				t.Errorf("shown %.0fx%.0f", l.Width, l.Height)
			}
			on := func(at point) []byte { return p.pixels("screen", int(l.X+l.Width*at.x), int(l.Y+l.Height*at.y), 1, 1) }
			p.run(`window.saved = new Image(); saved.src = "snapshot?view=split"`)
			p.until("saved.complete && saved.naturalWidth > 0")
			if shape := eval[float64](p, "saved.naturalWidth / 2 / saved.naturalHeight"); shape < 0.97*c.shape || shape > 1.03*c.shape {
				t.Errorf("saved in a shape of %.2f", shape)
			}
			p.run(`window.ink = document.createElement("canvas").getContext("2d"); Object.assign(ink.canvas, { width: saved.naturalWidth, height: saved.naturalHeight });
				ink.drawImage(saved, 0, 0)`)
			in := func(at point) []byte { // the right half is the filtered picture
				v := eval[[]int](p, "Array.from(ink.getImageData(saved.naturalWidth * (1 + %g) / 2, saved.naturalHeight * %g, 1, 1).data)", at.x, at.y)
				return []byte{byte(v[0]), byte(v[1]), byte(v[2])}
			}
			for where, pixel := range map[string]func(point) []byte{"screen": on, "PNG": in} {
				red, blue := pixel(c.red), pixel(c.blue)
				if red[0] < 150 || red[2] > 100 || blue[2] < 150 || blue[0] > 100 {
					t.Errorf("%s: %v and %v instead of red and blue", where, red, blue)
				}
			}
		})
	}
}
