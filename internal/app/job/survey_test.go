package job

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"vidfilter/internal/e2e"
	"vidfilter/internal/hint"
	"vidfilter/internal/stages"
	"vidfilter/kernels"
	"vidfilter/pipeline"
)

func TestSurvey(t *testing.T) {
	e2e.NeedsFFmpeg(t)
	clip := func(name, source, codec string) string {
		path := filepath.Join(t.TempDir(), name)
		args := append([]string{"-v", "error", "-f", "lavfi", "-i", source + ",format=yuv420p"}, strings.Fields(codec)...)
		e2e.Run(t, "ffmpeg", append(args, path)...)
		return path
	}
	short := clip("bars.mkv", "testsrc2=s=160x72:r=25:d=1,pad=160:96:0:12", "-c:v ffv1")
	// Its bars begin after 10 seconds: before, the picture fills the frame.
	long := clip("long.mp4", "testsrc2=s=160x96:r=25:d=140,drawbox=h=12:color=black:t=fill:enable='gte(t,10)',"+
		"drawbox=y=84:h=12:color=black:t=fill:enable='gte(t,10)'", "-c:v libx264 -preset ultrafast")
	for _, c := range []struct {
		name, input, text string
		start, duration   time.Duration
		fieldOrder        string
	}{
		{name: "short", input: short, text: "crop: 160x72 at 0,12: 12 rows off the top and 12 rows off the bottom"},
		{name: "long", input: long, text: "crop: no black bars: the whole picture stays"},
		{name: "part", input: long, start: 12 * time.Second, text: "crop: 160x72 at 0,12: 12 rows off the top and 12 rows off the bottom"},
		{name: "short part", input: long, start: 11 * time.Second, duration: 4 * time.Second, text: "crop: 160x72 at 0,12: 12 rows"},
		{name: "fields", input: short, fieldOrder: "tff", text: "crop: 160x72 at 0,12: 12 rows"},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := NewOptions()
			o.Input, o.Start, o.Duration = c.input, c.start, c.duration
			if c.fieldOrder != "" {
				o.FieldOrder = c.fieldOrder
			}
			pool := pipeline.NewPool(kernels.Host{}, 1)
			defer pool.Close()
			stages.Crop.Set(&o.Filters, "auto")
			text := ""
			err := o.survey(context.Background(), pool, func(s string) { text = s })
			if err != nil || !strings.HasPrefix(text, c.text) {
				t.Errorf("%q, %v; want %q", text, err, c.text)
			}
		})
	}
	o := NewOptions()
	o.Input = "-"
	stages.Crop.Set(&o.Filters, "auto")
	err := o.checkStages()
	if err == nil || !strings.Contains(hint.Of(err), "save the input to a file first") {
		t.Errorf("a pipe: %v", err)
	}
	o.Input = "no such file"
	if err := o.survey(context.Background(), nil, nil); err == nil {
		t.Error("a missing input is accepted")
	}
}
