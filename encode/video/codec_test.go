package video

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/asticode/go-astiav"

	"vidfilter/encode/formats"
	"vidfilter/encode/spec"
	"vidfilter/internal/e2e"
	"vidfilter/pipeline"
)

// The described encoders are in this build, once each.
func TestCodecs(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range codecs {
		if seen[c.Name] || astiav.FindEncoderByName(c.Name) == nil {
			t.Errorf("%s is described twice, or not in this build", c.Name)
		}
		seen[c.Name] = true
		pictures := astiav.FindEncoderByName(c.Name).PixelFormats()
		for depth, names := range c.formats {
			for _, name := range names {
				pf := astiav.FindPixelFormatByName(name)
				taken := slices.Contains(pictures, pf) || c.OnDevice != "" // which gets surfaces
				if !taken || depthOf(pf) != depth {
					t.Errorf("%s does not take %s, or not with %d bits", c.Name, name, depth)
				}
			}
		}
		for preset := range c.presetFormats {
			if !slices.Contains(c.Presets, preset) {
				t.Errorf("%s has no preset %s", c.Name, preset)
			}
		}
		if c.Presets != nil && !slices.Contains(c.Presets, c.Preset) {
			t.Errorf("%s: the default %q is none of its presets", c.Name, c.Preset)
		}
	}
	if c := CodecOf("nonesuch"); c.Joins() || c.CRF >= 0 || c.Preset != "" {
		t.Errorf("an encoder that is not described has defaults: %+v", c)
	}
}

// depthOf takes the depth from the name: yuv420p10le.
func depthOf(pf astiav.PixelFormat) int {
	for depth, mark := range map[int]string{10: "10le", 12: "12le"} {
		if strings.HasSuffix(pf.Name(), mark) {
			return depth
		}
	}
	return 8
}

