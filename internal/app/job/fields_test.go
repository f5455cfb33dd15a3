package job

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"vidfilter/internal/e2e"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

// TestMeasureFields: a file that is wrong about its fields is overridden with a line, others are
// believed.
func TestMeasureFields(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	dir := t.TempDir()
	clip := func(name, graph string) string {
		path := filepath.Join(dir, name+".mkv")
		e2e.Run(t, "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=352x288:r=50:d=1", "-vf", graph, "-c:v", "ffv1", path)
		return path
	}
	const top, bottom = "tinterlace=interleave_top", "tinterlace=interleave_bottom"
	wrong := clip("wrong", bottom+",setfield=tff")
	long := clip("long", "loop=3:50,"+top+",setfield=bff") // which is sought in, after the first 120
	for _, c := range []struct{ name, input, args, order, line string }{
		{"right", clip("right", top+",setfield=tff"), "--deinterlace", "auto", ""},
		{"wrong", wrong, "--deinterlace best", "bff", "fields: bottom first by their motion, and top first by the file: using bottom first"},
		{"part", long, "--deinterlace single --start 1", "tff", "fields: top first"},
		{"unflagged", clip("unflagged", top+",setfield=prog"), "--deinterlace", "tff", "the frames are interlaced by their motion, top first, and progressive by the file"},
		{"flagged", clip("flagged", "fps=25,setfield=tff"), "--deinterlace", "auto", "the frames look progressive"},
		{"still", clip("still", "loop=40:1:3,trim=start_frame=3:end_frame=40,"+top+",setfield=bff"), "--deinterlace", "auto", ""},
		{"film", clip("film", "telecine,setfield=tff"), "--deinterlace", "auto", "--before fieldmatch,decimate"},
		{"told", wrong, "--deinterlace --field-order tff", "tff", ""},
		{"graph", wrong, "--deinterlace --before null", "auto", ""},
		{"off", wrong, "", "auto", ""},
		{"none", "nowhere.mkv", "--deinterlace", "auto", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := parsed(t, append([]string{"-i", c.input, "-o", "out.mkv"}, strings.Fields(c.args)...)...)
			pool := pipeline.NewPool(kernels.Host{}, 1)
			defer pool.Close()
			said := ""
			e2e.Must(t, o.measureFields(context.Background(), pool, func(s string) { said += s }))
			if o.FieldOrder != c.order || !strings.Contains(said, c.line) || (c.line == "") != (said == "") {
				t.Errorf("--field-order %s: %q, not %s: %q", o.FieldOrder, said, c.order, c.line)
			}
		})
	}
	o, err := Parse([]string{"-i", "-", "-o", "out.mkv", "--deinterlace"}, nil)
	if err != nil || o.looksAtFields() {
		t.Errorf("a pipe is read twice, %v", err)
	}
}
