package media

import (
	"bytes"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
)

// waves is a clip whose alpha has every level and moves.
const waves = "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2,format=rgba,geq=r='r(X\\,Y)':g='g(X\\,Y)':b='b(X\\,Y)':a='mod(X*7+Y*3+N*11\\,256)' "

// alphas returns the alpha of a file's pictures, in the depth of a pixel format of full planes
// whose last is alpha. Only others are converted to it.
func alphas(t *testing.T, path, pixels string, bytesEach int) (all []byte) {
	t.Helper()
	size := 96 * 64 * bytesEach
	for data := raw(t, path, pixels); len(data) >= 4*size; data = data[4*size:] {
		all = append(all, data[3*size:4*size]...)
	}
	if len(all) == 0 {
		t.Errorf("%s has no pictures in %s", path, pixels)
	}
	return all
}

// Alpha comes through bit for bit beside filtered samples.
func TestAlpha(t *testing.T) {
	for _, c := range []struct{ pixels, codec, args, ending, want, compare string }{
		{"yuva420p", "ffv1", "--codec ffv1 --filter denoise --noise 5", "mkv", "yuva420p", "yuva444p"},
		{"yuva420p", "ffv1", "--codec ffv1 --filter recursive", "mkv", "yuva420p", "yuva444p"},
		{"yuva422p", "ffv1", "--codec ffv1 --filter bilateral", "mkv", "yuva422p", "yuva444p"},
		{"yuva444p", "ffv1", "--codec ffv1 --filter bilateral --compare split", "mkv", "yuva444p", "yuva444p"},
		{"yuva422p9le", "ffv1", "--codec ffv1 --filter bilateral", "mkv", "yuva422p9le", "yuva444p9le"},
		{"yuva444p10le", "ffv1", "--codec ffv1 --filter denoise --noise 5", "mkv", "yuva444p10le", "yuva444p10le"},
		{"yuva422p16le", "ffv1", "--codec ffv1 --filter denoise --noise 5", "mkv", "yuva422p16le", "yuva444p16le"},
		{"yuva420p16le", "ffv1", "--codec ffv1 --filter recursive", "mkv", "yuva420p16le", "yuva444p16le"},
		{"yuva420p10be", "rawvideo", "--codec ffv1 --filter bilateral", "mkv", "yuva420p10le", "yuva444p10le"},
		{"yuva420p", "ffv1", "--encoder rawvideo --filter bilateral", "mkv", "yuva420p", "yuva444p"},
		{"yuva444p10le", "prores_ks -profile:v 4444", "--codec prores --preset 4444 --filter bilateral", "mov", "yuva444p12le", "yuva444p12le"},
		{"yuva444p10le", "prores_ks -profile:v 4444", "--codec prores --preset 4444xq --filter denoise --noise 5", "mkv", "yuva444p12le", "yuva444p12le"},
		{"gbrap10le", "ffv1", "--codec ffv1 --filter bilateral", "mkv", "gbrap10le", "gbrap10le"},
		{"gbrap12le", "ffv1", "--codec ffv1 --filter denoise --noise 5", "mkv", "gbrap12le", "gbrap12le"},
		{"gbrap16le", "ffv1", "--codec ffv1 --filter recursive", "mkv", "gbrap16le", "gbrap16le"},
		{"bgra", "ffv1", "--codec ffv1 --filter denoise --noise 5", "mkv", "bgra", "gbrap"},
	} {
		t.Run(c.pixels+strings.ReplaceAll(c.args, " ", ""), func(t *testing.T) {
			e2e.Start(t, c.compare == "yuva444p10le")
			codec, _, _ := strings.Cut(c.codec, " ")
			from := map[string]string{"prores_ks": "mov", "rawvideo": "nut"}[codec]
			if from == "" {
				from = "mkv"
			}
			src := clip(t, "waves-"+c.pixels+"-"+codec+"."+from, waves+"-pix_fmt "+c.pixels+" -c:v "+c.codec)
			out, said := filter(t, src, c.ending, c.args)
			if pf := probe(t, out).video(t).PixFmt; pf != c.want || strings.Contains(said, "not kept") {
				t.Errorf("%s: %s", pf, said)
			}
			each := 1
			if strings.HasSuffix(c.compare, "le") {
				each = 2
			}
			if !bytes.Equal(alphas(t, src, c.compare, each), alphas(t, out, c.compare, each)) {
				t.Errorf("the alpha differs: %s", said)
			}
			if bytes.Equal(raw(t, src, c.compare), raw(t, out, c.compare)) {
				t.Error("nothing was filtered")
			}
		})
	}
}

// Alpha goes into the depth of the encoder: of 8 bits 255 is opaque, and of 10 bits 1023.
func TestAlphaOfAnotherDepth(t *testing.T) {
	e2e.Start(t, false)
	src := clip(t, "waves-yuva420p-ffv1.mkv", waves+"-pix_fmt yuva420p -c:v ffv1")
	out, said := filter(t, src, "mov", "--codec prores --preset 4444")
	from, to := alphas(t, src, "yuva444p", 1), alphas(t, out, "yuva444p12le", 2)
	for i, v := range from {
		if got := int(to[2*i]) | int(to[2*i+1])<<8; got>>2 != (int(v)*1023+127)/255 {
			t.Fatalf("sample %d: %d becomes %d of 4095: %s", i, v, got, said)
		}
	}
}

// A warning names alpha that the output cannot hold, so its loss is no error.
func TestAlphaIsNamed(t *testing.T) {
	src := clip(t, "waves-yuva420p-ffv1.mkv", waves+"-pix_fmt yuva420p -c:v ffv1")
	for _, c := range []struct{ ending, args string }{
		{"mp4", "--preset ultrafast"}, {"mov", "--codec prores"}, {"mkv", "--codec ffv1 --pixel-format yuv420p"}, {"mkv", "--codec ffv1 --compare side"},
	} {
		t.Run(strings.Fields(c.args)[1], func(t *testing.T) {
			e2e.Start(t, c.ending == "mp4")
			_, done := report(t, src, c.ending, c.args)
			told := false
			for _, d := range done.Differences {
				told = told || d.Property == "alpha" && d.Lost && d.Told
			}
			if done.ExitCode != 0 || !told || strings.Join(done.NotKept, ", ") != "alpha" {
				t.Errorf("%+v", done)
			}
		})
	}
}