// Encoders open and close side by side, as in parts of a video. SVT-AV1 encoders share variables:
// without their lock this crashes.
func TestOpenSideBySide(t *testing.T) {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 12 {
				if err := Check(spec.Options{Format: "matroska", Encoder: svtAV1.Name, Preset: "12", CRF: 40}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

// Results of filters have as many bits as the encoder codes, and most where it codes fewer than the
// source has.
func TestResultDepth(t *testing.T) {
	for _, c := range []struct {
		encoder, preset, pixelFormat, params string
		depth, least, source, want           int
	}{
		{encoder: spec.X264, preset: "medium", want: 8},
		{encoder: spec.X264, preset: "medium", pixelFormat: "yuv420p10le", want: 10},
		{encoder: spec.X264, preset: "medium", pixelFormat: "nv12", want: 8},
		{encoder: spec.X264, preset: "medium", pixelFormat: "yuv420p", source: 10, want: 16},
		{encoder: spec.X264, preset: "medium", depth: 10, want: 10},
		{encoder: spec.X264, preset: "medium", depth: 8, want: 8},
		{encoder: spec.X264, preset: "medium", depth: 8, source: 10, want: 16},
		{encoder: "libx265", preset: "medium", pixelFormat: "yuv444p12le", want: 12},
		{encoder: "libx265", preset: "medium", least: 10, want: 10},
		{encoder: "libx265", preset: "medium", least: 10, source: 12, want: 8}, // fewer than the source's are as many
		{encoder: "ffv1", want: 8}, {encoder: "ffv1", pixelFormat: "gray16le", want: 16}, {encoder: "ffv1", depth: 12, want: 12},
		{encoder: "libvpx-vp9", want: 8}, {encoder: "prores_ks", preset: "hq", want: 10},
		{encoder: "dnxhd", preset: "hq", want: 8}, {encoder: "dnxhd", preset: "hqx", want: 10},
		{encoder: "hevc_nvenc", preset: "p4", pixelFormat: "p010le", want: 10},
		{encoder: "hevc_nvenc", preset: "p4", params: "profile=main10", want: 10},
		{encoder: "hevc_nvenc", preset: "p4", params: "profile=main", want: 8},
	} {
		params, err := CodecOf(c.encoder).ParseParams(c.params)
		e2e.Must(t, err)
		o := spec.Options{Format: formats.MKV, Encoder: c.encoder, Preset: c.preset, PixelFormat: c.pixelFormat, EncoderParams: params,
			Depth: c.depth, LeastDepth: c.least}
		if got := ResultDepth(o, max(c.source, 8)); got != c.want {
			t.Errorf("%+v: %d bits", c, got)
		}
	}
}

// Frames of each depth get the pixel formats that keep it, if there are any.
func TestOffered(t *testing.T) {
	for _, c := range []struct {
		encoder, preset string
		depth           int
		want            string
	}{
		{spec.X264, "medium", 8, "yuv420p"}, {spec.X264, "medium", 10, "yuv420p10le"}, {spec.X264, "medium", 12, "yuv420p10le"},
		{"libx265", "medium", 8, "yuv420p"}, {"libx265", "medium", 9, "yuv420p10le"}, {"libx265", "medium", 12, "yuv420p12le"},
		{"libsvtav1", "7", 8, "yuv420p"}, {"libsvtav1", "7", 10, "yuv420p10le"},
		{"prores_ks", "hq", 8, "yuv422p10le"}, {"prores_ks", "4444", 8, "yuv444p10le"},
		{"dnxhd", "hq", 10, "yuv422p"}, {"dnxhd", "hqx", 8, "yuv422p10le"}, {"dnxhd", "444", 8, "yuv444p10le"},
	} {
		o := newEncoder(spec.Options{Format: formats.MKV, Encoder: c.encoder, Preset: c.preset})
		got := o.offered(astiav.FindEncoderByName(c.encoder), c.depth)
		if len(got) == 0 || got[0].Name() != c.want {
			t.Errorf("%s %s, %d bits: %v, want %s", c.encoder, c.preset, c.depth, got, c.want)
		}
	}
}

// The lists of parameters are in the encoders' own terms.
func TestParamNames(t *testing.T) {
	for _, name := range x265.params {
		unknown := true
		for _, value := range []string{"1", "2", "0:0", "G(1,2)B(3,4)R(5,6)WP(7,8)L(9,1)", "hex", "bt709", "25/1", "1,1", "limited", "show", "0,9,q=20"} {
			err := checkX265(name, value)
			unknown = unknown && err != nil
		}
		if unknown {
			t.Errorf("x265 takes nothing for %s", name)
		}
	}
	for _, c := range []Codec{svtAV1, ffv1, prores, dnxhd, nvencH264, nvencHEVC, nvencAV1} {
		for _, p := range c.params {
			name, values, _ := strings.Cut(p, "=")
			value, _, _ := strings.Cut(values, "|")
			if value == "" {
				value = map[string]string{"keyint": "50", "vendor": "test", "bits_per_mb": "2000", "slices": "4", "startup-mg-size": "3", "lp": "1",
					"buf-sz": "600", "buf-initial-sz": "400", "buf-optimal-sz": "500", "max-qp": "60", "min-qp": "10",
					"hierarchical-levels": "3", "irefresh-type": "2", "mbr": "0", "pred-struct": "2", "scd": "0",
					"superres-denom": "8", "superres-kf-denom": "8", "variance-boost-strength": "2", "variance-octile": "6",
					"qm-max": "15", "qm-min": "8", "maxsection-pct": "200", "min-section-pct": "0"}[name]
			}
			if value == "" {
				value = "0"
			}
			params, err := c.ParseParams(name + "=" + value)
			if err == nil {
				err = Check(spec.Options{Format: formats.MKV, Encoder: c.Name, Preset: c.Preset, CRF: c.CRF, Threads: 1, EncoderParams: params})
			}
			if err != nil {
				t.Errorf("%s %s=%s: %v", c.Name, name, value, err)
			}
		}
	}
}

// The table of formats has names that FFmpeg knows.
func TestFormatNames(t *testing.T) {
	for _, f := range formats.All {
		if f.Family == formats.Picture && astiav.FindEncoderByName(f.Name) == nil {
			t.Errorf("no encoder of %s", f.Name)
		}
		for _, name := range f.Layouts {
			if err := Check(spec.Options{Format: f.Name, Encoder: rawVideo.Name, CRF: rawVideo.CRF, PixelFormat: name}); err != nil {
				t.Errorf("%s %s: %v", f.Name, name, err)
			}
		}
	}
}

// Encoders on a device get the mean rate of a video if it is below the usual rate.
func TestFrameRate(t *testing.T) {
	rate := func(num, den int) pipeline.Ratio { return pipeline.Ratio{Num: num, Den: den} }
	for _, c := range []struct {
		encoder           string
		usual, mean, want pipeline.Ratio
	}{
		{"hevc_nvenc", rate(30, 1), rate(35, 2), rate(35, 2)},
		{"hevc_nvenc", rate(30, 1), rate(2997, 100), rate(30, 1)},
		{"hevc_nvenc", rate(25, 1), rate(50, 1), rate(25, 1)},
		{"hevc_nvenc", rate(25, 1), rate(0, 0), rate(25, 1)},
		{"hevc_nvenc", rate(0, 1), rate(12, 1), rate(12, 1)},
		{"hevc_nvenc", rate(0, 1), rate(0, 0), rate(25, 1)},
		{"libx265", rate(30, 1), rate(35, 2), rate(30, 1)},
		{"libx265", rate(0, 1), rate(35, 2), rate(0, 1)},
	} {
		e := newEncoder(spec.Options{Encoder: c.encoder})
		e.Shown = &pipeline.Video{Rate: c.usual, MeanRate: c.mean}
		if got := e.frameRate(); got != c.want {
			t.Errorf("%s of %v, %v on average: %v, want %v", c.encoder, c.usual, c.mean, got, c.want)
		}
	}
}

func TestParameterSetsHEVC(t *testing.T) {
	vps, sps, pps, sei := []byte{0x40, 1, 12}, []byte{0x42, 1, 1, 9}, []byte{0x44, 1, 0xc1}, []byte{0x4e, 1, 5, 1, 7}
	annexB := slices.Concat([]byte{0, 0, 0, 1}, vps, []byte{0, 0, 0, 1}, sps, []byte{0, 0, 1}, pps, []byte{0, 0, 1}, sei)
	hvcc := append(make([]byte, 22), 4)
	hvcc[0] = 1
	for _, unit := range [][]byte{vps, sps, pps, sei} {
		hvcc = slices.Concat(hvcc, []byte{0x80 | unit[0]>>1&63, 0, 1, 0, byte(len(unit))}, unit)
	}
	want := [][]byte{vps, sps, pps}
	for name, b := range map[string][]byte{"start codes": annexB, "hvcC": hvcc} {
		if got := parameterSetsHEVC(b); !slices.EqualFunc(got, want, bytes.Equal) {
			t.Errorf("%s: %x", name, got)
		}
	}
	for i := range hvcc {
		if got := parameterSetsHEVC(hvcc[:i]); len(got) > 0 {
			t.Errorf("%d bytes of hvcC give %x", i, got)
		}
	}
	obus := []byte{0x0a, 2, 1, 2}
	for _, b := range [][]byte{obus, append([]byte{0x81, 0, 0x0c, 0}, obus...)} {
		if got := headersAV1(b); len(got) != 1 || !bytes.Equal(got[0], obus) {
			t.Errorf("%x of %x", got, b)
		}
	}
	if got := headersAV1(nil); got != nil {
		t.Errorf("%x of nothing", got)
	}
}
